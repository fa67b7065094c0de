"""Which kind a memory is held to be, out of all that was said of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .vocabulary import (
    CONFIRMING_SOURCES,
    KIND_AUTHORITY,
    KIND_DECLARED_BY_TYPE,
    KIND_LABELS,
    KIND_NEAREST_TYPE,
    Kind,
    KindSource,
    KindState,
)

DISPLAY_MIN_CONFIDENCE = 0.20


@dataclass(frozen=True, slots=True)
class KindFact:
    """One statement about a memory's kind; `version` is its place in the memory's stream."""

    version: int
    kind: Kind
    source: KindSource
    confidence: float = 1.0
    recipe: str = ""
    run_id: str = ""

    @property
    def confirmed(self) -> bool:
        return self.source in CONFIRMING_SOURCES


def declared_kind(kind: Kind | None, memory_type: str) -> Kind | None:
    """The kind that a saving agent declares, by `kind` or by a type that is itself a declaration."""
    return kind or KIND_DECLARED_BY_TYPE.get(memory_type)  # pyright: ignore[reportReturnType]


def standing_kind(facts: Iterable[KindFact]) -> KindFact | None:
    """The fact that decides: highest authority, then latest. `facts` holds none that was withdrawn."""
    return max(facts, key=lambda f: (KIND_AUTHORITY[f.source], f.version), default=None)


def kind_fields(
    standing: KindFact | None, min_confidence: float = DISPLAY_MIN_CONFIDENCE, memory_type: str = ""
) -> dict[str, Any]:
    """The five fields every surface shows alike.

    A suggestion below `min_confidence` counts as none; then the nearest kind of the memory's type stands in (legacy).
    """
    kind, source, confidence = KIND_NEAREST_TYPE.get(memory_type, ""), "legacy", 0.0
    state: KindState = "legacy" if kind else "untyped"
    if standing is not None and (standing.confirmed or standing.confidence >= min_confidence):
        kind, source, confidence = standing.kind, standing.source, standing.confidence
        state = "confirmed" if standing.confirmed else "legacy" if standing.source == "legacy" else "suggested"
    return {
        "memory_kind": kind,
        "memory_kind_label": KIND_LABELS[kind] if kind else "",
        "memory_kind_state": state,
        "memory_kind_source": source if kind else "",
        "memory_kind_confidence": round(confidence, 4),
    }


def kind_shown(fields: dict[str, Any]) -> str:
    """The kind in words: "Decision", "Decision (suggested)", "Decision (legacy)", or nothing."""
    label, state = fields["memory_kind_label"], fields["memory_kind_state"]
    return label if state in ("confirmed", "untyped") else f"{label} ({state})"
