"""What each call on the write side comes to: plain values, once the facts stand in the log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from .kinds import KindFact
from .verdicts import Rejection
from .vocabulary import CorrectionState, Coverage, Kind, MemoryType, Outcome


@dataclass(frozen=True, slots=True)
class Activated:
    """A task was opened."""

    session_id: str
    retrieval_id: str
    continuity_id: str
    continued: bool
    position: int


@dataclass(frozen=True, slots=True)
class Exposed:
    """What was shown stands in the log."""

    session_id: str
    retrieval_id: str
    position: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """One claim stands in the log, as a new memory or as a restatement of one."""

    memory_id: str
    disposition: Literal["created", "matched"]
    type: MemoryType
    kind: KindFact | None
    recorded_at: datetime
    occurred_at: datetime | None
    position: int
    replaced: str = ""
    case_id: str = ""  # the correction case about what it replaced
    kind_conflict: tuple[Kind, Kind] | None = None  # (kept, requested)
    suppressed: bool = False


@dataclass(frozen=True, slots=True)
class FeedbackTaken:
    """Which verdicts were taken, what each changed, and what this retrieval still waits for."""

    session_id: str
    retrieval_id: str
    accepted: tuple[str, ...]
    rejected: tuple[Rejection, ...]
    coverage: Coverage
    outstanding_memories: tuple[str, ...]
    outstanding_procedures: tuple[str, ...]
    applied: tuple[tuple[str, str], ...]
    position: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The task is closed."""

    session_id: str
    outcome: Outcome
    procedure_id: str
    position: int


@dataclass(frozen=True, slots=True)
class Changed:
    """One memory is in another state."""

    memory_id: str
    position: int


@dataclass(frozen=True, slots=True)
class KindChanged:
    """What became of one request to say a memory's kind."""

    memory_id: str
    type: MemoryType
    kind: KindFact | None
    changed: bool
    position: int


@dataclass(frozen=True, slots=True)
class CorrectionMoved:
    """A correction case is in another state."""

    case_id: str
    memory_id: str
    replacement_id: str
    state: CorrectionState
    version: int
    position: int
