"""Reusable methods, each with the outcome of the task it was carried out in and what it did for later ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from sys import intern
from typing import Any, ClassVar, Final

from ..domain.events import (
    Fact,
    FeedbackGiven,
    FeedbackWithdrawn,
    ProcedureReinstated,
    ProcedureVerdict,
    ProcedureWithdrawn,
    TaskCommitted,
)
from .columns import Columns, text_of
from .projector import Positioned
from .relations import Resident
from .sessions import client_of
from .verdicts import entries, given, judged_before, standing, withdrawn

CONTRIBUTIONS_SHOWN: Final = 3
COUNTED: Final = ("helped", "no_effect", "harmed", "unknown", "not_used")


@dataclass(slots=True)
class ProcedureRow:
    """One procedure. The counts come from the verdicts that stand, the last one in each retrieval."""

    procedure_id: str
    position: int
    session_id: str
    scope: str
    goal: str
    summary: str
    steps: tuple[str, ...]
    caveats: tuple[str, ...]
    context: str  # JSON
    outcome: str
    outcome_summary: str
    verification: str
    committed_at: datetime
    client: str
    withdrawn: bool = False
    helped: int = 0
    no_effect: int = 0
    harmed: int = 0
    unknown: int = 0
    not_used: int = 0
    history: bytes = b""
    contributions: tuple[str, ...] = ()  # one for each verdict of the history

    @property
    def evidence(self) -> dict[str, int]:
        """How many retrievals said what of it."""
        return {word: getattr(self, word) for word in COUNTED}

    @property
    def last_contributions(self) -> list[str]:
        """What the latest users said it contributed, newest first."""
        counted = {(v.position, v.code) for v in standing(self.history)}
        told = zip(entries(self.history), self.contributions, strict=True)
        said = [text for v, text in told if text and (v.position, v.code) in counted]
        return said[: -CONTRIBUTIONS_SHOWN - 1 : -1]


class Procedures(Resident[ProcedureRow]):
    """Procedures by procedure id."""

    name = "procedures"
    row = ProcedureRow
    id_column = "procedure_id"
    listens_to = TaskCommitted, ProcedureWithdrawn, ProcedureReinstated, FeedbackGiven, FeedbackWithdrawn
    columns: ClassVar[Columns] = {
        "procedure_id": "word",
        "position": "int",
        "session_id": "word",
        "scope": "word",
        "goal": "text",
        "summary": "text",
        "steps": "texts",
        "caveats": "texts",
        "context": "text",
        "outcome": "word",
        "outcome_summary": "text",
        "verification": "word",
        "committed_at": "time",
        "client": "word",
        "withdrawn": "bool",
        "helped": "int",
        "no_effect": "int",
        "harmed": "int",
        "unknown": "int",
        "not_used": "int",
        "history": "blob",
        "contributions": "texts",
    }
    erases = {
        "position": {
            "goal": "",
            "summary": "",
            "steps": (),
            "caveats": (),
            "context": "{}",
            "outcome_summary": "",
        }
    }

    def parts(self, fact: Fact) -> Iterable[tuple[str, ProcedureVerdict | None]]:
        match fact:
            case TaskCommitted() | ProcedureWithdrawn() | ProcedureReinstated():
                return [(fact.procedure_id, None)] if fact.procedure_id else []
            case FeedbackGiven():
                return [(verdict.procedure_id, verdict) for verdict in fact.procedures]
            case FeedbackWithdrawn():
                return [(target, None) for target in fact.targets]
            case _:
                return []

    def fold(self, held: ProcedureRow | None, at: Positioned, part: ProcedureVerdict | None) -> ProcedureRow | None:
        fact = at.fact
        match fact:
            case TaskCommitted():
                return written_down(at.position, fact)
            case ProcedureWithdrawn() if held:
                return replace(held, withdrawn=True)
            case ProcedureReinstated() if held:
                return replace(held, withdrawn=False)
            case FeedbackGiven() if held and part:
                word = part.effect or part.use
                history = given(held.history, at.position, fact, word)
                told = replace(held, history=history, contributions=(*held.contributions, part.contribution))
                if judged_before(held.history, fact.retrieval_id) or word not in COUNTED:
                    return counted(told)
                setattr(told, word, getattr(held, word) + 1)
                return told
            case FeedbackWithdrawn() if held:
                return counted(replace(held, history=withdrawn(held.history, fact)))
            case _:
                return held

    def erase(self, positions: Sequence[int]) -> None:
        """Contributions come from feedback facts, so they are blanked one by one."""
        super().erase(positions)
        erased = frozenset(positions)
        for procedure_id, row in self.rows.items():
            if any(v.position in erased for v in entries(row.history)):
                told = zip(entries(row.history), row.contributions, strict=True)
                kept = tuple("" if v.position in erased else text for v, text in told)
                self.install(({procedure_id: (replace(row, contributions=kept), None)}, []))


def written_down(position: int, fact: TaskCommitted) -> ProcedureRow | None:
    """The procedure that a task left behind."""
    if fact.procedure is None:
        return None
    text: dict[str, Any] = {
        "summary": fact.procedure.summary,
        "steps": fact.procedure.steps,
        "caveats": fact.procedure.caveats,
        "context": text_of(fact.procedure.context),
    }
    return ProcedureRow(
        procedure_id=fact.procedure_id,
        position=position,
        session_id=intern(fact.originator_id),
        scope=intern(fact.scope),
        goal=fact.final_goal,
        outcome=intern(fact.outcome),
        outcome_summary=fact.outcome_summary,
        verification=intern(fact.verification.status),
        committed_at=fact.recorded_at,
        client=client_of(fact.actor),
        **text,
    )


def counted(row: ProcedureRow) -> ProcedureRow:
    """The row with its counts taken anew from the verdicts that stand."""
    words = [verdict.word for verdict in standing(row.history)]
    return replace(row, **{word: words.count(word) for word in COUNTED})
