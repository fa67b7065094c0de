"""Associations: what comes to mind beside a memory, because it is alike, was told next, or was of use together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final, NamedTuple, TypeVar

from .policy import FoldPolicy, ReadPolicy

T = TypeVar("T")

# Why two memories belong together; an edge may have several reasons, so they are bits.
SEMANTIC: Final = 1
TEMPORAL: Final = 2
TOGETHER: Final = 4
MICROSECOND: Final = timedelta(microseconds=1)
WAYS: Final = {SEMANTIC: "semantic", TEMPORAL: "temporal", TOGETHER: "together"}


class Edge(NamedTuple):
    """From one node to another: how strong it was when it was last strengthened, when that was, and by which ways.

    Nodes are log positions, times whole microseconds since 1970: a question looks at hundreds of edges.
    """

    to: int
    strength: float
    since: int
    ways: int


def ways_of(edge: Edge) -> list[str]:
    """Why the two belong together, in words."""
    return [name for way, name in WAYS.items() if edge.ways & way]


def strength_at(edge: Edge, as_of: int, policy: FoldPolicy) -> float:
    """What is left of an edge: half of it each half-life; time before it was last strengthened takes nothing."""
    age = as_of - edge.since
    return edge.strength * 0.5 ** (age / (policy.edge_half_life // MICROSECOND)) if age > 0 else edge.strength


def tied(edges: Sequence[Edge], to: int, way: int, share: float, at: int, policy: FoldPolicy) -> tuple[Edge, ...]:
    """A node's edges after it and another had something to do with each other once more.

    What is left of their edge closes `share` of what it lacks to 1. Then only the strongest few stay, and none that is
    weak beside the strongest. They are ordered by strength, equals by number.
    """
    held = next((edge for edge in edges if edge.to == to), Edge(to, 0.0, at, 0))
    left = strength_at(held, at, policy)
    renewed = Edge(to, left + share * (1.0 - left), max(at, held.since), held.ways | way)
    return pruned([*(edge for edge in edges if edge.to != to), renewed], at, policy)


def pruned(edges: Sequence[Edge], at: int, policy: FoldPolicy) -> tuple[Edge, ...]:
    """The strongest edges at a time: a bounded number, and none below a share of the strongest."""
    if not edges:
        return ()
    weighed = sorted(((strength_at(edge, at, policy), edge) for edge in edges), key=lambda pair: (-pair[0], pair[1].to))
    least = policy.edge_least_share * weighed[0][0]
    return tuple(edge for strength, edge in weighed[: policy.edges_most] if strength >= least)


def spread(
    seeds: Mapping[int, float],
    edges_of: Callable[[int], Sequence[Edge]],
    as_of: int,
    policy: ReadPolicy,
    fold: FoldPolicy,
) -> dict[int, float]:
    """How active each node becomes that is no seed, when the seeds are, at most `hops_most` edges away.

    A node passes on `hop_share` of its activation, shared out where its edges come to more than 1 (a node that is
    tied to everything says little about each). What arrives over several edges adds up; a node passes on only what it
    gained in the hop before, and nothing goes back to a seed.
    """
    active: dict[int, float] = {}
    wave = dict(seeds)
    for _ in range(policy.hops_most):
        arriving: dict[int, float] = {}
        for node, activation in wave.items():
            edges = [(edge.to, strength_at(edge, as_of, fold)) for edge in edges_of(node)]
            passed = policy.hop_share * activation / max(1.0, sum(strength for _, strength in edges))
            for to, strength in edges:
                if to not in seeds:
                    arriving[to] = arriving.get(to, 0.0) + passed * strength
        for node, activation in arriving.items():
            active[node] = active.get(node, 0.0) + activation
        wave = arriving
    return active


def woven(direct: Sequence[T], beside: Sequence[T], score: Callable[[T], float], share: float) -> list[T]:
    """Direct hits with associated ones among them, both best first.

    A direct hit stays in front of an associated one that scores no higher, and of so many in a row that `share` counts
    (five, where it is a fifth) at most one is associated, however pages are cut. Behind the last direct hit, where none
    can be crowded out, there is one even where they are fewer.
    """
    between = round(1 / share) - 1
    found: list[T] = []
    waiting = list(beside)
    since = 0
    for hit in direct:
        if waiting and since >= between and score(waiting[0]) > score(hit):
            found.append(waiting.pop(0))
            since = 0
        found.append(hit)
        since += 1
    none_yet = len(waiting) == len(beside)
    return [*found, waiting[0]] if waiting and (none_yet or since >= between) else found
