"""What is associated stays a handful, fades, spreads two hops, and never crowds out what answers."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from slw.consolidation.associations import SEMANTIC, TEMPORAL, TOGETHER, Edge, spread, strength_at, tied, ways_of, woven
from slw.consolidation.policy import FoldPolicy, ReadPolicy

FOLD, READ = FoldPolicy(), ReadPolicy()
WEEK = FOLD.edge_half_life // timedelta(microseconds=1)
ties = st.lists(
    st.tuples(
        st.integers(1, 30),
        st.sampled_from([SEMANTIC, TEMPORAL, TOGETHER]),
        st.floats(0.01, 1),
        st.integers(0, 2 * WEEK),
    ),
    max_size=60,
)


def after(told) -> tuple[Edge, ...]:
    edges, at = (), 0
    for to, way, share, passed in told:
        at += passed
        edges = tied(edges, to, way, share, at, FOLD)
    return edges


def test_a_tie_that_is_renewed_grows_and_remembers_every_reason():
    [edge] = tied(tied((), 7, TEMPORAL, 0.5, 0, FOLD), 7, TOGETHER, 0.6, 0, FOLD)
    assert edge.strength == 0.8
    assert ways_of(edge) == ["temporal", "together"]


def test_half_of_a_tie_is_gone_after_a_week():
    [edge] = tied((), 7, TEMPORAL, 0.5, 0, FOLD)
    assert strength_at(edge, WEEK, FOLD) == 0.25
    assert strength_at(edge, -WEEK, FOLD) == edge.strength == 0.5


@given(ties)
def test_a_node_keeps_few_edges_in_bounds_and_none_that_is_weak_beside_the_strongest(told):
    edges = after(told)
    assert len(edges) <= FOLD.edges_most
    assert len({edge.to for edge in edges}) == len(edges)
    assert all(0 < edge.strength <= 1 for edge in edges)
    if edges:
        at = sum(passed for *_, passed in told)
        strengths = [strength_at(edge, at, FOLD) for edge in edges]
        assert min(strengths) >= FOLD.edge_least_share * max(strengths) * (1 - 1e-12)


@given(st.dictionaries(st.integers(1, 12), ties, max_size=12), st.sets(st.integers(1, 12), min_size=1, max_size=4))
def test_activation_never_grows_on_its_way(graph, seeds):
    edges = {node: after(told) for node, told in graph.items()}
    active = spread(dict.fromkeys(sorted(seeds), 1.0), lambda node: edges.get(node, ()), 0, READ, FOLD)
    assert not seeds & set(active)
    assert sum(active.values()) <= len(seeds) * (READ.hop_share + READ.hop_share**2) + 1e-9


def test_activation_reaches_two_hops_and_no_further():
    chain = {n: (Edge(n + 1, 0.8, 0, TEMPORAL),) for n in range(5)}
    active = spread({0: 1.0}, lambda node: chain[node], 0, READ, FOLD)
    assert list(active) == [1, 2]
    assert active[1] > active[2] > 0


@given(
    st.lists(st.floats(0, 3), max_size=30).map(lambda s: sorted(s, reverse=True)),
    st.lists(st.floats(0, 3), max_size=30).map(lambda s: sorted(s, reverse=True)),
)
def test_no_associated_memory_crowds_out_a_direct_hit(direct, beside):
    hits, others = [("hit", s) for s in direct], [("beside", s) for s in beside]
    found = woven(hits, others, lambda pair: pair[1], READ.associated_share)
    assert [pair for pair in found if pair[0] == "hit"] == hits
    for n, (how, score) in enumerate(found):
        if how == "beside":
            assert [h for h, _ in found[n : n + 5]].count("beside") == 1
            assert all(later[1] <= score for later in found[n + 1 :])
    assert len(found) - len(hits) <= max(1, len(found) / 5)
