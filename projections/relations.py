"""Relations: what one table of model.duckdb folds, holds in memory and still has to write."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from operator import attrgetter
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import duckdb

from ..domain.events import Fact
from .columns import Columns, ColumnType, Memo, assigned, declared, packed, selected, stored, told, unpacked, written
from .projector import Positioned

R = TypeVar("R")
READ = 2_000


class Patch(NamedTuple):
    """Stored rows that a fact changes although they are not in memory: which (column to value), and to what."""

    where: Mapping[str, Any]
    values: Mapping[str, Any]


class Relation(ABC):
    """One table. `fold`ing is pure; `staged` says what a fact comes to, and `install` alone changes anything."""

    name: ClassVar[str]
    version: ClassVar[int] = 1  # raise it when the fold comes to something else for the same facts
    columns: ClassVar[Columns]
    cold: ClassVar[Columns] = {}  # written with a new row and not kept in memory
    order: ClassVar[str] = "position"
    listens_to: ClassVar[tuple[type[Fact], ...]]
    # Column that holds a log position -> the columns whose words come from that fact, and their blank.
    erases: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    def __init__(self) -> None:
        self.patches: list[Patch] = []

    @property
    def all_columns(self) -> dict[str, Any]:
        return {**self.columns, **self.cold}

    def create(self, db: duckdb.DuckDBPyConnection) -> None:
        """Make the table, empty."""
        db.execute(f"create table {self.name} ({declared(self.all_columns)})")

    def load(self, db: duckdb.DuckDBPyConnection, memo: Memo) -> None:
        """Bring back into memory what has to be there; of a passing table, nothing."""
        del db, memo

    def patches_of(self, at: Positioned) -> list[Patch]:  # noqa: ARG002 - most tables have none
        """What a fact changes in stored rows that are not in memory."""
        return []

    @abstractmethod
    def staged(self, at: Positioned) -> Any:
        """What the fact comes to, without changing anything."""

    @abstractmethod
    def install(self, staged: Any) -> None:
        """Take over what `staged` returned."""

    def erase(self, positions: Sequence[int]) -> None:
        """Blank the words that came from the facts at these positions."""
        for column, blanks in self.erases.items():
            self.patches.extend(Patch({column: position}, blanks) for position in positions)

    def write(self, db: duckdb.DuckDBPyConnection) -> None:
        """Write what is waiting; the caller's transaction decides, and `settle` follows its commit."""
        for patch in self.patches:
            values = ", ".join(f"{name} = ?" for name in patch.values)
            where = " and ".join(f"{name} = ?" for name in patch.where)
            bound = [stored(value) for value in (*patch.values.values(), *patch.where.values())]
            db.execute(f"update {self.name} set {values} where {where}", bound)

    def settle(self) -> None:
        """Forget what is written now."""
        self.patches.clear()

    @property
    def waiting(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.patches)

    def fetched(self, db: duckdb.DuckDBPyConnection, selected: str) -> Iterator[list[tuple[Any, ...]]]:
        """What is selected of the stored rows, in their order, streamed in pages."""
        cursor = db.cursor()
        cursor.execute(f"select {selected} from {self.name} order by {self.order}")
        while rows := cursor.fetchmany(READ):
            yield rows
        cursor.close()

    def digest(self, db: duckdb.DuckDBPyConnection) -> str:
        """The sha256 (hex) over the stored rows in their order."""
        digest = hashlib.sha256()
        for rows in self.fetched(db, told(self.all_columns)):
            for (row,) in rows:
                digest.update(row.encode())
                digest.update(b"\n")
        return digest.hexdigest()

    def insert(self, db: duckdb.DuckDBPyConnection, values: Iterable[Sequence[Any]]) -> None:
        """Add rows, given by column."""
        db.register("incoming", packed(self.all_columns, values))
        db.execute(f"insert into {self.name} select {written(self.all_columns, 'incoming')} from incoming")
        db.unregister("incoming")


class Passing(Relation):
    """A table that only flows through: rows are queued, written once, and not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: list[tuple[Any, ...]] = []

    @abstractmethod
    def fold(self, at: Positioned) -> list[tuple[Any, ...]]:
        """The rows that a fact adds, in the columns' order."""

    def staged(self, at: Positioned) -> tuple[list[tuple[Any, ...]], list[Patch]]:
        return self.fold(at), self.patches_of(at)

    def install(self, staged: tuple[list[tuple[Any, ...]], list[Patch]]) -> None:
        self.queue += staged[0]
        self.patches += staged[1]

    def write(self, db: duckdb.DuckDBPyConnection) -> None:
        if self.queue:
            self.insert(db, zip(*self.queue, strict=True))
        super().write(db)

    def settle(self) -> None:
        super().settle()
        self.queue.clear()

    @property
    def waiting(self) -> bool:
        return bool(self.queue) or super().waiting


class Resident(Relation, Generic[R]):
    """A table whose rows a verb reads: all of them (or those that `keeps` names) are in memory, by id.

    A row is a slots dataclass with the fields of `columns` in their order, and is never changed in place: a fold
    returns another one, so a reader that holds a row holds what it was.
    """

    row: ClassVar[type[Any]]
    id_column: ClassVar[str]
    key: ClassVar[str] = "position"  # a whole number that names the row in DuckDB; recent ones lie close together

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, R] = {}
        self.fresh: dict[str, tuple[Any, ...]] = {}  # not in DuckDB yet -> its cold values
        self.dirty: dict[str, None] = {}

    @abstractmethod
    def parts(self, fact: Fact) -> Iterable[tuple[str, Any]]:
        """The rows that a fact concerns: id, and what the fact says of it."""

    @abstractmethod
    def fold(self, held: R | None, at: Positioned, part: Any) -> R | None:
        """The row after the fact; None when there is none and the fact begins none."""

    def cold_values(self, fact: Fact) -> tuple[Any, ...]:  # noqa: ARG002 - most tables keep everything in memory
        """The values of the cold columns of a row that this fact began."""
        return ()

    def keeps(self, row: R) -> bool:  # noqa: ARG002 - most tables keep all
        """Whether the row stays in memory once it is written."""
        return True

    def staged(self, at: Positioned) -> tuple[dict[str, tuple[R, tuple[Any, ...] | None]], list[Patch]]:
        found: dict[str, tuple[R, tuple[Any, ...] | None]] = {}
        for row_id, part in self.parts(at.fact):
            earlier = found.get(row_id)
            held = earlier[0] if earlier else self.rows.get(row_id)
            row = self.fold(held, at, part)
            if row is not None and row is not held:
                begun = self.cold_values(at.fact) if held is None else earlier[1] if earlier else None
                found[row_id] = (row, begun)
        return found, self.patches_of(at)

    def install(self, staged: tuple[dict[str, tuple[R, tuple[Any, ...] | None]], list[Patch]]) -> None:
        self.patches += staged[1]
        for row_id, (row, cold) in staged[0].items():
            self.rows[row_id] = row
            if cold is not None:
                self.fresh[row_id] = cold
            elif row_id not in self.fresh:
                self.dirty[row_id] = None

    def erase(self, positions: Sequence[int]) -> None:
        super().erase(positions)
        erased = frozenset(positions)
        for column, blanks in self.erases.items():
            held = {name: blank for name, blank in blanks.items() if name in self.columns}
            if not held:
                continue
            for row_id, row in self.rows.items():
                if getattr(row, column) in erased:
                    self.rows[row_id] = replace(row, **held)  # pyright: ignore[reportArgumentType] - rows are dataclasses

    def load(self, db: duckdb.DuckDBPyConnection, memo: Memo) -> None:
        for fetched in self.fetched(db, selected(self.columns)):
            for row in starmap(self.row, unpacked(self.columns, fetched, memo)):
                if self.keeps(row):
                    self.rows[getattr(row, self.id_column)] = row
        self.loaded()

    def loaded(self) -> None:
        """Build what is derived from the rows, once they are all there."""

    def write(self, db: duckdb.DuckDBPyConnection) -> None:
        values = attrgetter(*self.columns)
        if self.fresh:
            whole = ((*values(self.rows[row_id]), *cold) for row_id, cold in self.fresh.items())
            self.insert(db, zip(*whole, strict=True))
        if self.dirty:
            db.register("incoming", packed(self.columns, zip(*(values(self.rows[i]) for i in self.dirty), strict=True)))
            changing: dict[str, ColumnType] = {
                name: kind for name, kind in self.columns.items() if name not in (self.key, self.id_column)
            }
            db.execute(
                f"update {self.name} set {assigned(changing, 'incoming')} from incoming "
                f"where {self.name}.{self.key} = incoming.{self.key}"
            )
            db.unregister("incoming")
        super().write(db)

    def settle(self) -> None:
        super().settle()
        for row_id in (*self.fresh, *self.dirty):
            if not self.keeps(self.rows[row_id]):
                del self.rows[row_id]
        self.fresh.clear()
        self.dirty.clear()

    @property
    def waiting(self) -> bool:
        return bool(self.fresh) or bool(self.dirty) or super().waiting
