"""Questions in SQL on the published snapshot: one that only reads, in a room without doors, for a bounded time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from ..domain.errors import InvalidInput, Unavailable

READING: Final = ("SELECT", "EXPLAIN")
HINT: Final = "one SELECT, WITH, DESCRIBE, SHOW or EXPLAIN; slw schema prints the views"
SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Answered:
    """The names of the columns and the rows."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def require_reading(sql: str) -> None:
    """InvalidInput unless the text is one statement that reads.

    DuckDB's own parser decides: locking the configuration alone lets PRAGMA, CALL and temporary tables through.
    """
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as fault:
        raise InvalidInput(f"this is no SQL that DuckDB understands: {_first_line(fault)}", hint=HINT) from fault
    kinds = [statement.type.name for statement in statements]
    if len(kinds) != 1 or kinds[0] not in READING:
        said = " and ".join(kinds) or "nothing"
        raise InvalidInput(f"only a single reading statement is run here, not {said}", hint=HINT)


def asked(snapshot: Path, sql: str, *, seconds: float = SECONDS, most: int | None = None) -> Answered:
    """The answer to a question; at most `most` rows. Raises InvalidInput for what is wrong with the question."""
    require_reading(sql)
    with _room(snapshot, (), seconds) as db:
        cursor = db.execute(sql)
        rows = cursor.fetchall() if most is None else cursor.fetchmany(most)
        return Answered([column[0] for column in cursor.description or ()], rows)


def written_as_parquet(snapshot: Path, sql: str, target: Path, *, seconds: float = SECONDS) -> int:
    """The answer written to a Parquet file, which is the only file the question can reach; returns its rows."""
    require_reading(sql)
    quoted = str(target.absolute()).replace("'", "''")
    with _room(snapshot, (str(target.absolute()),), seconds) as db:
        inner = sql.strip().rstrip(";")
        copy = f"copy (select * from ({inner}\n)) to '{quoted}' (format parquet, use_tmp_file false)"
        return db.execute(copy).fetchall()[0][0]


@contextmanager
def _room(snapshot: Path, allowed: Sequence[str], seconds: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can neither write, nor reach a file but the allowed ones, nor be reconfigured."""
    config: dict[str, Any] = {
        "threads": 2,
        "memory_limit": "1GB",
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        db = duckdb.connect(str(snapshot), read_only=True, config=config)
        # The order matters: each closes the door behind it.
        db.execute("set allowed_paths = ?", [list(allowed)])
        db.execute("set enable_external_access = false")
        db.execute("set lock_configuration = true")
    except duckdb.Error as fault:
        raise Unavailable(
            f"the snapshot cannot be opened: {_first_line(fault)}", hint="slw sql makes it anew"
        ) from fault
    timer = threading.Timer(seconds, db.interrupt)
    timer.start()
    try:
        yield db
    except duckdb.InterruptException as fault:
        raise Unavailable(
            f"the question took longer than {seconds:g} s", hint="--timeout SECONDS gives more"
        ) from fault
    except duckdb.Error as fault:
        raise InvalidInput(_first_line(fault), hint=HINT) from fault
    finally:
        timer.cancel()
        db.close()


def _first_line(fault: BaseException) -> str:
    return str(fault).strip().splitlines()[0]
