"""Prototypes: the topics of a scope, each the mean of the episodes that came near enough to it."""

from __future__ import annotations

from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# How far a sum of 384 float32 products may be off: whoever is nearer than this to the best is compared again, exactly.
SLACK: Final = 1e-4
ROOM: Final = 16


def founded(vector: NDArray[np.floating]) -> Floats:
    """The sum that a prototype of one episode holds."""
    return np.asarray(vector, np.float64)


def grown(held: Floats, vector: NDArray[np.floating]) -> Floats:
    """The sum with one more episode; in event order, so it comes to the same bits in every rebuild."""
    return held + np.asarray(vector, np.float64)


def cosine(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    """How alike two vectors of any length are; 0 where one of them is nothing."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    size = float(np.sqrt(np.dot(a, a)) * np.sqrt(np.dot(b, b)))
    return float(np.dot(a, b)) / size if size > 0 else 0.0


class Centroids:
    """The prototypes of one shelf (a scope, or one coarse prototype), as rows that a new episode is compared with.

    One comparison costs the number of prototypes of the shelf, not that of its episodes.
    """

    def __init__(self, dim: int) -> None:
        self.numbers: list[int] = []
        self.sums: list[Floats] = []
        self._places: dict[int, int] = {}
        self._rows = np.empty((ROOM, dim), np.float32)

    @classmethod
    def of(cls, held: list[tuple[int, Floats]], dim: int) -> Self:
        """Those with these numbers and sums, oldest first."""
        found = cls(dim)
        for number, total in held:
            found.put(number, total)
        return found

    def __len__(self) -> int:
        return len(self.numbers)

    def sum_of(self, number: int) -> Floats:
        """The sum (float64) of a prototype's episodes."""
        return self.sums[self._places[number]]

    def put(self, number: int, total: Floats) -> None:
        """Add a prototype, or give one another sum."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self.numbers)
            self.numbers.append(number)
            self.sums.append(total)
            if place == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self.sums[place] = total
        size = float(np.sqrt(np.dot(total, total)))
        self._rows[place] = total / size if size > 0 else total

    def nearest(self, vector: NDArray[np.floating], most: int = 1) -> list[tuple[int, float]]:
        """The prototypes most alike, best first, with their cosines; equals in the order in which they were founded.

        The rows give a short list, float64 decides: a sum in float32 may differ in its last bits with the number of
        rows beside it, and a threshold must not hang on that.
        """
        if not self.numbers or most <= 0:
            return []
        near = self._rows[: len(self)] @ np.asarray(vector, np.float32)
        size = float(np.linalg.norm(vector))
        least = np.partition(near, -most)[-most] if len(near) > most else near.min()
        listed = np.flatnonzero(near >= least - SLACK * max(1.0, size))
        found = [(self.numbers[i], cosine(self.sums[i], vector)) for i in listed.tolist()]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]
