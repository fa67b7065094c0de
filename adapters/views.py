"""Which read models a generation is made of, and how recall reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..projections.associated import Associated
from ..projections.consolidated import Consolidated, consolidated_kind
from ..projections.cues import Cues, cues_kind
from ..projections.foreign import Foreign
from ..projections.kind_view import KindView
from ..projections.projector import ViewKind
from ..projections.recall import Recall
from ..projections.stages import Stages, stages_kind
from ..projections.tables import Tables, tables_kind
from ..projections.vectors import Vectors, VectorsOf, vectors_kind
from ..projections.words import Words, words_kind


def view_kinds(policy: FoldPolicy, space: str, vectors_of: VectorsOf) -> list[ViewKind]:
    """Every view, in the order in which they are fed; `vectors_of` finds the vectors of `space`."""
    return [
        tables_kind(policy),
        words_kind(),
        vectors_kind(space, vectors_of),
        consolidated_kind(space, policy, vectors_of),
        cues_kind(space, policy, vectors_of),
        stages_kind(space, policy, vectors_of),
    ]


def recall_over(views: Mapping[str, Any], policy: ReadPolicy, kind_view: Callable[[], KindView] = KindView) -> Recall:
    """The read side over the views of one generation, by their names."""
    tables, words = cast("Tables", views["tables"]), cast("Words", views["words"])
    vectors, consolidated = cast("Vectors", views["vectors"]), cast("Consolidated", views["consolidated"])
    cues, stages = cast("Cues", views["cues"]), cast("Stages", views["stages"])
    beside = Associated(tables.schemas, tables.claims.at_position, consolidated.edges_of, policy, tables.policy)
    elsewhere = Foreign(
        lambda scope: stages.visible(scope, policy),
        stages.stage_of,
        tables.schemas,
        tables.salience,
        words,
        vectors,
        policy,
        tables.policy,
    )
    return Recall(
        tables,
        words,
        vectors,
        policy,
        fold_policy=tables.policy,
        associations=lambda vector, memory_ids: cues.associations(vector, memory_ids, policy),
        kind_view=kind_view,
        beside=beside,
        elsewhere=elsewhere,
    )
