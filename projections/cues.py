"""Which questions each memory was used for, and for which it was irrelevant: what feedback taught, by cue."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb  # noqa: F401 - loaded before usearch, as vectors.py explains
import numpy as np
from usearch.compiled import MetricKind
from usearch.index import search

from ..consolidation.cues import TEACHING, Lesson, boosts, learned, likeness
from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..consolidation.wording import query_text
from ..domain.events import Fact, FeedbackGiven, FeedbackWithdrawn, PageShown, RetrievalRecorded
from .projector import Damaged, Positioned, ViewKind
from .vectors import VectorsOf

FILE: Final = "cues.sqlite"
VERSION: Final = "1"
# How lessons lie in a row and in memory: 20 bytes each, at most FoldPolicy.cues_most of them a memory.
LESSON: Final = np.dtype([("cue", "<i4"), ("value", "<f8"), ("at", "<i8")])
# A cosine is rounded here before it decides anything, so that the order of additions cannot.
DIGITS: Final = 6

CREATE: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE asked (retrieval_id TEXT PRIMARY KEY, cue TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cues (no INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE verdicts (
    position INTEGER NOT NULL, number INTEGER NOT NULL, memory_id TEXT NOT NULL, retrieval_id TEXT NOT NULL,
    session_id TEXT NOT NULL, version INTEGER NOT NULL, withdrawn_by INTEGER NOT NULL DEFAULT 0,
    assessment TEXT NOT NULL, cue INTEGER, PRIMARY KEY (position, number)) WITHOUT ROWID;
CREATE INDEX by_memory ON verdicts (memory_id, position, number);
CREATE INDEX by_session ON verdicts (session_id, version);
CREATE TABLE lessons (memory_id TEXT PRIMARY KEY, told BLOB NOT NULL) WITHOUT ROWID;
"""
DIGESTED: Final = {
    "cues.asked": "asked ORDER BY retrieval_id",
    "cues.vectors": "cues ORDER BY no",
    "cues.verdicts": "verdicts ORDER BY position, number",
    "cues.lessons": "lessons ORDER BY memory_id",
}


class CueTexts:
    """What of a feedback is embedded: the cue of the retrieval that it judges. `stream` reads a session's facts."""

    def __init__(self, stream: Callable[[str], Iterable[Fact]]) -> None:
        self._stream = stream
        self._session = ""
        self._cues: dict[str, str] = {}

    def __call__(self, fact: Fact) -> list[str]:
        if not isinstance(fact, FeedbackGiven) or not teaches(fact):
            return []
        if fact.originator_id != self._session or fact.retrieval_id not in self._cues:
            self._session, self._cues = fact.originator_id, {}
            for told in self._stream(fact.originator_id):
                note(told, self._cues)
        text = query_text(self._cues.get(fact.retrieval_id, ""))
        return [text] if text else []


def note(fact: Fact, cues: dict[str, str]) -> None:
    """Remember the cue of a retrieval; a further page has the cue of the one that it continues."""
    if isinstance(fact, RetrievalRecorded):
        cues[fact.retrieval_id] = fact.cue
    elif isinstance(fact, PageShown):
        cues[fact.retrieval_id] = cues.get(fact.continues, "")


def teaches(fact: FeedbackGiven) -> bool:
    """Whether a verdict in it says how well a memory answered the question."""
    return any(verdict.assessment in TEACHING for verdict in fact.memories)


class Cues:
    """The view over cues.sqlite. The lessons and the vectors of judged cues are held in memory as well."""

    name = "cues"

    def __init__(self, path: Path, space: str, policy: FoldPolicy, vectors_of: VectorsOf, dim: int = 384) -> None:
        """Open or make the file. Raises Damaged when it is not what this build wrote for this space."""
        self._policy, self._vectors_of = policy, vectors_of
        fresh = not path.exists()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("PRAGMA secure_delete=ON")
            if fresh:
                self._db.executescript(CREATE)
                self._db.execute("INSERT INTO meta VALUES ('version', ?), ('position', 0)", (f"{VERSION}-{space}",))
            elif self._db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged(f"{path.name}: quick_check failed")
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            if meta.get("version") != f"{VERSION}-{space}":
                raise Damaged(f"{path.name} has version {meta.get('version')}")
            self._position = self._durable = int(meta["position"])
            self._lessons: dict[str, bytes] = dict(self._db.execute("SELECT memory_id, told FROM lessons"))
            held = self._db.execute("SELECT vector FROM cues ORDER BY no").fetchall()
            self._held = len(held)
            self._vectors = np.zeros((max(64, self._held), dim), np.float16)
            if held:
                self._vectors[: self._held] = np.stack([np.frombuffer(blob, np.float16) for (blob,) in held])
        except (sqlite3.Error, KeyError, ValueError) as fault:
            self._db.close()
            raise Damaged(f"{path.name}: {fault}") from fault
        except Damaged:
            self._db.close()
            raise

    # -- the view

    @property
    def position(self) -> int:
        return self._position

    def apply(self, page: Sequence[Positioned]) -> None:
        """Fold up to the first feedback that teaches and whose cue has no vector yet."""
        for at in page:
            if at.position <= self._position:
                continue
            match at.fact:
                case RetrievalRecorded():
                    self._asked(at.fact.retrieval_id, at.fact.cue)
                case PageShown():
                    self._asked(at.fact.retrieval_id, self._cue_of(at.fact.continues))
                case FeedbackGiven() as given if given.memories:
                    if not self._judged(at.position, given):
                        return
                case FeedbackWithdrawn() as taken:
                    self._withdrawn(taken)
                case _:
                    pass
            self._position = at.position

    def _write(self, sql: str, *values: object) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN")
        self._db.execute(sql, values)

    def _asked(self, retrieval_id: str, cue: str) -> None:
        self._write("INSERT OR REPLACE INTO asked VALUES (?,?)", retrieval_id, cue)

    def _cue_of(self, retrieval_id: str) -> str:
        row = self._db.execute("SELECT cue FROM asked WHERE retrieval_id=?", (retrieval_id,)).fetchone()
        return row[0] if row else ""

    def _judged(self, position: int, fact: FeedbackGiven) -> bool:
        """Learn from every verdict; False when the cue has no vector yet, and nothing is learned."""
        text, cue = query_text(self._cue_of(fact.retrieval_id)), None
        if text and teaches(fact):
            cue = self._numbered(text)
            if cue is None:
                return False
        for number, verdict in enumerate(fact.memories):
            memory_id, word = verdict.memory_id, verdict.assessment
            before = self._db.execute(
                "SELECT 1 FROM verdicts WHERE memory_id=? AND retrieval_id=? LIMIT 1", (memory_id, fact.retrieval_id)
            ).fetchone()
            self._write(
                "INSERT INTO verdicts (position, number, memory_id, retrieval_id, session_id, version, assessment, cue)"
                " VALUES (?,?,?,?,?,?,?,?)",
                *(position, number, memory_id, fact.retrieval_id, fact.originator_id, fact.originator_version),
                *(word, cue),
            )
            if before:
                self._told_anew(memory_id)
            elif cue is not None and word in TEACHING:
                self._keep(memory_id, self._after(self._held_of(memory_id), cue, word, position))
        return True

    def _withdrawn(self, fact: FeedbackWithdrawn) -> None:
        """One event of a session was taken back: a feedback, or such a withdrawal, whose feedback counts again."""
        session, version = fact.compensates.stream, fact.compensates.version
        touched = self._db.execute(
            "SELECT DISTINCT memory_id FROM verdicts WHERE session_id=? AND (version=? OR withdrawn_by=?) "
            "ORDER BY memory_id",
            (session, version, version),
        ).fetchall()
        self._write("UPDATE verdicts SET withdrawn_by=0 WHERE session_id=? AND withdrawn_by=?", session, version)
        self._write(
            "UPDATE verdicts SET withdrawn_by=? WHERE session_id=? AND version=? AND withdrawn_by=0",
            *(fact.originator_version, session, version),
        )
        for (memory_id,) in touched:
            self._told_anew(memory_id)

    def _told_anew(self, memory_id: str) -> None:
        """What would be learned had only the verdicts been given that stand: of each retrieval the last one."""
        standing: dict[str, tuple[int | None, str, int]] = {}
        for retrieval_id, cue, word, position in self._db.execute(
            "SELECT retrieval_id, cue, assessment, position FROM verdicts "
            "WHERE memory_id=? AND withdrawn_by=0 ORDER BY position, number",
            (memory_id,),
        ):
            standing.pop(retrieval_id, None)  # the later one stands where it was given, not where the earlier one was
            standing[retrieval_id] = cue, word, position
        lessons: tuple[Lesson, ...] = ()
        for cue, word, position in standing.values():
            if cue is not None and word in TEACHING:
                lessons = self._after(lessons, cue, word, position)
        self._keep(memory_id, lessons)

    def _after(self, lessons: Sequence[Lesson], cue: int, word: str, position: int) -> tuple[Lesson, ...]:
        """The lessons after one more verdict; what two cues have in common is taken from their vectors."""
        held = self._vectors[[lesson.cue for lesson in lessons]].astype(np.float64)
        cosines = np.round(held @ self._vectors[cue].astype(np.float64), DIGITS).tolist()
        return learned(lessons, cue, cosines, word, position, self._policy)

    def _held_of(self, memory_id: str) -> tuple[Lesson, ...]:
        return tuple(Lesson(*told) for told in np.frombuffer(self._lessons.get(memory_id, b""), LESSON).tolist())

    def _keep(self, memory_id: str, lessons: Sequence[Lesson]) -> None:
        if not lessons:
            self._lessons.pop(memory_id, None)
            self._write("DELETE FROM lessons WHERE memory_id=?", memory_id)
            return
        told = np.array([(lesson.cue, lesson.value, lesson.at) for lesson in lessons], LESSON).tobytes()
        self._lessons[memory_id] = told
        self._write("INSERT OR REPLACE INTO lessons VALUES (?,?)", memory_id, told)

    def _numbered(self, text: str) -> int | None:
        """The number of a cue, given to it with its first verdict; None when it has no vector yet."""
        row = self._db.execute("SELECT no FROM cues WHERE text=?", (text,)).fetchone()
        if row:
            return row[0]
        [vector] = self._vectors_of([text])
        if vector is None:
            return None
        number, self._held = self._held, self._held + 1
        if number == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[number] = vector
        self._write("INSERT INTO cues VALUES (?,?,?)", number, text, self._vectors[number].tobytes())
        return number

    # -- what recall asks

    def associations(self, vector: np.ndarray, memory_ids: Sequence[str], policy: ReadPolicy) -> Mapping[str, float]:
        """What feedback taught of these memories for a question with this vector: -1 to 1, those alone that it did."""
        judged = [(memory_id, told) for memory_id in memory_ids if (told := self._lessons.get(memory_id))]
        if not judged:
            return {}
        lessons = np.frombuffer(b"".join(told for _, told in judged), LESSON)
        owners = np.repeat(np.arange(len(judged)), [len(told) // LESSON.itemsize for _, told in judged])
        numbers, places = np.unique(lessons["cue"], return_inverse=True)
        # numpy turns float16 into float32 far slower than usearch compares it as it is.
        held = self._vectors[numbers]
        near = search(held, vector.astype(np.float16), len(held), metric=MetricKind.IP, exact=True, threads=1)
        cosines = np.empty(len(held))
        cosines[near.keys.astype(np.int64)] = 1.0 - near.distances.astype(np.float64)
        lifted = boosts(owners, lessons["value"], likeness(cosines, policy)[places], len(judged))
        return dict(zip((memory_id for memory_id, _ in judged), lifted.tolist(), strict=True))

    def lessons(self, memory_id: str) -> list[tuple[str, float]]:
        """The questions that a memory was judged for, and how well it answers each, from -1 to 1; the oldest first."""
        held = sorted(self._held_of(memory_id), key=lambda lesson: lesson.at)
        texts = (self._db.execute("SELECT text FROM cues WHERE no=?", (lesson.cue,)).fetchone()[0] for lesson in held)
        return [(text, lesson.value) for text, lesson in zip(texts, held, strict=True)]

    # -- durability

    def flush(self) -> None:
        """Commit rows and position together; synchronous is off, since the log can grow all of it back."""
        if self._position == self._durable:
            return
        self._write("UPDATE meta SET value=? WHERE name='position'", self._position)
        self._db.execute("COMMIT")
        self._durable = self._position

    def digest(self) -> dict[str, str]:
        return {name: _digest_of(self._db.execute(f"SELECT * FROM {rows}")) for name, rows in DIGESTED.items()}

    def counts(self) -> dict[str, int]:
        return {
            name: self._db.execute(f"SELECT count(*) FROM {rows.split()[0]}").fetchone()[0]
            for name, rows in DIGESTED.items()
        }

    def come_to_rest(self) -> None:
        self.flush()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.close()


def _digest_of(rows: Iterable[Sequence[object]]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def cues_kind(space: str, policy: FoldPolicy, vectors_of: VectorsOf) -> ViewKind:
    """The cues as one view of a generation; another space is another version."""
    files = (FILE, f"{FILE}-wal", f"{FILE}-shm")
    return ViewKind("cues", f"{VERSION}-{space}", files, lambda home: Cues(home / FILE, space, policy, vectors_of))
