"""Columns: how a row's values go into DuckDB by whole columns, come back, and stand in a digest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import numpy as np

# A question mark marks a column whose value may be None. A `word` is a text that many rows share (a scope, an id), kept
# once in memory; `texts` is a tuple of strings.
ColumnType = Literal["text", "text?", "word", "texts", "int", "float", "float?", "bool", "time", "time?", "blob"]
Columns = Mapping[str, ColumnType]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
NO_TIME: Final = -(2**63)


def micros(at: datetime) -> int:
    """A time as whole microseconds since 1970, exactly."""
    return (at - EPOCH) // MICROSECOND


def moment(us: int) -> datetime:
    """The time, in UTC, that `micros` came from."""
    return EPOCH + timedelta(microseconds=us)


def text_of(value: Any) -> str:
    """A JSON value as the one text that stands for it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def stored(value: Any) -> Any:
    """One value as a bound parameter."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return text_of(value) if isinstance(value, tuple) else value


def _objects(values: Iterable[Any]) -> np.ndarray:
    return np.array(list(values), dtype=object)


Memo = dict[Any, Any]  # what many rows share, kept once while rows are brought back


@dataclass(frozen=True, slots=True)
class _Passage:
    """One column type's way into DuckDB and back.

    `pack` makes the numpy column, `write` the SQL that turns it into the stored value, `read` the SQL that turns the
    stored value into what the driver hands over, `unpack` a column of rows' values of that, `told` the SQL of the text
    that a digest is taken over. Nulls cross as a stand-in, since a numpy column of objects has no type when all it
    holds is None.
    """

    sql: str
    pack: Callable[[Sequence[Any]], np.ndarray]
    write: str = "{0}"
    read: str = "{0}"
    unpack: Callable[[Sequence[Any], Memo], Iterable[Any]] | None = None
    told: str = "{0}::VARCHAR"


# A text is told with its length, so that no two rows are told alike.
_TOLD_TEXT: Final = "strlen({0}) || ':' || {0}"


def _moments(column: Sequence[int | None], memo: Memo) -> Iterable[datetime | None]:
    return [None if us is None else memo.get(us) or memo.setdefault(us, moment(us)) for us in column]


_PASSAGES: Final[dict[ColumnType, _Passage]] = {
    "text": _Passage("VARCHAR", _objects, told=_TOLD_TEXT),
    "text?": _Passage(
        "VARCHAR",
        lambda values: _objects(v or "" for v in values),
        "nullif({0}, '')",
        told=f"coalesce({_TOLD_TEXT}, '-')",
    ),
    "word": _Passage(
        "VARCHAR", _objects, unpack=lambda column, memo: map(memo.setdefault, column, column), told=_TOLD_TEXT
    ),
    "texts": _Passage(
        "VARCHAR",
        lambda values: _objects(map(text_of, values)),
        unpack=lambda column, _: [() if v == "[]" else tuple(json.loads(v)) for v in column],
        told=_TOLD_TEXT,
    ),
    "int": _Passage("BIGINT", lambda values: np.array(values, dtype=np.int64)),
    "float": _Passage("DOUBLE", lambda values: np.array(values, dtype=np.float64)),
    "float?": _Passage(
        "DOUBLE",
        lambda values: np.array([np.nan if v is None else v for v in values], dtype=np.float64),
        "case when isnan({0}) then null else {0} end",
        told="coalesce({0}::VARCHAR, '-')",
    ),
    "bool": _Passage("BOOLEAN", lambda values: np.array(values, dtype=np.bool_)),
    "time": _Passage(
        "TIMESTAMP",
        lambda values: np.array([micros(v) for v in values], dtype=np.int64),
        "make_timestamp({0})",
        "epoch_us({0})",
        _moments,
        "epoch_us({0})::VARCHAR",
    ),
    "time?": _Passage(
        "TIMESTAMP",
        lambda values: np.array([NO_TIME if v is None else micros(v) for v in values], dtype=np.int64),
        f"make_timestamp(nullif({{0}}, {NO_TIME}))",
        "epoch_us({0})",
        _moments,
        "coalesce(epoch_us({0})::VARCHAR, '-')",
    ),
    "blob": _Passage("BLOB", lambda values: _objects(v.hex() for v in values), "unhex({0})", told="hex({0})"),
}


def declared(columns: Columns) -> str:
    """The columns as `create table` lists them."""
    return ", ".join(f"{name} {_PASSAGES[kind].sql}" for name, kind in columns.items())


def written(columns: Columns, source: str) -> str:
    """The stored values as SQL over the packed columns of `source`."""
    return ", ".join(_PASSAGES[kind].write.format(f"{source}.{name}") for name, kind in columns.items())


def assigned(columns: Columns, source: str) -> str:
    """The same as the assignments of an update."""
    return ", ".join(f"{name} = {_PASSAGES[kind].write.format(f'{source}.{name}')}" for name, kind in columns.items())


def selected(columns: Columns) -> str:
    """The columns as a select reads them."""
    return ", ".join(_PASSAGES[kind].read.format(name) for name, kind in columns.items())


def packed(columns: Columns, values: Iterable[Sequence[Any]]) -> dict[str, np.ndarray]:
    """Column-wise values, in the columns' order, as numpy columns that DuckDB scans without copying each cell.

    Measured beside `unnest` of lists: 1.6 against 0.36 million six-column rows per CPU-second.
    """
    return {name: _PASSAGES[kind].pack(column) for (name, kind), column in zip(columns.items(), values, strict=True)}


def unpacked(columns: Columns, fetched: Iterable[Sequence[Any]], memo: Memo) -> Iterable[tuple[Any, ...]]:
    """Fetched rows as the values of rows in memory, worked on by column; `memo` holds what rows share once."""
    found: list[Iterable[Any]] = []
    for kind, column in zip(columns.values(), zip(*fetched, strict=True), strict=True):
        unpack = _PASSAGES[kind].unpack
        found.append(unpack(column, memo) if unpack else column)
    return zip(*found, strict=True)


def told(columns: Columns) -> str:
    """A row as the one text that a digest is taken over, in SQL: other rows give other texts, on every machine."""
    return " || ',' || ".join(_PASSAGES[kind].told.format(name) for name, kind in columns.items())
