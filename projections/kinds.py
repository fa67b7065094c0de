"""Which kind each memory is said to be, by whom and how surely: what stands, and nothing that was withdrawn."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import duckdb
import numpy as np

from ..domain.events import ClaimRemembered, Fact, KindConfirmed, KindReinstated, KindSuggested, KindWithdrawn
from .columns import Columns
from .projector import Positioned
from .relations import Passing, Patch


class Withdrawal(NamedTuple):
    """One statement that is taken back: its memory, its place in that stream, and where in the log that happened."""

    memory_id: str
    version: int
    at: int


Staged = tuple[list[tuple[Any, ...]], list[Patch], list[Withdrawal]]


class Kinds(Passing):
    """One row per statement; the one of highest authority, then the latest, is what the memory is held to be.

    A withdrawn statement leaves no row, so that a run that was reverted leaves no trace here; the log keeps both.
    """

    name = "kinds"
    listens_to = ClaimRemembered, KindSuggested, KindConfirmed, KindWithdrawn, KindReinstated
    columns: ClassVar[Columns] = {
        "position": "int",
        "memory_id": "text",
        "version": "int",
        "kind": "text",
        "source": "text",
        "confidence": "float",
        "cue": "text",
        "recipe": "text",
        "run_id": "text",
        "said_at": "time",
    }

    def __init__(self) -> None:
        super().__init__()
        self.withdrawn: list[Withdrawal] = []

    def fold(self, at: Positioned) -> list[tuple[Any, ...]]:
        fact, said = at.fact, statement(at.fact)
        version = fact.compensates.version if isinstance(fact, KindReinstated) else fact.originator_version
        return [(at.position, fact.originator_id, version, *said)] if said else []

    def staged(self, at: Positioned) -> Staged:  # pyright: ignore[reportIncompatibleMethodOverride] - it stages more
        fact = at.fact
        gone = [Withdrawal(*_of(fact), at.position)] if isinstance(fact, KindWithdrawn) else []
        return (*super().staged(at), gone)

    def install(self, staged: Staged) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as above
        super().install(staged[:2])
        self.withdrawn += staged[2]

    def write(self, db: duckdb.DuckDBPyConnection) -> None:
        super().write(db)
        if self.withdrawn:
            # One statement for all: a revert withdraws by the thousand.
            gone = {
                "memory_id": np.array([w.memory_id for w in self.withdrawn], dtype=object),
                "version": np.array([w.version for w in self.withdrawn], dtype=np.int64),
                "at": np.array([w.at for w in self.withdrawn], dtype=np.int64),
            }
            db.register("gone", gone)
            db.execute(
                f"delete from {self.name} using gone "
                f"where {self.name}.memory_id = gone.memory_id and {self.name}.version = gone.version "
                f"and {self.name}.position < gone.at"  # a statement that was brought back since stays
            )
            db.unregister("gone")

    def settle(self) -> None:
        super().settle()
        self.withdrawn.clear()

    @property
    def waiting(self) -> bool:
        return bool(self.withdrawn) or super().waiting


def statement(fact: Fact) -> tuple[Any, ...] | None:
    """What a fact says of a kind: kind, source, confidence, cue, recipe, run and time; None when it says nothing."""
    match fact:
        case KindSuggested():
            said = (fact.kind, fact.source, fact.confidence, fact.cue, fact.recipe, fact.run_id)
        case KindConfirmed():
            said = (fact.kind, fact.source, 1.0, "", "", "")
        case KindReinstated():
            said = (fact.kind, fact.source, fact.confidence, "", fact.recipe, fact.typed_by)
        case ClaimRemembered() if fact.kind:
            said = (fact.kind, "person" if fact.actor.kind == "person" else "caller", 1.0, "", "", "")
        case _:
            return None
    return (*said, fact.recorded_at)


def _of(fact: KindWithdrawn) -> tuple[str, int]:
    return fact.compensates.stream, fact.compensates.version
