"""How memories, procedures and what stands behind them are shown, from the read models to the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..domain.events import ClaimRemembered, Fact
from ..domain.vocabulary import CONFIRMING_SOURCES, FAILED_PROCEDURE_CAVEAT, Pathway
from .meaning import EMBEDDINGS_UNAVAILABLE, VECTORS_PENDING
from .phrasing import cut, neutral, told, within_budget

if TYPE_CHECKING:
    from ..projections.kind_view import KindView
    from ..projections.procedures import ProcedureRow
    from ..projections.recall import Hit
    from ..projections.schemas import Schema
    from .store import Store

EVIDENCE_RECORDS: Final = 8
EVIDENCE_CHARACTERS: Final = 1_000
_EVERY_FACT: Final = frozenset(Fact.model_fields)

WARNINGS: Final = {
    EMBEDDINGS_UNAVAILABLE: "Only words were searched, since the embedding model does not load. See slw doctor.",
    VECTORS_PENDING: "What this session has just remembered was searched by its words only.",
    "suppressed": "A person suppressed this memory: it is stored and not shown.",
    "catching_up": "The read model is still catching up with the log; something may be missing.",
}


def warned(codes: Sequence[str], twin: str = "") -> list[dict[str, str]]:
    """Warnings with their words; `twin` is another way that this scope seems to be written."""
    found = [{"code": code, "message": WARNINGS.get(code, code)} for code in codes]
    if twin:
        message = f"There are memories in {twin!r}, which looks like this scope written in another way. Use one."
        found.append({"code": "scope_fragmentation", "message": message, "scope": twin})
    return found


@dataclass(frozen=True, slots=True)
class Line:
    """One memory on a page: how it was reached, and why."""

    target_id: str
    pathway: Pathway = "direct"
    why: str = ""
    score: float = 0.0
    parts: dict[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def of(cls, hit: Hit) -> Line:
        return cls(hit.target_id, hit.pathway, hit.why, hit.score, hit.parts)


def memory_views(store: Store, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The memories of one page within its budget; one that is too long is cut at a sentence, and says so."""
    words = store.contents([line.target_id for line in lines])
    texts = within_budget([words.get(line.target_id, "") for line in lines])
    kinds = store.kinds.view()
    return [
        {
            **memory_view(store.schema(line.target_id), line, text, kinds, store.stages.stage_of(line.target_id)),
            **({"truncated": True} if truncated else {}),
        }
        for line, (text, truncated) in zip(lines, texts, strict=True)
    ]


def memory_view(schema: Schema, line: Line, text: str, kinds: KindView, stage: str) -> dict[str, Any]:
    """One memory as a verb shows it."""
    provenance: dict[str, Any] = {
        "client": "person" if schema.actor_kind == "person" else neutral(schema.client),
        "session_id": schema.session_id,
        "position": schema.position,
    }
    if schema.kind_source in CONFIRMING_SOURCES:
        provenance["confirmed_by"] = schema.kind_source
    shown: dict[str, Any] = {
        "memory_id": schema.memory_id,
        "content": text,
        "type": schema.type,
        **kinds.fields(schema),
        "pathway": line.pathway,
        "scope": schema.scope,
        "recorded_at": told(schema.recorded_at),
        "stage": stage,
        "why": line.why,
        "provenance": provenance,
    }
    return shown if schema.occurred_at is None else {**shown, "occurred_at": told(schema.occurred_at)}


def record_view(schema: Schema, text: str, kinds: KindView, stage: str) -> dict[str, Any]:
    """One memory as a person's list shows it: also what state it is in, and since when."""
    view = memory_view(schema, Line(schema.memory_id), text, kinds, stage)
    del view["pathway"], view["why"]
    view["state"] = schema.state
    view["restatements"] = schema.restatements
    for name in ("stale_reason", "replaced_by", "replaces"):
        if value := getattr(schema, name):
            view[name] = value
    return view


def procedure_views(store: Store, hits: Sequence[Hit], *, whole: bool) -> list[dict[str, Any]]:
    """Procedures as activate shows them, or whole as recall does."""
    return [procedure_view(store.tables.procedures[hit.target_id], hit.why, whole=whole) for hit in hits]


def procedure_view(row: ProcedureRow, why: str, *, whole: bool) -> dict[str, Any]:
    """One procedure. Its caveats are never cut, and one that failed says so itself."""
    caveats = [neutral(caveat) for caveat in row.caveats]
    if row.outcome == "failure" and FAILED_PROCEDURE_CAVEAT not in caveats:
        caveats.append(FAILED_PROCEDURE_CAVEAT)
    shown: dict[str, Any] = {
        "procedure_id": row.procedure_id,
        "goal": neutral(row.goal),
        "summary": neutral(row.summary),
        "outcome": row.outcome,
        "outcome_summary": neutral(row.outcome_summary),
        "caveats": caveats,
        "scope": row.scope,
        "why": why,
    }
    if whole:
        shown["context"] = json.loads(neutral(row.context))
        shown["steps"] = [{"summary": neutral(step)} for step in row.steps]
        shown["evidence"] = row.evidence
        shown["last_contributions"] = [neutral(said) for said in row.last_contributions]
    return shown


# ---------------------------------------------------------------- what stands behind


def evidence(store: Store, lines: Sequence[Line], how: str) -> list[dict[str, Any]]:
    """What stands behind each memory of a page: ids of events and episodes, or with `full` their words as well."""
    if how == "full":
        return records(store, [line.target_id for line in lines])
    return [
        {
            "memory_id": line.target_id,
            "events": [{"event_id": event_id(fact), "position": at} for at, fact in store.events_of(line.target_id)],
        }
        for line in lines
    ]


def records(store: Store, memory_ids: Sequence[str]) -> list[dict[str, Any]]:
    """At most eight records, the first event of every memory before the second of any."""
    told_of = [[(memory_id, at, fact) for at, fact in store.events_of(memory_id)] for memory_id in memory_ids]
    in_turn = [events[turn] for turn in range(EVIDENCE_RECORDS) for events in told_of if turn < len(events)]
    return [
        {
            "memory_id": memory_id,
            "event_id": event_id(fact),
            "position": at,
            "topic": fact.TOPIC,
            "recorded_at": told(fact.recorded_at),
            "content": cut(neutral(said(fact)), EVIDENCE_CHARACTERS),
        }
        for memory_id, at, fact in in_turn[:EVIDENCE_RECORDS]
    ]


def event_id(fact: Fact) -> str:
    """One event: its stream and its place there."""
    return f"{fact.originator_id}:{fact.originator_version}"


def said(fact: Fact) -> str:
    """What a fact says beside who, when and where: a claim its words, any other its members as JSON."""
    if isinstance(fact, ClaimRemembered):
        return fact.content
    return fact.model_dump_json(exclude=set(_EVERY_FACT), exclude_defaults=True)


def event_view(position: int, fact: Fact) -> dict[str, Any]:
    """One event as a person reads it."""
    by = fact.actor.name if fact.actor.kind == "client" else fact.actor.kind
    return {
        "position": position,
        "event_id": event_id(fact),
        "topic": fact.TOPIC,
        "recorded_at": told(fact.recorded_at),
        "by": by,
        **json.loads(neutral(fact.model_dump_json(exclude=set(_EVERY_FACT), exclude_defaults=True))),
    }
