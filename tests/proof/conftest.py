"""A home with a life in it, lived once and copied for each test, and vectors that need no model."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from lives import Life
from slw.adapters.embeddings import EmbeddingCache, bundled_space
from slw.adapters.log import log_environment
from slw.adapters.reach import stop_owner
from slw.domain.events import ClaimRemembered, TaskCommitted
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
    from slw.adapters.log import LogReader

    reader = LogReader(home / "log.db")
    said = [fact for _, fact in reader.read(0, 1_000_000) if isinstance(fact, ClaimRemembered | TaskCommitted)]
    reader.close()
    texts = sorted({text for fact in said for text in embedded_texts(fact)})
    cache = EmbeddingCache(home / "embeddings.db", SPACE.id, SPACE.dim)
    cache.put(texts, np.stack([vector_of(text) for text in texts]))
    cache.close()


@pytest.fixture(scope="session")
def lived_once() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="slw-") as name:
        home = Path(name) / "h"
        live_in(home, 11, 250)
        open_and_close(home)
        yield home


@pytest.fixture
def lived(lived_once: Path) -> Iterator[Path]:
    """A copy of a home at rest: a log, vectors and a generation; whatever owner it gets is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="slw-", ignore_cleanup_errors=True) as name:
        home = Path(name) / "h"
        shutil.copytree(lived_once, home)
        yield home
        stop_owner(home)


def open_and_close(home: Path) -> None:
    """Let read models grow, as an owner does, and be written."""
    from slw.adapters.store import Store

    store = Store.open(home)
    store.settle()
    store.close()


@pytest.fixture
def grown(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Folds a list of facts in pages of any size into a fresh generation; returns the digests."""
    from slw.adapters.views import view_kinds
    from slw.consolidation.policy import FoldPolicy
    from slw.projections.succession import Succession

    count = iter(range(1_000_000))

    def grow(facts, *sizes: int, reopen: int = 0) -> dict[str, str]:
        policy = FoldPolicy()
        folder = tmp_path / f"g{next(count)}"
        folder.mkdir()
        kinds = view_kinds(policy, SPACE.id, vectors_of)
        generation = Succession(
            folder, kinds, policy.digest, lambda after, limit: facts[after : after + limit]
        ).create()
        at, turn = 0, 0
        while at < len(facts):
            size = sizes[turn % len(sizes)]
            for view in generation.views.values():
                view.apply(facts[at : at + size])
            at, turn = at + size, turn + 1
            if turn % 3 == 0:
                generation.projector.flush()
            if reopen and turn % reopen == 0:
                for view in generation.views.values():
                    view.flush()
                    view.close()
                directory, manifest = generation.directory, generation.manifest
                generation = type(generation).open(
                    directory, manifest, kinds, lambda after, limit: facts[after : after + limit]
                )
                assert generation.mended == []
                generation.projector.catch_up(min(at, len(facts)))
        digests = generation.projector.digests()
        generation.retire()
        return digests

    return grow
