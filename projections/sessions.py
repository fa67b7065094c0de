"""Which task sessions there were, what each was about, and how it ended; the open ones are in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from sys import intern
from typing import Any, ClassVar

from ..domain.events import (
    Actor,
    ClaimRemembered,
    ClaimRestated,
    ClaimRetired,
    Fact,
    FeedbackGiven,
    PageShown,
    RetrievalRecorded,
    SessionExpired,
    TaskActivated,
    TaskCommitted,
)
from .columns import Columns
from .projector import Positioned
from .relations import Patch, Resident


@dataclass(slots=True)
class SessionRow:
    """One task session. `last_at` is when it was last named while open: what expiry counts from."""

    session_id: str
    position: int
    scope: str
    task: str
    initial_goal: str
    continuity_id: str
    continued: bool
    client: str
    actor_kind: str
    state: str  # open, committed, expired
    opened_at: datetime
    last_at: datetime
    expired_at: datetime | None = None
    closed_at: datetime | None = None
    closed_position: int = 0
    final_goal: str = ""
    outcome: str | None = None
    outcome_summary: str = ""
    verification: str | None = None  # verified, partially_verified, unverified
    verification_summary: str = ""
    evidence_refs: tuple[str, ...] = ()
    procedure_id: str = ""


class Sessions(Resident[SessionRow]):
    """Sessions by id; a closed one leaves memory once it is written."""

    name = "sessions"
    row = SessionRow
    id_column = "session_id"
    listens_to = (
        TaskActivated,
        RetrievalRecorded,
        PageShown,
        FeedbackGiven,
        TaskCommitted,
        SessionExpired,
        ClaimRemembered,
        ClaimRestated,
        ClaimRetired,
    )
    columns: ClassVar[Columns] = {
        "session_id": "text",
        "position": "int",
        "scope": "word",
        "task": "text",
        "initial_goal": "text",
        "continuity_id": "text",
        "continued": "bool",
        "client": "word",
        "actor_kind": "word",
        "state": "word",
        "opened_at": "time",
        "last_at": "time",
        "expired_at": "time?",
        "closed_at": "time?",
        "closed_position": "int",
        "final_goal": "text",
        "outcome": "text?",
        "outcome_summary": "text",
        "verification": "text?",
        "verification_summary": "text",
        "evidence_refs": "texts",
        "procedure_id": "text",
    }
    erases = {
        "position": {"task": "", "initial_goal": ""},
        "closed_position": {
            "final_goal": "",
            "outcome_summary": "",
            "verification_summary": "",
            "evidence_refs": (),
        },
    }

    def parts(self, fact: Fact) -> Iterable[tuple[str, None]]:
        match fact:
            case ClaimRemembered() | ClaimRestated() | ClaimRetired():
                return [(fact.session_id, None)] if fact.session_id else []
            case _:
                return [(fact.originator_id, None)]

    def fold(self, held: SessionRow | None, at: Positioned, part: None) -> SessionRow | None:  # noqa: ARG002 - a session is one row
        fact = at.fact
        match fact:
            case TaskActivated():
                return SessionRow(
                    session_id=intern(fact.originator_id),
                    position=at.position,
                    scope=intern(fact.scope),
                    task=fact.task,
                    initial_goal=fact.initial_goal,
                    continuity_id=fact.continuity_id,
                    continued=fact.continued,
                    client=client_of(fact.actor),
                    actor_kind=fact.actor.kind,
                    state="open",
                    opened_at=fact.recorded_at,
                    last_at=fact.recorded_at,
                )
            case TaskCommitted() if held:
                return replace(held, **ending(at, fact))
            case SessionExpired() if held and held.state == "open":
                return replace(held, state="expired", expired_at=fact.recorded_at)
            case _ if held and held.state == "open":
                return replace(held, last_at=fact.recorded_at)
            case _:
                return held

    def patches_of(self, at: Positioned) -> list[Patch]:
        """An expired session may still be committed once, long after it left memory."""
        if isinstance(at.fact, TaskCommitted) and at.fact.originator_id not in self.rows:
            return [Patch({"session_id": at.fact.originator_id}, ending(at, at.fact))]
        return []

    def keeps(self, row: SessionRow) -> bool:
        return row.state == "open"


def ending(at: Positioned, fact: TaskCommitted) -> dict[str, Any]:
    """What a commit says of its session."""
    return {
        "state": "committed",
        "last_at": fact.recorded_at,
        "closed_at": fact.recorded_at,
        "closed_position": at.position,
        "final_goal": fact.final_goal,
        "outcome": fact.outcome,
        "outcome_summary": fact.outcome_summary,
        "verification": fact.verification.status,
        "verification_summary": fact.verification.summary,
        "evidence_refs": fact.verification.evidence_refs,
        "procedure_id": fact.procedure_id,
    }


def client_of(actor: Actor) -> str:
    """An actor in words: the client's name and version."""
    return intern(f"{actor.name} {actor.version}".strip())
