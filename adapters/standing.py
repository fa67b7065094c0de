"""Standing rules: what people and agents confirmed as rules and decisions, told to every new session of the scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..domain.vocabulary import CONFIRMING_SOURCES
from .phrasing import neutral, told

if TYPE_CHECKING:
    from ..projections.schemas import Schema
    from .store import Store

RULES: Final = 10
DECISIONS: Final = 5
# Rules are read before anything else in a session; what is longer than a page would push the task itself aside.
CHARACTERS: Final = 4_000
IDS_TOLD: Final = 100  # of those left out; the count is exact


@dataclass(frozen=True, slots=True)
class Standing:
    """What one activation tells: the memories, and those that had no room."""

    rules: list[Schema] = field(default_factory=list["Schema"])
    decisions: list[Schema] = field(default_factory=list["Schema"])
    omitted: list[str] = field(default_factory=list[str])

    @property
    def memory_ids(self) -> tuple[str, ...]:
        return tuple(schema.memory_id for schema in (*self.rules, *self.decisions))


def standing_of(store: Store, scope: str) -> Standing:
    """The confirmed rules, then the confirmed decisions of a scope, newest first, within their numbers and budget."""
    if not store.kinds.settings().standing_rules_in_session:
        return Standing()
    found = Standing()
    left = CHARACTERS
    for kind, most, chosen in (("rule", RULES, found.rules), ("decision", DECISIONS, found.decisions)):
        waiting = list(confirmed(store, scope, kind))
        words = store.contents([schema.memory_id for schema in waiting])
        for schema in waiting:
            length = len(words.get(schema.memory_id, ""))
            if len(chosen) < most and length <= left:
                chosen.append(schema)
                left -= length
            else:
                found.omitted.append(schema.memory_id)
    return found


def confirmed(store: Store, scope: str, kind: str) -> Iterator[Schema]:
    """The live memories of a scope that someone confirmed to be of a kind, newest first."""
    for schema in reversed(list(store.tables.claims.of_scope(scope))):
        if schema.live and schema.kind == kind and schema.kind_source in CONFIRMING_SOURCES:
            yield schema


def standing_view(store: Store, standing: Standing) -> dict[str, Any]:
    """The answer's part; each memory whole, for a rule cut short is another rule."""
    words = store.contents(standing.memory_ids)

    def views(schemas: Sequence[Schema]) -> list[dict[str, Any]]:
        kinds = store.kinds.view()
        return [
            {
                "memory_id": schema.memory_id,
                "content": neutral(words.get(schema.memory_id, "")),
                **kinds.fields(schema),
                "scope": schema.scope,
                "recorded_at": told(schema.recorded_at),
            }
            for schema in schemas
        ]

    return {
        "rules": views(standing.rules),
        "decisions": views(standing.decisions),
        "omitted": {"count": len(standing.omitted), "memory_ids": standing.omitted[:IDS_TOLD]},
    }
