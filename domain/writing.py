"""How one call is written: decide over aggregates, then append all its facts, keys and receipt in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Generic, Protocol, TypeVar, cast

from eventsourcing.application import Application
from eventsourcing.persistence import IntegrityError

from .aggregate import Aggregate, UnitOfWork
from .errors import Conflict, NotFound
from .events import Actor, Fact
from .identity import new_id
from .keys import KeyChange, KeyKind, key_changes
from .memory import KindGuess, Memory
from .session import Session

R = TypeVar("R")
A = TypeVar("A", bound=Aggregate)

# A key or a version that another writer took in between: look again and decide anew, this often.
ATTEMPTS = 5


def no_suggestion(_content: str) -> KindGuess | None:
    """Guess nothing: the store runs without kind rules."""
    return None


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
    """What the write side asks of the log beyond streams; `held_ms`: how long the last append held its write lock."""

    held_ms: float

    def lookup(self, kind: KeyKind, key: str) -> str | None:
        """The stream that holds the key."""
        ...

    def receipt(self, request_id: str) -> Receipt | None: ...

    def position_of(self, stream: str, version: int) -> int: ...

    def last_recorded_at(self) -> datetime | None: ...

    def naming(self, word: str) -> list[Fact]:
        """The facts of the stream of that name, and those whose stored words hold it, in log order."""
        ...


Positions = Callable[[str, int], int]


@dataclass(slots=True)
class Work(UnitOfWork):
    """A unit of work that knows the aggregates it touched, so that one call sees its own changes."""

    touched: dict[str, Aggregate] = field(default_factory=dict[str, Aggregate])


@dataclass(frozen=True, slots=True)
class Decision(Generic[R]):
    """What a call comes to, once the positions of its facts are known."""

    result: Callable[[Positions], R]


class Writing(Application[str]):
    """The machinery of the write side over one log.

    `env` names the log (PERSISTENCE_MODULE and its settings); `clock` tells the time in UTC;
    `ids(prefix, at)` makes ids; `suggest_kind(content)` guesses the kind of a claim that declares none.
    """

    name = "slw"

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        clock: Callable[[], datetime],
        ids: Callable[[str, datetime], str] = new_id,
        suggest_kind: Callable[[str], KindGuess | None] = no_suggestion,
    ) -> None:
        super().__init__(dict(env))
        self._clock = clock
        self._ids = ids
        self._suggest_kind = suggest_kind
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
            return held.key if isinstance(held, Memory) and held.live else ""

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

    def _memory_in(self, memory_id: str, work: Work) -> Memory:
        """The memory as this call has changed it so far, or as the log has it."""
        held = work.touched.get(memory_id)
        return held if isinstance(held, Memory) else self.memory(memory_id)
