"""The searchable record of each claim: where it belongs, what state it is in, and which kind it is held to be."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from sys import intern
from typing import Any, ClassVar, Final

from ..domain.events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimReinstated,
    ClaimRemembered,
    ClaimRestated,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    ContentErased,
    CorrectionApplied,
    CorrectionOpened,
    CorrectionRejected,
    CorrectionReopened,
    CorrectionRolledBack,
    Fact,
    KindConfirmed,
    KindReinstated,
    KindSuggested,
    KindWithdrawn,
    RestatementReinstated,
    RestatementWithdrawn,
)
from ..domain.kinds import KindFact, standing_kind
from ..domain.vocabulary import CONFIRMING_SOURCES, KIND_AUTHORITY, KINDS
from .columns import Columns
from .projector import Positioned
from .relations import Patch, Resident
from .sessions import client_of

SOURCES: Final = tuple(KIND_AUTHORITY)
_KIND_FACT: Final = struct.Struct("<IBBd")


@dataclass(slots=True)
class Schema:
    """One claim as verbs see it. Its words are not here: they stand in words.sqlite, and in DuckDB's `content`.

    `state` follows from the rest (see `settled`), so that undoing in any order comes back to what was.
    """

    memory_id: str
    position: int
    scope: str
    session_id: str
    type: str
    recorded_at: datetime
    occurred_at: datetime | None
    client: str
    actor_kind: str
    last_position: int
    state: str = "active"  # active, needs_review, stale, suppressed
    stage: str = "scoped"
    kind: str | None = None
    kind_source: str | None = None
    kind_confidence: float | None = None
    stale_reason: str | None = None
    replaced_by: str = ""
    replaces: str = ""
    restatements: int = 0
    suppressed: bool = False
    erased: bool = False
    retirements: tuple[str, ...] = ()  # those that stand: "version reason replaced_by"
    cases: tuple[str, ...] = ()  # corrections that wait for a decision
    promoted: str = "scoped"
    pinned: str | None = None
    kind_facts: bytes = b""

    @property
    def live(self) -> bool:
        """Whether a verb may show it."""
        return self.state in ("active", "needs_review")


class Schemas(Resident[Schema]):
    """Schemas by memory id, in log order; claims are never removed."""

    name = "schemas"
    row = Schema
    id_column = "memory_id"
    listens_to = (
        ClaimRemembered,
        ClaimRestated,
        RestatementWithdrawn,
        RestatementReinstated,
        ClaimRetired,
        ClaimReinstated,
        ClaimSuppressed,
        ClaimUnsuppressed,
        ClaimPromoted,
        ClaimPinned,
        KindSuggested,
        KindConfirmed,
        KindWithdrawn,
        KindReinstated,
        CorrectionOpened,
        CorrectionApplied,
        CorrectionRejected,
        CorrectionRolledBack,
        CorrectionReopened,
        ContentErased,
    )
    columns: ClassVar[Columns] = {
        "memory_id": "word",
        "position": "int",
        "scope": "word",
        "session_id": "word",
        "type": "word",
        "recorded_at": "time",
        "occurred_at": "time?",
        "client": "word",
        "actor_kind": "word",
        "last_position": "int",
        "state": "word",
        "stage": "word",
        "kind": "text?",
        "kind_source": "text?",
        "kind_confidence": "float?",
        "stale_reason": "text?",
        "replaced_by": "word",
        "replaces": "word",
        "restatements": "int",
        "suppressed": "bool",
        "erased": "bool",
        "retirements": "texts",
        "cases": "texts",
        "promoted": "word",
        "pinned": "text?",
        "kind_facts": "blob",
    }
    cold: ClassVar[Columns] = {"content": "text"}
    erases = {"position": {"content": ""}}

    def __init__(self) -> None:
        super().__init__()
        self.in_scope: dict[str, list[str]] = {}  # scope -> memory ids in log order, live or not
        self.standing: dict[str, dict[str, None]] = {}  # scope -> live claims that someone confirmed the kind of
        self._positions = array("q")
        self._ids: list[str] = []

    def parts(self, fact: Fact) -> Iterable[tuple[str, None]]:
        return [(fact.originator_id, None)]

    def fold(self, held: Schema | None, at: Positioned, part: None) -> Schema | None:  # noqa: ARG002 - a claim is one row
        fact = at.fact
        if isinstance(fact, ClaimRemembered):
            return told(at.position, fact)
        if held is None:
            return None
        return settled(replace(held, last_position=at.position, **changed(held, fact)))

    def cold_values(self, fact: Fact) -> tuple[str]:
        return (fact.content if isinstance(fact, ClaimRemembered) else "",)

    def patches_of(self, at: Positioned) -> list[Patch]:
        if isinstance(at.fact, ContentErased):
            return [Patch({"memory_id": at.fact.originator_id}, {"content": ""})]
        return []

    # -- look-ups

    def at_position(self, position: int) -> Schema | None:
        """The claim that was told at a log position: the key of words and vectors."""
        place = bisect_left(self._positions, position)
        if place == len(self._positions) or self._positions[place] != position:
            return None
        return self.rows[self._ids[place]]

    def after(self, position: int) -> Iterator[Schema]:
        """The claims told behind a log position, live or not, in log order."""
        return (self.rows[self._ids[place]] for place in range(bisect_right(self._positions, position), len(self._ids)))

    def of_scope(self, scope: str) -> Iterator[Schema]:
        """The claims told in a scope, live or not, in log order."""
        return (self.rows[memory_id] for memory_id in self.in_scope.get(scope, ()))

    def confirmed(self, scope: str) -> list[Schema]:
        """The live claims of a scope whose kind someone confirmed, in log order."""
        return sorted((self.rows[i] for i in self.standing.get(scope, ())), key=lambda row: row.position)

    def install(self, staged: tuple[dict[str, tuple[Schema, tuple[Any, ...] | None]], list[Patch]]) -> None:
        super().install(staged)
        for row, begun in staged[0].values():
            if begun is not None:
                self._index(row)
            self._note_standing(row)

    def loaded(self) -> None:
        for row in self.rows.values():
            self._index(row)
            self._note_standing(row)

    def _index(self, row: Schema) -> None:
        self.in_scope.setdefault(row.scope, []).append(row.memory_id)
        self._positions.append(row.position)
        self._ids.append(row.memory_id)

    def _note_standing(self, row: Schema) -> None:
        if row.live and row.kind_source in CONFIRMING_SOURCES:
            self.standing.setdefault(row.scope, {})[row.memory_id] = None
        elif row.scope in self.standing:
            self.standing[row.scope].pop(row.memory_id, None)


def told(position: int, fact: ClaimRemembered) -> Schema:
    """A claim as it was told; a declared kind is confirmed by whoever told it."""
    schema = Schema(
        memory_id=fact.originator_id,
        position=position,
        scope=intern(fact.scope),
        session_id=intern(fact.session_id),
        type=intern(fact.type),
        recorded_at=fact.recorded_at,
        occurred_at=fact.occurred_at,
        client=client_of(fact.actor),
        actor_kind=intern(fact.actor.kind),
        last_position=position,
        replaces=fact.replaces,
    )
    if fact.kind:
        source = "person" if fact.actor.kind == "person" else "caller"
        schema.kind, schema.kind_source, schema.kind_confidence = fact.kind, source, 1.0
        schema.kind_facts = _KIND_FACT.pack(fact.originator_version, KINDS.index(fact.kind), SOURCES.index(source), 1.0)
    return schema


def changed(held: Schema, fact: Fact) -> dict[str, Any]:
    """What a later fact changes, before `settled` draws the conclusions."""
    match fact:
        case ClaimRestated() | RestatementReinstated():
            return {"restatements": held.restatements + 1}
        case RestatementWithdrawn():
            return {"restatements": held.restatements - 1}
        case ClaimRetired():
            retirement = f"{fact.restores or fact.originator_version} {fact.reason} {fact.replaced_by}"
            in_order = sorted((*held.retirements, retirement), key=lambda r: int(r.split(" ", 1)[0]))
            return {"retirements": tuple(in_order)}
        case ClaimReinstated():
            taken_back = f"{fact.compensates.version} "
            return {"retirements": tuple(r for r in held.retirements if not r.startswith(taken_back))}
        case ClaimSuppressed():
            return {"suppressed": True}
        case ClaimUnsuppressed():
            return {"suppressed": False}
        case ClaimPromoted():
            return {"promoted": fact.stage}
        case ClaimPinned():
            return {"pinned": fact.stage}
        case CorrectionOpened() | CorrectionReopened():
            return {} if fact.applied else {"cases": (*held.cases, fact.case_id)}
        case CorrectionApplied() | CorrectionRejected() | CorrectionRolledBack():
            return {"cases": tuple(case for case in held.cases if case != fact.case_id)}
        case ContentErased():
            return {"erased": True}
        case KindSuggested():
            return kinds(held.kind_facts + kind_fact(fact, fact.kind, fact.source, fact.confidence))
        case KindConfirmed():
            return kinds(held.kind_facts + kind_fact(fact, fact.kind, fact.source, 1.0))
        case KindReinstated():
            again = kind_fact(fact, fact.kind, fact.source, fact.confidence, fact.compensates.version)
            return kinds(in_order_of_telling(held.kind_facts + again))
        case KindWithdrawn():
            facts = _KIND_FACT.iter_unpack(held.kind_facts)
            return kinds(b"".join(_KIND_FACT.pack(*f) for f in facts if f[0] != fact.compensates.version))
        case _:
            return {}


def settled(schema: Schema) -> Schema:
    """Draw the conclusions: suppression hides it, else retirement or erasure ends it, else a case asks for review."""
    _, schema.stale_reason, schema.replaced_by = (
        schema.retirements[-1].split(" ") if schema.retirements else ("", "withdrawn" if schema.erased else None, "")
    )
    if schema.suppressed:
        schema.state = "suppressed"
    elif schema.retirements or schema.erased:
        schema.state = "stale"
    else:
        schema.state = "needs_review" if schema.cases else "active"
    schema.stage = schema.pinned or schema.promoted
    return schema


def kind_fact(fact: Fact, kind: str, source: str, confidence: float, version: int = 0) -> bytes:
    """One statement about a claim's kind, packed: 14 bytes, since every claim has one or two."""
    return _KIND_FACT.pack(version or fact.originator_version, KINDS.index(kind), SOURCES.index(source), confidence)


def in_order_of_telling(packed: bytes) -> bytes:
    """The statements by their place in the stream: one that counts again stands where it stood."""
    return b"".join(_KIND_FACT.pack(*f) for f in sorted(_KIND_FACT.iter_unpack(packed)))


def kinds(packed: bytes) -> dict[str, Any]:
    """The kind fields that follow from the statements that were not withdrawn."""
    standing = standing_kind(kind_facts_of(packed))
    return {
        "kind_facts": packed,
        "kind": standing.kind if standing else None,
        "kind_source": standing.source if standing else None,
        "kind_confidence": standing.confidence if standing else None,
    }


def kind_facts_of(packed: bytes) -> Sequence[KindFact]:
    """The statements that were not withdrawn, in log order."""
    return [
        KindFact(version, KINDS[kind], SOURCES[source], confidence)  # pyright: ignore[reportArgumentType] - our own codes
        for version, kind, source, confidence in _KIND_FACT.iter_unpack(packed)
    ]
