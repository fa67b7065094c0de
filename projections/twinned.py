"""Twinned: finds the claim of which a new one is a twin, in all scopes, without looking at all of them."""

from __future__ import annotations

import sqlite3

import numpy as np

from ..consolidation.policy import FoldPolicy
from ..consolidation.twins import agree, cosine, marks, near, packed, sketch, text_key
from ..domain.events import ClaimRemembered

ROOM = 1_024


class Twinned:
    """The claims of a store by their words and their vectors. A claim joins the oldest founder of which it is a twin.

    Equal words make twins anywhere; other words only across scopes, where the vectors all but agree and no word
    stands in the place of another. The rest of the group need not be alike: the founder speaks for it.
    """

    def __init__(self, db: sqlite3.Connection, policy: FoldPolicy) -> None:
        self._db, self._policy = db, policy
        self._load()

    def _load(self) -> None:
        """Bring the sketches of what is stored into memory: 20 bytes a claim."""
        rows = self._db.execute("SELECT no, scope, sketch FROM claims WHERE sketch IS NOT NULL ORDER BY no").fetchall()
        room = max(ROOM, 2 * len(rows))
        self._sketches, self._nos = np.empty(room, np.int64), np.empty(room, np.int64)
        self._scopes = np.empty(room, np.int32)
        self._count = 0
        for no, scope, bits in rows:
            self._keep(no, scope, bits)

    def told(self, no: int, fact: ClaimRemembered, scope: int, vector: np.ndarray | None) -> int | None:
        """Store a claim; returns the founder it joined, None when it stands alone."""
        said = text_key(fact.content) if fact.content else None
        told = marks(fact.content) if fact.content else None
        data = None if vector is None else packed(vector)
        bits = None if data is None else sketch(data)
        founder = self._founder(no, scope, said, told, data)
        self._db.execute(
            "INSERT INTO claims (no, memory_id, scope, session, said, marks, vector, sketch, founder) "
            "VALUES (?,?,?,?,?,?,?,?,?)",
            (no, fact.originator_id, scope, fact.session_id, said, told, data, bits, founder),
        )
        if bits is not None:
            self._keep(no, scope, bits)
        return founder

    def _keep(self, no: int, scope: int, bits: int) -> None:
        if self._count == len(self._nos):
            self._sketches = np.concatenate([self._sketches, np.empty_like(self._sketches)])
            self._nos = np.concatenate([self._nos, np.empty_like(self._nos)])
            self._scopes = np.concatenate([self._scopes, np.empty_like(self._scopes)])
        self._sketches[self._count], self._nos[self._count], self._scopes[self._count] = bits, no, scope
        self._count += 1

    def _founder(self, no: int, scope: int, said: bytes | None, told: str | None, data: bytes | None) -> int | None:
        """The oldest founder among earlier claims that this one is a twin of."""
        row = self._db.execute(
            "SELECT min(coalesce(founder, no)) FROM claims WHERE said = ? AND no < ?", (said, no)
        ).fetchone()
        found: int | None = row[0]
        if data is None or told is None:
            return found
        others = np.flatnonzero((self._scopes[: self._count] != scope) & (self._nos[: self._count] < no))
        for other in self._nos[others[near(self._sketches[others], sketch(data))]].tolist():
            if found is not None and other >= found:
                break
            founder, its_marks, its_data = self._db.execute(
                "SELECT founder, marks, vector FROM claims WHERE no=?", (other,)
            ).fetchone()
            if founder is None and agree(told, its_marks) and cosine(data, its_data) >= self._policy.twin_cosine:
                found = other
        return found

    def forget(self, no: int, founder: int | None) -> None:
        """A claim was erased. What came after it is grouped anew, since it may have been a founder."""
        alone = self._db.execute("SELECT 1 FROM claims WHERE founder = ? LIMIT 1", (no,)).fetchone() is None
        self._db.execute("UPDATE claims SET founder = NULL WHERE no = ?", (no,))
        self._load()
        if founder is None and alone:
            return
        later = self._db.execute("SELECT no, scope, said, marks, vector FROM claims WHERE no > ? ORDER BY no", (no,))
        rows = later.fetchall()
        self._db.execute("UPDATE claims SET founder = NULL WHERE no > ?", (no,))
        for other, scope, said, told, data in rows:
            joined = self._founder(other, scope, said, told, data)
            if joined is not None:
                self._db.execute("UPDATE claims SET founder = ? WHERE no = ?", (joined, other))
