"""What feedback teaches about a question: which memories answered questions like it, and which did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .policy import FoldPolicy, ReadPolicy

Floats = NDArray[np.float64]

# The verdicts that teach; what is stale, known already or beyond judging says nothing about the question.
TEACHING: Final = ("used", "irrelevant")


@dataclass(frozen=True, slots=True)
class Lesson:
    """How well one memory answers one sort of question: 1 for sure, -1 never. `cue` numbers the question's vector.

    `at` is where in the log it was last learned.
    """

    cue: int
    value: float
    at: int


def moved(value: float, verdict: str, policy: FoldPolicy) -> float:
    """The value after one more verdict: a share of the way to the bound it points to, so that no number passes it."""
    if verdict == "used":
        return value + policy.cue_used * (1.0 - value)
    if verdict == "irrelevant":
        return value - policy.cue_irrelevant * (value + 1.0)
    return value


def learned(
    lessons: Sequence[Lesson], cue: int, cosines: Sequence[float], verdict: str, at: int, policy: FoldPolicy
) -> tuple[Lesson, ...]:
    """The lessons of one memory after a verdict on it for a question; `cosines` tell how alike that is to each held.

    The same question in other words moves the lesson that is there. Another one begins a lesson; where there are too
    many, the weakest of those that say nothing about this question goes (the oldest of equals), and if all of them
    do, the nearest takes the verdict. So `used` never leaves the memory weaker for the question it was used for, nor
    `irrelevant` stronger, whatever is forgotten.
    """
    if verdict not in TEACHING:
        return tuple(lessons)
    nearest = max(range(len(lessons)), key=lambda i: (cosines[i], -i), default=-1)
    foreign = [i for i, cosine in enumerate(cosines) if cosine < policy.cue_foreign]
    if nearest >= 0 and (cosines[nearest] >= policy.cue_same or (len(lessons) >= policy.cues_most and not foreign)):
        told = lessons[nearest]
        told = replace(told, value=moved(told.value, verdict, policy), at=at)
        return tuple(told if i == nearest else lesson for i, lesson in enumerate(lessons))
    kept = list(lessons)
    if len(kept) >= policy.cues_most:
        del kept[min(foreign, key=lambda i: (abs(kept[i].value), kept[i].at, i))]
    return (*kept, Lesson(cue, moved(0.0, verdict, policy), at))


def likeness(cosines: Floats, policy: ReadPolicy) -> Floats:
    """How much a lesson of one question counts for another: 0 up to the threshold, 1 for the same, sharpened."""
    above = np.clip((cosines - policy.cue_threshold) / (1.0 - policy.cue_threshold), 0.0, 1.0)
    return above**policy.cue_sharpness


def boosts(owners: NDArray[np.intp], values: Floats, likenesses: Floats, count: int) -> Floats:
    """What `count` memories are lifted by, in -1..1: the sum of their lessons by likeness, saturating.

    Lesson i belongs to memory `owners[i]`. A memory that was never judged for a question like this stays at 0.
    """
    return np.tanh(np.bincount(owners, values * likenesses, count))
