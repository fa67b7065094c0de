"""A home with a life in it, lived once and copied for each test, and vectors that need no model."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from proof_home import SPACE, live_in, open_and_close, vectors_of
from slw.adapters.reach import stop_owner


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
