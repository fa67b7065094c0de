"""Session: one task of one agent, from activate to commit, and everything it was shown on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .aggregate import Aggregate
from .errors import Conflict, IncompleteFeedback, InvalidInput, NotFound, ScopeMismatch, SessionClosed
from .events import (
    Exposure,
    Fact,
    FeedbackGiven,
    FeedbackWithdrawn,
    MemoryVerdict,
    PageShown,
    Procedure,
    ProcedureReinstated,
    ProcedureVerdict,
    ProcedureWithdrawn,
    RetrievalRecorded,
    SessionExpired,
    TaskActivated,
    TaskCommitted,
    Verification,
)
from .verdicts import Rejection, Retrieval, memory_rejection, procedure_rejection
from .vocabulary import Coverage, Kind, Outcome, Verb

REOPEN = "call slowave_activate to open a new session"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a retrieval is about to show, as the read side found it; the log keeps exactly this."""

    verb: Verb
    cue: str
    page_size: int
    as_of: datetime
    read_position: int
    policy: str
    kind: Kind | None = None
    standing: tuple[str, ...] = ()
    memories: tuple[Exposure, ...] = ()
    procedures: tuple[Exposure, ...] = ()
    candidates: tuple[str, ...] = ()
    hidden_by_kind: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """How a task ended, in the words of the agent that did it."""

    final_goal: str
    outcome: Outcome
    outcome_summary: str
    verification: Verification
    procedure: Procedure | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a further page begins: after `offset` of the frozen candidates of one retrieval."""

    retrieval_id: str
    offset: int

    def token(self) -> str:
        return f"cur_{self.retrieval_id}.{self.offset}"

    @classmethod
    def parse(cls, token: str) -> Cursor:
        """The cursor a token names; InvalidInput when it is none of ours."""
        retrieval_id, dot, offset = token.removeprefix("cur_").rpartition(".")
        if not (token.startswith("cur_") and dot and offset.isascii() and offset.isdecimal()):
            raise InvalidInput.at(
                "continue_from", "is not a cursor of this store", "send continue_from as an earlier answer gave it"
            )
        return cls(retrieval_id, int(offset))


@dataclass(slots=True)
class Verdicts:
    """What became of one feedback call inside the session, before memories are touched."""

    memories: list[MemoryVerdict] = field(default_factory=list[MemoryVerdict])
    procedures: list[ProcedureVerdict] = field(default_factory=list[ProcedureVerdict])
    rejected: list[Rejection] = field(default_factory=list[Rejection])


class Session(Aggregate):
    """One task session. Open until it commits or expires; an expired one may still be committed once."""

    PREFIX = "sess"

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.scope = ""
        self.continuity_id = ""
        self.state: Literal["", "open", "expired", "committed"] = ""
        self.retrievals: dict[str, Retrieval] = {}
        self.feedback: dict[int, FeedbackGiven] = {}
        self.withdrawn: dict[int, FeedbackGiven] = {}  # by the version of the withdrawal
        self.ending: Ending | None = None
        self.committed_version = 0
        self.procedure_id = ""

    # -- guards

    def require_open(self, doing: str) -> None:
        """Only an open session may go on; feedback and commit have rules of their own."""
        if self.state != "open":
            raise SessionClosed(f"{self.id} is {self.state}; it cannot {doing}", hint=REOPEN)

    def require_scope(self, scope: str) -> None:
        """The scope must be exactly the session's."""
        if scope != self.scope:
            raise ScopeMismatch(
                f"{self.id} belongs to scope {self.scope!r}, not {scope!r}",
                hint=f"send scope {self.scope!r}, or activate a session for {scope!r}",
            )

    def retrieval(self, retrieval_id: str) -> Retrieval:
        found = self.retrievals.get(retrieval_id)
        if found is None:
            raise NotFound(
                f"{retrieval_id} is not a retrieval of {self.id}",
                hint="send the retrieval_id that activate or recall answered",
            )
        return found

    # -- commands

    def activate(self, task: str, initial_goal: str, scope: str, continuity_id: str, *, continued: bool) -> None:
        """Open the task."""
        self.happened(
            TaskActivated,
            task=task,
            initial_goal=initial_goal,
            scope=scope,
            continuity_id=continuity_id,
            continued=continued,
        )

    def expose(self, retrieval_id: str, shown: Shown) -> None:
        """Record what a search showed."""
        self.require_open("recall")
        self.happened(
            RetrievalRecorded,
            retrieval_id=retrieval_id,
            **{name: getattr(shown, name) for name in Shown.__dataclass_fields__},
        )

    def show_page(self, retrieval_id: str, cursor: Cursor, next_offset: int, memories: tuple[Exposure, ...]) -> None:
        """Record a further page of an earlier retrieval."""
        self.require_open("recall")
        self.source_of(cursor)
        self.happened(
            PageShown,
            retrieval_id=retrieval_id,
            continues=cursor.retrieval_id,
            offset=cursor.offset,
            next_offset=next_offset,
            memories=memories,
        )

    def source_of(self, cursor: Cursor) -> Retrieval:
        """The retrieval whose frozen candidates the cursor goes through."""
        held = self.retrievals.get(cursor.retrieval_id)
        if held is None or cursor.offset > len(held.candidates):
            raise InvalidInput.at(
                "continue_from",
                f"is not a cursor of {self.id}",
                "a cursor lives as long as the session that got it; recall again with a query",
            )
        return held

    def judge(
        self,
        retrieval_id: str,
        memories: Sequence[MemoryVerdict],
        procedures: Sequence[ProcedureVerdict],
        coverage: Coverage,
        further: Callable[[MemoryVerdict], Rejection | None],
    ) -> Verdicts:
        """Take each verdict that is complete and about something this retrieval exposed; say why the others are not.

        `further` holds a verdict to what other streams know (a replacement that is not live).
        """
        exposed = self.retrieval(retrieval_id)
        verdicts = Verdicts()
        for verdict in memories:
            rejection = memory_rejection(verdict, exposed) or further(verdict)
            if rejection:
                verdicts.rejected.append(rejection)
            else:
                verdicts.memories.append(verdict)
        for use in procedures:
            rejection = procedure_rejection(use, exposed)
            if rejection:
                verdicts.rejected.append(rejection)
            else:
                verdicts.procedures.append(use)
        if verdicts.memories or verdicts.procedures:
            self.happened(
                FeedbackGiven,
                retrieval_id=retrieval_id,
                memories=tuple(verdicts.memories),
                procedures=tuple(verdicts.procedures),
                coverage=coverage,
            )
        return verdicts

    def commit(self, ending: Ending) -> bool:
        """Close the task; True when this very commit was made before, and nothing new happened."""
        if self.ending is not None:
            if self.ending == ending:
                return True
            raise SessionClosed(
                f"{self.id} is committed already, with another outcome; what was committed stays",
                hint=REOPEN,
            )
        outstanding = self.outstanding()
        if outstanding:
            raise IncompleteFeedback(outstanding)
        self.happened(
            TaskCommitted,
            scope=self.scope,
            final_goal=ending.final_goal,
            outcome=ending.outcome,
            outcome_summary=ending.outcome_summary,
            verification=ending.verification,
            procedure_id=f"proc_{self.id}" if ending.procedure else "",
            procedure=ending.procedure,
        )
        return False

    def expire(self, idle_since: datetime) -> None:
        """Close a session that nobody named for long."""
        if self.state != "open":
            raise Conflict(f"{self.id} is {self.state}", hint="only an open session can expire")
        self.happened(SessionExpired, scope=self.scope, idle_since=idle_since)

    # -- what is open still

    def assessed(self, retrieval_id: str = "") -> set[str]:
        """Ids that were assessed, in one retrieval or (empty) in any."""
        given = self.feedback.values()
        return {
            target
            for f in given
            if retrieval_id in ("", f.retrieval_id)
            for target in (*(v.memory_id for v in f.memories), *(v.procedure_id for v in f.procedures))
        }

    def outstanding(self, retrieval_id: str = "") -> list[dict[str, Any]]:
        """Exposed targets without an assessment anywhere in the session, per retrieval that exposed them."""
        done = self.assessed()
        found: list[dict[str, Any]] = []
        for held in self.retrievals.values():
            if retrieval_id not in ("", held.retrieval_id):
                continue
            memory_ids = [i for i in held.memory_ids if i not in done]
            procedure_ids = [i for i in held.procedure_ids if i not in done]
            if memory_ids or procedure_ids:
                found.append(
                    {
                        "retrieval_id": held.retrieval_id,
                        "memory_ids": memory_ids,
                        "procedure_ids": procedure_ids,
                    }
                )
        return found

    # -- facts

    def when(self, fact: Fact) -> None:
        match fact:
            case TaskActivated():
                self.scope, self.continuity_id, self.state = fact.scope, fact.continuity_id, "open"
            case RetrievalRecorded():
                self.retrievals[fact.retrieval_id] = Retrieval(
                    retrieval_id=fact.retrieval_id,
                    memory_ids=tuple(e.target_id for e in fact.memories),
                    procedure_ids=tuple(e.target_id for e in fact.procedures),
                    standing=fact.standing,
                    candidates=fact.candidates,
                    page_size=fact.page_size,
                    kind=fact.kind,
                )
            case PageShown():
                self.retrievals[fact.retrieval_id] = Retrieval(
                    retrieval_id=fact.retrieval_id,
                    memory_ids=tuple(e.target_id for e in fact.memories),
                    continues=fact.continues,
                )
            case FeedbackGiven():
                self.feedback[fact.originator_version] = fact
            case FeedbackWithdrawn():
                self._withdraw(fact)
            case TaskCommitted():
                self.state, self.committed_version = "committed", fact.originator_version
                self.procedure_id = fact.procedure_id
                self.ending = Ending(
                    fact.final_goal, fact.outcome, fact.outcome_summary, fact.verification, fact.procedure
                )
            case ProcedureWithdrawn():
                self.procedure_id = ""
            case ProcedureReinstated():
                self.procedure_id = fact.procedure_id
            case SessionExpired():
                self.state = "expired"
            case _:
                pass

    def _withdraw(self, fact: FeedbackWithdrawn) -> None:
        """Taking back a feedback leaves it out; taking back such a withdrawal lets it count again."""
        again = self.withdrawn.pop(fact.compensates.version, None)
        if again is not None:
            self.feedback[again.originator_version] = again
            return
        given = self.feedback.pop(fact.compensates.version, None)
        if given is not None:
            self.withdrawn[fact.originator_version] = given
