"""How each run that types memories came along: its state, its counts, its pace, and how long it held the log."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Final

from ..domain.events import (
    BackfillCancelled,
    BackfillCompleted,
    BackfillFact,
    BackfillFailed,
    BackfillPaused,
    BackfillRan,
    BackfillResumed,
    BackfillReverted,
    BackfillRevertStarted,
    BackfillStarted,
    BatchReverted,
    BatchTyped,
    Fact,
)
from .columns import Columns
from .projector import Positioned
from .relations import Resident

# Between two batches of one run lie at most some seconds; a longer gap is time in which no owner was there to work.
WORKING_GAP: Final = 15.0
# Lock figures tell of the present pace; some thousand batches are more than enough for a median.
HELD_FIGURES: Final = 1_000
_FIGURE: Final = struct.Struct("<f")


@dataclass(slots=True)
class RunRow:
    """One run. `active_seconds` is the time it was worked on; `held` packs how long its batches held the log (ms)."""

    run_id: str
    position: int
    mode: str
    backend: str
    total: int
    started_by: str
    started_at: datetime
    last_at: datetime
    state: str = "queued"
    reason: str = ""
    cursor: int = 0
    processed: int = 0
    changed: int = 0
    skipped: int = 0
    errors: int = 0
    reverted: int = 0
    kept: int = 0
    active_seconds: float = 0.0
    held: bytes = b""

    @property
    def held_ms(self) -> list[float]:
        """How long each of the last batches held the log, oldest first."""
        return [figure for (figure,) in _FIGURE.iter_unpack(self.held)]


class Runs(Resident[RunRow]):
    """Runs by id, in log order."""

    name = "runs"
    row = RunRow
    id_column = "run_id"
    listens_to = (
        BackfillStarted,
        BackfillRan,
        BatchTyped,
        BackfillPaused,
        BackfillResumed,
        BackfillCancelled,
        BackfillCompleted,
        BackfillFailed,
        BackfillRevertStarted,
        BatchReverted,
        BackfillReverted,
    )
    columns: ClassVar[Columns] = {
        "run_id": "text",
        "position": "int",
        "mode": "word",
        "backend": "word",
        "total": "int",
        "started_by": "word",
        "started_at": "time",
        "last_at": "time",
        "state": "word",
        "reason": "text",
        "cursor": "int",
        "processed": "int",
        "changed": "int",
        "skipped": "int",
        "errors": "int",
        "reverted": "int",
        "kept": "int",
        "active_seconds": "float",
        "held": "blob",
    }

    def parts(self, fact: Fact) -> Iterable[tuple[str, None]]:
        return [(fact.originator_id, None)]

    def fold(self, held: RunRow | None, at: Positioned, part: None) -> RunRow | None:  # noqa: ARG002 - a run is one row
        fact = at.fact
        if isinstance(fact, BackfillStarted):
            return RunRow(
                run_id=fact.originator_id,
                position=at.position,
                mode=fact.mode,
                backend=fact.backend,
                total=fact.total,
                started_by=fact.actor.kind,
                started_at=fact.recorded_at,
                last_at=fact.recorded_at,
            )
        if held is None or not isinstance(fact, BackfillFact):
            return held
        return replace(held, last_at=fact.recorded_at, **moved(held, fact))


def moved(held: RunRow, fact: BackfillFact) -> dict[str, Any]:
    """What a later fact changes."""
    match fact:
        case BackfillRan() | BackfillResumed():
            return {"state": "running", "reason": ""}
        case BatchTyped():
            return {
                "cursor": fact.cursor,
                "processed": held.processed + fact.processed,
                "changed": held.changed + len(fact.typed),
                "skipped": held.skipped + fact.skipped,
                "errors": held.errors + fact.errors,
                "active_seconds": held.active_seconds + worked(held.last_at, fact.recorded_at),
                "held": with_figure(held.held, fact.lock_held_ms),
            }
        case BackfillPaused():
            return {"state": "paused"}
        case BackfillCancelled():
            return {"state": "cancelled"}
        case BackfillCompleted():
            return {"state": "completed"}
        case BackfillFailed():
            return {"state": "failed", "reason": fact.reason}
        case BackfillRevertStarted():
            return {"state": "reverting"}
        case BatchReverted():
            return {"reverted": held.reverted + len(fact.reverted), "kept": held.kept + len(fact.kept)}
        case BackfillReverted():
            return {"state": "reverted"}
        case _:
            return {}


def worked(since: datetime, until: datetime) -> float:
    """The seconds between two facts of a run that were spent on it."""
    gap = (until - since).total_seconds()
    return gap if gap <= WORKING_GAP else 0.0


def with_figure(packed: bytes, figure: float) -> bytes:
    """The figures and one more (none when the batch had none to tell), bounded."""
    if not figure:
        return packed
    return (packed + _FIGURE.pack(figure))[-HELD_FIGURES * _FIGURE.size :]


def seconds_left(run: RunRow) -> float | None:
    """How long the run will still take at the pace it had while it was worked on; None while nothing tells."""
    if not run.processed or run.active_seconds <= 0:
        return None
    return max(0, run.total - run.processed) * run.active_seconds / run.processed
