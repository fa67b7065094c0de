"""Jointly: which memories were shown together and of use together in a session, until the session ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from ..domain.events import FeedbackGiven, FeedbackWithdrawn, PageShown, TaskActivated

CREATE: Final = """
CREATE TABLE open_sessions (session_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE pages (
    session_id TEXT NOT NULL, retrieval_id TEXT NOT NULL, continues TEXT NOT NULL,
    PRIMARY KEY (session_id, retrieval_id)) WITHOUT ROWID;
CREATE TABLE verdicts (
    session_id TEXT NOT NULL, version INTEGER NOT NULL, shown TEXT NOT NULL, memory_id TEXT NOT NULL,
    used INTEGER NOT NULL, withdrawn_by INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, version, memory_id)) WITHOUT ROWID;
"""


class Jointly:
    """Keeps the verdicts of open sessions; the last one on a memory counts, one that was taken back does not."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def opened(self, fact: TaskActivated) -> None:
        """A session began."""
        self._db.execute("INSERT OR IGNORE INTO open_sessions VALUES (?)", (fact.originator_id,))

    def turned(self, fact: PageShown) -> None:
        """A further page was shown; it belongs to what its first page belongs to."""
        first = self._first_page(fact.originator_id, fact.continues)
        self._db.execute("INSERT OR IGNORE INTO pages VALUES (?,?,?)", (fact.originator_id, fact.retrieval_id, first))

    def judged(self, fact: FeedbackGiven) -> Sequence[str]:
        """Note the verdicts; returns what is of use together at once, since it was said after the session's end."""
        session = fact.originator_id
        if not self._db.execute("SELECT 1 FROM open_sessions WHERE session_id=?", (session,)).fetchone():
            return list(dict.fromkeys(v.memory_id for v in fact.memories if v.assessment == "used"))
        shown = self._first_page(session, fact.retrieval_id)
        self._db.executemany(
            "INSERT OR REPLACE INTO verdicts (session_id, version, shown, memory_id, used) VALUES (?,?,?,?,?)",
            [(session, fact.originator_version, shown, v.memory_id, v.assessment == "used") for v in fact.memories],
        )
        return ()

    def withdrawn(self, fact: FeedbackWithdrawn) -> None:
        """An undo took a feedback back, or such a withdrawal; what was tied at a session's end fades by itself."""
        session, compensated = fact.originator_id, fact.compensates.version
        again = self._db.execute(
            "UPDATE verdicts SET withdrawn_by=0 WHERE session_id=? AND withdrawn_by=?", (session, compensated)
        )
        if not again.rowcount:
            self._db.execute(
                "UPDATE verdicts SET withdrawn_by=? WHERE session_id=? AND version=?",
                (fact.originator_version, session, compensated),
            )

    def closed(self, session: str) -> list[list[str]]:
        """A session ended: the memories of each retrieval that were of use, as they were judged first."""
        last: dict[tuple[str, str], bool] = {}
        for shown, memory_id, used in self._db.execute(
            "SELECT shown, memory_id, used FROM verdicts WHERE session_id=? AND withdrawn_by=0 "
            "ORDER BY version, memory_id",
            (session,),
        ):
            last[shown, memory_id] = bool(used)
        groups: dict[str, list[str]] = {}
        for (shown, memory_id), used in last.items():
            if used:
                groups.setdefault(shown, []).append(memory_id)
        for table in ("open_sessions", "pages", "verdicts"):
            self._db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))
        return list(groups.values())

    def _first_page(self, session: str, retrieval_id: str) -> str:
        row = self._db.execute(
            "SELECT continues FROM pages WHERE session_id=? AND retrieval_id=?", (session, retrieval_id)
        ).fetchone()
        return row[0] if row else retrieval_id
