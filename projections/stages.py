"""How widely each claim is held: which claims are twins, where else one was of use, and the stage that follows."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..consolidation.wording import document_text
from ..domain.events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimReinstated,
    ClaimRemembered,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    ContentErased,
    FeedbackGiven,
    FeedbackWithdrawn,
    KindConfirmed,
    KindReinstated,
    KindSuggested,
    KindWithdrawn,
    TaskActivated,
    TaskCommitted,
)
from ..domain.vocabulary import Stage
from .projector import Damaged, Positioned, ViewKind
from .twinned import Twinned
from .vectors import VectorsOf
from .wider import Wider

FILE: Final = "stages.sqlite"
VERSION: Final = "2"
CREATE: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE scopes (no INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE, active INTEGER NOT NULL DEFAULT 0);
CREATE TABLE sessions (session_id TEXT PRIMARY KEY, scope INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (
    no INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, scope INTEGER NOT NULL, session TEXT NOT NULL,
    said BLOB, marks TEXT, vector BLOB, sketch INTEGER, founder INTEGER,
    retirements TEXT NOT NULL DEFAULT '', suppressed INTEGER NOT NULL DEFAULT 0, erased INTEGER NOT NULL DEFAULT 0,
    promoted TEXT NOT NULL DEFAULT 'scoped', pinned TEXT);
CREATE INDEX by_said ON claims (said) WHERE said IS NOT NULL;
CREATE INDEX by_founder ON claims (founder) WHERE founder IS NOT NULL;
CREATE INDEX by_person ON claims (no) WHERE promoted <> 'scoped' OR pinned IS NOT NULL;
CREATE TABLE kinds (
    no INTEGER NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL,
    PRIMARY KEY (no, version)) WITHOUT ROWID;
CREATE TABLE elsewhere (
    no INTEGER NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL, retrieval_id TEXT NOT NULL,
    scope INTEGER NOT NULL, word TEXT NOT NULL, withdrawn_by INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (no, session_id, version)) WITHOUT ROWID;
CREATE INDEX by_feedback ON elsewhere (session_id, version);
"""
DIGESTED: Final = {
    "stages.scopes": "scopes ORDER BY no",
    "stages.claims": "claims ORDER BY no",
    "stages.kinds": "kinds ORDER BY no, version",
    "stages.elsewhere": "elsewhere ORDER BY no, session_id, version",
}


class Stages:
    """The view over stages.sqlite. Folded inside one open transaction that `flush` commits with the position.

    Only what is held beyond its scope, or may be, is in memory. What a claim costs does not grow with the store but
    for a scan of 8 bytes a claim for its twins.
    """

    name = "stages"

    def __init__(self, path: Path, space: str, policy: FoldPolicy, vectors_of: VectorsOf) -> None:
        """Open or make the file. Raises Damaged when it is not what this build wrote for this space."""
        self._policy, self._vectors_of = policy, vectors_of
        fresh = not path.exists()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA secure_delete=ON;")
            if fresh:
                self._db.executescript(CREATE)
                self._db.execute("INSERT INTO meta VALUES ('version', ?), ('position', 0)", (f"{VERSION} {space}",))
            elif self._db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged(f"{path.name}: quick_check failed")
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            if meta.get("version") != f"{VERSION} {space}":
                raise Damaged(f"{path.name} has version {meta.get('version')}")
            self._position = self._durable = int(meta["position"])
            self._load()
        except (sqlite3.Error, KeyError, ValueError) as fault:
            self._db.close()
            raise Damaged(f"{path.name}: {fault}") from fault
        except Damaged:
            self._db.close()
            raise

    def _load(self) -> None:
        """Hold in memory what is stored, and nothing else."""
        self._scopes: dict[str, int] = {s: no for no, s in self._db.execute("SELECT no, scope FROM scopes")}
        self._twinned = Twinned(self._db, self._policy)
        self._names: dict[int, str] = {no: scope for scope, no in self._scopes.items()}
        self._wider = Wider(self._db, self._policy, self._names)

    # -- the view

    @property
    def position(self) -> int:
        return self._position

    def apply(self, page: Sequence[Positioned]) -> None:
        """Fold up to the first claim whose vector is not there yet."""
        news = [at for at in page if at.position > self._position]
        texts = [document_text(at.fact.content) if isinstance(at.fact, ClaimRemembered) else "" for at in news]
        wanted = [text for text in texts if text]
        found = iter(self._vectors_of(wanted) if wanted else ())
        if news and not self._db.in_transaction:
            self._db.execute("BEGIN")
        for at, text in zip(news, texts, strict=True):
            vector = next(found) if text else None
            if text and vector is None:
                break
            if isinstance(at.fact, LISTENS_TO):
                self._whole(at, vector)
            self._position = at.position

    def _whole(self, at: Positioned, vector: np.ndarray | None) -> None:
        """Fold one fact wholly or not at all."""
        self._db.execute("SAVEPOINT fact")
        try:
            self._fold(at, vector)
        except BaseException:
            self._db.execute("ROLLBACK TO fact")
            self._load()
            raise
        finally:
            self._db.execute("RELEASE fact")

    def _fold(self, at: Positioned, vector: np.ndarray | None) -> None:
        fact = at.fact
        match fact:
            case TaskActivated():
                self._db.execute(
                    "INSERT OR IGNORE INTO sessions VALUES (?,?)", (fact.originator_id, self._numbered(fact.scope))
                )
            case TaskCommitted():
                self._db.execute("UPDATE scopes SET active = 1 WHERE no = ?", (self._numbered(fact.scope),))
                self._wider.activated(fact.scope)
            case ClaimRemembered():
                self._told(at.position, fact, vector)
            case FeedbackGiven():
                self._judged(fact)
            case FeedbackWithdrawn():
                self._withdrawn(fact)
            case ContentErased():
                self._erased(fact)
            case KindSuggested() | KindConfirmed() | KindReinstated() | KindWithdrawn():
                self._said_kind(fact)
            case _:
                self._changed_by(fact)

    def _numbered(self, scope: str) -> int:
        number = self._scopes.get(scope)
        if number is None:
            number = 1 + len(self._scopes)
            self._db.execute("INSERT INTO scopes (no, scope) VALUES (?,?)", (number, scope))
            self._scopes[scope], self._names[number] = number, scope
        return number

    # -- claims

    def _told(self, no: int, fact: ClaimRemembered, vector: np.ndarray | None) -> None:
        founder = self._twinned.told(no, fact, self._numbered(fact.scope), vector)
        if fact.kind:
            source = "person" if fact.actor.kind == "person" else "caller"
            self._db.execute("INSERT INTO kinds VALUES (?,?,?,?)", (no, fact.originator_version, fact.kind, source))
        if founder:
            self._wider.touched(founder)

    def _changed_by(self, fact: Any) -> None:
        """Retirement, suppression, promotion and pinning, each with its undoing."""
        row = self._db.execute(
            "SELECT no, founder, retirements FROM claims WHERE memory_id = ?", (fact.originator_id,)
        ).fetchone()
        if row is None:
            return
        no, founder, retirements = row
        standing = retirements.split()
        match fact:
            case ClaimRetired():
                standing.append(str(fact.restores or fact.originator_version))
                column, value = "retirements", " ".join(sorted(standing, key=int))
            case ClaimReinstated():
                column, value = "retirements", " ".join(v for v in standing if v != str(fact.compensates.version))
            case ClaimSuppressed() | ClaimUnsuppressed():
                column, value = "suppressed", isinstance(fact, ClaimSuppressed)
            case ClaimPromoted():
                column, value = "promoted", fact.stage
            case _:
                column, value = "pinned", fact.stage
        self._db.execute(f"UPDATE claims SET {column} = ? WHERE no = ?", (value, no))
        if column in ("promoted", "pinned"):
            self._wider.touched(founder or no)
        else:
            self._wider.touched_if_known(founder or no)

    def _said_kind(self, fact: KindSuggested | KindConfirmed | KindReinstated | KindWithdrawn) -> None:
        row = self._db.execute("SELECT no, founder FROM claims WHERE memory_id = ?", (fact.originator_id,)).fetchone()
        if row is None:
            return
        if isinstance(fact, KindWithdrawn):
            self._db.execute("DELETE FROM kinds WHERE no = ? AND version = ?", (row[0], fact.compensates.version))
        else:
            # What is reinstated stands where the withdrawn fact stood, so that undoing twice changes nothing.
            version = fact.compensates.version if isinstance(fact, KindReinstated) else fact.originator_version
            self._db.execute("INSERT OR REPLACE INTO kinds VALUES (?,?,?,?)", (row[0], version, fact.kind, fact.source))
        self._wider.touched_if_known(row[1] or row[0])

    def _erased(self, fact: ContentErased) -> None:
        """The words are gone, and with them what they were like: as if they had never been told."""
        row = self._db.execute("SELECT no, founder FROM claims WHERE memory_id = ?", (fact.originator_id,)).fetchone()
        if row is not None:
            self._db.execute(
                "UPDATE claims SET said=NULL, marks=NULL, vector=NULL, sketch=NULL, erased=1 WHERE no=?", (row[0],)
            )
            self._twinned.forget(row[0], row[1])
            self._load()

    # -- what other scopes say

    def _judged(self, fact: FeedbackGiven) -> None:
        """Only what is said in another scope is evidence; at home a claim stands anyway."""
        session = self._db.execute("SELECT scope FROM sessions WHERE session_id=?", (fact.originator_id,)).fetchone()
        for verdict in fact.memories if session else ():
            row = self._db.execute(
                "SELECT no, scope, founder FROM claims WHERE memory_id = ?", (verdict.memory_id,)
            ).fetchone()
            if row is None or row[1] == session[0]:
                continue
            self._db.execute(
                "INSERT OR REPLACE INTO elsewhere (no, session_id, version, retrieval_id, scope, word) "
                "VALUES (?,?,?,?,?,?)",
                (
                    row[0],
                    fact.originator_id,
                    fact.originator_version,
                    fact.retrieval_id,
                    session[0],
                    verdict.assessment,
                ),
            )
            self._wider.touched_if_known(row[2] or row[0])

    def _withdrawn(self, fact: FeedbackWithdrawn) -> None:
        """Taking a feedback back leaves its verdicts without effect; taking that back gives them their effect again."""
        session, compensated = fact.originator_id, fact.compensates.version
        concerned = self._db.execute(
            "SELECT DISTINCT coalesce(c.founder, c.no) FROM elsewhere e JOIN claims c ON c.no = e.no "
            "WHERE e.session_id = ? AND (e.version = ? OR e.withdrawn_by = ?) ORDER BY 1",
            (session, compensated, compensated),
        ).fetchall()
        again = self._db.execute(
            "UPDATE elsewhere SET withdrawn_by = 0 WHERE session_id = ? AND withdrawn_by = ?", (session, compensated)
        )
        if not again.rowcount:
            self._db.execute(
                "UPDATE elsewhere SET withdrawn_by = ? WHERE session_id = ? AND version = ?",
                (fact.originator_version, session, compensated),
            )
        for (root,) in concerned:
            self._wider.touched_if_known(root)

    # -- what is asked

    def stage_of(self, memory_id: str) -> Stage:
        """How widely a claim is held."""
        return self._wider.stage_of(memory_id)

    def visible(self, scope: str, policy: ReadPolicy) -> tuple[dict[str, float], frozenset[str]]:
        """What a scope sees beyond and short of its own claims.

        First the claims of other scopes that may be shown in it, by memory id, each with what its score counts for;
        then the claims in whose place a twin is shown.
        """
        return self._wider.visible(scope, policy)

    def story(self, memory_id: str) -> dict[str, Any]:
        """What a claim's stage rests on, for people who ask why; empty for a claim that is not there."""
        return self._wider.story(memory_id)

    # -- durability

    def flush(self) -> None:
        """Commit rows and position together; synchronous is off, since the log can grow all of it back."""
        if self._position == self._durable:
            return
        if not self._db.in_transaction:
            self._db.execute("BEGIN")
        self._db.execute("UPDATE meta SET value=? WHERE name='position'", (self._position,))
        self._db.execute("COMMIT")
        self._durable = self._position

    def digest(self) -> dict[str, str]:
        found = {name: digest_of(self._db.execute(f"SELECT * FROM {rows}")) for name, rows in DIGESTED.items()}
        return {**found, "stages.stages": digest_of(self._wider.members().values())}

    def counts(self) -> dict[str, int]:
        """How many claims are held at each stage beyond their scope."""
        stages = [member.stage for member in self._wider.members().values()]
        return {stage: stages.count(stage) for stage in ("portable", "contextual", "global")}

    def come_to_rest(self) -> None:
        self.flush()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.close()


LISTENS_TO: Final = (
    TaskActivated,
    TaskCommitted,
    ClaimRemembered,
    ClaimRetired,
    ClaimReinstated,
    ClaimSuppressed,
    ClaimUnsuppressed,
    ClaimPromoted,
    ClaimPinned,
    ContentErased,
    KindSuggested,
    KindConfirmed,
    KindWithdrawn,
    KindReinstated,
    FeedbackGiven,
    FeedbackWithdrawn,
)


def digest_of(rows: Any) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()


def stages_kind(space: str, policy: FoldPolicy, vectors_of: VectorsOf) -> ViewKind:
    """The stages as one view of a generation."""
    files = (FILE, f"{FILE}-wal", f"{FILE}-shm")
    return ViewKind("stages", f"{VERSION} {space}", files, lambda home: Stages(home / FILE, space, policy, vectors_of))
