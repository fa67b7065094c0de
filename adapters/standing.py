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
        for schema in waiting:
            if len(chosen) < most and left > 0 and (length := length_of(store, schema.memory_id)) <= left:
                chosen.append(schema)
                left -= length
            else:
                found.omitted.append(schema.memory_id)
    return found


def confirmed(store: Store, scope: str, kind: str) -> Iterator[Schema]:
    """What someone confirmed to be of a kind and the scope may see, newest first; of twins the one that is shown."""
    lent, behind = store.stages.visible(scope, store.policy)
    claims = store.tables.claims
    held = [schema for schema in claims.confirmed(scope) if schema.memory_id not in behind]
    held += [
        schema
        for memory_id in lent
        if (schema := claims.rows.get(memory_id)) and schema.live and schema.kind_source in CONFIRMING_SOURCES
    ]
    held.sort(key=lambda schema: -schema.position)
    return (schema for schema in held if schema.kind == kind)


def length_of(store: Store, memory_id: str) -> int:
    """How many characters a memory has; asked of the few that may still find room, for a scope can have thousands."""
    return len(store.contents([memory_id]).get(memory_id, ""))


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
