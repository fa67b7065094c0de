"""`slw erase`: making the store forget words that should never have been stored."""

from __future__ import annotations

import click

from .confirming import confirm
from .options import shared
from .terminal import EXIT_FINE, EXIT_PROBLEM, Data, Terminal


@click.command("erase")
@click.argument("memory_id", metavar="ID")
@click.option("--text", "further", multiple=True, metavar="WORDS", help="Erase these words too, wherever they stand.")
@click.option("--dry-run", is_flag=True, help="Tell what would be blanked, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared
def erase_command(terminal: Terminal, memory_id: str, further: tuple[str, ...], dry_run: bool, yes: bool) -> int:
    """Erase a memory's words for good: from the log, read models, vectors, receipts and snapshots.

    That it was told, when and by whom stays. Other memories and questions that hold the same words lose them too.
    It cannot be undone. Agents wait meanwhile.
    """
    from ..adapters.erasing import erase, plan  # noqa: PLC0415 - not for `slw --help`
    from ..adapters.store import PERSON, Store  # noqa: PLC0415 - likewise

    if not (terminal.home / "log.db").exists():
        raise click.UsageError(f"there is no log in {terminal.home}")
    planned = plan(terminal.home, memory_id, further).told()
    if dry_run:
        terminal.answer({**planned, "dry_run": True}, erased)
        return EXIT_FINE
    others = len(planned["memory_ids"]) - 1
    also = f" and of {others} other{'s' if others > 1 else ''} with the same words" if others else ""
    confirm(f"erase the words of {memory_id}{also}, in {planned['events']} events, for good?", yes=yes)

    def grow() -> None:
        store = Store.open(terminal.home)
        try:
            store.growth.wait()
            store.settle()
        finally:
            store.close()

    done = erase(terminal.home, memory_id, PERSON, further, grow)
    terminal.answer({**done, "dry_run": False}, erased)
    return EXIT_PROBLEM if done["still_in"] else EXIT_FINE


def erased(terminal: Terminal, data: Data) -> None:
    """What was blanked, and where copies still are."""
    would = "would be" if data["dry_run"] else "are"
    terminal.say(f"the words of {' '.join(data['memory_ids'])} {would} blanked in {data['events']} events")
    terminal.pairs((topic, count) for topic, count in data["topics"].items())
    for backup in data["backups"]:
        terminal.say(f"a backup still holds them: {backup}")
    for path in data.get("still_in", []):
        terminal.say(f"this file still holds them: {path}")
