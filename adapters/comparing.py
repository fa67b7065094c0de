"""Where two generations differ: read model by read model, with the first rows that are not the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from ..projections.tables import FILE as TABLES_FILE
from ..projections.words import FILE as WORDS_FILE

FIRST: Final = 3
WIDEST: Final = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """One read model that is not what the log says; `rows` are the first that differ, each named by whose it is."""

    name: str
    live: str
    replayed: str
    rows: tuple[str, ...] = ()


def differences(
    live: Mapping[str, str], replayed: Mapping[str, str], live_folder: Path, replayed_folder: Path
) -> list[Difference]:
    """Compare digests, then look into the files for the rows. Nobody may have the two folders open."""
    found: list[Difference] = []
    for name in sorted(live.keys() | replayed.keys()):
        ours, theirs = live.get(name, ""), replayed.get(name, "")
        if ours != theirs:
            found.append(Difference(name, ours, theirs, first_rows(name, live_folder, replayed_folder)))
    return found


def first_rows(name: str, live: Path, replayed: Path) -> tuple[str, ...]:
    """The first rows of a read model that only one of the two has; empty where it has no rows to show."""
    try:
        if name == "words.docs":
            return _rows_of_words(live / WORDS_FILE, replayed / WORDS_FILE)
        if "." in name or name == "vectors":
            return ()
        return _rows_of_table(name, live / TABLES_FILE, replayed / TABLES_FILE)
    except (duckdb.Error, sqlite3.Error) as fault:
        return (f"the rows cannot be compared: {fault}",)


def _rows_of_table(table: str, live: Path, replayed: Path) -> tuple[str, ...]:
    with duckdb.connect(config={"threads": 1}) as db:
        db.execute(f"attach '{quoted(live)}' as live (read_only)")
        db.execute(f"attach '{quoted(replayed)}' as replayed (read_only)")
        told: list[str] = []
        for one, other in (("live", "replayed"), ("replayed", "live")):
            cursor = db.execute(
                f"select * from (select * from {one}.{table} except select * from {other}.{table}) order by all "
                f"limit {FIRST}"
            )
            names = [column[0] for column in cursor.description or ()]
            told += [_told(one, dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
        return tuple(told)


def _rows_of_words(live: Path, replayed: Path) -> tuple[str, ...]:
    with closing(sqlite3.connect(live)) as db:
        db.execute("ATTACH ? AS other", (str(replayed),))
        told: list[str] = []
        for whose, one, other in (("live", "main", "other"), ("replayed", "other", "main")):
            cursor = db.execute(
                f"SELECT * FROM {one}.docs EXCEPT SELECT * FROM {other}.docs ORDER BY row LIMIT {FIRST}"
            )
            names = [column[0] for column in cursor.description]
            told += [_told(whose, dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
        return tuple(told)


def _told(whose: str, row: Mapping[str, Any]) -> str:
    values = " ".join(f"{name}={_short(value)}" for name, value in row.items() if value not in (None, "", b""))
    return f"{whose}: {values}"


def _short(value: object) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def quoted(path: Path) -> str:
    """A path inside a SQL string."""
    return str(path).replace("'", "''")
