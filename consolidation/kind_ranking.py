"""What a question's shape does to an order: memories of the kind that it asks for come a little further up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

# A shape is a hint, not a filter: fifteen in a hundred reorder what is about equally good and no more.
REACH: Final = 0.15
# A guessed kind counts half, since it is right about three times in four.
SUGGESTED_SHARE: Final = 0.5


class Favoured(NamedTuple):
    """One answer after favouring: where it stood before (from 0), its score now, and what the kind added to it."""

    place: int
    score: float
    added: float


def favour(scores: Sequence[float], shares: Sequence[float], exact: Sequence[bool]) -> list[Favoured]:
    """The order after favouring, best first.

    `scores` come best first; `shares` tell how far each answer is of the kind asked for (1 confirmed, 0.5 suggested,
    0 another); `exact` marks answers that hold the question's own words as they stand. Nothing passes an exact one.
    """
    raised: list[Favoured] = []
    ceiling = float("inf")
    for place, (score, share, said) in enumerate(zip(scores, shares, exact, strict=True)):
        now = min(score * (1.0 + REACH * share), max(ceiling, score)) if score > 0 else score
        raised.append(Favoured(place, now, now - score))
        if said:
            ceiling = now
    return sorted(raised, key=lambda f: (-f.score, f.place))
