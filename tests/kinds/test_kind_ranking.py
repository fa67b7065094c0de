"""Favouring a kind: a little, in order, and never past an answer that holds the question's own words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slw.consolidation.kind_ranking import REACH, favour
from slw.projections.kind_view import exact_words


def places(scores, shares, exact=None):
    return [one.place for one in favour(scores, shares, exact or [False] * len(scores))]


def test_one_of_the_kind_passes_what_is_about_equally_good_and_nothing_better():
    assert places([1.0, 0.9, 0.5], [0, 1, 1]) == [1, 0, 2]
    assert places([1.0, 0.86, 0.5], [0, 1, 1]) == [0, 1, 2]


def test_a_guess_counts_half():
    assert places([1.0, 0.94], [0, 0.5]) == [1, 0]
    assert places([1.0, 0.9], [0, 0.5]) == [0, 1]


def test_nothing_passes_an_exact_hit():
    assert places([1.0, 0.99], [0, 1], [True, False]) == [0, 1]
    assert places([1.0, 0.99, 0.98], [0, 0, 1], [True, False, False]) == [0, 2, 1]
    assert places([1.0, 0.99, 0.98], [0, 0, 1], [False, True, False]) == [0, 1, 2]


def test_an_exact_hit_of_the_kind_may_rise_itself():
    assert places([1.0, 0.99], [0, 1], [False, True]) == [1, 0]


def test_without_any_of_the_kind_the_order_stays():
    assert favour([0.5, 0.5, 0.1], [0, 0, 0], [False] * 3) == [(0, 0.5, 0.0), (1, 0.5, 0.0), (2, 0.1, 0.0)]
    assert favour([], [], []) == []


@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from([0, 0.5, 1]), st.booleans()), max_size=30))
def test_nothing_rises_by_more_than_its_reach_or_past_an_exact_hit_and_nothing_falls(answers):
    answers.sort(key=lambda one: -one[0])
    scores, shares, exact = (list(column) for column in zip(*answers, strict=True)) if answers else ([], [], [])
    order = favour(scores, shares, exact)
    assert sorted(one.place for one in order) == list(range(len(answers)))
    for one in order:
        assert scores[one.place] <= one.score <= scores[one.place] * (1 + REACH * shares[one.place]) + 1e-9
    rank = {one.place: rank for rank, one in enumerate(order)}
    for at, said in enumerate(exact):
        if said:
            assert all(rank[behind] > rank[at] for behind in range(at + 1, len(answers)) if not exact[behind])


@pytest.mark.parametrize(
    ("cue", "held"),
    [
        ("What did we decide about rollback?", ["what did we decide about rollback"]),
        ('How do I set "max open files"?', ['how do i set "max open files"', "max open files"]),
        ("why does retry_limit matter", ["why does retry_limit matter", "retry_limit"]),
        ("  ?  ", []),
    ],
)
def test_what_an_exact_hit_holds(cue, held):
    assert exact_words(cue) == held
