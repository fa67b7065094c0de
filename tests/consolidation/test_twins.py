from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slw.adapters.embeddings import Embedder
from slw.consolidation.policy import FoldPolicy
from slw.consolidation.twins import agree, cosine, marks, near, packed, sketch, text_key

SAME = [
    ("The staging database is reset every night.", "The staging database gets reset every night."),
    ("Deploys go out on Tuesdays.", "Deployments go out on Tuesday."),
    ("The CI runs on Ubuntu 22.04.", "CI runs on Ubuntu 22.04."),
]
OTHER = [
    ("We use npm for the frontend.", "We use pnpm for the frontend."),
    ("The API listens on port 5432.", "The API listens on port 5433."),
    ("Never push to main directly.", "Push to main directly."),
    ("Anna prefers tabs over spaces.", "Anna prefers spaces over tabs."),
    ("Retries stop after 3 attempts.", "Retries stop after attempts."),
]


@pytest.fixture(scope="module")
def embedder():
    return Embedder()


def twins(embedder, one, other):
    a, b = (packed(v) for v in embedder.embed([one, other]))
    close = bool(len(near(np.array([sketch(a)], np.int64), sketch(b))))
    return close and cosine(a, b) >= FoldPolicy().twin_cosine and agree(marks(one), marks(other))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_claims_that_say_the_same_in_nearly_the_same_words_are_twins(embedder, one, other):
    assert twins(embedder, one, other) and twins(embedder, other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_claims_that_differ_in_the_one_word_that_matters_are_not(embedder, one, other):
    assert not twins(embedder, one, other) and not twins(embedder, other, one)


def test_case_and_white_space_make_no_other_claim():
    assert text_key("  The API\nis  slow ") == text_key("the api is slow") != text_key("the api is slower")


def test_a_packed_vector_keeps_its_cosines():
    vectors = np.random.default_rng(1).standard_normal((40, 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    mixed = vectors + 0.3 * vectors[0]
    exact = mixed @ mixed[0] / np.linalg.norm(mixed, axis=1) / np.linalg.norm(mixed[0])
    kept = [cosine(packed(row), packed(mixed[0])) for row in mixed]
    assert np.abs(exact - kept).max() < 0.002


@given(st.integers(0, 2**32), st.floats(0.0, 0.32))
def test_whatever_has_a_cosine_of_95_is_found_by_its_sketch(seed, turn):
    chance = np.random.default_rng(seed)
    one, aside = chance.standard_normal((2, 384))
    one /= np.linalg.norm(one)
    aside -= (aside @ one) * one
    aside /= np.linalg.norm(aside)
    other = np.cos(turn) * one + np.sin(turn) * aside
    found = near(np.array([sketch(packed(one))], np.int64), sketch(packed(other)))
    assert len(found) or turn > 0.25  # of the last 6 degrees a few in ten thousand are missed
