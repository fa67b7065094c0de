"""The packaged vectors of the exemplars belong to the packaged model and to the exemplars as they are."""

from __future__ import annotations

import numpy as np
from slw.adapters.embeddings import EmbeddingCache, bundled_space
from slw.adapters.kind_desk import KindDesk
from slw.adapters.kind_exemplars import exemplar_texts, packaged_vectors
from slw.consolidation.kind_model import exemplars


def test_the_packaged_vectors_are_those_of_the_exemplars(embedder):
    """After an edit of the exemplars: python -m slw.adapters.kind_exemplars."""
    vectors = packaged_vectors(bundled_space().id)
    assert vectors is not None and vectors.shape == (len(exemplars()), 384)
    some = slice(0, len(exemplars()), 100)
    assert np.allclose(embedder.embed(exemplar_texts()[some]), vectors[some], atol=0.002)


def test_vectors_of_another_space_are_made_once_and_kept(tmp_path, embedder):
    assert packaged_vectors("another space") is None
    asked = []

    def embed(texts):
        asked.append(len(texts))
        return np.random.default_rng(1).normal(size=(len(texts), 384)).astype(np.float32)

    cache = EmbeddingCache(tmp_path / "e.db", "another space", 384)
    for _ in range(2):
        desk = KindDesk(tmp_path / "kinds.json", cache, space="another space", noticed={}, model_up=lambda: True)
        assert desk.taught == {"fitted": False}
        desk.teach([], embed)
        assert desk.taught["fitted"]
    assert asked == [len(exemplar_texts())]
    cache.close()


def test_what_people_confirmed_joins_the_exemplars(tmp_path, embedder):
    cache = EmbeddingCache(tmp_path / "e.db", embedder.space, 384)
    desk = KindDesk(tmp_path / "kinds.json", cache, space=embedder.space, noticed={}, model_up=lambda: True)
    desk.teach([], embedder.embed)
    alone = desk.taught["recipe"]
    texts = [f"Mangrove ticket {n} is with Wanda." for n in range(30)]
    cache.put(texts, embedder.embed(texts))
    desk.teach([(text, "prospective") for text in texts], embedder.embed)
    assert desk.taught["confirmed_memories"] == 30 and desk.taught["recipe"] != alone
    [guess] = desk.guessed_here(["Mangrove ticket 77 is with Wanda."], embedder.embed)
    assert guess.kind == "prospective" and guess.source == "local"
    cache.close()
