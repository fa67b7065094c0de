"""Every fact slw records, one class each: what happened, in the words of the memory field."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, JsonValue

from .vocabulary import (
    ActorKind,
    Assessment,
    BackfillMode,
    Coverage,
    Effect,
    Kind,
    KindSource,
    MemoryType,
    Outcome,
    Pathway,
    ProcedureUse,
    Stage,
    StaleReason,
    Verb,
    VerificationStatus,
)


class Value(BaseModel):
    """A part of a fact: immutable, and closed to unknown members."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Actor(Value):
    """Who did it: an MCP client by its own name and version, a person at a terminal, or slw itself."""

    kind: ActorKind
    name: str = ""
    version: str = ""


class Fact(Value):
    """What all facts carry. The stream is `originator_id`, the place in it `originator_version` (from 1)."""

    TOPIC: ClassVar[str]
    class_version: ClassVar[int] = 1

    originator_id: str
    originator_version: int
    recorded_at: datetime
    actor: Actor
    request_id: str = ""


class Compensated(Value):
    """The one event that a compensating event takes back."""

    stream: str
    version: int


# ---------------------------------------------------------------- session (sess_...)


class Exposure(Value):
    """One target as it was shown: its rank (from 1) on the page, how it was reached and the parts of its score."""

    target_id: str
    rank: int
    pathway: Pathway = "direct"
    score: float = 0.0
    parts: dict[str, float] = {}


class MemoryVerdict(Value):
    """What the agent said of one memory."""

    memory_id: str
    assessment: Assessment
    stale_reason: StaleReason | None = None
    reason: str = ""
    replacement_memory_id: str = ""


class ProcedureVerdict(Value):
    """What the agent said of one procedure."""

    procedure_id: str
    use: ProcedureUse
    effect: Effect | None = None
    contribution: str = ""


class Verification(Value):
    """How far the outcome was checked."""

    status: VerificationStatus
    summary: str
    evidence_refs: tuple[str, ...] = ()


class Procedure(Value):
    """A reusable method, as the agent that carried it out wrote it down."""

    summary: str
    steps: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    context: dict[str, JsonValue] = {}


class SessionFact(Fact):
    """Something that happened in one task session."""


class TaskActivated(SessionFact):
    """An agent opened a task."""

    TOPIC = "session.activated"
    task: str
    initial_goal: str
    scope: str
    continuity_id: str
    continued: bool = False


class RetrievalRecorded(SessionFact):
    """A search was answered. Holds exactly what was asked and shown, and the frozen rest that further pages show."""

    TOPIC = "session.retrieval"
    retrieval_id: str
    verb: Verb
    cue: str
    kind: Kind | None = None
    page_size: int
    as_of: datetime
    read_position: int
    policy: str
    standing: tuple[str, ...] = ()
    memories: tuple[Exposure, ...] = ()
    procedures: tuple[Exposure, ...] = ()
    candidates: tuple[str, ...] = ()
    hidden_by_kind: int = 0
    warnings: tuple[str, ...] = ()


class PageShown(SessionFact):
    """A further page of an earlier retrieval was shown, under a retrieval id of its own."""

    TOPIC = "session.page"
    retrieval_id: str
    continues: str
    offset: int
    next_offset: int
    memories: tuple[Exposure, ...] = ()


class FeedbackGiven(SessionFact):
    """The agent said what helped. The last verdict on a target counts; earlier ones stay."""

    TOPIC = "session.feedback"
    retrieval_id: str
    memories: tuple[MemoryVerdict, ...] = ()
    procedures: tuple[ProcedureVerdict, ...] = ()
    coverage: Coverage = "partial"


class FeedbackWithdrawn(SessionFact):
    """An undo took one feedback back; `targets` are the memories and procedures that it had judged.

    Where `compensates` is such a withdrawal, the feedback counts again.
    """

    TOPIC = "session.feedback_withdrawn"
    compensates: Compensated
    run_id: str
    targets: tuple[str, ...] = ()


class TaskCommitted(SessionFact):
    """The task was closed with its outcome."""

    TOPIC = "session.committed"
    scope: str
    final_goal: str
    outcome: Outcome
    outcome_summary: str
    verification: Verification
    procedure_id: str = ""
    procedure: Procedure | None = None


class ProcedureWithdrawn(SessionFact):
    """An undo took the session's procedure back."""

    TOPIC = "session.procedure_withdrawn"
    procedure_id: str
    compensates: Compensated
    run_id: str


class ProcedureReinstated(SessionFact):
    """The withdrawal of the session's procedure was itself undone."""

    TOPIC = "session.procedure_reinstated"
    procedure_id: str
    compensates: Compensated
    run_id: str


class SessionExpired(SessionFact):
    """Nobody named the session for so long that the owner closed it."""

    TOPIC = "session.expired"
    scope: str
    idle_since: datetime


# ---------------------------------------------------------------- memory (mem_...)


class MemoryFact(Fact):
    """Something that happened to one claim: in which session (empty outside of one), by which run, if any."""

    session_id: str = ""
    run_id: str = ""


class ClaimRemembered(MemoryFact):
    """A claim was told, by an agent in a session or by a person (then `session_id` is empty)."""

    TOPIC = "memory.remembered"
    scope: str
    content: str
    type: MemoryType
    kind: Kind | None = None
    occurred_at: datetime | None = None
    replaces: str = ""


class ClaimRestated(MemoryFact):
    """The same words were told again while the claim was live."""

    TOPIC = "memory.restated"
    kind: Kind | None = None


class RestatementWithdrawn(MemoryFact):
    """An undo took one restatement back."""

    TOPIC = "memory.restatement_withdrawn"
    compensates: Compensated


class RestatementReinstated(MemoryFact):
    """The withdrawal of a restatement, which `compensates` names, was itself undone."""

    TOPIC = "memory.restatement_reinstated"
    compensates: Compensated


class ClaimRetired(MemoryFact):
    """The claim no longer holds, or something holds in its place.

    `restores` is not 0 where an undo was undone: then the retirement of that version stands again.
    """

    TOPIC = "memory.retired"
    reason: StaleReason
    explanation: str
    replaced_by: str = ""
    retrieval_id: str = ""
    restores: int = 0


class ClaimReinstated(MemoryFact):
    """A retirement was taken back."""

    TOPIC = "memory.reinstated"
    compensates: Compensated


class ClaimSuppressed(MemoryFact):
    """A person hid the claim from every verb."""

    TOPIC = "memory.suppressed"
    reason: str = ""


class ClaimUnsuppressed(MemoryFact):
    """The claim may be shown again."""

    TOPIC = "memory.unsuppressed"
    reason: str = ""
    compensates: Compensated | None = None


class ClaimPromoted(MemoryFact):
    """A person widened the claim to a stage."""

    TOPIC = "memory.promoted"
    stage: Stage


class ClaimPinned(MemoryFact):
    """A person fixed the claim at a stage, or with None let evidence decide again."""

    TOPIC = "memory.pinned"
    stage: Stage | None = None


class KindSuggested(MemoryFact):
    """Rules or a model guessed a kind."""

    TOPIC = "memory.kind_suggested"
    kind: Kind
    source: KindSource
    confidence: float
    cue: str = ""
    recipe: str = ""


class KindConfirmed(MemoryFact):
    """A person or the saving agent said which kind it is."""

    TOPIC = "memory.kind_confirmed"
    kind: Kind
    source: KindSource


class KindWithdrawn(MemoryFact):
    """One kind fact was taken back by its identity."""

    TOPIC = "memory.kind_withdrawn"
    compensates: Compensated


class KindReinstated(MemoryFact):
    """A withdrawn kind fact, which `compensates` names, counts again; it is told in full."""

    TOPIC = "memory.kind_reinstated"
    compensates: Compensated
    kind: Kind
    source: KindSource
    confidence: float = 1.0
    recipe: str = ""
    typed_by: str = ""


class CorrectionOpened(MemoryFact):
    """Someone holds that another claim stands in this one's place; recorded on the old claim."""

    TOPIC = "memory.correction_opened"
    case_id: str
    replacement_id: str
    reason: StaleReason
    explanation: str = ""
    applied: bool = False


class CorrectionApplied(MemoryFact):
    """A proposed correction was accepted."""

    TOPIC = "memory.correction_applied"
    case_id: str


class CorrectionRejected(MemoryFact):
    """A proposed correction was turned down."""

    TOPIC = "memory.correction_rejected"
    case_id: str


class CorrectionRolledBack(MemoryFact):
    """An applied correction was taken back."""

    TOPIC = "memory.correction_rolled_back"
    case_id: str


class CorrectionReopened(MemoryFact):
    """An undo took a decision on the case back: it is proposed again, or applied again."""

    TOPIC = "memory.correction_reopened"
    case_id: str
    applied: bool = False


class ContentErased(MemoryFact):
    """The words were blanked in the log itself, as a person asked; what happened stays, what was said is gone."""

    TOPIC = "memory.erased"
    positions: tuple[int, ...] = ()


# ---------------------------------------------------------------- backfill run (run_...)


class BackfillFact(Fact):
    """Something that happened to one run that types memories."""


class BackfillStarted(BackfillFact):
    """A person asked for memories to be typed; the run is queued."""

    TOPIC = "backfill.started"
    mode: BackfillMode
    backend: str
    total: int


class BackfillRan(BackfillFact):
    """The owner took the queued run up."""

    TOPIC = "backfill.running"


class BatchTyped(BackfillFact):
    """One batch was judged, up to and including the memory at `cursor` (a log position)."""

    TOPIC = "backfill.batch"
    cursor: int
    processed: int
    skipped: int = 0
    errors: int = 0
    typed: tuple[str, ...] = ()
    lock_held_ms: float = 0.0


class BackfillPaused(BackfillFact):
    """The run rests."""

    TOPIC = "backfill.paused"


class BackfillResumed(BackfillFact):
    """The run goes on, from paused or failed."""

    TOPIC = "backfill.resumed"


class BackfillCancelled(BackfillFact):
    """The run stops for good; what it typed stays."""

    TOPIC = "backfill.cancelled"


class BackfillCompleted(BackfillFact):
    """Nothing was left to type."""

    TOPIC = "backfill.completed"


class BackfillFailed(BackfillFact):
    """Too many errors in a row."""

    TOPIC = "backfill.failed"
    reason: str


class BackfillRevertStarted(BackfillFact):
    """A person asked for the run to be taken back."""

    TOPIC = "backfill.revert_started"


class BatchReverted(BackfillFact):
    """The kind facts of some memories were withdrawn; `kept` are those whose shown kind something else decides."""

    TOPIC = "backfill.batch_reverted"
    reverted: tuple[str, ...]
    kept: tuple[str, ...] = ()


class BackfillReverted(BackfillFact):
    """Every kind fact of the run is withdrawn."""

    TOPIC = "backfill.reverted"


# ---------------------------------------------------------------- store (store)


class StoreFact(Fact):
    """Something that concerns the store as a whole."""


class SettingsChanged(StoreFact):
    """A setting is other than it was."""

    TOPIC = "store.settings_changed"
    settings: dict[str, JsonValue]


class SpaceChosen(StoreFact):
    """The store's vectors belong to this space from here on."""

    TOPIC = "store.space_chosen"
    space: str
    model: str


class UndoStarted(StoreFact):
    """A person asked to take back what a session, a run or a client did."""

    TOPIC = "store.undo_started"
    run_id: str
    selector: dict[str, str]


class UndoCompleted(StoreFact):
    """The undo took back what could be taken back; `kept` names what later facts build on."""

    TOPIC = "store.undo_completed"
    run_id: str
    compensated: int
    kept: tuple[str, ...] = ()


def all_facts() -> dict[str, type[Fact]]:
    """Every concrete fact by its topic."""
    found: dict[str, type[Fact]] = {}
    waiting: list[type[Any]] = [Fact]
    while waiting:
        cls = waiting.pop()
        waiting.extend(cls.__subclasses__())
        if "TOPIC" in cls.__dict__:
            found[cls.TOPIC] = cls
    return dict(sorted(found.items()))
