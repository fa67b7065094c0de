"""What was asked, and exactly what was shown: each retrieval and page, and every target on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..domain.events import Exposure, PageShown, RetrievalRecorded
from .columns import Columns, text_of
from .projector import Positioned
from .relations import Passing


class Retrievals(Passing):
    """One row per page that was shown, under its own retrieval id. A further page names the one it continues."""

    name = "retrievals"
    listens_to = RetrievalRecorded, PageShown
    columns: ClassVar[Columns] = {
        "retrieval_id": "text",
        "position": "int",
        "session_id": "text",
        "verb": "text",
        "cue": "text",
        "kind": "text?",
        "page_size": "int",
        "as_of": "time",
        "read_position": "int",
        "policy": "text",
        "candidates": "int",  # how many were frozen; the log keeps which
        "standing": "int",
        "memories": "int",
        "procedures": "int",
        "hidden_by_kind": "int",
        "warnings": "texts",
        "continues": "text?",
        "page_offset": "int",
        "next_offset": "int",
        "recorded_at": "time",
    }
    erases = {"position": {"cue": ""}}

    def fold(self, at: Positioned) -> list[tuple[Any, ...]]:
        fact = at.fact
        match fact:
            case RetrievalRecorded():
                shown = len(fact.memories)
                return [
                    (
                        *(fact.retrieval_id, at.position, fact.originator_id, fact.verb, fact.cue, fact.kind),
                        *(fact.page_size, fact.as_of, fact.read_position, fact.policy, len(fact.candidates)),
                        *(len(fact.standing), shown, len(fact.procedures), fact.hidden_by_kind, fact.warnings),
                        *("", 0, shown, fact.recorded_at),
                    )
                ]
            case PageShown():
                shown = len(fact.memories)
                return [
                    (
                        *(fact.retrieval_id, at.position, fact.originator_id, "page", "", None),
                        *(shown, fact.recorded_at, 0, "", 0, 0, shown, 0, 0, ()),
                        *(fact.continues, fact.offset, fact.next_offset, fact.recorded_at),
                    )
                ]
            case _:
                return []


class Exposures(Passing):
    """One row per target on a page: rank, pathway, score and its parts, as they were when it was shown."""

    name = "exposures"
    order = "position, number"
    listens_to = RetrievalRecorded, PageShown
    columns: ClassVar[Columns] = {
        "position": "int",
        "number": "int",  # its place among everything the page showed, from 0
        "retrieval_id": "text",
        "session_id": "text",
        "target_id": "text",
        "place": "text",  # memories, procedures or standing
        "rank": "int",
        "pathway": "text",
        "score": "float",
        "parts": "text",
        "shown_at": "time",
    }

    def fold(self, at: Positioned) -> list[tuple[Any, ...]]:
        fact = at.fact
        match fact:
            case RetrievalRecorded():
                standing = [Exposure(target_id=target, rank=rank) for rank, target in enumerate(fact.standing, 1)]
                shown = (("standing", standing), ("memories", fact.memories), ("procedures", fact.procedures))
                return exposed(at.position, fact, shown)
            case PageShown():
                return exposed(at.position, fact, (("memories", fact.memories),))
            case _:
                return []


def exposed(
    position: int, fact: RetrievalRecorded | PageShown, shown: Sequence[tuple[str, Sequence[Exposure]]]
) -> list[tuple[Any, ...]]:
    """The rows of one page."""
    rows: list[tuple[Any, ...]] = []
    for place, targets in shown:
        for e in targets:
            parts = text_of(e.parts) if e.parts else "{}"
            head = (position, len(rows), fact.retrieval_id, fact.originator_id, e.target_id, place)
            rows.append((*head, e.rank, e.pathway, e.score, parts, fact.recorded_at))
    return rows
