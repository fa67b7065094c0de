"""BackfillRun: one run over memories that have no kind yet, which can be paused, resumed, cancelled and taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from .aggregate import Aggregate
from .errors import Conflict
from .events import (
    BackfillCancelled,
    BackfillCompleted,
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
from .vocabulary import BackfillMode, BackfillState

RunAction = Literal["pause", "resume", "cancel", "revert"]

# From which states a person may do what; everything else is a conflict that names the state.
ALLOWED: Final[dict[RunAction, tuple[BackfillState, ...]]] = {
    "pause": ("queued", "running"),
    "resume": ("paused", "failed"),
    "cancel": ("queued", "running", "paused"),
    "revert": ("completed", "cancelled", "paused", "failed"),
}
# A run in one of these is the store's one active run.
ACTIVE: Final = ("queued", "running", "paused", "reverting")


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """One batch: judged up to the log position `cursor`; how many memories, and how many errors on the way.

    `lock_held_ms` is how long the batch before this one held the log, for a batch cannot know that of itself.
    """

    cursor: int
    processed: int
    errors: int = 0
    lock_held_ms: float = 0.0


class BackfillRun(Aggregate):
    """One run. `typed` are the memories it gave a kind, in order; `cursor` the log position it has judged up to."""

    PREFIX = "run"

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.state: BackfillState = "queued"
        self.mode: BackfillMode = "untyped"
        self.backend = ""
        self.total = 0
        self.cursor = 0
        self.processed = 0
        self.skipped = 0
        self.errors = 0
        self.typed: dict[str, None] = {}
        self.reverted = 0  # how many of `typed`, from the first on, lost the run's facts again
        self.kept: dict[str, None] = {}
        self.reason = ""

    def start(self, mode: BackfillMode, backend: str, total: int) -> None:
        """Queue the run."""
        self.happened(BackfillStarted, mode=mode, backend=backend, total=total)

    def take_up(self) -> None:
        """The owner begins with a queued run."""
        self._require("take up", "queued")
        self.happened(BackfillRan)

    def batch_typed(self, batch: BatchCounts, typed: tuple[str, ...]) -> None:
        """One batch is judged."""
        self._require("type", "running")
        self.happened(
            BatchTyped,
            cursor=batch.cursor,
            processed=batch.processed,
            skipped=batch.processed - len(typed),
            errors=batch.errors,
            typed=typed,
            lock_held_ms=batch.lock_held_ms,
        )

    def act(self, action: RunAction) -> None:
        """What a person asks of a run; Conflict with the state when it cannot be."""
        self._require(action, *ALLOWED[action])
        self.happened(
            {
                "pause": BackfillPaused,
                "resume": BackfillResumed,
                "cancel": BackfillCancelled,
                "revert": BackfillRevertStarted,
            }[action]
        )

    def complete(self) -> None:
        """Nothing is left to judge."""
        self._require("complete", "running")
        self.happened(BackfillCompleted)

    def fail(self, reason: str) -> None:
        """Too many errors in a row; a person may resume."""
        self._require("fail", "running")
        self.happened(BackfillFailed, reason=reason)

    def batch_reverted(self, reverted: tuple[str, ...], kept: tuple[str, ...]) -> None:
        """Some memories lost the run's kind facts."""
        self._require("revert", "reverting")
        self.happened(BatchReverted, reverted=reverted, kept=kept)

    def revert_done(self) -> None:
        """Every kind fact of the run is withdrawn."""
        self._require("finish reverting", "reverting")
        self.happened(BackfillReverted)

    def _require(self, doing: str, *states: BackfillState) -> None:
        if self.version and self.state not in states:
            raise Conflict(
                f"{self.id} is {self.state}; it cannot {doing}",
                hint=f"that needs a run which is {' or '.join(states)}; slw kinds backfill status shows the runs",
            )

    def when(self, fact: Fact) -> None:
        match fact:
            case BackfillStarted():
                self.mode, self.backend, self.total, self.state = fact.mode, fact.backend, fact.total, "queued"
            case BackfillRan() | BackfillResumed():
                self.state, self.reason = "running", ""
            case BatchTyped():
                self.cursor = fact.cursor
                self.processed += fact.processed
                self.skipped += fact.skipped
                self.errors += fact.errors
                self.typed.update(dict.fromkeys(fact.typed))
            case BackfillPaused():
                self.state = "paused"
            case BackfillCancelled():
                self.state = "cancelled"
            case BackfillCompleted():
                self.state = "completed"
            case BackfillFailed():
                self.state, self.reason = "failed", fact.reason
            case BackfillRevertStarted():
                self.state = "reverting"
            case BatchReverted():
                self.reverted += len(fact.reverted)
                self.kept.update(dict.fromkeys(fact.kept))
            case BackfillReverted():
                self.state = "reverted"
            case _:
                pass
