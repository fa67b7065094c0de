"""What the five verbs take, field by field."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    model_validator,
)

from ..domain.vocabulary import (
    DEFAULT_PAGE,
    MAX_BATCH,
    MAX_CAVEATS,
    MAX_STEPS,
    Assessment,
    Coverage,
    Effect,
    MemoryType,
    Outcome,
    ProcedureUse,
    StaleReason,
    VerificationStatus,
)
from .fields import (
    Command,
    Content,
    Goal,
    Id,
    KindWord,
    Moment,
    PageSize,
    Query,
    Reason,
    Scope,
    absent,
    bounded_context,
    refuse_null,
    wrong,
)

MAX_REFERENCES = 64
MAX_VERDICTS = 200


class Activate(Command):
    """Open a task."""

    task: Goal
    initial_goal: Goal
    scope: Scope
    continuity_id: Annotated[Id | None, absent] = None
    page_size: PageSize = DEFAULT_PAGE


class ClaimTold(Command):
    """One claim of a remember, alone or as an entry of its batch."""

    content: Content
    type: Annotated[MemoryType | None, absent] = None
    kind: KindWord = None
    occurred_at: Moment = None
    replaces: Annotated[Id | None, absent] = None


class Remember(Command):
    """A claim, or a batch whose entries are checked each for itself."""

    session_id: Annotated[Id | None, absent] = None
    scope: Scope
    content: Annotated[Content | None, absent] = None
    type: Annotated[MemoryType | None, absent] = None
    kind: KindWord = None
    occurred_at: Moment = None
    replaces: Annotated[Id | None, absent] = None
    memories: Annotated[list[Any], Field(min_length=1, max_length=MAX_BATCH)] | None = None

    @model_validator(mode="before")
    @classmethod
    def no_null(cls, data: Any) -> Any:
        return refuse_null(data, "memories")

    @model_validator(mode="after")
    def one_or_many(self) -> Remember:
        single = self.model_fields_set & {"content", "type", "kind", "occurred_at", "replaces"}
        if self.memories is None and self.content is None:
            raise wrong("is required, or memories in its place", "content")
        if self.memories is not None and single:
            raise wrong(f"stands alone: put {', '.join(sorted(single))} into its entries", "memories")
        return self


class Recall(Command):
    """A question, or the next page of one."""

    session_id: Annotated[Id | None, absent] = None
    scope: Scope
    query: Annotated[Query | None, absent] = None
    continue_from: Annotated[Id | None, absent] = None
    kind: KindWord = None
    evidence: Annotated[Literal["references", "full"] | None, absent] = None
    page_size: PageSize = DEFAULT_PAGE

    @model_validator(mode="after")
    def question_or_cursor(self) -> Recall:
        if (self.query is None) == (self.continue_from is None):
            raise wrong("is required, or continue_from in its place, and not both", "query")
        if self.continue_from is not None and self.kind is not None:
            raise wrong("is that of the first page: leave it out with continue_from", "kind")
        return self


class MemoryFeedback(Command):
    """A verdict on one memory; what goes with what is the domain's to judge."""

    memory_id: Id
    assessment: Assessment
    stale_reason: Annotated[StaleReason | None, absent] = None
    reason: Annotated[Reason | None, absent] = None
    replacement_memory_id: Annotated[Id | None, absent] = None


class ProcedureFeedback(Command):
    """A verdict on one procedure."""

    procedure_id: Id
    use: ProcedureUse
    effect: Annotated[Effect | None, absent] = None
    contribution: Annotated[Reason | None, absent] = None


def sort_of_item(item: Any) -> str:
    """What has a procedure_id is about a procedure."""
    named = item if isinstance(item, dict) else {}
    return "<procedure>" if "procedure_id" in named or isinstance(item, ProcedureFeedback) else "<memory>"


Item = Annotated[
    Annotated[MemoryFeedback, Tag("<memory>")] | Annotated[ProcedureFeedback, Tag("<procedure>")],
    Discriminator(sort_of_item),
]


class Feedback(Command):
    """Verdicts on what one retrieval showed: in two lists, or in one of both sorts."""

    retrieval_id: Id
    memory_feedback: Annotated[list[MemoryFeedback], Field(max_length=MAX_VERDICTS)] = []
    procedure_feedback: Annotated[list[ProcedureFeedback], Field(max_length=MAX_VERDICTS)] = []
    items: Annotated[list[Item], Field(max_length=MAX_VERDICTS)] = []
    coverage: Coverage = "partial"

    @model_validator(mode="after")
    def one_list_or_two(self) -> Feedback:
        if self.items and (self.memory_feedback or self.procedure_feedback):
            raise wrong("stands alone, or memory_feedback and procedure_feedback in its place", "items")
        return self

    @property
    def on_memories(self) -> list[MemoryFeedback]:
        return self.memory_feedback or [item for item in self.items if isinstance(item, MemoryFeedback)]

    @property
    def on_procedures(self) -> list[ProcedureFeedback]:
        return self.procedure_feedback or [item for item in self.items if isinstance(item, ProcedureFeedback)]


class Step(Command):
    """One step of a procedure."""

    summary: Reason


class ProcedureTold(Command):
    """A reusable method, in the shape of version 2."""

    version: Literal[2] = 2
    summary: Reason
    context: Annotated[dict[str, JsonValue], AfterValidator(bounded_context)] = {}
    steps: Annotated[list[Step], Field(min_length=1, max_length=MAX_STEPS)]
    caveats: Annotated[list[Reason], Field(max_length=MAX_CAVEATS)] = []


class VerificationTold(Command):
    """How far the outcome was checked."""

    status: VerificationStatus
    summary: Reason
    evidence_refs: Annotated[list[Reason], Field(max_length=MAX_REFERENCES)] = []


class Commit(Command):
    """Close a task."""

    session_id: Id
    final_goal: Goal
    outcome: Outcome
    outcome_summary: Reason
    verification: VerificationTold
    procedure: ProcedureTold | None = None

    @model_validator(mode="before")
    @classmethod
    def no_null(cls, data: Any) -> Any:
        return refuse_null(data, "procedure")
