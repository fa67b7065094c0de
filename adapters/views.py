"""Which read models a generation is made of."""

from __future__ import annotations

from ..consolidation.policy import FoldPolicy
from ..projections.consolidated import consolidated_kind
from ..projections.cues import cues_kind
from ..projections.projector import ViewKind
from ..projections.tables import tables_kind
from ..projections.vectors import VectorsOf, vectors_kind
from ..projections.words import words_kind


def view_kinds(policy: FoldPolicy, space: str, vectors_of: VectorsOf) -> list[ViewKind]:
    """Every view, in the order in which they are fed; `vectors_of` finds the vectors of `space`."""
    return [
        tables_kind(policy),
        words_kind(),
        vectors_kind(space, vectors_of),
        consolidated_kind(space, policy, vectors_of),
        cues_kind(space, policy, vectors_of),
    ]
