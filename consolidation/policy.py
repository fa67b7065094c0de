"""The constants of the science: what shapes the read models, and what weighs when a question is asked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any


def digest_of(policy: Any) -> str:
    """A policy's identity: 16 hex digits over its names and values."""
    return hashlib.sha256(json.dumps(asdict(policy), sort_keys=True, default=str).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class FoldPolicy:
    """What shapes the stored read models. Another value is another schema version, and so another generation."""

    # A month without use halves what use has built. Shorter, and yesterday's one-off beats last month's habit;
    # longer, and a project that has moved on keeps hearing its past.
    salience_half_life: timedelta = timedelta(days=30)
    # What was told on purpose never fades below this share of its value: it is a claim, not a glimpse.
    salience_floor: float = 0.2
    salience_start: float = 1.0
    salience_least: float = 0.05
    salience_most: float = 2.0
    # Each verdict closes this share of the distance to its bound, so no number of them can pass it, and the first
    # ones weigh most. A helped outcome says more than having been of use; irrelevance of one question says less.
    salience_used: float = 0.15
    salience_helped: float = 0.25
    salience_irrelevant: float = 0.12

    @property
    def digest(self) -> str:
        return digest_of(self)


@dataclass(frozen=True)
class ReadPolicy:
    """What weighs when a question is asked. Another value needs no rebuild; its digest stands in each retrieval."""

    # Salience orders what is about equally relevant and cannot beat relevance.
    salience_reach: float = 0.15

    # The fusion of DESIGN's best recipe: bm25 of a memory's surroundings counts as much as that of its own words,
    # the cosine one and a half times as much as both.
    around_weight: float = 1.0
    words_weight: float = 1.0
    meaning_weight: float = 1.5
    # How much of the smoothed cosine is the memory's own; the rest is the mean of its two neighbours.
    own_share: float = 0.7
    named_bonus: float = 0.15
    session_weight: float = 0.5
    session_best: int = 3
    association_weight: float = 0.5

    @property
    def digest(self) -> str:
        return digest_of(self)
