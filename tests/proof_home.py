"""Homes with a life in them, and vectors that need no model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from lives import Life
from slw.adapters.embeddings import EmbeddingCache, bundled_space
from slw.adapters.log import LogReader, log_environment
from slw.consolidation.wording import query_text
from slw.domain.events import RetrievalRecorded
from slw.domain.memories import Memories
from slw.projections.vectors import embedded_texts
from tests_support import Clock

SPACE = bundled_space()


def vector_of(text: str) -> np.ndarray:
    """A unit vector that only this text has: enough to prove what is folded, and nothing has to be loaded."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(SPACE.dim)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def vectors_of(texts: Sequence[str]) -> list[np.ndarray | None]:
    return [vector_of(text) for text in texts]


def live_in(home: Path, seed: int, steps: int) -> None:
    """A life in the log of a home, and the vectors of all it said."""
    home.mkdir(mode=0o700, exist_ok=True)
    clock = Clock()
    with Memories(log_environment(home / "log.db"), clock=clock) as memories:
        Life(memories, clock, seed).steps(steps)
    keep_vectors(home)


def keep_vectors(home: Path) -> None:
    reader = LogReader(home / "log.db")
    said = [fact for _, fact in reader.read(0, 1_000_000)]
    reader.close()
    texts = sorted({text for fact in said for text in embedded_texts(fact)})
    texts += sorted({query_text(fact.cue) for fact in said if isinstance(fact, RetrievalRecorded)} - set(texts))
    cache = EmbeddingCache(home / "embeddings.db", SPACE.id, SPACE.dim)
    cache.put(texts, np.stack([vector_of(text) for text in texts]))
    cache.close()


def open_and_close(home: Path) -> None:
    """Let read models grow, as an owner does, and be written."""
    from slw.adapters.store import Store

    store = Store.open(home)
    store.settle()
    store.close()
