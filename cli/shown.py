"""How answers look in a terminal: a memory is two lines, its words first and then where it comes from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from .terminal import Data, Terminal

LONG_ID = re.compile(r"\b(mem|sess|ret|run|case|cont|cur_ret|proc_sess)_\w{18,}(\w{4})\b")
ROOM = 110


def activated(terminal: Terminal, data: Data) -> None:
    """What was brought for a task."""
    terminal.pairs(
        (
            ("session", data["session_id"]),
            ("retrieval", data["retrieval_id"]),
            ("memory", str(data["memory_state"]).replace("_", " ")),
            ("conversation", f"{data['continuity_id']} ({data['continuity_state']})"),
        )
    )
    standing(terminal, data.get("standing"))
    retrieved(terminal, data)


def recalled(terminal: Terminal, data: Data) -> None:
    """What a query found."""
    terminal.pairs([("retrieval", data.get("retrieval_id"))])
    retrieved(terminal, data)
    for record in data.get("evidence", []):
        # References are for machines: a person who asks wants the words.
        if "content" in record:
            terminal.say(f"evidence: {record['event_id']}  {record['topic']}  {record['content']}")


def retrieved(terminal: Terminal, data: Data) -> None:
    """Memories and procedures of a page, and how to get the rest."""
    memories(terminal, data.get("memories", []))
    for procedure in data.get("procedures", []):
        terminal.say(f"{procedure['procedure_id']}  {procedure['goal']}")
        terminal.say(f"    {procedure['summary']} ({procedure['outcome']}: {procedure['outcome_summary']})")
        for number, step in enumerate(procedure.get("steps", []), 1):
            terminal.say(f"    {number}. {step['summary'] if isinstance(step, dict) else step}")
        for caveat in procedure.get("caveats", []):
            terminal.say(f"    beware: {caveat}")
    if not data.get("memories") and not data.get("procedures"):
        terminal.note("nothing relevant is remembered")
    if data.get("hidden_by_kind"):
        terminal.note(f"{data['hidden_by_kind']} likely answer(s) are of another kind")
    if data.get("more_available") and data.get("continue_from"):
        terminal.note(f"{data['relevant_total']} in all; more with: slw recall --continue-from {data['continue_from']}")
    warnings(terminal, data)


def standing(terminal: Terminal, held: Any) -> None:
    """Confirmed rules and decisions."""
    for group in ("rules", "decisions"):
        for memory in (held or {}).get(group, []):
            terminal.say(f"{memory['memory_id']}  {memory['content']}")
            terminal.say(f"    standing {group.removesuffix('s')}")
    omitted = (held or {}).get("omitted") or {}
    if omitted.get("count"):
        terminal.note(f"{omitted['count']} more stand: {' '.join(omitted.get('memory_ids', []))}")


def memories(terminal: Terminal, found: Iterable[Data]) -> None:
    """Memories, each in two lines."""
    for memory in found:
        terminal.say(f"{memory['memory_id']}  {memory['content']}{' …' if memory.get('truncated') else ''}")
        terminal.say(f"    {' · '.join(traits(memory))}")


def traits(memory: Data) -> list[str]:
    """What a memory is, in a few words."""
    provenance = memory.get("provenance", {})
    said = (
        kind_label(memory) or memory.get("type"),
        memory.get("state") if memory.get("state") not in (None, "active") else "",
        memory.get("stage") if memory.get("stage") != "scoped" else "",
        memory.get("pathway") if memory.get("pathway") == "associated" else "",
        memory.get("why"),
        f"from {provenance['client']}" if provenance.get("client") else "",
        str(memory.get("recorded_at", ""))[:10],
    )
    return [str(trait) for trait in said if trait]


def kind_label(memory: Data) -> str:
    """`Decision`, or `Decision (suggested)`; empty when it has no kind."""
    label = memory.get("memory_kind_label") or ""
    state = memory.get("memory_kind_state")
    return f"{label} ({state})" if label and state not in (None, "confirmed") else str(label)


def remembered(terminal: Terminal, data: Data) -> None:
    """Where a claim was put."""
    word = "remembered" if data["disposition"] == "created" else "known already"
    terminal.table(("memory", "is", "type"), [(data["memory_id"], word, kind_label(data) or data["type"])])
    if data.get("replaced"):
        terminal.note(f"{data['replaced']} is retired: superseded")
    conflict = data.get("kind_conflict")
    if conflict:
        terminal.note(f"it stays {conflict['kept']}; {conflict['requested']} was asked for")
    warnings(terminal, data)


def accepted(terminal: Terminal, data: Data) -> None:
    """What feedback changed, what was refused and what is left."""
    terminal.table(("target", "effect"), [(entry["target_id"], applied(entry)) for entry in data.get("applied", [])])
    for entry in data.get("rejected", []):
        terminal.complain(f"refused {entry['target_id']}: {entry['reason']}")
        terminal.complain(f"hint: {entry['hint']}")
    left = data.get("outstanding", {})
    targets = [*left.get("memory_ids", []), *left.get("procedure_ids", [])]
    terminal.pairs([("coverage", data["coverage"]), ("outstanding", " ".join(targets))])


def applied(entry: Data) -> str:
    """One change that feedback made."""
    return str(entry.get("change") or entry.get("applied") or entry.get("effect") or "")


def committed(terminal: Terminal, data: Data) -> None:
    """How a task was closed."""
    terminal.pairs(
        (
            ("committed", data["outcome"]),
            ("feedback", data.get("feedback_status")),
            ("procedure", data.get("procedure_id")),
            ("position", data.get("position")),
        )
    )


def warnings(terminal: Terminal, data: Data) -> None:
    """What the answer warns of, on stderr."""
    for warning in data.get("warnings", []):
        said = warning if isinstance(warning, str) else f"{warning.get('code', '')}: {warning.get('message', '')}"
        terminal.note(f"warning: {said}")


def in_short(first: str, value: Any) -> list[str]:
    """A value in at most two lines of a terminal behind `first`, with short ids."""
    return textwrap.wrap(
        f"{first}{short_ids(spoken(value))}",
        width=ROOM,
        max_lines=2,
        placeholder=" …",
        subsequent_indent=" " * (len(first) - len(first.lstrip()) + 5),
        break_on_hyphens=False,
    )


def spoken(value: Any) -> str:
    """JSON as it would be read aloud: what it says, without the names of its members."""
    if isinstance(value, Mapping):
        return " ".join(filter(None, (spoken(entry) for entry in value.values())))
    if isinstance(value, list):
        return "; ".join(spoken(entry) for entry in value)
    return str(value)


def short_ids(text: str) -> str:
    """The text with the middle of every id left out, for reading aloud rather than for copying."""
    return LONG_ID.sub(r"\1_…\2", text)
