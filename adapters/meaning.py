"""Vectors beside the engine: of a question at once, of what the log gained as soon as there is time."""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Final

import numpy as np

from ..domain.events import Fact
from .embeddings import BATCH, Embedder, EmbeddingCache, EmbeddingsUnavailable

log = logging.getLogger("slw")

EMBEDDINGS_UNAVAILABLE: Final = "embeddings_unavailable"
VECTORS_PENDING: Final = "vectors_pending"
PAGE: Final = 200
# So many positions are embedded within the wait; a bulk load would only make every question late.
FEW: Final = 40
_QUESTION, _CLAIM, _END = 0, 1, 2

ReadPage = Callable[[int, int], Sequence[tuple[int, Fact]]]
TextsOf = Callable[[Fact], Sequence[str]]
Job = tuple[int, int, Sequence[str], "Future[np.ndarray]"]


class Meaning:
    """One thread embeds, questions before claims; another reads the log and gives it what is not embedded yet.

    `read(after, limit)` reads the log, `texts_of(fact)` names what of a fact is embedded;
    `embedded()` is called when more vectors are there. `position` is how far they are there for certain.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: EmbeddingCache,
        *,
        read: ReadPage,
        texts_of: TextsOf,
        embedded: Callable[[], None],
        wait_seconds: float,
    ) -> None:
        self.embedder = embedder
        self.cache = cache
        self.position = 0
        self.failure = ""
        self._read = read
        self._texts_of = texts_of
        self._embedded = embedded
        self._wait_seconds = wait_seconds
        self._jobs: queue.PriorityQueue[Job] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._moved = threading.Condition()
        self._wanted = 0  # the follower is to come up to here
        self._told: dict[str, int] = {}  # session -> position of its last claim
        self._closing = False
        self._worker = threading.Thread(target=self._work, name="slw-embed", daemon=True)
        self._follower = threading.Thread(target=self._follow, name="slw-follow", daemon=True)

    def start(self, end: int) -> None:
        """Begin with what the log holds up to `end`; until then nothing is embedded."""
        self._wanted = end
        self._worker.start()
        self._follower.start()

    def warm(self) -> None:
        """Load the model before the first question needs it."""
        self._enqueue(_QUESTION, [])

    def of(self, text: str, session_id: str = "") -> tuple[np.ndarray | None, tuple[str, ...]]:
        """The vector of a question, or None without a model; and warnings about what it may miss.

        Waits a little for vectors of what `session_id` remembered just before, and for others if they are few.
        """
        vectors, warnings = self.of_all([text], session_id)
        return (vectors[0] if vectors else None), warnings

    def of_all(self, texts: Sequence[str], session_id: str = "") -> tuple[Sequence[np.ndarray], tuple[str, ...]]:
        """Like `of` for a question in several wordings; no vector at all without a model."""
        try:
            vectors = list(self._enqueue(_QUESTION, texts).result())
        except EmbeddingsUnavailable:
            return (), (EMBEDDINGS_UNAVAILABLE,)
        needed = self._wanted if self.pending <= FEW else self._told.get(session_id, 0)
        return vectors, () if self.wait_for(needed, self._wait_seconds) else (VECTORS_PENDING,)

    def told(self, session_id: str, position: int) -> None:
        """Claims up to `position` are in the log and want vectors."""
        with self._moved:
            if session_id:
                self._told[session_id] = position
            self._wanted = max(self._wanted, position)
            self.failure = ""  # whatever it was, it may be over; a model that cannot load says so again at once
            self._moved.notify_all()

    def wait_for(self, position: int, seconds: float | None = None) -> bool:
        """Whether everything up to `position` had its vector within that time."""
        with self._moved:
            return self._moved.wait_for(lambda: self.position >= position or bool(self.failure), seconds) and (
                self.position >= position
            )

    def close(self) -> None:
        """Finish the batch at hand and stop; what is left is embedded by the next owner."""
        with self._moved:
            self._closing = True
            self._moved.notify_all()
        if self._worker.ident is not None:
            self._follower.join()
            self._jobs.put((_END, next(self._numbers), [], Future()))
            self._worker.join()

    # -- the worker

    def _enqueue(self, urgency: int, texts: Sequence[str]) -> Future[np.ndarray]:
        future: Future[np.ndarray] = Future()
        self._jobs.put((urgency, next(self._numbers), texts, future))
        return future

    def _work(self) -> None:
        while (job := self._jobs.get())[0] != _END:
            _, _, texts, future = job
            try:
                if not texts:
                    self.embedder.load()
                future.set_result(self.embedder.embed(texts))
            except Exception as fault:  # noqa: BLE001 - it belongs to whoever waits for the vectors
                future.set_exception(fault)

    # -- the follower

    def _follow(self) -> None:
        while self._has_work():
            try:
                for position in self._pages():
                    with self._moved:
                        self.position = position
                        self._told = {s: at for s, at in self._told.items() if at > position}
                        self._moved.notify_all()
                    self._embedded()
                    if self._closing:
                        return
            except EmbeddingsUnavailable as refused:
                self._give_up(refused.message)
            except Exception as fault:
                log.exception("embedding stopped at position %d", self.position)
                self._give_up(f"{type(fault).__name__}: {fault}")

    def _give_up(self, reason: str) -> None:
        """Words go on alone; a new owner tries again."""
        with self._moved:
            self.failure = reason
            self._moved.notify_all()

    def _has_work(self) -> bool:
        with self._moved:
            self._moved.wait_for(lambda: self._closing or (self._wanted > self.position and not self.failure))
            return not self._closing

    def _pages(self) -> Iterator[int]:
        """Embed page after page; gives the position after each batch that is wholly in the cache."""
        while page := self._read(self.position, PAGE):
            waiting: dict[str, None] = {}
            for position, fact in page:
                texts = self._texts_of(fact)
                missing = [t for t, held in zip(texts, self.cache.get(texts), strict=True) if held is None]
                waiting.update(dict.fromkeys(missing))
                if len(waiting) >= BATCH:
                    self._embed(list(waiting))
                    waiting.clear()
                    yield position
            self._embed(list(waiting))
            yield page[-1][0]

    def _embed(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH):
            some = texts[start : start + BATCH]
            self.cache.put(some, self._enqueue(_CLAIM, some).result())

    @property
    def working(self) -> bool:
        """Whether vectors are being made."""
        return self.pending > 0 and not self.failure

    @property
    def pending(self) -> int:
        """How many positions of the log still wait for their vectors."""
        return max(0, self._wanted - self.position)
