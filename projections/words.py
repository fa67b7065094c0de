"""Which memories say the words of a question, in their own text or in the texts told beside them."""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..consolidation.dates import tells_when
from ..consolidation.wording import asks, procedure_words, shelf_of, subject_of, symbols_of, words_of
from ..domain.events import (
    ClaimReinstated,
    ClaimRemembered,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    ContentErased,
    Fact,
    ProcedureReinstated,
    ProcedureWithdrawn,
    TaskCommitted,
)
from .projector import Damaged, Positioned, ViewKind

FILE = "words.sqlite"
VERSION = "1"
# How many memories on either side, in the order they were told in the same session, speak for a memory.
REACH = 2
# A scope's rows are one block of row ids, so that FTS5 finds a scope by a range before it ranks anything.
BLOCK = 1 << 32
# A word that stands in more than this share of the rows is left out of a question that has rarer ones:
# 24 times cheaper at 100,000 rows, and such a word tells next to nothing apart.
COMMON_SHARE = 0.03
# A subject of more than this share of a scope's memories says nothing in a question's vector.
COMMON_SUBJECT_SHARE = 0.2
# Below so many rows every word is cheap.
SMALL = 500
FOUND_AT_MOST = 300

CREATE = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE scopes (no INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE);
CREATE TABLE docs (
    row INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, scope_no INTEGER NOT NULL, session TEXT NOT NULL,
    subject TEXT NOT NULL, day INTEGER NOT NULL, content TEXT NOT NULL,
    retirements TEXT NOT NULL DEFAULT '', suppressed INTEGER NOT NULL DEFAULT 0,
    erased INTEGER NOT NULL DEFAULT 0);
CREATE VIRTUAL TABLE own USING fts5(text, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE around USING fts5(text, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE terms USING fts5vocab(own, row);
CREATE VIRTUAL TABLE around_terms USING fts5vocab(around, row);
"""
SCRATCH = """
CREATE VIRTUAL TABLE temp.sheet USING fts5(text, tokenize='porter unicode61');
CREATE VIRTUAL TABLE temp.sheet_terms USING fts5vocab('temp', 'sheet', 'instance');
"""


@dataclass(slots=True)
class Doc:
    """One memory's row: its place among the memories of its session, and what keeps it from being found."""

    row: int
    memory_id: str
    session: str
    place: int
    subject: str = ""
    retirements: tuple[int, ...] = ()
    suppressed: bool = False
    erased: bool = False

    @property
    def live(self) -> bool:
        return not (self.retirements or self.suppressed or self.erased)


@dataclass(slots=True)
class Scope:
    """The rows of one scope: row number within the block to memory, and the rows of each session in order."""

    no: int
    docs: list[Doc] = field(default_factory=list[Doc])
    sessions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    subjects: dict[str, int] = field(default_factory=dict[str, int])
    # What ranking asks of hundreds of candidates at once, by row: the live memories told right before and after it in
    # its session (-1: none), the number of the session, the day, and whether it is live, asks, tells when.
    before: array[int] = field(default_factory=lambda: array("q"))
    after: array[int] = field(default_factory=lambda: array("q"))
    session: array[int] = field(default_factory=lambda: array("q"))
    day: array[int] = field(default_factory=lambda: array("q"))
    live: array[int] = field(default_factory=lambda: array("b"))
    asks: array[int] = field(default_factory=lambda: array("b"))
    tells_when: array[int] = field(default_factory=lambda: array("b"))

    def at(self, column: array[int], rows: np.ndarray) -> np.ndarray:
        """The values of a column at some rows."""
        return np.frombuffer(column, np.dtype(column.typecode))[rows] if len(rows) else np.empty(0, column.typecode)

    def link(self, doc: Doc) -> None:
        """Let the live memories on either side know that this one is live, or is not any more."""
        row, (before, after) = doc.row % BLOCK, self.next_to(doc)
        self.live[row] = doc.live
        self.before[row], self.after[row] = before, after
        if before >= 0:
            self.after[before] = row if doc.live else after
        if after >= 0:
            self.before[after] = row if doc.live else before

    def next_to(self, doc: Doc) -> tuple[int, int]:
        """The rows of the live memories told right before and right after in its session; -1 where there is none."""
        members = self.sessions[doc.session]
        earlier = (members[n] for n in range(doc.place - 1, -1, -1))
        later = (members[n] for n in range(doc.place + 1, len(members)))
        return next((r for r in earlier if self.live[r]), -1), next((r for r in later if self.live[r]), -1)

    def common(self) -> frozenset[str]:
        """Words of the subjects that stand in front of so many memories that they tell none apart."""
        most = COMMON_SUBJECT_SHARE * len(self.docs)
        return frozenset(word for s, count in dict(self.subjects).items() if count > most for word in s.split())

    def named_in(self, folded: str) -> str:
        """The one subject of this scope that a question (case folded) names; empty when it names none or several."""
        named = [s for s in self.subjects if s in folded and re.search(rf"\b{re.escape(s)}\b", folded)]
        return named[0] if len(named) == 1 else ""


@dataclass(frozen=True, slots=True)
class Matches:
    """Row numbers within the scope that match, best first, with their bm25 (higher is better)."""

    rows: np.ndarray
    scores: np.ndarray


NOTHING = Matches(np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the index sees it: its stemmed terms and how much each tells (idf), and what FTS5 looks for."""

    terms: dict[str, float]
    expression: str
    spoken: dict[str, str] = field(default_factory=dict[str, str])  # each term as the question says it

    def share(self, said: Iterable[str]) -> float:
        """How much of the question its terms `said` make up, by what they tell (idf): 0 to 1."""
        return sum(self.terms[term] for term in sorted(said)) / self.mass if self.terms else 0.0

    @property
    def mass(self) -> float:
        return sum(self.terms.values())


class Words:
    """The word index of a generation: FTS5 over each memory's own text and over the live texts around it."""

    name = "words"

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises Damaged when it is not what this build wrote."""
        fresh = not path.exists()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("PRAGMA secure_delete=ON")
            if fresh:
                self._db.executescript(CREATE)
                self._db.execute("INSERT INTO meta VALUES ('version', ?), ('position', 0)", (VERSION,))
            elif self._db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise Damaged(f"{path.name}: quick_check failed")
            self._db.executescript(SCRATCH)
            meta = dict(self._db.execute("SELECT name, value FROM meta"))
            if meta.get("version") != VERSION:
                raise Damaged(f"{path.name} has version {meta.get('version')}")
            self._position = self._durable = int(meta["position"])
            self._scopes: dict[str, Scope] = {}
            self._numbered: dict[int, Scope] = {}
            self._docs: dict[str, tuple[Scope, Doc]] = {}
            self._load()
        except (sqlite3.Error, KeyError, ValueError) as fault:
            self._db.close()
            raise Damaged(f"{path.name}: {fault}") from fault
        except Damaged:
            self._db.close()
            raise
        self._stale: dict[int, str | None] = {}
        self._purge = False

    def _load(self) -> None:
        for no, name in self._db.execute("SELECT no, scope FROM scopes ORDER BY no"):
            self._numbered[no] = self._scopes[name] = Scope(no)
        for row, memory_id, no, session, subject, day, content, retirements, suppressed, erased in self._db.execute(
            "SELECT row, memory_id, scope_no, session, subject, day, content, retirements, suppressed, erased "
            "FROM docs ORDER BY row"
        ):
            scope = self._numbered[no]
            doc = Doc(row, memory_id, session, 0, sys.intern(subject))
            self._place(scope, doc, content, day)
            doc.retirements = tuple(int(v) for v in retirements.split())
            doc.suppressed, doc.erased = bool(suppressed), bool(erased)
            scope.link(doc)

    def _place(self, scope: Scope, doc: Doc, content: str, day: int) -> None:
        """Put a row behind the others of its scope and of its session; it is linked when it is known to be live."""
        beside = scope.sessions.setdefault(doc.session, [])
        doc.place = len(beside)
        beside.append(len(scope.docs))
        if doc.subject:
            scope.subjects[doc.subject] = scope.subjects.get(doc.subject, 0) + 1
        scope.docs.append(doc)
        scope.session.append(scope.docs[beside[0]].row % BLOCK)
        scope.day.append(day)
        scope.asks.append(asks(content))
        scope.tells_when.append(tells_when(content))
        for column in (scope.before, scope.after):
            column.append(-1)
        scope.live.append(0)
        self._docs[doc.memory_id] = (scope, doc)

    # -- the view

    @property
    def position(self) -> int:
        return self._position

    def apply(self, page: Sequence[Positioned]) -> None:
        news = [at for at in page if at.position > self._position]
        if not news:
            return
        if not self._db.in_transaction:
            self._db.execute("BEGIN")
        for at in news:
            self._fold(at.fact)
            self._position = at.position
        self._rewrite()

    def _fold(self, fact: Fact) -> None:
        match fact:
            case ClaimRemembered():
                about = fact.occurred_at or fact.recorded_at
                self._add(fact.scope, fact.originator_id, fact.session_id, fact.content, about.toordinal())
            case TaskCommitted():
                if fact.procedure is not None:
                    text = procedure_words(fact.final_goal, fact.procedure)
                    self._add(shelf_of(fact.scope), fact.procedure_id, "", text, fact.recorded_at.toordinal())
            case ProcedureWithdrawn() | ProcedureReinstated():
                self._change(fact, fact.procedure_id)
            case ClaimRetired() | ClaimReinstated() | ClaimSuppressed() | ClaimUnsuppressed() | ContentErased():
                self._change(fact, fact.originator_id)
            case _:
                pass

    def _change(self, fact: Fact, target_id: str) -> None:
        """What keeps a memory from being found came or went; the rows beside it hear of it."""
        held = self._docs.get(target_id)
        if held is None:
            return
        scope, doc = held
        self._touch(scope, doc)
        match fact:
            case ClaimRetired():
                doc.retirements = (*doc.retirements, fact.restores or fact.originator_version)
            case ClaimReinstated():
                doc.retirements = tuple(v for v in doc.retirements if v != fact.compensates.version)
            case ClaimSuppressed() | ProcedureWithdrawn():
                doc.suppressed = True
            case ClaimUnsuppressed() | ProcedureReinstated():
                doc.suppressed = False
            case _:
                doc.erased = True
        scope.link(doc)
        if doc.erased:
            self._rewrite()
            self._db.execute("UPDATE docs SET content='', subject='' WHERE row=?", (doc.row,))
            self._purge = True
        self._db.execute(
            "UPDATE docs SET retirements=?, suppressed=?, erased=? WHERE row=?",
            (" ".join(map(str, doc.retirements)), doc.suppressed, doc.erased, doc.row),
        )

    def _add(self, shelf: str, target_id: str, session: str, content: str, day: int) -> None:
        scope = self._scopes.get(shelf)
        if scope is None:
            scope = self._scopes[shelf] = Scope(len(self._scopes) + 1)
            self._numbered[scope.no] = scope
            self._db.execute("INSERT INTO scopes VALUES (?,?)", (scope.no, shelf))
        row = scope.no * BLOCK + len(scope.docs)
        doc = Doc(row, target_id, session or target_id, 0, sys.intern(subject_of(content)))
        self._place(scope, doc, content, day)
        self._db.execute(
            "INSERT INTO docs (row, memory_id, scope_no, session, subject, day, content) VALUES (?,?,?,?,?,?,?)",
            (row, target_id, scope.no, doc.session, doc.subject, day, content),
        )
        doc.erased = True  # not there yet, while its neighbours say what they were
        self._touch(scope, doc)
        doc.erased = not content  # blanked in the log since: it was told, and no word of it is left
        scope.link(doc)

    # -- neighbours

    def beside(self, scope: Scope, doc: Doc) -> list[int]:
        """Rows of the live memories within reach, in order; the memory itself among them when it is live."""
        members = scope.sessions[doc.session]
        before: list[int] = []
        for n in range(doc.place - 1, -1, -1):
            if scope.docs[members[n]].live:
                before.append(members[n])
                if len(before) == REACH:
                    break
        after: list[int] = []
        for n in range(doc.place + 1, len(members)):
            if scope.docs[members[n]].live:
                after.append(members[n])
                if len(after) == REACH:
                    break
        return [*reversed(before), *([members[doc.place]] if doc.live else []), *after]

    def _touch(self, scope: Scope, doc: Doc) -> None:
        """Note what stands in the index for a memory and those beside it, before that changes."""
        for n in self.beside(scope, doc):
            near = scope.docs[n]
            if near.row not in self._stale:
                self._stale[near.row] = self._around(scope, near)
        if doc.row not in self._stale:
            self._stale[doc.row] = None

    def _around(self, scope: Scope, doc: Doc) -> str | None:
        """The text around a live memory; None for one that is not."""
        if not doc.live:
            return None
        rows = [scope.docs[n].row for n in self.beside(scope, doc)]
        texts = dict(
            self._db.execute(f"SELECT row, content FROM docs WHERE row IN ({','.join(map(str, rows))})").fetchall()
        )
        return "\n".join(texts[row] for row in rows)

    def _rewrite(self) -> None:
        """Bring both indexes to what holds now, each touched row once."""
        for row, was in sorted(self._stale.items()):
            scope = self._numbered[row // BLOCK]
            doc = scope.docs[row % BLOCK]
            now = self._around(scope, doc)
            if was == now:
                continue
            if was is not None:
                self._db.execute("INSERT INTO around(around, rowid, text) VALUES ('delete',?,?)", (row, was))
            if now is not None:
                self._db.execute("INSERT INTO around(rowid, text) VALUES (?,?)", (row, now))
            if (was is None) != (now is None):
                [content] = self._db.execute("SELECT content FROM docs WHERE row=?", (row,)).fetchone()
                if now is None:
                    self._db.execute("INSERT INTO own(own, rowid, text) VALUES ('delete',?,?)", (row, content))
                else:
                    self._db.execute("INSERT INTO own(rowid, text) VALUES (?,?)", (row, content))
        self._stale.clear()

    # -- what recall asks

    def scope(self, name: str) -> Scope | None:
        """The rows of a scope; None when nothing was ever told there."""
        return self._scopes.get(name)

    def row_of(self, memory_id: str) -> int | None:
        """The row number of a memory within its scope."""
        held = self._docs.get(memory_id)
        return held[1].row % BLOCK if held else None

    def question(self, text: str) -> Question:
        """The question's terms with their idf over the whole store, and the search for those that tell enough."""
        words = words_of(text)
        if not words:
            return Question({}, "")
        stems = self._stems(words)
        total = len(self._docs)
        marks = ",".join("?" * len(set(stems.values())))
        counts = dict(
            self._db.execute(f"SELECT term, doc FROM terms WHERE term IN ({marks})", sorted(set(stems.values())))
        )
        terms = {t: math.log1p((total - counts.get(t, 0) + 0.5) / (counts.get(t, 0) + 0.5)) for t in stems.values()}
        telling = [w for w in words if w in stems and counts.get(stems[w], 0) <= max(SMALL, COMMON_SHARE * total)]
        sought = [*(telling or [w for w in words if w in stems]), *symbols_of(text)]
        expression = " OR ".join('"{}"'.format(w.replace('"', '""')) for w in dict.fromkeys(sought))
        return Question(terms, expression, {stem: word for word, stem in stems.items()})

    def own(self, scope: Scope, question: Question, limit: int = FOUND_AT_MOST) -> Matches:
        """Memories of the scope whose own text says words of the question."""
        return self._matches("own", scope, question, limit)

    def around(self, scope: Scope, question: Question, limit: int = FOUND_AT_MOST) -> Matches:
        """Memories of the scope that say words of the question, or stand beside some that do."""
        return self._matches("around", scope, question, limit)

    def contents(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """The texts of memories, as they were told."""
        rows = {self._docs[m][1].row: m for m in memory_ids if m in self._docs}
        found = self._db.execute(f"SELECT row, content FROM docs WHERE row IN ({','.join(map(str, rows))})").fetchall()
        return {rows[row]: content for row, content in found}

    def said(self, question: Question, texts: Sequence[str]) -> list[frozenset[str]]:
        """Which terms of the question each text says."""
        if not question.terms or not texts:
            return [frozenset()] * len(texts)
        said: list[set[str]] = [set() for _ in texts]
        self._db.executemany("INSERT INTO temp.sheet(rowid, text) VALUES (?,?)", enumerate(texts, 1))
        marks = ",".join("?" * len(question.terms))
        for doc, term in self._db.execute(
            f"SELECT doc, term FROM temp.sheet_terms WHERE term IN ({marks})", list(question.terms)
        ):
            said[doc - 1].add(term)
        self._db.execute("DELETE FROM temp.sheet")
        return [frozenset(s) for s in said]

    def _stems(self, words: Sequence[str]) -> dict[str, str]:
        """Each word's term in the index, as FTS5's own tokenizer makes it."""
        self._db.executemany("INSERT INTO temp.sheet(rowid, text) VALUES (?,?)", enumerate(words, 1))
        stems = {words[doc - 1]: term for doc, term in self._db.execute("SELECT doc, term FROM temp.sheet_terms")}
        self._db.execute("DELETE FROM temp.sheet")
        return {w: stems[w] for w in words if w in stems}

    def _matches(self, table: str, scope: Scope, question: Question, limit: int) -> Matches:
        if not question.expression:
            return NOTHING
        first = scope.no * BLOCK
        found = self._db.execute(
            f"SELECT rowid - ?, -bm25({table}) AS score FROM {table} WHERE {table} MATCH ? "
            "AND rowid BETWEEN ? AND ? ORDER BY score DESC, rowid LIMIT ?",
            (first, question.expression, first, first + BLOCK - 1, limit),
        ).fetchall()
        if not found:
            return NOTHING
        rows, scores = zip(*found, strict=True)
        return Matches(np.array(rows, np.int64), np.array(scores, np.float64))

    # -- durability

    def flush(self) -> None:
        """Commit rows and position together; synchronous is off, since the log can grow all of it back."""
        if self._position == self._durable:
            return
        if not self._db.in_transaction:
            self._db.execute("BEGIN")
        if self._purge:
            # A deletion is a note in the index until its segments are merged; what is erased must leave the file.
            self._db.execute("INSERT INTO own(own) VALUES ('optimize')")
            self._db.execute("INSERT INTO around(around) VALUES ('optimize')")
        self._db.execute("UPDATE meta SET value=? WHERE name='position'", (self._position,))
        self._db.execute("COMMIT")
        self._durable = self._position
        if self._purge:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._purge = False

    def digest(self) -> dict[str, str]:
        return {
            "words.docs": digest_of(self._db.execute("SELECT * FROM docs ORDER BY row")),
            "words.own": digest_of(self._db.execute("SELECT * FROM terms ORDER BY term")),
            "words.around": digest_of(self._db.execute("SELECT * FROM around_terms ORDER BY term")),
        }

    def counts(self) -> dict[str, int]:
        [own] = self._db.execute("SELECT count(*) FROM terms").fetchone()
        [around] = self._db.execute("SELECT count(*) FROM around_terms").fetchone()
        return {"words.docs": len(self._docs), "words.own": own, "words.around": around}

    def come_to_rest(self) -> None:
        self.flush()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._db.close()


def digest_of(rows: Iterable[Sequence[object]]) -> str:
    """sha256 (hex) over rows in their order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def words_kind() -> ViewKind:
    """The words as one view of a generation."""
    return ViewKind("words", VERSION, (FILE, f"{FILE}-wal", f"{FILE}-shm"), lambda home: Words(home / FILE))
