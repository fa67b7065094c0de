"""What closed sessions turned into: episodes, the prototypes they group into, and what is associated with what."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..consolidation.associations import SEMANTIC, TEMPORAL, TOGETHER, Edge
from ..consolidation.episodes import Episode, Told, formed, of_claim, outcome_text, told
from ..consolidation.policy import FoldPolicy
from ..consolidation.prototypes import alike
from ..consolidation.wording import document_text
from ..domain.events import (
    ClaimRemembered,
    ContentErased,
    Fact,
    FeedbackGiven,
    FeedbackWithdrawn,
    PageShown,
    SessionExpired,
    TaskActivated,
    TaskCommitted,
)
from . import jointly, ties, topics
from .columns import micros, moment
from .jointly import Jointly
from .projector import Damaged, Positioned, ViewKind
from .ties import MEMORIES, PROTOTYPES, Ties
from .topics import Topics

FILE: Final = "consolidated.sqlite"
VERSION: Final = "1"
VectorsOf = Callable[[Sequence[str]], "list[np.ndarray | None]"]

CREATE: Final = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE scopes (no INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE);
CREATE TABLE episodes (
    no INTEGER PRIMARY KEY, of TEXT NOT NULL, memory_id TEXT NOT NULL, session_id TEXT NOT NULL,
    scope INTEGER NOT NULL, told_at INTEGER NOT NULL, formed_at INTEGER, salience REAL, coarse INTEGER, fine INTEGER,
    vector BLOB);
CREATE INDEX by_memory ON episodes (memory_id);
CREATE INDEX waiting ON episodes (session_id, no) WHERE formed_at IS NULL;
CREATE INDEX by_coarse ON episodes (coarse, no) WHERE coarse IS NOT NULL;
CREATE INDEX by_fine ON episodes (fine, no) WHERE fine IS NOT NULL;
CREATE INDEX by_scope ON episodes (scope, no);
{jointly.CREATE}{topics.CREATE}{ties.CREATE}"""
LIVED: Final = """
SELECT no, vector FROM episodes WHERE {level} = ? AND of = 'claim' AND no <> ? AND vector IS NOT NULL
ORDER BY no DESC LIMIT ?"""
DIGESTED: Final = {
    "consolidated.episodes": "episodes ORDER BY no",
    "consolidated.prototypes": "prototypes ORDER BY level, no",
    "consolidated.edges": "edges ORDER BY layer, node",
    "consolidated.verdicts": "verdicts ORDER BY session_id, version, memory_id",
}


class Consolidated:
    """The view over consolidated.sqlite.

    Everything is folded inside one open transaction, which `flush` commits together with the position; only edges and
    some centroids are held in memory beside it. A session costs what it told and the number of its scope's topics.
    """

    name = "consolidated"

    def __init__(self, path: Path, space: str, policy: FoldPolicy, vectors_of: VectorsOf, dim: int = 384) -> None:
        """Open or make the file. Raises Damaged when it is not what this build wrote for this space."""
        self._policy, self._vectors_of, self._dim = policy, vectors_of, dim
        fresh = not path.exists()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("PRAGMA secure_delete=ON")
            if fresh:
                self._db.executescript(CREATE)
                self._db.execute("INSERT INTO meta VALUES ('version', ?), ('position', 0)", (f"{VERSION} {space}",))
            elif self._db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged(f"{path.name}: quick_check failed")
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            if meta.get("version") != f"{VERSION} {space}":
                raise Damaged(f"{path.name} has version {meta.get('version')}")
            self._position = self._durable = int(meta["position"])
            self._scopes: dict[str, int] = {}
            self._jointly = Jointly(self._db)
            self._topics = Topics(self._db, policy, dim)
            self._ties = Ties(self._db, policy)
            self._load()
        except (sqlite3.Error, KeyError, ValueError) as fault:
            self._db.close()
            raise Damaged(f"{path.name}: {fault}") from fault
        except Damaged:
            self._db.close()
            raise

    def _load(self) -> None:
        """Hold in memory what is stored, and nothing else."""
        self._scopes = {scope: no for no, scope in self._db.execute("SELECT no, scope FROM scopes")}
        self._topics.forget()
        self._ties.load()

    # -- the view

    @property
    def position(self) -> int:
        return self._position

    def apply(self, page: Sequence[Positioned]) -> None:
        """Fold up to the first claim or outcome whose vector is not there yet."""
        news = [at for at in page if at.position > self._position]
        texts = list(map(text_in, (at.fact for at in news)))
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
            self._ties.write()
        except BaseException:
            self._db.execute("ROLLBACK TO fact")
            self._load()
            raise
        finally:
            self._db.execute("RELEASE fact")

    def _fold(self, at: Positioned, vector: np.ndarray | None) -> None:
        fact = at.fact
        match fact:
            case ClaimRemembered():
                self._told(told(at.position, fact), vector)
            case TaskActivated():
                self._jointly.opened(fact)
            case TaskCommitted() | SessionExpired():
                self._close(at.position, fact, vector)
            case PageShown():
                self._jointly.turned(fact)
            case FeedbackGiven():
                self._together(self._jointly.judged(fact), micros(fact.recorded_at))
            case FeedbackWithdrawn():
                self._jointly.withdrawn(fact)
            case ContentErased():
                self._db.execute("UPDATE episodes SET vector = NULL WHERE memory_id = ?", (fact.originator_id,))
                self._topics.forget()
            case _:
                pass

    # -- episodes

    def _told(self, claim: Told, vector: np.ndarray | None) -> None:
        self._lived(
            claim.position, "claim", claim.memory_id, claim.session_id, claim.scope, micros(claim.told_at), vector
        )
        if not claim.session_id:
            self._form(of_claim(claim, claim.told_at, self._policy.salience_start), vector)

    def _lived(self, no: int, of: str, memory_id: str, session: str, scope: str, at: int, vector: Any) -> None:
        number = self._scopes.get(scope)
        if number is None:
            number = 1 + len(self._scopes)
            self._db.execute("INSERT INTO scopes VALUES (?,?)", (number, scope))
            self._scopes[scope] = number
        data = None if vector is None else np.asarray(vector, "<f2").tobytes()
        self._db.execute(
            "INSERT INTO episodes (no, of, memory_id, session_id, scope, told_at, vector) VALUES (?,?,?,?,?,?,?)",
            (no, of, memory_id, session, number, at, data),
        )

    def _close(self, position: int, closing: TaskCommitted | SessionExpired, vector: np.ndarray | None) -> None:
        """A session ended: its episodes form, neighbours in time are tied, and what was of use together is."""
        session, at = closing.originator_id, micros(closing.recorded_at)
        waiting: list[Told] = []
        vectors: list[np.ndarray | None] = []
        for no, memory_id, scope, us, data in self._db.execute(
            "SELECT e.no, memory_id, s.scope, told_at, vector FROM episodes e JOIN scopes s ON s.no = e.scope "
            "WHERE session_id = ? AND formed_at IS NULL ORDER BY e.no",
            (session,),
        ):
            waiting.append(Told(no, memory_id, session, scope, moment(us)))
            vectors.append(None if data is None else np.frombuffer(data, "<f2"))
        if isinstance(closing, TaskCommitted):
            self._lived(position, "outcome", "", session, closing.scope, at, vector)
            vectors.append(None if vector is None else np.asarray(vector, "<f2"))
        episodes = formed(waiting, closing, position, self._policy.salience_start)
        coarse = [self._form(episode, held) for episode, held in zip(episodes, vectors, strict=True)]
        for (one, topic), (other, next_topic) in pairwise(zip(episodes, coarse, strict=True)):
            self._tie(one.no, other.no, topic, next_topic, TEMPORAL, self._policy.edge_temporal, at, of=(one, other))
        for group in self._jointly.closed(session):
            self._together(group, at)

    def _form(self, episode: Episode, vector: np.ndarray | None) -> int | None:
        """Put the episode where it belongs, and tie it to what is most alike; returns its coarse prototype."""
        at, scope = micros(episode.formed_at), self._scopes[episode.scope]
        coarse = fine = None
        if vector is not None:
            held = np.asarray(vector, np.float32)
            placed = self._topics.place(episode.no, scope, held, at)
            coarse, fine = placed.coarse, placed.fine
            if placed.new:
                for other, cosine in self._topics.beside(episode.no, scope, held):
                    share = self._policy.edge_semantic * cosine
                    self._ties.tie(PROTOTYPES, episode.no, other, SEMANTIC, share, at)
            if episode.of == "claim":
                for other, cosine in self._alike(episode.no, coarse, fine, held):
                    self._ties.tie(MEMORIES, episode.no, other, SEMANTIC, self._policy.edge_semantic * cosine, at)
        self._db.execute(
            "UPDATE episodes SET formed_at=?, salience=?, coarse=?, fine=? WHERE no=?",
            (at, episode.salience, coarse, fine, episode.no),
        )
        return coarse

    def _alike(self, no: int, coarse: int, fine: int, vector: np.ndarray) -> list[tuple[int, float]]:
        """The few memories most alike among the last ones of the topic, with their cosines, the most alike first."""
        rows: dict[int, bytes] = {}
        for level, number in (("fine", fine), ("coarse", coarse)):
            rows |= dict(self._db.execute(LIVED.format(level=level), (number, no, self._policy.semantic_looked)))
        if not rows:
            return []
        near = alike(np.stack([np.frombuffer(data, "<f2") for data in rows.values()]), vector)
        found = [(other, c) for other, c in zip(rows, near.tolist(), strict=True) if c >= self._policy.semantic_least]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[: self._policy.semantic_most]

    # -- what was of use together

    def _together(self, memory_ids: Sequence[str], at: int) -> None:
        rows = [
            row
            for memory_id in memory_ids
            for row in self._db.execute(
                "SELECT no, scope, coarse FROM episodes WHERE memory_id=? AND memory_id<>''", (memory_id,)
            )
        ]
        for (one, scope, topic), (other, other_scope, other_topic) in combinations(rows, 2):
            if scope == other_scope:  # what two scopes have in common is for their memories' stages to tell
                self._tie(one, other, topic, other_topic, TOGETHER, self._policy.edge_together, at)

    def _tie(
        self,
        one: int,
        other: int,
        topic: int | None,
        other_topic: int | None,
        way: int,
        share: float,
        at: int,
        of: tuple[Episode, Episode] | None = None,
    ) -> None:
        """Tie two memories, and their topics; an outcome is no memory, and ties topics alone."""
        if of is None or all(episode.of == "claim" for episode in of):
            self._ties.tie(MEMORIES, one, other, way, share, at)
        if topic is not None and other_topic is not None:
            self._ties.tie(PROTOTYPES, topic, other_topic, way, share, at)

    # -- what is asked

    def edges_of(self, position: int) -> tuple[Edge, ...]:
        """The edges of the memory that was told at a position of the log; they lead to other such positions."""
        return self._ties.of(MEMORIES, position)

    def edges_of_prototype(self, number: int) -> tuple[Edge, ...]:
        """The edges of a coarse prototype, to other ones."""
        return self._ties.of(PROTOTYPES, number)

    def associations(self) -> tuple[int, int]:
        """How many edges memories keep, and prototypes; an edge counts at each end that keeps it."""
        return self._ties.counts()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows of a select over what is folded so far."""
        cursor = self._db.execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

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
        return {name: digest_of(self._db.execute(f"SELECT * FROM {rows}")) for name, rows in DIGESTED.items()}

    def counts(self) -> dict[str, int]:
        tables = ((name, rows.partition(" ")[0]) for name, rows in DIGESTED.items())
        return {name: self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for name, table in tables}

    def come_to_rest(self) -> None:
        self.flush()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.close()


LISTENS_TO: Final = (
    ClaimRemembered,
    TaskActivated,
    TaskCommitted,
    SessionExpired,
    PageShown,
    FeedbackGiven,
    FeedbackWithdrawn,
    ContentErased,
)


def text_in(fact: Fact) -> str:
    """What of a fact has to have a vector before it can be folded; empty when nothing has."""
    match fact:
        case ClaimRemembered():
            return document_text(fact.content)
        case TaskCommitted():
            return outcome_text(fact)
        case _:
            return ""


def digest_of(rows: Iterable[Sequence[object]]) -> str:
    """sha256 (hex) over rows in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def consolidated_kind(space: str, policy: FoldPolicy, vectors_of: VectorsOf) -> ViewKind:
    """What sessions turned into, as one view of a generation; another space is another version."""
    return ViewKind(
        "consolidated",
        f"{VERSION}-{space}",
        (FILE, f"{FILE}-wal", f"{FILE}-shm"),
        lambda home: Consolidated(home / FILE, space, policy, vectors_of),
    )
