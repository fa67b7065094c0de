"""How the layers beneath the memories look in a terminal: episodes, prototypes and procedures."""

from __future__ import annotations

from .terminal import Data, Terminal


def layered(terminal: Terminal, data: Data) -> None:
    """One layer, each thing in two lines: its words, then where it belongs."""
    held = data[data["layer"]]
    {"episodes": episode, "prototypes": prototype, "procedures": procedure}[data["layer"]](terminal, held)
    if not held:
        terminal.note(f"no {data['layer']} yet: they form when a session commits or expires")
    elif data["total"] > len(held):
        terminal.note(f"{data['total']} in all; more with --limit")


def episode(terminal: Terminal, held: list[Data]) -> None:
    for one in held:
        terminal.say(f"{one['episode_id']}  {one['content']}")
        terminal.say(
            f"    {one['of']} · formed {day(one['formed_at'])} · {one['scope']} · {' '.join(one['prototypes'])}"
        )


def prototype(terminal: Terminal, held: list[Data]) -> None:
    for one in held:
        terminal.say(f"{one['prototype_id']}  {one['content']}")
        terminal.say(f"    {one['episodes']} episode(s), the last {day(one['last_at'])} · {one['scope']}")


def procedure(terminal: Terminal, held: list[Data]) -> None:
    for one in held:
        terminal.say(f"{one['procedure_id']}  {one['goal']}")
        terminal.say(f"    {one['summary']} ({one['outcome']}) · {one['scope']}")


def day(moment: str) -> str:
    """A time to the minute."""
    return moment[:16].replace("T", " ")
