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


@dataclass(frozen=True, slots=True)
class _Passage:
    """One column type's way into DuckDB and back.

    `pack` makes the numpy column, `write` the SQL that turns it into the stored value, `read` the SQL that turns the
    stored value into what the driver hands over, `unpack` the row's value of that. Nulls cross as a stand-in, since
    a numpy column of objects has no type when all it holds is None.
    """

    sql: str
    pack: Callable[[Sequence[Any]], np.ndarray]
    write: str = "{0}"
    read: str = "{0}"
    unpack: Callable[[Any], Any] | None = None


_PASSAGES: Final[dict[ColumnType, _Passage]] = {
    "text": _Passage("VARCHAR", _objects),
    "text?": _Passage("VARCHAR", lambda values: _objects(v or "" for v in values), "nullif({0}, '')"),
    "word": _Passage("VARCHAR", _objects),
    "texts": _Passage("VARCHAR", lambda values: _objects(map(text_of, values)), unpack=lambda v: tuple(json.loads(v))),
    "int": _Passage("BIGINT", lambda values: np.array(values, dtype=np.int64)),
    "float": _Passage("DOUBLE", lambda values: np.array(values, dtype=np.float64)),
    "float?": _Passage(
        "DOUBLE",
        lambda values: np.array([np.nan if v is None else v for v in values], dtype=np.float64),
        "case when isnan({0}) then null else {0} end",
    ),
    "bool": _Passage("BOOLEAN", lambda values: np.array(values, dtype=np.bool_)),
    "time": _Passage(
        "TIMESTAMP",
        lambda values: np.array([micros(v) for v in values], dtype=np.int64),
        "make_timestamp({0})",
        "epoch_us({0})",
        moment,
    ),
    "time?": _Passage(
        "TIMESTAMP",
        lambda values: np.array([NO_TIME if v is None else micros(v) for v in values], dtype=np.int64),
        f"make_timestamp(nullif({{0}}, {NO_TIME}))",
        "epoch_us({0})",
        lambda v: None if v is None else moment(v),
    ),
    "blob": _Passage("BLOB", lambda values: _objects(v.hex() for v in values), "unhex({0})"),
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


def unpacker(columns: Columns, words: dict[str, str]) -> Callable[[Sequence[Any]], list[Any]]:
    """What turns a fetched row into the values of a row in memory; `words` holds each shared text once."""
    found: list[tuple[int, Callable[[Any], Any]]] = []
    for place, kind in enumerate(columns.values()):
        unpack = _PASSAGES[kind].unpack
        if kind == "word":
            found.append((place, lambda value: words.setdefault(value, value)))
        elif unpack is not None:
            found.append((place, unpack))

    def unpacked(fetched: Sequence[Any]) -> list[Any]:
        values = list(fetched)
        for place, unpack in found:
            values[place] = unpack(values[place])
        return values

    return unpacked


def canonical(row: Sequence[Any]) -> bytes:
    """A fetched row as the bytes that a digest is taken over; equal rows give equal bytes on every machine."""
    plain = [value.hex() if isinstance(value, bytes) else value for value in row]
    return json.dumps(plain, separators=(",", ":")).encode()
