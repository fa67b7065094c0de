"""A progress bar for what takes long: how many events, how fast, how much longer; on a terminal's stderr only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .terminal import Terminal

Moved = Callable[[int, int], None]  # (done, of these)


@contextmanager
def progress(terminal: Terminal, doing: str, unit: str = "events") -> Iterator[Moved]:
    """While the block runs, a bar; the function it is given moves it. Without a terminal nothing is drawn."""
    if terminal.quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 - only for a person's eyes
    from rich.progress import (  # noqa: PLC0415 - likewise
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(doing, total=None, rate="")

        def moved(done: int, of: int) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=of, rate=f"{speed:,.0f} {unit}/s" if speed else "")

        yield moved
