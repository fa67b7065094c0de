"""How firmly each memory is held, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from ..consolidation.policy import FoldPolicy
from ..consolidation.salience import reinforced
from ..domain.events import ClaimRemembered, Fact, FeedbackGiven, FeedbackWithdrawn, TaskCommitted
from .columns import Columns
from .projector import Positioned
from .relations import Resident
from .verdicts import given, judged_before, standing, withdrawn


@dataclass(slots=True)
class Strength:
    """How firmly a memory (or procedure) is held: `value` at `since`, the last reinforcement; nothing is decayed here.

    The counts and the value come from the verdicts that stand: the last one in each retrieval. `history` keeps them
    all (see verdicts.py), so that a changed or withdrawn verdict leaves no trace in the value.
    """

    memory_id: str
    position: int
    begun: datetime
    value: float
    since: datetime
    used: int = 0
    irrelevant: int = 0
    helped: int = 0
    history: bytes = b""


class Salience(Resident[Strength]):
    """Strengths by memory id, and by procedure id: a procedure that helped is held more firmly as well."""

    name = "salience"
    row = Strength
    id_column = "memory_id"
    listens_to = ClaimRemembered, TaskCommitted, FeedbackGiven, FeedbackWithdrawn
    columns: ClassVar[Columns] = {
        "memory_id": "word",
        "position": "int",
        "begun": "time",
        "value": "float",
        "since": "time",
        "used": "int",
        "irrelevant": "int",
        "helped": "int",
        "history": "blob",
    }

    def __init__(self, policy: FoldPolicy) -> None:
        super().__init__()
        self.policy = policy

    def parts(self, fact: Fact) -> Iterable[tuple[str, str]]:
        match fact:
            case ClaimRemembered():
                return [(fact.originator_id, "")]
            case TaskCommitted():
                return [(fact.procedure_id, "")] if fact.procedure_id else []
            case FeedbackGiven():
                return [
                    *((v.memory_id, v.assessment) for v in fact.memories),
                    *((v.procedure_id, v.effect or v.use) for v in fact.procedures),
                ]
            case FeedbackWithdrawn():
                return [(target, "") for target in fact.targets]
            case _:
                return []

    def fold(self, held: Strength | None, at: Positioned, part: str) -> Strength | None:
        fact = at.fact
        match fact:
            case ClaimRemembered():
                return self.begun(fact.originator_id, at.position, fact.recorded_at)
            case TaskCommitted():
                return self.begun(fact.procedure_id, at.position, fact.recorded_at)
            case FeedbackGiven() if held:
                history = given(held.history, at.position, fact, part)
                if judged_before(held.history, fact.retrieval_id):
                    return self.told_anew(held, history)
                return self.moved(replace(held, history=history), part, fact.recorded_at)
            case FeedbackWithdrawn() if held:
                return self.told_anew(held, withdrawn(held.history, fact))
            case _:
                return held

    def begun(self, target: str, position: int, at: datetime) -> Strength:
        """What nobody has judged yet."""
        return Strength(memory_id=target, position=position, begun=at, value=self.policy.salience_start, since=at)

    def moved(self, held: Strength, verdict: str, at: datetime) -> Strength:
        """After one verdict that stands; only used, irrelevant and helped move anything."""
        match verdict:
            case "used":
                counted = replace(held, used=held.used + 1)
            case "irrelevant":
                counted = replace(held, irrelevant=held.irrelevant + 1)
            case "helped":
                counted = replace(held, helped=held.helped + 1)
            case _:
                return held
        counted.value, counted.since = reinforced(held.value, held.since, verdict, at, self.policy)
        return counted

    def told_anew(self, held: Strength, history: bytes) -> Strength:
        """The strength as it would be had only the standing verdicts been given, each at its time."""
        strength = replace(self.begun(held.memory_id, held.position, held.begun), history=history)
        for verdict in standing(history):
            strength = self.moved(strength, verdict.word, verdict.at)
        return strength
