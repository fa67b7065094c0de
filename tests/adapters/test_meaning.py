"""Vectors beside the engine: questions first, the log followed to its end, and words alone without a model."""

import threading

import numpy as np
import pytest
from slw.adapters.embeddings import Embedder, EmbeddingCache
from slw.adapters.meaning import EMBEDDINGS_UNAVAILABLE, VECTORS_PENDING, Meaning


@pytest.fixture(scope="module")
def model():
    return Embedder()


class Told:
    """A log of bare texts."""

    def __init__(self, texts):
        self.texts = list(texts)

    def read(self, after, limit):
        return [(at, text) for at, text in enumerate(self.texts, 1) if after < at <= after + limit]


@pytest.fixture
def following(tmp_path, model):
    started = []

    def start(log, embedder=model, wait_seconds=30.0, begin=True):
        cache = EmbeddingCache(tmp_path / "embeddings.db", embedder.space, embedder.dim)
        news = []
        meaning = Meaning(
            embedder,
            cache,
            read=log.read,
            texts_of=lambda text: [text],
            embedded=lambda: news.append(meaning.position),
            wait_seconds=wait_seconds,
        )
        meaning.news = news
        if begin:
            meaning.start(len(log.texts))
        started.append((meaning, cache))
        return meaning

    yield start
    for meaning, cache in started:
        meaning.close()
        cache.close()


def test_what_the_log_holds_at_the_start_is_embedded(following):
    log = Told(f"claim {n}" for n in range(20))
    meaning = following(log)
    assert meaning.wait_for(20, 60)
    assert all(vector is not None for vector in meaning.cache.get(log.texts))
    assert meaning.news == sorted(meaning.news)
    assert meaning.pending == 0


def test_what_the_log_gains_is_embedded(following):
    log = Told(["first"])
    meaning = following(log)
    log.texts.append("second")
    meaning.told("sess_1", 2)
    assert meaning.wait_for(2, 60)
    assert meaning.cache.get(["second"])[0] is not None


def test_a_question_finds_the_vectors_of_what_its_session_just_said(following):
    log = Told(["first"])
    meaning = following(log)
    meaning.told("sess_1", 1)
    vector, warnings = meaning.of("first", "sess_1")
    assert warnings == ()
    assert vector @ meaning.cache.get(["first"])[0] == pytest.approx(1.0, abs=0.002)


def test_a_question_does_not_wait_for_ever(following):
    stuck = threading.Event()

    class Slow(Told):
        def read(self, after, limit):
            stuck.wait(60)
            return super().read(after, limit)

    meaning = following(Slow(["first"]), wait_seconds=0.01)
    meaning.told("sess_1", 1)
    vector, warnings = meaning.of("first", "sess_1")
    assert vector is not None
    assert warnings == (VECTORS_PENDING,)
    stuck.set()


def test_without_a_model_words_go_on_alone(following, tmp_path):
    meaning = following(Told(["first"]), Embedder(weights=tmp_path / "none.onnx"))
    assert meaning.of("anything", "sess_1") == (None, (EMBEDDINGS_UNAVAILABLE,))
    assert not meaning.wait_for(1, 60)
    assert "no embedding model" in meaning.failure


def test_a_text_told_twice_is_embedded_once(following, model):
    class Counting(Embedder):
        def __init__(self):
            super().__init__()
            self.seen = []

        def embed(self, texts):
            self.seen += texts
            return model.embed(texts)

    counting = Counting()
    meaning = following(Told(["same"] * 5 + ["other"]), counting)
    assert meaning.wait_for(6, 60)
    assert sorted(set(counting.seen)) == sorted(counting.seen) == ["other", "same"]


def test_a_question_overtakes_claims_that_wait(following, model):
    meaning = following(Told(f"a claim that waits, number {n}" for n in range(64)), begin=False)
    jobs = [meaning._enqueue(1, [f"claim {n}"]) for n in range(8)]
    question = meaning._enqueue(0, ["question"])
    order = []
    for name, job in (*((f"claim {n}", job) for n, job in enumerate(jobs)), ("question", question)):
        job.add_done_callback(lambda _, name=name: order.append(name))
    meaning.start(0)
    for job in (*jobs, question):
        assert isinstance(job.result(60), np.ndarray)
    assert order[0] == "question"
