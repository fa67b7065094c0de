"""Trace: a question's answers with every channel's share in their scores, and what kinds did to their order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..consolidation.kinds import question_kind
from .kind_commands import Trace
from .operations import Answer, Asked, Operation
from .phrasing import NOTICE, cut, neutral
from .showing import procedure_view, warned

if TYPE_CHECKING:
    from .store import Store

SHOWN_OF_A_TEXT: Final = 200


def trace(store: Store, command: Trace, asked: Asked) -> Answer:
    """The same search twice, with kinds and without; leaves no trace itself."""
    store.catch_up()
    view, as_of = store.kinds.view(), store.now()
    found, plain = (
        store.recall.search(
            command.query,
            asked.vector,
            command.scope,
            as_of=as_of,
            kind=command.kind,
            kind_view=looked_at,
            cue_vector=asked.cue_vector,
        )
        for looked_at in (view, replace(view, aware=False))
    )
    before = {hit.target_id: rank for rank, hit in enumerate(plain.memories, 1)}
    shown = found.memories[: command.limit]
    words = store.contents([hit.target_id for hit in shown])
    return {
        "query": command.query,
        "asks_for_kind": question_kind(command.query) or "",
        "kind_aware": view.aware,
        "memories": [
            {
                "rank": rank,
                "rank_without_kinds": before[hit.target_id],
                "memory_id": hit.target_id,
                "content": cut(neutral(words.get(hit.target_id, "")), SHOWN_OF_A_TEXT),
                **view.fields(store.schema(hit.target_id)),
                "score": hit.score,
                "parts": {"kind": 0.0, **hit.parts},
                "pathway": hit.pathway,
                "why": hit.why,
            }
            for rank, hit in enumerate(shown, 1)
        ],
        "procedures": [
            {
                "procedure_id": hit.target_id,
                "summary": cut(
                    procedure_view(store.tables.procedures[hit.target_id], "", whole=False)["summary"], SHOWN_OF_A_TEXT
                ),
                "score": hit.score,
                "parts": hit.parts,
                "why": hit.why,
            }
            for hit in found.procedures
        ],
        "relevant_total": found.relevant_total,
        "hidden_by_kind": found.hidden_by_kind,
        "warnings": warned((*asked.warnings, *found.warnings)),
        "notice": NOTICE,
    }


TRACE: Final = Operation("trace", Trace, trace, cue=lambda command: command.query)
