"""Topics: the prototypes of every scope, coarse ones and finer ones within them, beside the episodes they are of."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from typing import Final, NamedTuple

import numpy as np

from ..consolidation.policy import FoldPolicy
from ..consolidation.prototypes import Centroids, Floats, founded, grown

# A prototype's number is that of the episode that founded it; its sum is stored once there is more than one episode.
CREATE = """
CREATE TABLE prototypes (
    level INTEGER NOT NULL, no INTEGER NOT NULL, scope INTEGER NOT NULL, parent INTEGER NOT NULL,
    members INTEGER NOT NULL, total BLOB, founded_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    PRIMARY KEY (level, no)) WITHOUT ROWID;
CREATE INDEX shelves ON prototypes (level, scope, parent, no);
"""
COARSE: Final = 0
FINE: Final = 1
PREFIX: Final = ("proto_", "fine_")
# Rows of coarse centroids (1.5 kB each) that stay in memory beside those of the scope in use; what is not there is read
# again when needed, as the few fine ones of one topic always are.
ROWS_KEPT: Final = 16_384
SUM_OF = """
SELECT coalesce(p.total, e.vector), p.members FROM prototypes p JOIN episodes e ON e.no = p.no
WHERE p.level = ? AND p.no = ?"""
SHELF = """
SELECT p.no, coalesce(p.total, e.vector), p.members
FROM prototypes p INDEXED BY shelves CROSS JOIN episodes e ON e.no = p.no
WHERE p.level = ? AND p.scope = ? AND p.parent = ? ORDER BY p.no"""


class Placed(NamedTuple):
    """Where an episode belongs: its coarse and its fine prototype, and whether it founded the coarse one."""

    coarse: int
    fine: int
    new: bool


class Topics:
    """Puts an episode where it belongs; the file beside it is the only place where all prototypes stand."""

    def __init__(self, db: sqlite3.Connection, policy: FoldPolicy, dim: int) -> None:
        self._db, self._policy, self._dim = db, policy, dim
        self._scopes: OrderedDict[int, Centroids] = OrderedDict()

    def forget(self) -> None:
        """Hold nothing in memory; what is stored is read again."""
        self._scopes.clear()

    def place(self, no: int, scope: int, vector: np.ndarray, at: int) -> Placed:
        """Put an episode, which is stored already, into the nearest prototypes, or let it found new ones."""
        coarse = self._joined(COARSE, scope, 0, no, vector, self._policy.prototype_coarse, at)
        fine = self._joined(FINE, scope, coarse, no, vector, self._policy.prototype_fine, at)
        return Placed(coarse, fine, new=coarse == no)

    def beside(self, no: int, scope: int, vector: np.ndarray) -> list[tuple[int, float]]:
        """The few other topics of the scope that are nearest to one, with their cosines."""
        found = self._shelf(COARSE, scope, 0).nearest(
            vector, lambda number: self._sum(COARSE, number)[0], self._policy.semantic_most + 1
        )
        return [(other, cosine) for other, cosine in found if other != no and cosine >= self._policy.topic_least][
            : self._policy.semantic_most
        ]

    def _joined(self, level: int, scope: int, parent: int, no: int, vector: np.ndarray, least: float, at: int) -> int:
        shelf = self._shelf(level, scope, parent)
        found = shelf.nearest(vector, lambda number: self._sum(level, number)[0])
        if not found or found[0][1] < least:
            shelf.put(no, founded(vector))
            self._db.execute("INSERT INTO prototypes VALUES (?,?,?,?,1,NULL,?,?)", (level, no, scope, parent, at, at))
            return no
        number = found[0][0]
        total, members = self._sum(level, number)
        total = grown(total, vector)
        shelf.put(number, total)
        self._db.execute(
            "UPDATE prototypes SET members=?, total=?, last_at=? WHERE level=? AND no=?",
            (members + 1, total.astype("<f8").tobytes(), at, level, number),
        )
        return number

    def _sum(self, level: int, number: int) -> tuple[Floats, int]:
        data, members = self._db.execute(SUM_OF, (level, number)).fetchone()
        return summed(data, members, self._dim), members

    def _shelf(self, level: int, scope: int, parent: int) -> Centroids:
        kept = self._scopes.get(scope) if level == COARSE else None
        if kept is None:
            kept = Centroids(self._dim)
            for number, data, members in self._db.execute(SHELF, (level, scope, parent)):
                kept.put(number, summed(data, members, self._dim))
        if level == COARSE:
            self._scopes[scope] = kept
            self._scopes.move_to_end(scope)
            while len(self._scopes) > 1 and sum(map(len, self._scopes.values())) > ROWS_KEPT:
                self._scopes.popitem(last=False)
        return kept


def summed(data: bytes | None, members: int, dim: int) -> Floats:
    """The sum of a prototype's episodes; of a single one its vector, and nothing where that was erased."""
    if data is None:
        return np.zeros(dim)
    return np.frombuffer(data, "<f8" if members > 1 else "<f2").astype(np.float64)
