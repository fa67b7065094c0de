"""Small helpers that many tests call: who calls, what was shown, a clock that a test moves by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from slw.domain.events import Actor
from slw.domain.session import Shown
from slw.domain.writing import Call

AGENT = Actor(kind="client", name="test-agent", version="1")
PERSON = Actor(kind="person", name="anna")
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **span: float) -> None:
        self.now += timedelta(**span)


def numbered_ids() -> Callable[[str, datetime], str]:
    counter = itertools.count(1)
    return lambda prefix, _at: f"{prefix}_{next(counter):026d}"


def agent(request_id: str = "", arguments: str = "") -> Call:
    return Call(AGENT, request_id, arguments)


def person() -> Call:
    return Call(PERSON)


def shown(verb: str = "activate", **members: object) -> Shown:
    return Shown(
        **{"verb": verb, "cue": "cue", "page_size": 5, "as_of": START, "read_position": 0, "policy": "p", **members}
    )
