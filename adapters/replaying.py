"""Replay: the log folded, read-only, into a fresh generation anywhere else, up to any position or time."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from ..consolidation.policy import FoldPolicy
from ..domain.errors import InvalidInput, NotFound, Unavailable
from ..projections.generation import Generation
from ..projections.projector import Positioned
from ..projections.succession import Succession
from .embeddings import EmbeddingCache, bundled_space
from .log import LogReader
from .views import view_kinds

Progress = Callable[[int, int], None]  # (folded up to here, of these)
# A progress bar that moves ten times a second at full speed, and costs nothing.
STEP: Final = 2_000


@dataclass(slots=True)
class Replayed:
    """What a replay came to. `views` says how far each view is: less than `position` where vectors are not kept.

    `settled` are the names of the digests whose view came all the way; the others say nothing yet.
    """

    position: int
    generation: str
    digests: Mapping[str, str]
    counts: Mapping[str, int]
    views: Mapping[str, int]
    seconds: float
    cpu_seconds: float
    events: int
    settled: frozenset[str] = frozenset()


class KeptVectors(EmbeddingCache):
    """The cache of vectors as it is, on a connection that cannot write; without the file it holds nothing."""

    def __init__(self, path: Path, space: str, dim: int) -> None:
        self.space, self.dim, self._lock = space, dim, threading.Lock()
        where = f"{path.absolute().as_uri()}?mode=ro" if path.exists() else "file::memory:"
        self._db = sqlite3.connect(where, uri=True, timeout=30, isolation_level=None, check_same_thread=False)
        self._there = path.exists()

    def get(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        return super().get(texts) if self._there else [None] * len(texts)


def position_of(log: Path, point: int | datetime | None) -> int:
    """The position that a point names: itself, the last one not later than the time, or the end of the log.

    NotFound when the log does not go there.
    """
    with closing(LogReader(log)) as reader:
        end = reader.position()
        if point is None:
            return end
        if isinstance(point, int):
            if not 0 <= point <= end:
                raise NotFound(f"the log has no position {point}", hint=f"it goes from 1 to {end}")
            return point
        return last_not_later(reader, end, point)


def last_not_later(reader: LogReader, end: int, moment: datetime) -> int:
    """The last position not later than a time, by halving: times never go back in the log. 0 before the first."""
    low, high = 0, end
    while low < high:
        middle = (low + high + 1) // 2
        [(_, fact)] = reader.read(middle - 1, 1)
        low, high = (middle, high) if fact.recorded_at <= moment else (low, middle - 1)
    return low


def time_of(log: Path, position: int) -> datetime:
    """When the event at a position was recorded."""
    with closing(LogReader(log)) as reader:
        [(_, fact)] = reader.read(position - 1, 1)
        return fact.recorded_at


@contextmanager
def replayed(
    log: Path, embeddings: Path, to: int, into: Path | None = None, progress: Progress | None = None
) -> Iterator[tuple[Generation, Replayed]]:
    """Fold the log up to `to` into a generation under `into`, or in a temporary folder that goes at the end.

    The log and the vectors are only read. Raises Unavailable when a view cannot be folded.
    """
    with tempfile.TemporaryDirectory(prefix="slw-replay-") as scratch:
        place = Path(scratch) if into is None else into
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if into is not None and any(place.iterdir()):
            raise InvalidInput(f"{into} is not empty", hint="name a folder that is not there yet: --into DIR")
        space, policy = bundled_space(), FoldPolicy()
        with closing(LogReader(log)) as reader, closing(KeptVectors(embeddings, space.id, space.dim)) as kept:

            def read(after: int, limit: int) -> list[Positioned]:
                return [Positioned(at, fact) for at, fact in reader.read(after, limit, to)]

            succession = Succession(place, view_kinds(policy, space.id, kept.get), policy.digest, read)
            generation = succession.create()
            try:
                told = _grown(generation, to, progress)
                if into is not None:
                    succession.adopt(generation)
                yield generation, told
            finally:
                generation.retire()


def _grown(generation: Generation, to: int, progress: Progress | None) -> Replayed:
    began, cpu = time.monotonic(), time.process_time()
    projector = generation.projector
    reached = 0
    waiting = 0
    while reached < to:
        reached = min(to, reached + STEP)
        projector.catch_up(reached)
        waiting += STEP
        if waiting >= generation_step(to):
            projector.flush()
            waiting = 0
        if progress:
            progress(reached, to)
    projector.flush()
    if projector.failures:
        raise Unavailable(
            f"the log cannot be folded: {projector.failures}", hint="slw replay --strict names the first event at fault"
        )
    spent, worked = time.monotonic() - began, time.process_time() - cpu
    return Replayed(
        position=to,
        generation=generation.directory.name,
        digests=projector.digests(),
        counts={name: count for view in generation.views.values() for name, count in view.counts().items()},
        views=projector.positions(),
        seconds=spent,
        cpu_seconds=worked,
        events=to,
        settled=frozenset(name for view in generation.views.values() if view.position == to for name in view.counts()),
    )


def generation_step(to: int) -> int:
    """How many events are folded between two writes: large steps cost less, and bound the memory all the same."""
    return min(20_000, max(STEP, to // 4))
