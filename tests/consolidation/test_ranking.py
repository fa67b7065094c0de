"""The score of a candidate, as properties: what may move it, which way, and how far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slw.consolidation.policy import ReadPolicy
from slw.consolidation.ranking import (
    Candidates,
    answerable,
    bm25,
    context_needed,
    rarity,
    scored,
    session_mean,
    smoothed,
)

POLICY = ReadPolicy()
NAN = float("nan")


def candidates(n: int = 4, **columns: object) -> Candidates:
    """n candidates of sessions of their own, told one after the other, of which nothing is known but what is given."""
    return Candidates(
        **{
            "own": np.zeros(n), "around": np.zeros(n), "length": np.full(n, 25),
            "cosine": np.full(n, NAN), "beside": np.full((n, 2), NAN),
            "session": np.arange(n), "follows": np.full(n, -1), "named": np.zeros(n, bool), "asks": np.zeros(n, bool),
            "timely": np.zeros(n, bool), "dated": np.zeros(n, bool), "salience": np.zeros(n),
            "association": np.zeros(n),
            **{name: np.asarray(values) for name, values in columns.items()},
        }
    )  # fmt: skip


def totals(**columns: object) -> list[float]:
    return scored(candidates(len(next(iter(columns.values()))), **columns), POLICY).total.tolist()  # type: ignore[arg-type]


def test_no_candidates_have_no_scores():
    assert scored(candidates(0), POLICY).total.tolist() == []


def test_nothing_known_is_nothing_scored():
    assert totals(own=[0.0, 0.0]) == [0.0, 0.0]


@pytest.mark.parametrize(
    "columns",
    [
        {"own": [1.0, 2.0]},
        {"around": [1.0, 2.0]},
        {"cosine": [0.1, 0.4]},
        {"named": [False, True]},
        {"asks": [True, False]},
        {"timely": [False, True]},
        {"dated": [False, True]},
        {"own": [1.0, 1.0], "salience": [0.0, 1.0]},
        {"own": [1.0, 1.0], "association": [0.0, 0.5]},
        {"own": [1.0, 1.0, 3.0, 0.1], "session": [0, 1, 1, 0]},
        {"own": [1.0, 1.0, 0.9, 0.9], "follows": [2, 3, -1, -1], "asks": [False, False, False, True]},
        {"cosine": [0.3, 0.3], "beside": [[0.0, 0.1], [0.5, 0.6]]},
    ],
    ids=" and ".join,
)
def test_the_second_of_two_is_better_for_what_it_has_more(columns):
    first, second = totals(**columns)[:2]
    assert second > first


@given(st.lists(st.floats(0.01, 40), min_size=1, max_size=9), st.data())
def test_salience_moves_a_score_by_its_reach_at_most(own, data):
    salience = data.draw(st.lists(st.floats(-1, 1), min_size=len(own), max_size=len(own)))
    plain, moved = np.array(totals(own=own)), np.array(totals(own=own, salience=salience))
    assert (np.abs(moved - plain) <= POLICY.salience_reach * np.abs(plain) + 1e-12).all()


@given(st.lists(st.floats(0.01, 40), min_size=2, max_size=9), st.floats(0, 1), st.floats(0, 1))
def test_being_held_more_firmly_never_lowers_a_rank_among_equals(own, less, more):
    own[1] = own[0]
    first, second = totals(own=own, salience=[min(less, more), max(less, more), *[0.0] * (len(own) - 2)])[:2]
    assert second >= first


@given(st.permutations(range(6)))
def test_the_order_in_which_candidates_are_given_does_not_matter(order):
    own, cosine, session = np.arange(6.0), np.linspace(0.5, 0, 6), np.array([0, 0, 1, 1, 2, 2])
    straight = scored(candidates(6, own=own, cosine=cosine, session=session), POLICY).total
    mixed = scored(candidates(6, own=own[order], cosine=cosine[order], session=session[order]), POLICY).total
    assert mixed == pytest.approx(straight[list(order)])


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(-1, 1), st.booleans()), min_size=1, max_size=9))
def test_a_score_is_the_sum_of_its_parts_where_nothing_was_learned(rows):
    own, cosine, named = (list(column) for column in zip(*rows, strict=True))
    found = scored(candidates(len(rows), own=own, cosine=cosine, named=named), POLICY)
    parts = found.words + found.meaning + found.named + found.session + found.time + found.dialogue
    assert found.total == pytest.approx(parts)


def test_a_candidate_alone_in_its_session_is_not_smoothed():
    assert smoothed(np.array([0.4]), np.array([[NAN, NAN]]), np.array([0.3])).tolist() == [0.4]


def test_a_neighbour_on_one_side_stands_for_both():
    one = smoothed(np.array([0.4]), np.array([[0.2, NAN]]), np.array([0.3]))
    two = smoothed(np.array([0.4]), np.array([[0.2, 0.2]]), np.array([0.3]))
    assert one == pytest.approx([0.34])
    assert two == pytest.approx([0.34])


@given(st.integers(0, 3_000), st.integers(0, 3_000))
def test_a_longer_text_never_needs_its_neighbours_more(length, more):
    [short, long] = context_needed(np.array([length, length + more]), POLICY.context_length).tolist()
    assert 0 < long <= short <= 1.5


def test_a_session_is_as_good_as_its_best_few():
    base, session = np.array([4.0, 1.0, 2.0, 3.0]), np.array([7, 7, 9, 7])
    assert session_mean(base, session, 1).tolist() == [4.0, 4.0, 2.0, 4.0]
    assert session_mean(base, session, 2).tolist() == [3.5, 3.5, 1.0, 3.5]


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_rarer_word_tells_more_and_every_word_tells_something(holders, more):
    assert rarity(holders, 100) >= rarity(holders + more, 100) > 0


def test_saying_it_again_tells_less_each_time_and_in_a_long_text_less():
    once, twice, thrice = bm25(np.array([1.0, 2.0, 3.0]), np.array([10, 10, 10]), 10.0, 1.0).tolist()
    assert 0 < thrice - twice < twice - once < once
    [short, long] = bm25(np.array([1.0, 1.0]), np.array([5, 50]), 10.0, 1.0).tolist()
    assert short > long


def test_a_part_with_no_weight_plays_no_part():
    without = replace(POLICY, named_bonus=0.0)
    assert scored(candidates(2, named=[True, False]), without).total.tolist() == [0.0, 0.0]


# ---------------------------------------------------------------- the floor


def answers(cosine: float, share: float, memories: int = 460, *, known: bool = False) -> bool:
    return answerable(np.array([0.01, cosine]), np.array([share, 0.0]), memories, POLICY, known=known)


def test_meaning_and_words_together_or_meaning_alone_make_an_answer():
    assert answers(0.3, 0.3)
    assert not answers(0.3, 0.2)
    assert answers(0.3, 0.2, known=True)
    assert answers(0.45, 0.0)
    assert not answers(0.44, 0.0)


def test_the_best_of_few_need_not_be_as_close_as_the_best_of_many():
    assert answers(0.36, 0.0, memories=8)
    assert not answers(0.36, 0.0, memories=460)
    assert not answers(0.5, 0.0, memories=100_000)


def test_where_no_cosine_is_known_words_decide_alone():
    unknown = np.zeros(2)
    assert answerable(unknown, np.array([0.3, 0.1]), 460, POLICY)
    assert not answerable(unknown, np.array([0.2, 0.1]), 460, POLICY)


def test_nothing_answers_nothing():
    assert not answerable(np.empty(0), np.empty(0), 0, POLICY)


@given(st.floats(0.01, 1), st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_what_answers_among_many_answers_among_fewer(cosine, share, some, more):
    if answers(cosine, share, some + more):
        assert answers(cosine, share, some)
