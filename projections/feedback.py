"""What agents said of what they were shown: every verdict ever given, and whether an undo took it back."""

from __future__ import annotations

from typing import Any, ClassVar

from ..domain.events import FeedbackGiven, FeedbackWithdrawn
from .columns import Columns
from .projector import Positioned
from .relations import Passing, Patch


class Feedback(Passing):
    """One row per verdict. Which of several on one target counts is a question for salience and procedures."""

    name = "feedback"
    order = "position, number"
    listens_to = FeedbackGiven, FeedbackWithdrawn
    columns: ClassVar[Columns] = {
        "position": "int",
        "number": "int",  # its place in the call, from 0
        "session_id": "text",
        "version": "int",
        "retrieval_id": "text",
        "target_id": "text",
        "target": "text",  # memory or procedure
        "assessment": "text",  # of a memory its assessment, of a procedure its use
        "effect": "text?",
        "stale_reason": "text?",
        "replacement_memory_id": "text?",
        "reason": "text",  # of a memory its reason, of a procedure its contribution
        "coverage": "text",
        "given_at": "time",
        "withdrawn_by": "int",  # the session's event that took it back; 0 when it stands
    }
    erases = {"position": {"reason": ""}}

    def fold(self, at: Positioned) -> list[tuple[Any, ...]]:
        fact = at.fact
        if not isinstance(fact, FeedbackGiven):
            return []
        said = [
            *(
                (v.memory_id, "memory", v.assessment, None, v.stale_reason, v.replacement_memory_id, v.reason)
                for v in fact.memories
            ),
            *((v.procedure_id, "procedure", v.use, v.effect, None, None, v.contribution) for v in fact.procedures),
        ]
        return [
            (
                *(at.position, number, fact.originator_id, fact.originator_version, fact.retrieval_id),
                *verdict,
                *(fact.coverage, fact.recorded_at, 0),
            )
            for number, verdict in enumerate(said)
        ]

    def patches_of(self, at: Positioned) -> list[Patch]:
        fact = at.fact
        if not isinstance(fact, FeedbackWithdrawn):
            return []
        session, version = fact.compensates.stream, fact.compensates.version
        return [
            Patch({"session_id": session, "withdrawn_by": version}, {"withdrawn_by": 0}),
            Patch(
                {"session_id": session, "version": version, "withdrawn_by": 0},
                {"withdrawn_by": fact.originator_version},
            ),
        ]
