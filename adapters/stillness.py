"""A home to oneself: the owner is asked to go, and nobody can start another one until the work is done."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..domain.errors import Unavailable
from .reach import START_SECONDS, Unreachable, stop_owner, take_lease


@contextmanager
def stillness(home: Path) -> Iterator[None]:
    """Hold the home's lease. Calls of agents wait meanwhile, up to 40 s, and then go on with a new owner.

    Raises Unavailable when the owner does not go.
    """
    deadline = time.monotonic() + START_SECONDS
    lease = None
    try:
        while lease is None:
            stop_owner(home)
            lease = take_lease(home)
            if lease is None and time.monotonic() > deadline:
                raise Unavailable("another program holds the home", hint="slw serve stop, then try again")
    except Unreachable as gone:
        raise Unavailable(gone.envelope["error"]["message"], hint=gone.envelope["error"]["hint"]) from gone
    try:
        yield
    finally:
        os.close(lease)
