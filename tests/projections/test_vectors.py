"""The vector index: exact within its scope, stopping where a vector is not there yet, and mended when it is damaged."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projections_support import METHOD, SCOPE, Told
from slw.consolidation.wording import shelf_of
from slw.domain.events import ClaimRetired, ContentErased
from slw.projections.projector import Damaged
from slw.projections.vectors import MANIFEST, Vectors

DIM = 384


def vector_of(text: str) -> np.ndarray:
    """A direction for each text, the same every time, as it comes out of the cache: unit length, through float16."""
    seed = np.frombuffer(text.encode() or b"\0", np.uint8)
    vector = np.random.default_rng(seed).standard_normal(DIM)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def all_there(texts):
    return [vector_of(text) if text else None for text in texts]


def told_of(*contents: str, scope: str = SCOPE) -> Told:
    told = Told()
    for n, content in enumerate(contents):
        told.remember(f"mem_{n}", content, scope=scope)
    return told


def vectors_over(home, told, page=1_000, vectors_of=all_there, name="vectors"):
    vectors = Vectors(home / name, "space", vectors_of)
    for start in range(0, len(told.facts), page):
        vectors.apply(told.facts[start : start + page])
        vectors.flush()
    return vectors


def test_the_nearest_are_the_most_alike_first_and_exact(tmp_path):
    texts = [f"claim {n}" for n in range(300)]
    vectors = vectors_over(tmp_path, told_of(*texts))
    asked = vector_of("a question")
    cosines = np.stack([vector_of(text) for text in texts]) @ asked
    rows, found = vectors.nearest(SCOPE, asked, 20)
    assert rows.tolist() == np.argsort(-cosines)[:20].tolist()
    assert found == pytest.approx(cosines[rows], abs=2e-3)


def test_a_label_in_front_says_who_and_is_no_part_of_the_meaning(tmp_path):
    vectors = vectors_over(tmp_path, told_of("Anna: it rains"))
    assert vectors.nearest(SCOPE, vector_of("it rains"), 1)[1] == pytest.approx([1.0], abs=2e-3)


def test_rows_without_a_vector_have_no_cosine(tmp_path):
    vectors = vectors_over(tmp_path, told_of("one", "two"))
    cosines = vectors.cosines(SCOPE, vector_of("two"), np.array([0, 1, 7]))
    assert cosines[1] == pytest.approx(1.0, abs=2e-3)
    assert np.isnan(cosines).tolist() == [False, False, True]
    assert np.isnan(vectors.cosines("project:none", vector_of("two"), np.array([0]))).all()


def test_scopes_and_procedures_lie_apart(tmp_path):
    told = told_of("same words")
    told.remember("mem_b", "same words", scope="project:b")
    told.commit("sess_1", METHOD)
    vectors = vectors_over(tmp_path, told)
    for scope in (SCOPE, "project:b", shelf_of(SCOPE)):
        assert vectors.nearest(scope, vector_of("same words"), 9)[0].tolist() == [0]
    assert vectors.nearest("project:c", vector_of("same words"), 9)[0].tolist() == []


def test_the_view_stops_at_the_first_claim_whose_vector_is_not_there_and_goes_on_later(tmp_path):
    told = told_of("one", "two", "three")
    there = {"one"}
    vectors = vectors_over(
        tmp_path, told, vectors_of=lambda texts: [vector_of(t) if t in there else None for t in texts]
    )
    assert vectors.position == 1
    there |= {"two", "three"}
    vectors.apply(told.facts)
    assert vectors.position == 3
    assert vectors.digest() == vectors_over(tmp_path, told, name="again").digest()


def test_erased_words_leave_no_vector_and_no_byte_of_it(tmp_path):
    told = told_of("one", "the secret", "three")
    vectors = vectors_over(tmp_path, told)
    vectors.write()
    told.tell(ContentErased, "mem_1", positions=(2,))
    vectors.apply(told.facts)
    vectors.flush()
    assert vectors.nearest(SCOPE, vector_of("the secret"), 9)[0].tolist() != [1]
    assert np.isnan(vectors.cosines(SCOPE, vector_of("the secret"), np.array([1]))).all()
    vectors.close()
    secret = vector_of("the secret").astype(np.float16).tobytes()
    assert not any(secret in file.read_bytes() for file in (tmp_path / "vectors").iterdir())


def test_a_claim_blanked_before_it_was_folded_has_a_row_and_no_vector(tmp_path):
    told = told_of("one", "gone", "three")
    blanked = told.facts[1]
    told.facts[1] = blanked._replace(fact=blanked.fact.model_copy(update={"content": ""}))
    vectors = vectors_over(tmp_path, told)
    assert vectors.position == 3
    assert vectors.nearest(SCOPE, vector_of("three"), 9)[0].tolist() == [2, 0]


@pytest.mark.parametrize("page", [1, 7, 1_000])
def test_live_reopened_and_rebuilt_in_any_page_are_equal(tmp_path, page):
    told = told_of(*(f"claim {n}" for n in range(30)))
    told.tell(ClaimRetired, "mem_3", reason="outdated", explanation="so")
    live = vectors_over(tmp_path, told)
    live.close()
    reopened = Vectors(tmp_path / "vectors", "space", all_there)
    rebuilt = vectors_over(tmp_path, told, page, name="rebuilt")
    assert reopened.position == rebuilt.position == len(told.facts)
    assert reopened.digest() == rebuilt.digest()
    assert reopened.counts() == {"vectors": 30}
    again = (vector_of("x"), np.arange(30))
    assert reopened.cosines(SCOPE, *again).tolist() == rebuilt.cosines(SCOPE, *again).tolist()


def test_a_page_given_twice_is_folded_once(tmp_path):
    told = told_of("one", "two")
    vectors = vectors_over(tmp_path, told)
    before = vectors.digest()
    vectors.apply(told.facts)
    assert vectors.digest() == before


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone", "manifest", "space"])
def test_files_that_are_not_what_the_manifest_says_are_refused(tmp_path, damage):
    vectors_over(tmp_path, told_of("one", "two", "three")).close()
    folder = tmp_path / "vectors"
    [file] = folder.glob("*.usearch")
    data = bytearray(file.read_bytes())
    match damage:
        case "flipped":
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
        case "cut":
            file.write_bytes(data[:-9])
        case "gone":
            file.unlink()
        case "manifest":
            (folder / MANIFEST).write_text("{")
        case _:
            pass
    with pytest.raises(Damaged):
        Vectors(folder, "another space" if damage == "space" else "space", all_there)


def test_what_a_crash_left_half_written_is_neither_read_nor_kept(tmp_path):
    told = told_of("one", "two")
    vectors_over(tmp_path, told).close()
    folder = tmp_path / "vectors"
    (folder / "1.new").write_bytes(b"half")
    (folder / "9-feedbeef.usearch").write_bytes(b"written before the manifest that would have named it")
    opened = Vectors(folder, "space", all_there)
    told.remember("mem_9", "nine")
    opened.apply(told.facts)
    opened.close()
    named = {held["file"] for held in json.loads((folder / MANIFEST).read_text())["scopes"].values()}
    assert {file.name for file in folder.glob("*.usearch")} == named


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=12), st.integers(1, 12))
def test_exact_search_agrees_with_brute_force_even_among_twins(tmp_path_factory, texts, limit):
    vectors = vectors_over(tmp_path_factory.mktemp("v"), told_of(*texts))
    asked = vector_of("q")
    cosines = {row: float(vector_of(text) @ asked) for row, text in enumerate(texts)}
    rows, found = vectors.nearest(SCOPE, asked, limit)
    assert len(rows) == min(limit, len(texts))
    assert found == pytest.approx(sorted(cosines.values(), reverse=True)[:limit], abs=2e-3)
    assert found == pytest.approx([cosines[row] for row in rows.tolist()], abs=2e-3)
