"""Which memories say the words of a question, in their own text or in the texts told beside them."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..consolidation.dates import tells_when
from ..consolidation.ranking import bm25, rarity
from ..consolidation.wording import asks, length_of, procedure_words, shelf_of, subject_of, symbols_of, words_of
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
from .heard import Heard, Term
from .places import BLOCK, Doc, Scope
from .projector import Damaged, Positioned, ViewKind

FILE = "words.sqlite"
VERSION = "2"
# A word that stands in more than this share of the rows is left out of a question that has rarer ones: it is costly
# to follow at 100,000 rows, and tells next to nothing apart.
COMMON_SHARE = 0.03
# Below so many rows every word is cheap.
SMALL = 2_000
# A question of nothing but common words is followed by its rarest; one of very many words by that many.
COMMON_FOLLOWED = 2
FOLLOWED_AT_MOST = 48
SYMBOLS_AT_MOST = 8

CREATE = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE scopes (no INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE);
CREATE TABLE docs (
    row INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, scope_no INTEGER NOT NULL, session TEXT NOT NULL,
    subject TEXT NOT NULL, day INTEGER NOT NULL, length INTEGER NOT NULL, asks INTEGER NOT NULL,
    tells_when INTEGER NOT NULL, content TEXT NOT NULL,
    retirements TEXT NOT NULL DEFAULT '', suppressed INTEGER NOT NULL DEFAULT 0, erased INTEGER NOT NULL DEFAULT 0);
CREATE VIRTUAL TABLE own USING fts5(text, content='', tokenize='porter unicode61');
CREATE VIRTUAL TABLE terms USING fts5vocab(own, row);
"""
SCRATCH = """
CREATE VIRTUAL TABLE temp.told USING fts5vocab('main', 'own', 'instance');
CREATE VIRTUAL TABLE temp.sheet USING fts5(text, tokenize='porter unicode61');
CREATE VIRTUAL TABLE temp.sheet_terms USING fts5vocab('temp', 'sheet', 'instance');
"""


class Words:
    """The word index of a generation.

    FTS5 keeps who says which word; what it says of a word is scored here, in columns, over the live memories of one
    scope: a tenth of the cost of its own bm25, and a memory's surroundings need no index of their own.
    """

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
            self._rows_of: dict[str, int] = {}  # memory id -> its row id
            self._load()
        except (sqlite3.Error, KeyError, ValueError) as fault:
            self._db.close()
            raise Damaged(f"{path.name}: {fault}") from fault
        except Damaged:
            self._db.close()
            raise
        self._purge = False

    def _load(self) -> None:
        for no, name in self._db.execute("SELECT no, scope FROM scopes ORDER BY no"):
            self._numbered[no] = self._scopes[name] = Scope(no)
        for row, memory_id, no, session, retirements, suppressed, erased, *told in self._db.execute(
            "SELECT row, memory_id, scope_no, session, retirements, suppressed, erased, "
            "subject, day, length, asks, tells_when FROM docs ORDER BY row"
        ):
            retired = tuple(int(v) for v in retirements.split())
            doc = Doc(row, memory_id, session, 0, retired, bool(suppressed), bool(erased))
            scope = self._numbered[no]
            scope.place(doc, *told)
            scope.link(doc)
            self._rows_of[memory_id] = doc.row

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
        """What keeps a memory from being found came or went."""
        row = self._rows_of.get(target_id)
        if row is None:
            return
        scope = self._numbered[row // BLOCK]
        doc = scope.docs[row % BLOCK]
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
                self._erase(doc)
        scope.link(doc)
        self._db.execute(
            "UPDATE docs SET retirements=?, suppressed=?, erased=? WHERE row=?",
            (" ".join(map(str, doc.retirements)), doc.suppressed, doc.erased, doc.row),
        )

    def _erase(self, doc: Doc) -> None:
        [content] = self._db.execute("SELECT content FROM docs WHERE row=?", (doc.row,)).fetchone()
        if content:
            self._db.execute("INSERT INTO own(own, rowid, text) VALUES ('delete',?,?)", (doc.row, content))
            self._db.execute("UPDATE docs SET content='', subject='' WHERE row=?", (doc.row,))
            self._purge = True
        doc.erased = True

    def _add(self, shelf: str, target_id: str, session: str, content: str, day: int) -> None:
        scope = self._scopes.get(shelf)
        if scope is None:
            scope = self._scopes[shelf] = Scope(len(self._scopes) + 1)
            self._numbered[scope.no] = scope
            self._db.execute("INSERT INTO scopes VALUES (?,?)", (scope.no, shelf))
        # Blanked in the log since: it was told, and no word of it is left.
        doc = Doc(scope.no * BLOCK + len(scope.docs), target_id, session or target_id, erased=not content)
        told = (subject_of(content), day, length_of(content), asks(content), tells_when(content))
        scope.place(doc, *told)
        scope.link(doc)
        self._rows_of[target_id] = doc.row
        self._db.execute(
            "INSERT INTO docs (row, memory_id, scope_no, session, subject, day, length, asks, tells_when, content, "
            "erased) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (doc.row, target_id, scope.no, doc.session, *told, content, doc.erased),
        )
        if content:
            self._db.execute("INSERT INTO own(rowid, text) VALUES (?,?)", (doc.row, content))

    # -- what recall asks

    def scope(self, name: str) -> Scope | None:
        """The rows of a scope; None when nothing was ever told there."""
        return self._scopes.get(name)

    def row_of(self, memory_id: str) -> int | None:
        """The row number of a memory within its scope."""
        row = self._rows_of.get(memory_id)
        return None if row is None else row % BLOCK

    def contents(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """The texts of memories, as they were told."""
        rows = {self._rows_of[m]: m for m in memory_ids if m in self._rows_of}
        found = self._db.execute(f"SELECT row, content FROM docs WHERE row IN ({','.join(map(str, rows))})").fetchall()
        return {rows[row]: content for row, content in found}

    def heard(self, scope: Scope, text: str) -> Heard:
        """What the words of a question reach in a scope: who says them, who stands beside, and how much it tells."""
        terms = [self._term(scope, spoken, rows) for spoken, rows in self._followed(scope, text)]
        size = len(scope.docs)
        own, around = np.zeros(size), np.zeros(size)
        mean = scope.words / max(1, scope.living)
        mean_around = scope.words_around / max(1, scope.living)
        for term in terms:
            if not len(term.rows):
                continue
            own[term.rows] += bm25(term.counts, scope.at(scope.length, term.rows), mean, term.tells)
            near = scope.beside(term.rows)
            beside = near >= 0
            spread = np.bincount(
                np.concatenate([term.rows, near[beside]]),
                np.concatenate([term.counts, np.broadcast_to(term.counts[:, None], near.shape)[beside]]),
                size,
            ).astype(np.float64)
            reached = np.flatnonzero(spread)
            tells = rarity(len(reached), scope.living)
            around[reached] += bm25(spread[reached], scope.at(scope.reach, reached), mean_around, tells)
        return Heard(tuple(terms), own, around)

    @staticmethod
    def _term(scope: Scope, spoken: str, rows: np.ndarray) -> Term:
        """A word with the live ones among the rows that say it; rows come sorted, once for each time it is said."""
        found, counts = np.unique(rows, return_counts=True)
        live = scope.at(scope.live, found) != 0
        found = found[live]
        return Term(spoken, found, counts[live].astype(np.float64), rarity(len(found), scope.living))

    def _followed(self, scope: Scope, text: str) -> list[tuple[str, np.ndarray]]:
        """The words of a question that are worth following, with the rows of the scope that say them; then symbols."""
        stems = self._stems(words_of(text))
        spoken = {stem: word for word, stem in reversed(stems.items())}
        marks = ",".join("?" * len(spoken))
        counts = dict(self._db.execute(f"SELECT term, doc FROM terms WHERE term IN ({marks})", sorted(spoken)))
        rare = [
            s
            for s in dict.fromkeys(stems.values())
            if counts.get(s, 0) <= max(SMALL, COMMON_SHARE * len(self._rows_of))
        ]
        by_count = sorted(spoken, key=lambda s: (counts.get(s, 0), s))
        kept = set(
            by_count[:COMMON_FOLLOWED] if not rare else [s for s in by_count if s in set(rare)][:FOLLOWED_AT_MOST]
        )
        first = scope.no * BLOCK
        block = (first, first + BLOCK - 1)
        found = [
            (
                spoken[stem],
                self._rows(
                    "SELECT group_concat(doc - ?) FROM temp.told WHERE term=? AND doc BETWEEN ? AND ?",
                    first,
                    stem,
                    *block,
                ),
            )
            for stem in dict.fromkeys(stems.values())
            if stem in kept
        ]
        for symbol in symbols_of(text)[:SYMBOLS_AT_MOST]:
            phrase = '"{}"'.format(symbol.replace('"', '""'))
            rows = self._rows(
                "SELECT group_concat(rowid - ?) FROM own WHERE own MATCH ? AND rowid BETWEEN ? AND ?",
                first,
                phrase,
                *block,
            )
            if len(rows):
                found.append((symbol, rows))
        return found

    def _rows(self, sql: str, *values: object) -> np.ndarray:
        [told] = self._db.execute(sql, values).fetchone()
        return np.sort(np.fromstring(told, np.int64, sep=",")) if told else np.empty(0, np.int64)

    def _stems(self, words: Sequence[str]) -> dict[str, str]:
        """Each word's term in the index, as FTS5's own tokenizer makes it."""
        self._db.execute("INSERT INTO temp.sheet(rowid, text) VALUES (0,?)", (" ".join(words),))
        stems = [term for (term,) in self._db.execute("SELECT term FROM temp.sheet_terms ORDER BY offset")]
        self._db.execute("DELETE FROM temp.sheet")
        if len(stems) == len(words):
            return dict(zip(words, stems, strict=True))
        # The tokenizer splits words of some scripts further than we do; then its own are as good.
        return {stem: stem for stem in stems}

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
        }

    def counts(self) -> dict[str, int]:
        [own] = self._db.execute("SELECT count(*) FROM terms").fetchone()
        return {"words.docs": len(self._rows_of), "words.own": own}

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
