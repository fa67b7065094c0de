"""Salience: how firmly a memory is held, and how that fades."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from .policy import FoldPolicy


class Held(Protocol):
    """How firmly something is held: the value it had when it was last reinforced."""

    @property
    def value(self) -> float: ...

    @property
    def since(self) -> datetime: ...


def bounded(value: float, policy: FoldPolicy) -> float:
    """The value within the bounds that hold for every memory."""
    return min(policy.salience_most, max(policy.salience_least, value))


def faded(value: float, since: datetime, as_of: datetime, policy: FoldPolicy) -> float:
    """What is left of a value: half of it each half-life, but never below the floor's share.

    Time before `since` fades nothing.
    """
    age = (as_of - since) / policy.salience_half_life
    if age <= 0:
        return value
    return bounded(value * max(policy.salience_floor, 0.5**age), policy)


def strength_at(held: Held, as_of: datetime, policy: FoldPolicy) -> float:
    """How firmly it is held at a time, within [salience_least, salience_most]."""
    return faded(held.value, held.since, as_of, policy)


def reinforced(value: float, since: datetime, verdict: str, at: datetime, policy: FoldPolicy) -> float:
    """The value after a verdict at a time: a share of the way to the bound that the verdict points to.

    `used` and `helped` point up, `irrelevant` down; any other verdict leaves the value as it is.
    """
    now = faded(value, since, at, policy)
    if verdict == "used":
        now += policy.salience_used * (policy.salience_most - now)
    elif verdict == "helped":
        now += policy.salience_helped * (policy.salience_most - now)
    elif verdict == "irrelevant":
        now -= policy.salience_irrelevant * (now - policy.salience_least)
    return bounded(now, policy)
