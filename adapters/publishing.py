"""The published snapshot: one DuckDB file that is fresh to the last event and that any DuckDB client can open."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import duckdb

from ..consolidation.policy import FoldPolicy
from ..domain.errors import Unavailable
from ..projections.analytics import EVENT_COLUMNS, EVENTS, TABLES, VIEWS, create_views
from ..projections.columns import Columns, declared, packed, written
from ..projections.generation import synced
from ..projections.tables import FILE as TABLES_FILE
from ..projections.tables import relations, schema_version
from .integrity import open_read_only
from .reach import post

FILE: Final = "analytics.duckdb"
# The oldest DuckDB that has everything the views need; newer ones read it as well.
STORAGE: Final = "v1.2.0"
PAGE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Published:
    """The snapshot and the position it is fresh to; how long publishing took, of which agents waited `held` s."""

    path: Path
    position: int
    seconds: float
    held: float


def table_columns() -> dict[str, Columns]:
    """The columns of every read model, by table."""
    return {relation.name: relation.all_columns for relation in relations(FoldPolicy())}


def shape() -> str:
    """Changes with the tables and the views, so that a snapshot of another shape is made anew."""
    views = "\n".join(view.select() for view in VIEWS)
    return hashlib.sha256(f"{schema_version()} {declared(EVENT_COLUMNS)} {views}".encode()).hexdigest()[:16]


def publish(home: Path) -> Published:
    """Bring the snapshot up to the last event, or find that it is. Agents go on; the owner copies its tables.

    Killed at any moment, the snapshot before is still there, whole.
    """
    began = time.monotonic()
    with one_at_a_time(home):
        end = log_position(home)
        held_position, held_shape = about(home / FILE)
        if held_position == end and held_shape == shape():
            return Published(home / FILE, end, time.monotonic() - began, 0.0)
        for left in home.glob(".analytics-*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=".analytics-", dir=home) as scratch:
            asked = time.monotonic()
            envelope = post(home, "copy", {"into": scratch, "views": ["tables"]})
            if not envelope["ok"]:
                error = envelope["error"]
                raise Unavailable(error["message"], hint=error["hint"])
            held = time.monotonic() - asked
            copy, position = Path(envelope["data"]["copy"]), envelope["data"]["position"]
            made = Path(scratch) / FILE
            again = held_shape == shape() and held_position <= position
            if again:
                shutil.copyfile(home / FILE, made)
            _filled(made, copy / TABLES_FILE, home / "log.db", held_position if again else 0, position)
            made.chmod(0o600)
            with made.open("rb") as file:
                os.fsync(file.fileno())
            made.replace(home / FILE)
            synced(home)
    return Published(home / FILE, position, time.monotonic() - began, held)


@contextmanager
def one_at_a_time(home: Path) -> Iterator[None]:
    """Two who publish at once would do the work twice; the second waits and finds it done."""
    with os.fdopen(os.open(home / ".publishing.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def log_position(home: Path) -> int:
    """The end of the log; Unavailable when there is none."""
    if not (home / "log.db").exists():
        raise Unavailable(f"there is no log in {home}", hint="slw activate, or an agent's first call, begins one")
    with closing(open_read_only(home / "log.db")) as db:
        return db.execute("SELECT max(seq) FROM stored_events").fetchone()[0] or 0


def about(path: Path) -> tuple[int, str]:
    """The position and shape of a snapshot; (0, "") when there is none that can be read."""
    if not path.exists():
        return 0, ""
    try:
        with duckdb.connect(str(path), read_only=True) as db:
            rows = db.execute(f"select position, shape from {TABLES}.published").fetchall()
            return (rows[0][0], rows[0][1]) if rows else (0, "")
    except duckdb.Error:
        return 0, ""


def _filled(path: Path, tables: Path, log: Path, after: int, upto: int) -> None:
    with duckdb.connect(config={"threads": 1, "memory_limit": "512MB"}) as db:
        db.execute(f"attach '{_quoted(path)}' as made (storage_version '{STORAGE}')")
        db.execute(f"attach '{_quoted(tables)}' as source (read_only)")
        db.execute("begin")
        db.execute(f"create schema if not exists made.{TABLES}")
        for name in table_columns():
            db.execute(f"create or replace table made.{TABLES}.{name} as select * from source.{name}")
        db.execute(f"create table if not exists made.{TABLES}.{EVENTS} ({declared(EVENT_COLUMNS)})")
        for rows in _event_rows(log, after, upto):
            db.register("incoming", packed(EVENT_COLUMNS, zip(*rows, strict=True)))
            db.execute(f"insert into made.{TABLES}.{EVENTS} select {written(EVENT_COLUMNS, 'incoming')} from incoming")
            db.unregister("incoming")
        create_views(db, "made")
        db.execute(
            f"create or replace table made.{TABLES}.published as select {upto} as position, '{shape()}' as shape"
        )
        db.execute("commit")
        db.execute("checkpoint made")
        db.execute("detach source")
        db.execute("detach made")


def _event_rows(log: Path, after: int, upto: int) -> Iterator[list[tuple[Any, ...]]]:
    """The log's new rows, page by page, in the columns' order."""
    with closing(open_read_only(log)) as db:
        while page := db.execute(
            "SELECT seq, originator_id, originator_version, topic, state FROM stored_events "
            "WHERE seq>? AND seq<=? ORDER BY seq LIMIT ?",
            (after, upto, PAGE),
        ).fetchall():
            yield [_event_row(*row) for row in page]
            after = page[-1][0]


def _event_row(seq: int, stream: str, version: int, topic: str, state: bytes) -> tuple[Any, ...]:
    members: dict[str, Any] = json.loads(state)
    actor = members.get("actor", {})
    session_id = stream if stream.startswith("sess_") else members.get("session_id")
    return (
        *(seq, stream, version, topic, datetime.fromisoformat(members["recorded_at"])),
        *(actor.get("kind", ""), actor.get("name", ""), actor.get("version", "")),
        *(session_id, members.get("run_id"), members.get("request_id"), state.decode()),
    )


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
