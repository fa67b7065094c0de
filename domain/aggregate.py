"""A stream of facts with a state: guards decide, facts are appended, and state moves only when a fact is applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Self

from .events import Actor, Fact


@dataclass(slots=True)
class UnitOfWork:
    """One call: when (UTC), by whom, under which request id; its facts in the order they happened, all or none.

    `session_id` is the session in which the call is made; what it does to memories carries it.
    """

    at: datetime
    actor: Actor
    request_id: str = ""
    session_id: str = ""
    facts: list[Fact] = field(default_factory=list[Fact])


class Aggregate:
    """One stream: its id, the version of its last fact (0 before the first) and the work it takes part in."""

    PREFIX: ClassVar[str]  # what the ids of such streams begin with

    def __init__(self, stream: str) -> None:
        self.id = stream
        self.version = 0
        self.work: UnitOfWork | None = None

    @classmethod
    def replay(cls, stream: str, facts: Iterable[Fact]) -> Self:
        """The aggregate as its facts tell it, in stream order."""
        held = cls(stream)
        for fact in facts:
            held.apply(fact)
        return held

    def happened(self, fact_class: type[Fact], **members: Any) -> None:
        """Add one fact to the work at hand and apply it."""
        if self.work is None:
            raise RuntimeError(f"{self.id}: a fact needs a unit of work")
        fact = fact_class(
            originator_id=self.id,
            originator_version=self.version + 1,
            recorded_at=self.work.at,
            actor=self.work.actor,
            request_id=self.work.request_id,
            **members,
        )
        self.apply(fact)
        self.work.facts.append(fact)

    def apply(self, fact: Fact) -> None:
        """Move the state by one fact, which must be the next of this stream."""
        if fact.originator_id != self.id or fact.originator_version != self.version + 1:
            raise RuntimeError(
                f"{self.id} stands at {self.version}; {fact.originator_id} {fact.originator_version} is not next"
            )
        self.when(fact)
        self.version = fact.originator_version

    def when(self, fact: Fact) -> None:
        """What the fact means for the state; each aggregate says so."""
        raise NotImplementedError
