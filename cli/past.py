"""Asking the past: `--as-of POSITION|TIME` on commands that only read."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from .asking import ask
from .log import PositionOrTime
from .progress import progress
from .terminal import Data, Refused, Terminal

POLL_SECONDS = 0.1
Point = int | datetime | None

as_of_option: Callable[[Any], Any] = click.option(
    "--as-of", "as_of", type=PositionOrTime(), help="As it was at that position of the log, or time."
)


def ask_then(terminal: Terminal, operation: str, body: Data, as_of: int | datetime | None) -> Any:
    """The answer of now, or the one of then; the first question about a point waits until it is replayed."""
    if as_of is None:
        return ask(terminal, operation, body)
    point = as_of.isoformat() if isinstance(as_of, datetime) else str(as_of)
    asked = {"point": point, "operation": operation, "arguments": dict(body)}
    with progress(terminal, "replaying the past") as moved:
        while True:
            try:
                return ask(terminal, "as_of", asked)
            except Refused as refused:
                done = re.search(r"being replayed, (\d+) % done", refused.envelope["error"]["message"])
                if done is None:
                    raise
                moved(int(done[1]), 100)
                time.sleep(POLL_SECONDS)
