"""What facts point at: every id a fact names must have been issued before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..domain.events import (
    ClaimRemembered,
    ClaimRestated,
    ClaimRetired,
    Compensated,
    CorrectionOpened,
    Fact,
    FeedbackGiven,
    PageShown,
    RetrievalRecorded,
    TaskCommitted,
)


class References:
    """Remembers which retrievals and procedures were issued, and finds names of what never was."""

    def __init__(self) -> None:
        self._issued: set[str] = set()

    def missing(self, fact: Fact, streams: Mapping[str, int]) -> Iterator[str]:
        """What the fact names that never was, in words; `streams` holds the version each stream has so far."""
        if isinstance(fact, RetrievalRecorded | PageShown):
            self._issued.add(fact.retrieval_id)
        if isinstance(fact, TaskCommitted) and fact.procedure_id:
            self._issued.add(fact.procedure_id)
        for name in named(fact):
            if name and name not in streams and name not in self._issued:
                yield f"{fact.TOPIC} of {fact.originator_id} names {name}, which the log does not know"
        taken_back = getattr(fact, "compensates", None)
        if isinstance(taken_back, Compensated) and not 0 < taken_back.version <= streams.get(taken_back.stream, 0):
            yield f"{fact.TOPIC} takes back {taken_back.stream} {taken_back.version}, which the log does not know"


def named(fact: Fact) -> Iterator[str]:
    """The id of every other thing that the fact names; empty where it names none."""
    match fact:
        case RetrievalRecorded():
            yield from (shown.target_id for shown in (*fact.memories, *fact.procedures))
            yield from (*fact.standing, *fact.candidates)
        case PageShown():
            yield fact.continues
            yield from (shown.target_id for shown in fact.memories)
        case FeedbackGiven():
            yield fact.retrieval_id
            for verdict in fact.memories:
                yield from (verdict.memory_id, verdict.replacement_memory_id)
            yield from (verdict.procedure_id for verdict in fact.procedures)
        case ClaimRemembered():
            yield from (fact.session_id, fact.replaces)
        case ClaimRestated():
            yield fact.session_id
        case ClaimRetired():
            yield from (fact.session_id, fact.replaced_by, fact.retrieval_id)
        case CorrectionOpened():
            yield fact.replacement_id
        case _:
            return
