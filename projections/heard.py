"""What the words of a question reach in one scope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the question as it was spoken: the live rows that say it, how often each, and how much it tells."""

    spoken: str
    rows: np.ndarray
    counts: np.ndarray
    tells: float


@dataclass(frozen=True, slots=True)
class Heard:
    """The terms of a question, and by row of the scope the bm25 of its own words and of those told around it."""

    terms: tuple[Term, ...]
    own: np.ndarray
    around: np.ndarray

    def best(self, limit: int, around_weight: float = 0.0) -> np.ndarray:
        """The rows that say most, at most `limit`, in the order they were told; ties go to what was told first."""
        score = self.own + around_weight * self.around
        rows = np.flatnonzero(score)
        if len(rows) <= limit:
            return rows
        kept = score[rows]
        least = np.partition(kept, len(kept) - limit)[len(kept) - limit]
        above, ties = rows[kept > least], rows[kept == least]
        return np.sort(np.concatenate([above, ties[: limit - len(above)]]))

    def said(self, rows: np.ndarray) -> np.ndarray:
        """(n rows, n terms) whether each row says each term."""
        said = np.zeros((len(rows), len(self.terms)), np.bool_)
        for n, term in enumerate(self.terms):
            if len(term.rows):
                said[:, n] = term.rows[np.searchsorted(term.rows, rows).clip(0, len(term.rows) - 1)] == rows
        return said

    def share(self, said: np.ndarray) -> np.ndarray:
        """How much of the question each row of `said` says, by what its terms tell: 0 to 1."""
        tells = np.array([term.tells for term in self.terms])
        mass = tells.sum()
        return said @ tells / mass if mass > 0 else np.zeros(len(said))

    def spoken(self, said: np.ndarray) -> list[str]:
        """The terms that one row says, as the question has them, the most telling first."""
        held = [term for term, there in zip(self.terms, said.tolist(), strict=True) if there]
        return [term.spoken for term in sorted(held, key=lambda term: -term.tells)]
