"""The tables: one view over model.duckdb, made of one module per table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from ..consolidation.policy import FoldPolicy
from ..domain.errors import Unavailable
from ..domain.events import ContentErased, Fact
from .columns import Memo, declared
from .feedback import Feedback
from .kinds import Kinds
from .procedures import ProcedureRow, Procedures
from .projector import Damaged, Positioned, ViewKind
from .relations import Relation
from .retrievals import Exposures, Retrievals
from .runs import RunRow, Runs
from .salience import Salience, Strength
from .schemas import Schema, Schemas
from .sessions import SessionRow, Sessions

FILE = "model.duckdb"
MEMORY_LIMIT = "128MB"


def relations(policy: FoldPolicy) -> list[Relation]:
    """Every table, in the order in which they are written. A new one is a module and a line here."""
    return [
        Sessions(),
        Retrievals(),
        Exposures(),
        Feedback(),
        Schemas(),
        Salience(policy),
        Procedures(),
        Kinds(),
        Runs(),
    ]


def tables_kind(policy: FoldPolicy) -> ViewKind:
    """The tables as one view of a generation."""
    return ViewKind("tables", schema_version(), (FILE, f"{FILE}.wal"), lambda home: Tables(home / FILE, policy))


def schema_version() -> str:
    """Changes with any table's columns or fold, so that a generation of another shape is never read."""
    shapes = (f"{r.name} {r.version} {r.order} {declared(r.all_columns)}" for r in relations(FoldPolicy()))
    return hashlib.sha256("\n".join(shapes).encode()).hexdigest()[:16]


class Tables:
    """The view over DuckDB. Folds in memory; `flush` writes behind, rows and position in one transaction.

    Belongs to one thread (the engine's), and its file to one process: DuckDB lets no second one even read it.
    """

    name = "tables"

    def __init__(self, path: Path, policy: FoldPolicy) -> None:
        """Open the file, or make it. Raises Damaged when it cannot be read or has another shape."""
        self.policy = policy
        self.relations = {relation.name: relation for relation in relations(policy)}
        self._listeners: dict[type[Fact], list[Relation]] = {}
        for relation in self.relations.values():
            for fact in relation.listens_to:
                self._listeners.setdefault(fact, []).append(relation)
        self._db = connected(path)
        try:
            self._position = self._opened()
        except Exception as fault:
            self._db.close()
            if isinstance(fault, (duckdb.Error, ValueError, TypeError)):
                raise Damaged(f"{path.name}: {fault}") from fault
            raise
        self.flushed = self._position

    # -- what verbs read

    @property
    def sessions(self) -> dict[str, SessionRow]:
        """Open sessions by id, and those that closed since the last flush."""
        return self._relation(Sessions).rows

    @property
    def schemas(self) -> dict[str, Schema]:
        """Every claim by memory id, in log order."""
        return self._relation(Schemas).rows

    @property
    def claims(self) -> Schemas:
        """The claims with their look-ups, by scope and by log position."""
        return self._relation(Schemas)

    @property
    def salience(self) -> dict[str, Strength]:
        """How firmly each memory and procedure is held, by id."""
        return self._relation(Salience).rows

    @property
    def procedures(self) -> dict[str, ProcedureRow]:
        """Every procedure by id, in log order."""
        return self._relation(Procedures).rows

    @property
    def runs(self) -> dict[str, RunRow]:
        """Every run that types memories by id, in log order."""
        return self._relation(Runs).rows

    def open_sessions(self) -> list[SessionRow]:
        """The sessions that are open, oldest first."""
        return [row for row in self.sessions.values() if row.state == "open"]

    def query(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """Rows of a select over the stored tables, read after writing what is waiting."""
        self.flush()
        cursor = self._db.cursor()
        cursor.execute(sql, values)
        names = [column[0] for column in cursor.description or ()]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        cursor.close()
        return found

    # -- the view

    @property
    def position(self) -> int:
        return self._position

    def apply(self, page: Sequence[Positioned]) -> None:
        for at in page:
            if at.position <= self._position:
                continue
            listeners = self._listeners.get(type(at.fact), ())
            # First everything that could raise, then everything that changes: a fact is folded wholly or not at all.
            staged = [(relation, relation.staged(at)) for relation in listeners]
            for relation, changes in staged:
                relation.install(changes)
            if isinstance(at.fact, ContentErased) and at.fact.positions:
                for relation in self.relations.values():
                    relation.erase(at.fact.positions)
            self._position = at.position

    def flush(self) -> None:
        if self.flushed == self._position:
            return
        waiting = [relation for relation in self.relations.values() if relation.waiting]
        self._db.execute("begin")
        try:
            for relation in waiting:
                relation.write(self._db)
            self._db.execute("update positions set position = ? where name = ?", [self._position, self.name])
            self._db.execute("commit")
        except BaseException:
            # A commit that failed has rolled back already; its own error is the one to tell.
            with suppress(duckdb.Error):
                self._db.execute("rollback")
            raise
        for relation in waiting:
            relation.settle()
        self.flushed = self._position

    def digest(self) -> dict[str, str]:
        return {name: relation.digest(self._db) for name, relation in self.relations.items()}

    def counts(self) -> dict[str, int]:
        return {name: self._db.execute(f"select count(*) from {name}").fetchall()[0][0] for name in self.relations}

    def come_to_rest(self) -> None:
        self.flush()
        self._db.execute("checkpoint")

    def close(self) -> None:
        self._db.close()

    # -- opening

    def _opened(self) -> int:
        """The stored position, with everything that has to be in memory brought there."""
        if not self._db.execute("select 1 from information_schema.tables limit 1").fetchone():
            self._made()
        stored = self._db.execute("select position, schema_version from positions where name = ?", [self.name])
        row = stored.fetchone()
        if row is None or row[1] != schema_version():
            raise ValueError("the tables are of another schema version")
        memo: Memo = {}
        for relation in self.relations.values():
            relation.load(self._db, memo)
        return row[0]

    def _made(self) -> None:
        self._db.execute("begin")
        for relation in self.relations.values():
            relation.create(self._db)
        self._db.execute("create table positions (name VARCHAR, position BIGINT, schema_version VARCHAR)")
        self._db.execute("insert into positions values (?, 0, ?)", [self.name, schema_version()])
        self._db.execute("commit")

    def _relation(self, kind: type[Any]) -> Any:
        return self.relations[kind.name]


def connected(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that stays small, keeps to one thread and never looks for extensions on the network."""
    try:
        return duckdb.connect(
            path,
            config={
                "threads": 1,
                "memory_limit": MEMORY_LIMIT,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
    except duckdb.Error as fault:
        if "set lock" in str(fault).lower():  # a damaged block is a word with "lock" in it, too
            raise Unavailable(
                f"another process holds {path}", hint="close the program that has it open; slw status names the owner"
            ) from fault
        raise Damaged(f"{path.name}: {fault}") from fault
