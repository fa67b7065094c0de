"""What many tests start from: a clock that stands, and a write side over a real log in a temporary home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from slw.adapters.log import LogReader, log_environment
from slw.domain.memories import Memories
from tests_support import Clock, numbered_ids


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def memories(log_path: Path, clock: Clock) -> Iterator[Memories]:
    with Memories(log_environment(log_path), clock=clock, ids=numbered_ids()) as opened:
        yield opened


@pytest.fixture
def facts(log_path: Path) -> Callable[[], list[str]]:
    """The topics of all facts in the log, in order."""

    def read() -> list[str]:
        reader = LogReader(log_path)
        try:
            return [fact.TOPIC for _, fact in reader.read(0, 10_000)]
        finally:
            reader.close()

    return read
