"""Salience: how firmly a memory is held, how that fades, and how little it may move a score."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .policy import FoldPolicy, ReadPolicy


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


def reinforced(value: float, since: datetime, verdict: str, at: datetime, policy: FoldPolicy) -> tuple[float, datetime]:
    """The value and its beginning after a verdict at a time: a share of the way to the bound it points to.

    `used` and `helped` raise the undecayed value and let it count from now on anew: what is recalled with success is
    as fresh as what was just told. `irrelevant` lowers it and refreshes nothing. So one more `used` never leaves a
    memory weaker at any later time, and the order of verdicts changes little. Other verdicts change nothing.
    """
    if verdict in ("used", "helped"):
        share = policy.salience_used if verdict == "used" else policy.salience_helped
        return bounded(value + share * (policy.salience_most - value), policy), max(since, at)
    if verdict == "irrelevant":
        return bounded(value - policy.salience_irrelevant * (value - policy.salience_least), policy), since
    return value, since


def scale(strength: float, policy: ReadPolicy, fold: FoldPolicy) -> float:
    """The factor on a score, within 1 +- salience_reach; a claim nobody has judged stands at exactly 1 when told."""
    if strength >= fold.salience_start:
        return 1 + policy.salience_reach * (strength - fold.salience_start) / (fold.salience_most - fold.salience_start)
    return 1 - policy.salience_reach * (fold.salience_start - strength) / (fold.salience_start - fold.salience_least)


def strengths_at(values: NDArray[np.float64], ages: NDArray[np.float64], policy: FoldPolicy) -> NDArray[np.float64]:
    """`strength_at` for many at once: their values, and how many half-lives ago each was reinforced."""
    left = np.maximum(policy.salience_floor, 0.5 ** np.maximum(ages, 0.0))
    return np.where(ages > 0, np.clip(values * left, policy.salience_least, policy.salience_most), values)
