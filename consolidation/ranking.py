"""How well each candidate answers a question: one score out of words, meaning, neighbours, subject and session."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .policy import ReadPolicy

Floats = NDArray[np.float64]

# The usual constants of bm25: how soon saying a word again stops to tell more, and how far length is held against it.
SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.75
# Memories of this length take what their neighbours mean as it is; shorter ones up to this many times that.
_PLAIN_LENGTH: Final = 25
_MORE_AT_MOST: Final = 1.5
# The size of the scopes in which the floors were measured.
_FLOORS_HOLD_AT: Final = 460


def rarity(holders: int, all_of_them: int) -> float:
    """How much a word tells that `holders` of all memories say (idf); above 0 even for one that all of them say."""
    return math.log1p((max(0, all_of_them - holders) + 0.5) / (holders + 0.5))


def bm25(counts: Floats, lengths: NDArray[np.int64], mean_length: float, tells: float) -> Floats:
    """What saying one word `counts` times adds to texts of these lengths, where it tells that much."""
    against = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * lengths / max(1.0, mean_length))
    return tells * counts * (SATURATION + 1.0) / (counts + against)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of n candidates for one question; every array has n entries.

    `own` and `around` are bm25 of a memory's own words and of those told beside it (0: no match), `length` the words it
    has. `cosine` is nan
    where there is no vector. `beside` (n, k) are cosines of its neighbours in the session, nan where there is none.
    `session` numbers the sessions; `follows` is the candidate told right before it there, or -1. `named` tells whether
    the one name in the question is the memory's subject, `asks` whether it is a question itself, `timely` whether it
    says a time that the question wants, `dated` whether it is of a date that the question names.
    `salience` and `association` are in -1..1: how firmly it is held, and what feedback taught for questions like this.
    """

    own: Floats
    around: Floats
    length: NDArray[np.int64]
    cosine: Floats
    beside: Floats
    session: NDArray[np.int64]
    follows: NDArray[np.int64]
    named: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    timely: NDArray[np.bool_]
    dated: NDArray[np.bool_]
    salience: Floats
    association: Floats

    def __len__(self) -> int:
        return len(self.own)


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each candidate and the parts that it is the sum of (before salience)."""

    total: Floats
    words: Floats
    meaning: Floats
    named: Floats
    session: Floats
    time: Floats
    dialogue: Floats
    association: Floats


def scored(found: Candidates, policy: ReadPolicy) -> Scores:
    """Fuse by score, not by rank.

    Words: bm25 of the memory plus bm25 of its surroundings, by their maximum. Meaning: the cosine, smoothed with those
    of its neighbours, less the longer it is. Then a bonus for the subject that the question names, and for a session
    whose best memories fit; for the time that is asked for or named; and what is told right after a fitting question
    is likely its answer, while the question itself answers nothing. Salience scales the whole by at most
    `salience_reach`; associations add at most `association_weight`.
    """
    words = found.own + policy.around_weight * found.around
    most = words.max(initial=0.0)
    words = policy.words_weight * words / most if most > 0 else words
    needs = context_needed(found.length, policy.context_length)
    meaning = policy.meaning_weight * smoothed(found.cosine, found.beside, (1.0 - policy.own_share) * needs)
    named = np.where(found.named, policy.named_bonus, 0.0)
    base = words + meaning + named
    session = policy.session_weight * session_mean(base, found.session, policy.session_best)
    asked_before = found.asks[found.follows] & (found.follows >= 0) if len(found) else found.asks
    answer = np.where(asked_before, (base + session)[found.follows] * policy.answer_share * needs, 0.0)
    dialogue = answer - np.where(found.asks, policy.asking_penalty, 0.0)
    time = np.where(found.timely, policy.timely_bonus, 0.0) + np.where(found.dated, policy.dated_bonus, 0.0)
    association = policy.association_weight * found.association
    total = (base + session + time + dialogue) * (1.0 + policy.salience_reach * found.salience) + association
    return Scores(total, words, meaning, named, session, time, dialogue, association)


def answerable(cosines: Floats, shares: Floats, memories: int, policy: ReadPolicy, *, known: bool = False) -> bool:
    """Whether the best of a scope's memories answer a question at all, or are only the least bad of them.

    `cosines` are 0 where unknown, `shares` how much of the question each says; `known` whether it is about somebody
    whose memories are here; `memories` how many there are to be the best of.
    """
    said = shares.max(initial=0.0) + (policy.floor_named if known else 0.0)
    if not cosines.any():
        return bool(said >= policy.floor_words)
    best = cosines.max(initial=0.0)
    luck = policy.floor_spread * (best_of(memories) - best_of(_FLOORS_HOLD_AT))
    return bool(best + said >= policy.floor + luck or best >= policy.floor_cosine + luck)


def best_of(n: int) -> float:
    """How many standard deviations the best of n draws lies above their mean, about."""
    return math.sqrt(2.0 * math.log(max(2, n)))


def context_needed(lengths: NDArray[np.int64], context_length: float) -> Floats:
    """How much a memory needs what was told beside it: 1 at 25 words, half more at most, less where it is longer."""
    return np.minimum(_MORE_AT_MOST, (_PLAIN_LENGTH + context_length) / (lengths + context_length))


def smoothed(cosine: Floats, beside: Floats, others_share: Floats) -> Floats:
    """A weighted mean of a candidate's cosine and the mean of its neighbours'; 0 where nothing is known."""
    own = np.nan_to_num(cosine, nan=0.0)
    known = ~np.isnan(beside)
    count = known.sum(axis=1)
    others = np.where(known, beside, 0.0).sum(axis=1) / np.maximum(count, 1)
    return np.where(count > 0, (1.0 - others_share) * own + others_share * others, own)


def session_mean(base: Floats, session: NDArray[np.int64], best: int) -> Floats:
    """For each candidate the mean of the best few scores of its session; fewer count as zeros."""
    order = np.lexsort((-base, session))
    grouped = session[order]
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]]) if len(order) else np.empty(0, np.int64)
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    top = np.where(place < best, base[order], 0.0)
    means = np.add.reduceat(top, starts) / best if len(starts) else np.empty(0)
    out = np.empty(len(base))
    out[order] = np.repeat(means, np.diff(np.r_[starts, len(order)]))
    return out
