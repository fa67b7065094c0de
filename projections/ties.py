"""Ties: the edges between memories and between prototypes, in memory as bytes and behind that in a table."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from typing import Final

from ..consolidation.associations import Edge, tied
from ..consolidation.policy import FoldPolicy

CREATE = """
CREATE TABLE edges (layer INTEGER NOT NULL, node INTEGER NOT NULL, ties BLOB NOT NULL, PRIMARY KEY (layer, node))
    WITHOUT ROWID;
"""
MEMORIES: Final = 0
PROTOTYPES: Final = 1
# To, strength, since, ways: 25 bytes an edge, so that 100,000 memories with eight edges take some 25 MB.
_EDGE: Final = struct.Struct("<qdqB")


class Ties:
    """The edges of every node, both ways; each end keeps them by its own measure."""

    def __init__(self, db: sqlite3.Connection, policy: FoldPolicy) -> None:
        self._db, self._policy = db, policy
        self._held: tuple[dict[int, bytes], dict[int, bytes]] = ({}, {})
        self._dirty: dict[tuple[int, int], None] = {}

    def load(self) -> None:
        """Bring back what is stored, and nothing else."""
        self._dirty.clear()
        for held in self._held:
            held.clear()
        for layer, node, ties in self._db.execute("SELECT layer, node, ties FROM edges ORDER BY layer, node"):
            self._held[layer][node] = ties

    def of(self, layer: int, node: int) -> tuple[Edge, ...]:
        """A node's edges, the strongest first at the time when they last changed."""
        return tuple(map(Edge._make, _EDGE.iter_unpack(self._held[layer].get(node, b""))))

    def tie(self, layer: int, one: int, other: int, way: int, share: float, at: int) -> None:
        """Two nodes had something to do with each other at a time (microseconds)."""
        if one == other:
            return
        for node, to in ((one, other), (other, one)):
            self._put(layer, node, tied(self.of(layer, node), to, way, share, at, self._policy))

    def _put(self, layer: int, node: int, edges: Sequence[Edge]) -> None:
        self._held[layer][node] = b"".join(_EDGE.pack(*edge) for edge in edges)
        self._dirty[layer, node] = None

    def write(self) -> None:
        """Store what changed, in the caller's transaction."""
        if self._dirty:
            self._db.executemany(
                "INSERT INTO edges VALUES (?,?,?) ON CONFLICT DO UPDATE SET ties = excluded.ties",
                [(layer, node, self._held[layer][node]) for layer, node in self._dirty],
            )
            self._dirty.clear()

    def counts(self) -> tuple[int, int]:
        """How many edges memories and prototypes keep; an edge counts at each end that keeps it."""
        memories, prototypes = (sum(map(len, held.values())) // _EDGE.size for held in self._held)
        return memories, prototypes
