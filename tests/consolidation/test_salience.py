from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from slw.consolidation.policy import FoldPolicy, ReadPolicy
from slw.consolidation.salience import faded, reinforced, scale

FOLD, READ = FoldPolicy(), ReadPolicy()
START = datetime(2026, 1, 1, tzinfo=UTC)
verdicts = st.lists(
    st.tuples(st.sampled_from(("used", "helped", "irrelevant", "not_used", "stale")), st.floats(0, 400)), max_size=60
)


def lived(told):
    value, since, at = FOLD.salience_start, START, START
    for word, days in told:
        at += timedelta(days=days)
        value, since = reinforced(value, since, word, at, FOLD)
    return value, since, at


@given(verdicts, st.floats(0, 4_000))
def test_it_stays_in_its_bounds_for_any_sequence_and_moves_a_score_by_its_reach_at_most(told, later):
    value, since, at = lived(told)
    now = faded(value, since, at + timedelta(days=later), FOLD)
    assert FOLD.salience_least <= now <= FOLD.salience_most
    assert 1 - READ.salience_reach - 1e-9 <= scale(now, READ, FOLD) <= 1 + READ.salience_reach + 1e-9


@given(verdicts, st.floats(0, 4_000))
def test_one_more_used_never_leaves_it_weaker_and_one_more_irrelevant_never_stronger_at_any_later_time(told, later):
    value, since, at = lived(told)
    then = at + timedelta(days=later)
    without = faded(value, since, then, FOLD)
    assert faded(*reinforced(value, since, "used", at, FOLD), then, FOLD) >= without
    assert faded(*reinforced(value, since, "irrelevant", at, FOLD), then, FOLD) <= without


@given(st.lists(st.sampled_from(("used", "irrelevant")), min_size=2, max_size=16))
def test_the_order_of_verdicts_changes_little(words):
    value, *_ = lived([(word, 0) for word in words])
    other, *_ = lived([(word, 0) for word in reversed(words)])
    assert abs(value - other) < 0.06


def test_sixteen_verdicts_show_and_cannot_pass_the_bounds():
    used, *_ = lived([("used", 0)] * 16)
    irrelevant, *_ = lived([("irrelevant", 0)] * 16)
    assert scale(irrelevant, READ, FOLD) < 0.97
    assert scale(used, READ, FOLD) > 1.05


def test_what_was_just_told_counts_for_exactly_what_it_says():
    assert scale(FOLD.salience_start, READ, FOLD) == 1.0
