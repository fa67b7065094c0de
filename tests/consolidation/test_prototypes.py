"""A prototype is the mean of what came near it, and the nearest one is found exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slw.consolidation.prototypes import Centroids, alike, cosine, founded, grown


def units(count: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, 384))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def test_a_sum_and_a_count_are_the_mean():
    rows = units(9, 1)
    total = founded(rows[0])
    for row in rows[1:]:
        total = grown(total, row)
    assert total / 9 == pytest.approx(rows.astype(np.float64).mean(axis=0))


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(0, 1_000), st.integers(1, 4))
def test_the_nearest_are_those_that_comparing_each_would_find(count, seed, most):
    rows, wanted = units(count, seed), units(1, seed + 1)[0]
    shelf = Centroids(384)
    for number, row in enumerate(rows, 1):
        shelf.put(number, founded(row))
    each = sorted(((n, cosine(row, wanted)) for n, row in enumerate(rows, 1)), key=lambda pair: (-pair[1], pair[0]))
    assert shelf.nearest(wanted, lambda number: founded(rows[number - 1]), most) == each[:most]


def test_of_equals_the_one_that_was_founded_first_is_nearest():
    shelf, [row] = Centroids(384), units(1, 3)
    for number in (4, 5, 6):
        shelf.put(number, founded(row))
    assert shelf.nearest(row, lambda _: founded(row))[0][0] == 4
    assert Centroids(384).nearest(row, lambda _: founded(row)) == []


@given(st.integers(2, 60), st.integers(0, 100))
def test_a_cosine_is_the_same_whatever_stands_beside_it(count, seed):
    rows, wanted = units(count, seed), units(1, seed + 1)[0]
    assert alike(rows, wanted)[:1].tobytes() == alike(rows[:1], wanted).tobytes()
