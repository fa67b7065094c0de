"""Blame: for each field of a memory or session, which event made it what it is, when, by whom and in which session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..domain.errors import NotFound
from ..domain.events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimRemembered,
    ClaimRestated,
    Fact,
    RestatementReinstated,
    RestatementWithdrawn,
    TaskActivated,
)
from ..domain.memory import Memory
from ..domain.session import Session
from .log import LogReader


def blame(log: Path, thing: str) -> list[dict[str, Any]]:
    """One entry a field: its value and the event that set it. NotFound when the id was never issued."""
    stream = thing.removeprefix("proc_")
    with closing(LogReader(log)) as reader:
        facts = reader.stream(stream)
    if not facts or not stream.startswith((f"{Memory.PREFIX}_", f"{Session.PREFIX}_")):
        raise NotFound(f"{thing!r} was never issued", hint="slw list and slw sessions show ids")
    held = Memory(stream) if stream.startswith(f"{Memory.PREFIX}_") else Session(stream)
    values: dict[str, Any] = {}
    setters: dict[str, tuple[int, Fact]] = {}
    counted: list[Fact] = []
    for position, fact in facts:
        held.apply(fact)
        counted.append(fact)
        now = memory_fields(held, counted) if isinstance(held, Memory) else session_fields(held, counted)
        for name, value in now.items():
            if name not in values or values[name] != value:
                values[name], setters[name] = value, (position, fact)
    return [entry(name, values[name], *setters[name]) for name in values if values[name] not in (None, "", 0, [])]


def memory_fields(memory: Memory, facts: Sequence[Fact]) -> dict[str, Any]:
    """What holds of a memory after these facts."""
    first = facts[0]
    retired, kind = memory.retirement, memory.kind
    waiting = sorted(case.case_id for case in memory.cases.values() if case.state == "proposed")
    stage = next((f.stage for f in reversed(facts) if isinstance(f, ClaimPinned) and f.stage), None)
    promoted = next((f.stage for f in reversed(facts) if isinstance(f, ClaimPromoted)), "scoped")
    told = sum(isinstance(f, ClaimRestated | RestatementReinstated) for f in facts)
    state = "active" if memory.live and not waiting else "needs_review" if memory.live else "stale"
    return {
        "content": "" if memory.erased else memory.content,
        "type": memory.type,
        "scope": memory.scope,
        "occurred_at": str(first.occurred_at or "") if isinstance(first, ClaimRemembered) else "",
        "kind": f"{kind.kind} ({kind.source} {round(kind.confidence, 2)})" if kind else "",
        "state": "suppressed" if memory.suppressed_at else state,
        "stale_reason": retired.reason if retired else "",
        "replaced_by": retired.replaced_by if retired else "",
        "corrections": [f"{case.case_id} {case.state}" for case in memory.cases.values()],
        "stage": stage or promoted,
        "restatements": told - sum(isinstance(f, RestatementWithdrawn) for f in facts),
    }


def session_fields(session: Session, facts: Sequence[Fact]) -> dict[str, Any]:
    """What holds of a session after these facts."""
    first, ending = facts[0], session.ending
    return {
        "task": first.task if isinstance(first, TaskActivated) else "",
        "scope": session.scope,
        "state": session.state,
        "outcome": ending.outcome if ending else "",
        "final_goal": ending.final_goal if ending else "",
        "verification": ending.verification.status if ending else "",
        "procedure": session.procedure_id,
        "retrievals": len(session.retrievals),
        "feedback": len(session.feedback),
    }


def entry(name: str, value: Any, position: int, fact: Fact) -> dict[str, Any]:
    """One field and who made it what it is."""
    session_id = fact.originator_id if fact.originator_id.startswith("sess_") else getattr(fact, "session_id", "")
    return {
        "field": name,
        "value": value,
        "position": position,
        "topic": fact.TOPIC,
        "version": fact.originator_version,
        "recorded_at": fact.recorded_at.isoformat().replace("+00:00", "Z"),
        "actor": fact.actor.kind,
        "by": f"{fact.actor.name} {fact.actor.version}".strip() if fact.actor.kind == "client" else fact.actor.kind,
        "session_id": session_id,
        "run_id": getattr(fact, "run_id", ""),
    }
