"""Prototypes: the topics of a scope, each the mean of the episodes that came near enough to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# How far a sum of 384 float32 products may be off: whoever is nearer than this to the best is compared again, exactly.
SLACK: Final = 1e-4
ROOM: Final = 4


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
        self._places: dict[int, int] = {}
        self._rows = np.empty((ROOM, dim), np.float32)

    def __len__(self) -> int:
        return len(self.numbers)

    def put(self, number: int, total: Floats) -> None:
        """Add a prototype with this sum, or give one another sum."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self.numbers)
            self.numbers.append(number)
            if place == len(self._rows):
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        size = float(np.sqrt(np.dot(total, total)))
        self._rows[place] = total / size if size > 0 else total

    def nearest(
        self, vector: NDArray[np.floating], sum_of: Callable[[int], Floats], most: int = 1
    ) -> list[tuple[int, float]]:
        """The prototypes most alike, best first, with their cosines; of equals the one that was founded first.

        The rows give a short list, `sum_of` (number to float64 sum) decides: what a product in float32 comes to may
        differ in its last bits with the number of rows beside it, and a threshold must not hang on that.
        """
        if not self.numbers or most <= 0:
            return []
        near = self._rows[: len(self)] @ np.asarray(vector, np.float32)
        least = np.partition(near, -most)[-most] if len(near) > most else near.min()
        listed = np.flatnonzero(near >= least - SLACK * float(np.linalg.norm(vector)))
        found = [(number, cosine(sum_of(number), vector)) for number in (self.numbers[i] for i in listed.tolist())]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]


def alike(rows: NDArray[np.floating], vector: NDArray[np.floating]) -> Floats:
    """The cosine of each unit row (n, dim) with a unit vector, each row's the same whatever stands beside it."""
    return (np.asarray(rows, np.float64) * np.asarray(vector, np.float64)).sum(axis=1)
