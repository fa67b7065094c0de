"""Associated: memories that come to mind beside those that answer, over what ties them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from ..consolidation.associations import Edge, spread, ways_of, woven
from ..consolidation.policy import FoldPolicy, ReadPolicy
from .columns import micros
from .recall import Hit
from .schemas import Schema


class Associated:
    """Adds what is associated with the best direct hits, within its share of a page; reads memory alone."""

    def __init__(
        self,
        schemas: Mapping[str, Schema],
        at_position: Callable[[int], Schema | None],
        edges_of: Callable[[int], Sequence[Edge]],
        policy: ReadPolicy,
        fold_policy: FoldPolicy,
    ) -> None:
        self._schemas, self._at_position, self._edges_of = schemas, at_position, edges_of
        self._policy, self._fold_policy = policy, fold_policy

    def __call__(self, hits: Sequence[Hit], scope: str, as_of: datetime, wanted: Callable[[Schema], bool]) -> list[Hit]:
        """The hits with what is associated woven in: live memories of the scope that are `wanted`, and no hit yet."""
        best = [hit for hit in hits if hit.pathway == "direct" and hit.score > 0][: self._policy.associated_seeds]
        if not best:
            return list(hits)
        top = max(hit.score for hit in best)
        seeds = {self._schemas[hit.target_id].position: hit.score / top for hit in best}
        active = spread(seeds, self._edges_of, micros(as_of), self._policy, self._fold_policy)
        known = {hit.target_id for hit in hits}
        found: list[Hit] = []
        for position, activation in sorted(active.items(), key=lambda pair: (-pair[1], pair[0])):
            if activation < self._policy.associated_floor:
                break
            held = self._at_position(position)
            if held is None or not held.live or held.scope != scope or held.memory_id in known or not wanted(held):
                continue
            parts = {"activation": round(activation, 4)}
            why = self._why(position, seeds)
            found.append(
                Hit(
                    held.memory_id,
                    round(self._policy.associated_weight * top * activation, 6),
                    "associated",
                    parts,
                    why,
                )
            )
        return woven(hits, found, lambda hit: hit.score, self._policy.associated_share)

    def _why(self, position: int, seeds: Mapping[int, float]) -> str:
        """How it is tied to a hit, in one short phrase."""
        ways = [ways_of(edge) for edge in self._edges_of(position) if edge.to in seeds]
        said = {"semantic": "is like", "temporal": "was told beside", "together": "was used together with"}
        return f"{said[ways[0][-1]]} one of these" if ways else "is tied to what is tied to one of these"
