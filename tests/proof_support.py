"""The facts of a random life, as views are fed with them."""

from __future__ import annotations

from pathlib import Path

from lives import Life
from slw.adapters.log import LogReader, log_environment
from slw.domain.memories import Memories
from slw.projections.projector import Positioned
from tests_support import Clock


def facts_of(folder: Path, seed: int, steps: int) -> list[Positioned]:
    """A life in a log of its own, read back."""
    path, clock = folder / f"life-{seed}.db", Clock()
    with Memories(log_environment(path), clock=clock) as memories:
        Life(memories, clock, seed).steps(steps)
    reader = LogReader(path)
    facts = [Positioned(position, fact) for position, fact in reader.read(0, 1_000_000)]
    reader.close()
    return facts
