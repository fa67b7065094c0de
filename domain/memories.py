"""Memories: the write side. One method per thing a caller may ask; each is one transaction on the log, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Generic, Literal, Protocol, TypeVar, cast

from eventsourcing.application import Application
from eventsourcing.persistence import IntegrityError

from .aggregate import Aggregate, UnitOfWork
from .errors import Conflict, InvalidInput, NotFound, ScopeMismatch, SlwError
from .events import Actor, Exposure, Fact, MemoryVerdict, ProcedureVerdict
from .identity import claim_key, new_id
from .keys import KeyChange, KeyKind, key_changes
from .kinds import KindFact, declared_kind
from .memory import Claim, Memory
from .session import Cursor, Ending, Rejection, Session, Shown
from .vocabulary import Coverage, Kind, MemoryType, Outcome

R = TypeVar("R")
A = TypeVar("A", bound=Aggregate)

# A key or a version that another writer took in between: look again and decide anew, this often.
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, and under which request id; the same id with the same arguments happens once."""

    actor: Actor
    request_id: str = ""
    arguments_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer that a request got, kept a day so that the same request does not happen twice."""

    request_id: str
    arguments_sha256: str
    answer: str
    at: datetime


class Ledger(Protocol):
    """What the write side asks of the log beyond streams."""

    def lookup(self, kind: KeyKind, key: str) -> str | None:
        """The stream that holds the key."""
        ...

    def receipt(self, request_id: str) -> Receipt | None: ...

    def position_of(self, stream: str, version: int) -> int: ...

    def last_recorded_at(self) -> datetime | None: ...


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


Positions = Callable[[str, int], int]


@dataclass(slots=True)
class Work(UnitOfWork):
    """A unit of work that knows the aggregates it touched, so that one call sees its own changes."""

    touched: dict[str, Aggregate] = field(default_factory=dict[str, Aggregate])


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    """What a call comes to, once the positions of its facts are known."""

    result: Callable[[Positions], R]


class Memories(Application[str]):
    """The write side over one log.

    `env` names the log (PERSISTENCE_MODULE and its settings); `clock` tells the time in UTC;
    `ids(prefix, at)` makes ids.
    """

    name = "slw"

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        clock: Callable[[], datetime],
        ids: Callable[[str, datetime], str] = new_id,
    ) -> None:
        super().__init__(dict(env))
        self._clock = clock
        self._ids = ids
        self.ledger = cast("Ledger", self.recorder)
        self._last_at = self.ledger.last_recorded_at()

    # -- looking

    def position(self) -> int:
        """The position of the last fact in the log; 0 when it is empty."""
        return self.recorder.max_notification_id() or 0

    def session(self, session_id: str) -> Session:
        """The session; NotFound when the id was never issued."""
        return self._load(Session, session_id, "session", "send the session_id that slowave_activate answered")

    def memory(self, memory_id: str) -> Memory:
        """The memory; NotFound when the id was never issued."""
        return self._load(Memory, memory_id, "memory", "send a memory_id as an answer of slw gave it")

    def session_of(self, retrieval_id: str) -> Session:
        """The session that a retrieval belongs to."""
        stream = self.ledger.lookup("retrieval", retrieval_id)
        if stream is None:
            raise NotFound(
                f"{retrieval_id} was never issued",
                hint="send the retrieval_id that slowave_activate or slowave_recall answered",
            )
        return self.session(stream)

    def answered(self, call: Call) -> str | None:
        """The answer that this very request got before; Conflict when its arguments were others then."""
        if not call.request_id:
            return None
        receipt = self.ledger.receipt(call.request_id)
        if receipt is None:
            return None
        if receipt.arguments_sha256 != call.arguments_sha256:
            raise Conflict(
                f"request {call.request_id} was answered before, with other arguments",
                hint="use a fresh request id for another call",
            )
        return receipt.answer

    # -- the five verbs

    def activate(
        self,
        *,
        task: str,
        initial_goal: str,
        scope: str,
        continuity_id: str,
        shown: Shown,
        call: Call,
        phrase: Callable[[Activated], str] | None = None,
    ) -> Activated:
        """Open a task and record what it was shown, in one transaction."""

        def decide(work: Work) -> Decision[Activated]:
            if continuity_id:
                self.require_continuity(continuity_id, scope)
            session = Session(self._ids(Session.PREFIX, work.at))
            session.work = work
            token = continuity_id or self._ids("cont", work.at)
            retrieval_id = self._ids("ret", work.at)
            session.activate(task, initial_goal, scope, token, continued=bool(continuity_id))
            session.expose(retrieval_id, shown)
            return Decision(
                lambda at: Activated(
                    session.id, retrieval_id, token, bool(continuity_id), at(session.id, session.version)
                )
            )

        return self._carry_out(call, phrase, decide)

    def remember(
        self,
        *,
        session_id: str,
        scope: str,
        claims: Sequence[Claim],
        call: Call,
        phrase: Callable[[list[Remembered | SlwError]], str] | None = None,
    ) -> list[Remembered | SlwError]:
        """Tell claims, each for itself: the list holds what became of every one, in their order.

        Without a session (an empty id) the claims are a person's.
        """

        def decide(work: Work) -> Decision[list[Remembered | SlwError]]:
            if session_id:
                session = self.session(session_id)
                session.require_scope(scope)
                session.require_open("remember")
            told = [self._tell(claim, scope, session_id, work) for claim in claims]
            return Decision(lambda at: [t if isinstance(t, SlwError) else t(at) for t in told])

        return self._carry_out(call, phrase, decide)

    def expose(
        self,
        *,
        session_id: str,
        shown: Shown,
        call: Call,
        phrase: Callable[[Exposed], str] | None = None,
    ) -> Exposed:
        """Record what a recall showed."""

        def decide(work: Work) -> Decision[Exposed]:
            session = self._enlist(self.session(session_id), work)
            retrieval_id = self._ids("ret", work.at)
            session.expose(retrieval_id, shown)
            return Decision(lambda at: Exposed(session.id, retrieval_id, at(session.id, session.version)))

        return self._carry_out(call, phrase, decide)

    def show_page(
        self,
        *,
        session_id: str,
        cursor: Cursor,
        next_offset: int,
        memories: tuple[Exposure, ...],
        call: Call,
        phrase: Callable[[Exposed], str] | None = None,
    ) -> Exposed:
        """Record a further page of an earlier retrieval."""

        def decide(work: Work) -> Decision[Exposed]:
            session = self._enlist(self.session(session_id), work)
            retrieval_id = self._ids("ret", work.at)
            session.show_page(retrieval_id, cursor, next_offset, memories)
            return Decision(lambda at: Exposed(session.id, retrieval_id, at(session.id, session.version)))

        return self._carry_out(call, phrase, decide)

    def feedback(
        self,
        *,
        retrieval_id: str,
        memories: Sequence[MemoryVerdict],
        procedures: Sequence[ProcedureVerdict],
        coverage: Coverage,
        call: Call,
        phrase: Callable[[FeedbackTaken], str] | None = None,
    ) -> FeedbackTaken:
        """Take verdicts on what one retrieval showed; what a verdict implies happens in the same transaction."""

        def decide(work: Work) -> Decision[FeedbackTaken]:
            session = self._enlist(self.session_of(retrieval_id), work)
            refused = [r for v in memories if (r := self._replacement_rejection(v, session.scope))]
            verdicts = session.judge(retrieval_id, memories, procedures, coverage, refused)
            applied = [
                *((v.memory_id, self._apply_verdict(v, session, retrieval_id, work)) for v in verdicts.memories),
                *((v.procedure_id, v.effect or "noted") for v in verdicts.procedures),
            ]
            waiting = session.outstanding(retrieval_id)
            last = work.facts[-1] if work.facts else None
            return Decision(
                lambda at: FeedbackTaken(
                    session_id=session.id,
                    retrieval_id=retrieval_id,
                    accepted=tuple(dict.fromkeys(target for target, _ in applied)),
                    rejected=tuple(verdicts.rejected),
                    coverage="partial" if waiting else "complete",
                    outstanding_memories=tuple(waiting[0]["memory_ids"]) if waiting else (),
                    outstanding_procedures=tuple(waiting[0]["procedure_ids"]) if waiting else (),
                    applied=tuple(applied),
                    position=at(last.originator_id, last.originator_version) if last else self.position(),
                )
            )

        return self._carry_out(call, phrase, decide)

    def commit(
        self,
        *,
        session_id: str,
        ending: Ending,
        call: Call,
        phrase: Callable[[Committed], str] | None = None,
    ) -> Committed:
        """Close a task. The same commit again gives the same answer; another one is refused."""

        def decide(work: Work) -> Decision[Committed]:
            session = self._enlist(self.session(session_id), work)
            session.commit(ending)
            return Decision(
                lambda at: Committed(
                    session.id, ending.outcome, session.procedure_id, at(session.id, session.committed_version)
                )
            )

        return self._carry_out(call, phrase, decide)

    # -- people

    def suppress(
        self, memory_id: str, reason: str, call: Call, phrase: Callable[[Changed], str] | None = None
    ) -> Changed:
        """Hide a memory from every verb."""
        return self._change(memory_id, lambda memory: memory.suppress(reason), call, phrase)

    def unsuppress(
        self, memory_id: str, reason: str, call: Call, phrase: Callable[[Changed], str] | None = None
    ) -> Changed:
        """Show a memory again."""
        return self._change(memory_id, lambda memory: memory.unsuppress(reason), call, phrase)

    # -- policies

    def expire_idle(self, idle: Iterable[tuple[str, datetime]], lifetime: timedelta, call: Call) -> list[str]:
        """Expire the sessions of `idle` (id, last named at) that nobody named for `lifetime`; returns their ids."""

        def decide(work: Work) -> Decision[list[str]]:
            expired: list[str] = []
            for session_id, idle_since in idle:
                session = self.session(session_id)
                if session.state == "open" and work.at - idle_since >= lifetime:
                    self._enlist(session, work).expire(idle_since)
                    expired.append(session_id)
            return Decision(lambda _: expired)

        return self._carry_out(call, None, decide)

    # -- rules that need more than one stream

    def require_continuity(self, token: str, scope: str) -> None:
        """The token must be one that this store issued for this scope."""
        first = self.ledger.lookup("continuity", token)
        if first is None or self.session(first).scope != scope:
            raise InvalidInput.at(
                "continuity_id",
                "was not issued by this store for this scope",
                "leave continuity_id out; the answer brings a fresh one",
            )

    def _tell(
        self, claim: Claim, scope: str, session_id: str, work: Work
    ) -> Callable[[Positions], Remembered] | SlwError:
        try:
            replaced = self._replaceable(claim.replaces, scope, work) if claim.replaces else None
            held_by = self._holder(claim_key(scope, claim.content), work)
            if held_by is not None and replaced is held_by:
                raise InvalidInput.at(
                    "replaces", "names the memory that says just this", "leave replaces out, or change the content"
                )
        except SlwError as refusal:
            return refusal
        conflict: tuple[Kind, Kind] | None = None
        if held_by is None:
            memory = Memory(self._ids(Memory.PREFIX, work.at))
            self._enlist(memory, work).remember(claim, scope, session_id)
            told = memory.version
        else:
            memory = held_by
            wanted = declared_kind(claim.kind, claim.type)
            if memory.kind and memory.kind.confirmed and wanted and wanted != memory.kind.kind:
                conflict = (memory.kind.kind, wanted)
            self._enlist(memory, work).restate(claim, session_id)
            told = memory.version
        if replaced is not None:
            replaced.retire("superseded", f"replaced by {memory.id}", replaced_by=memory.id, session_id=session_id)
            replaced.record_replacement(self._ids("case", work.at), memory.id)
        disposition: Literal["created", "matched"] = "created" if held_by is None else "matched"
        kind, recorded_at = memory.kind, work.at
        return lambda at: Remembered(
            memory_id=memory.id,
            disposition=disposition,
            type=memory.type,
            kind=kind,
            recorded_at=recorded_at,
            occurred_at=claim.occurred_at,
            position=at(memory.id, told),
            replaced=claim.replaces,
            kind_conflict=conflict,
            suppressed=bool(memory.suppressed_at),
        )

    def _replaceable(self, memory_id: str, scope: str, work: Work) -> Memory:
        """The live memory of this scope that a new claim may replace."""
        memory = self._memory_in(work, memory_id)
        if memory.scope != scope:
            raise ScopeMismatch(
                f"{memory_id} belongs to scope {memory.scope!r}", hint="replace memories of your own scope only"
            )
        if not memory.live:
            raise Conflict(
                f"{memory_id} is retired already", hint="leave replaces out, or name the memory that holds now"
            )
        return self._enlist(memory, work)

    def _holder(self, key: str, work: Work) -> Memory | None:
        """The live memory that holds a claim key, this call's own changes included."""
        for held in work.touched.values():
            if isinstance(held, Memory) and held.live and held.key == key:
                return held
        stream = self.ledger.lookup("claim", key)
        if stream is None or stream in work.touched:
            return None
        return self.memory(stream)

    def _replacement_rejection(self, verdict: MemoryVerdict, scope: str) -> Rejection | None:
        """Why the replacement that a verdict names cannot stand in a memory's place."""
        named = verdict.replacement_memory_id
        if verdict.stale_reason != "superseded" or named in ("", verdict.memory_id):
            return None  # the session says what is wrong with these
        try:
            replacement = self.memory(named)
        except NotFound:
            why = "was never issued"
        else:
            if replacement.scope == scope and replacement.live and not replacement.suppressed_at:
                return None
            why = "is of another scope" if replacement.scope != scope else "is not live"
        return Rejection(
            verdict.memory_id,
            f"the replacement {named} {why}",
            "replacement_memory_id",
            "remember the claim that holds now, then name its memory_id",
        )

    def _apply_verdict(self, verdict: MemoryVerdict, session: Session, retrieval_id: str, work: Work) -> str:
        """What a verdict does to its memory, in one word for the answer."""
        memory = self._memory_in(work, verdict.memory_id)
        retired = memory.retirement
        if verdict.assessment != "stale" or verdict.stale_reason is None:
            if retired is not None and retired.retrieval_id == retrieval_id:
                # The last assessment of a target counts: this one takes the earlier "stale" back.
                self._enlist(memory, work).reinstate(retired.version)
                return "reinstated"
            return {"used": "strengthened", "irrelevant": "weakened"}.get(verdict.assessment, "noted")
        if retired is not None:
            return "retired_before"
        if memory.scope != session.scope:
            return "noted"  # evidence against its wider stage; only its own scope may retire it
        if verdict.stale_reason in ("superseded", "contradicted") and memory.kind and memory.kind.source == "person":
            if any(c.state == "proposed" for c in memory.cases.values()):
                return "review_proposed"
            self._enlist(memory, work).propose_correction(
                self._ids("case", work.at),
                verdict.replacement_memory_id,
                verdict.stale_reason,
                verdict.reason,
            )
            return "review_proposed"
        self._enlist(memory, work).retire(
            verdict.stale_reason,
            verdict.reason,
            replaced_by=verdict.replacement_memory_id,
            session_id=session.id,
            retrieval_id=retrieval_id,
        )
        return "retired"

    # -- the machinery of one call

    def _change(
        self,
        memory_id: str,
        command: Callable[[Memory], None],
        call: Call,
        phrase: Callable[[Changed], str] | None,
    ) -> Changed:
        def decide(work: Work) -> Decision[Changed]:
            memory = self._enlist(self.memory(memory_id), work)
            command(memory)
            return Decision(lambda at: Changed(memory.id, at(memory.id, memory.version)))

        return self._carry_out(call, phrase, decide)

    def _carry_out(self, call: Call, phrase: Callable[[R], str] | None, decide: Callable[[Work], Decision[R]]) -> R:
        """Decide, then append all facts, keys and receipt in one transaction; anew when another writer was first."""
        for _ in range(ATTEMPTS):
            work = Work(at=self._now(), actor=call.actor, request_id=call.request_id)
            decision = decide(work)
            if not work.facts:
                return decision.result(self.ledger.position_of)
            settled: list[R] = []
            try:
                self.save(
                    *work.facts,
                    keys=self._key_changes(work),
                    settle=partial(self._settle, work, decision, call, phrase, settled),
                )
            except IntegrityError:
                continue
            self._last_at = work.at
            return settled[0]
        raise Conflict("another writer changed the same memory again and again", hint="send the call again in a moment")

    def _settle(
        self,
        work: Work,
        decision: Decision[R],
        call: Call,
        phrase: Callable[[R], str] | None,
        settled: list[R],
        positions: Sequence[int],
    ) -> Receipt | None:
        """Inside the append transaction, once the positions are known: the result, and the receipt to keep with it."""
        placed = {
            (fact.originator_id, fact.originator_version): position
            for fact, position in zip(work.facts, positions, strict=True)
        }

        def at(stream: str, version: int) -> int:
            return placed.get((stream, version)) or self.ledger.position_of(stream, version)

        result = decision.result(at)
        settled.append(result)
        if not (call.request_id and phrase):
            return None
        return Receipt(call.request_id, call.arguments_sha256, phrase(result), work.at)

    def _key_changes(self, work: Work) -> list[KeyChange]:
        def key_of(stream: str) -> str:
            held = work.touched[stream]
            return held.key if isinstance(held, Memory) else ""

        return [change for fact in work.facts for change in key_changes(fact, key_of)]

    def _now(self) -> datetime:
        """The time of this call: never before the last fact's."""
        now = self._clock()
        return now if self._last_at is None else max(now, self._last_at)

    def _load(self, kind: type[A], stream: str, what: str, hint: str) -> A:
        held = None
        if stream.startswith(f"{kind.PREFIX}_"):
            held = kind.replay(stream, cast("Iterable[Fact]", self.events.get(stream)))
        if held is None or held.version == 0:
            raise NotFound(f"{what} {stream!r} was never issued", hint=hint)
        return held

    @staticmethod
    def _enlist(aggregate: A, work: Work) -> A:
        aggregate.work = work
        work.touched[aggregate.id] = aggregate
        return aggregate

    def _memory_in(self, work: Work, memory_id: str) -> Memory:
        """The memory as this call has changed it so far, or as the log has it."""
        held = work.touched.get(memory_id)
        return held if isinstance(held, Memory) else self.memory(memory_id)
