"""The log: the only truth. An append-only, hash-chained SQLite table behind the eventsourcing library."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

from eventsourcing import sqlite
from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Mapper,
    MapperDeserialisationError,
    Notification,
    StoredEvent,
    Transcoder,
)
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)
from eventsourcing.utils import Environment, EnvType

from ..domain.errors import SlwError, StoreBusy, Unavailable
from ..domain.events import Fact, all_facts
from ..domain.keys import KeyChange, KeyKind
from ..domain.writing import Receipt

APPLICATION_ID = 0x736C7731  # "slw1": tells our log from any other SQLite file
# The lowest format that can read this log. Raise it when a stored shape changes in a way older builds would misread.
LOG_FORMAT = 1
LOCK_TIMEOUT_SECONDS = 30
RECEIPTS_KEPT = timedelta(hours=24)
GENESIS = bytes(32)

CREATE = (
    """CREATE TABLE IF NOT EXISTS stored_events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        originator_id TEXT NOT NULL,
        originator_version INTEGER NOT NULL,
        topic TEXT NOT NULL,
        state BLOB NOT NULL,
        salt BLOB NOT NULL,
        state_hash BLOB NOT NULL,
        chain BLOB NOT NULL,
        UNIQUE (originator_id, originator_version))""",
    """CREATE TRIGGER IF NOT EXISTS stored_events_keep BEFORE DELETE ON stored_events
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    """CREATE TRIGGER IF NOT EXISTS stored_events_stay BEFORE UPDATE ON stored_events
        BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END""",
    """CREATE TABLE IF NOT EXISTS keys (
        kind TEXT NOT NULL, key TEXT NOT NULL, stream TEXT NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (kind, key)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS keys_of_stream ON keys (stream, kind)",
    """CREATE TABLE IF NOT EXISTS receipts (
        request_id TEXT PRIMARY KEY, args_sha256 TEXT NOT NULL, answer TEXT NOT NULL, at TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS receipts_by_age ON receipts (at)",
)


class Head(NamedTuple):
    """The end of the log: its last position (0 when empty) and the chain there."""

    seq: int
    chain: bytes


def chained(previous: bytes, seq: int, stream: str, version: int, topic: str, state_hash: bytes) -> bytes:
    """The next link: sha256 over the previous link and everything about the event but the state itself."""
    digest = hashlib.sha256(previous)
    for part in (str(seq).encode(), stream.encode(), str(version).encode(), topic.encode(), state_hash):
        digest.update(len(part).to_bytes(4, "big"))
        digest.update(part)
    return digest.digest()


def hashed_state(salt: bytes, state: bytes) -> bytes:
    """The hash of a state under its salt; without the salt, which erasing blanks, nobody can guess the words."""
    return hashlib.sha256(salt + state).digest()


class FactMapper(Mapper[str]):
    """Facts to bytes and back.

    A member that has its default is left out, so a default is part of the stored shape: changing one, like any other
    change of shape, takes a new `class_version` and an `upcast_vN_vN+1(state)` on the class.
    """

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        fact = cast("Fact", domain_event)
        state = fact.model_dump_json(exclude={"originator_id", "originator_version"}, exclude_defaults=True)
        if fact.class_version > 1:
            state = f'{{"class_version":{fact.class_version},{state[1:]}'
        return StoredEvent(
            originator_id=fact.originator_id,
            originator_version=fact.originator_version,
            topic=fact.TOPIC,
            state=state.encode(),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        return fact_of(
            str(stored_event.originator_id),
            stored_event.originator_version,
            stored_event.topic,
            stored_event.state,
        )


_classes: dict[str, type[Fact]] = {}


def fact_of(stream: str, version: int, topic: str, state: bytes) -> Fact:
    """The fact that a stored row tells; MapperDeserialisationError names the row when it tells none."""
    if not _classes:
        _classes.update(all_facts())
    cls = _classes.get(topic)
    try:
        if cls is None:
            raise ValueError("this build knows no such topic")
        members: dict[str, Any] = json.loads(state)
        for older in range(members.pop("class_version", 1), cls.class_version):
            getattr(cls, f"upcast_v{older}_v{older + 1}")(members)
        return cls(originator_id=stream, originator_version=version, **members)
    except ValueError as fault:
        raise MapperDeserialisationError(f"{topic} {version} of {stream}: {fault}") from fault


class LogConnectionPool(SQLiteConnectionPool):
    """Connections that wait for a lock and return from a commit only when it is on the disk."""

    def _create_connection(self) -> SQLiteConnection:
        connection = super()._create_connection()
        connection.cursor().execute("PRAGMA synchronous=FULL")
        return connection


class LogDatastore(SQLiteDatastore):
    """One log file."""

    def __init__(self, db_name: str, lock_timeout: int = LOCK_TIMEOUT_SECONDS) -> None:
        super().__init__(db_name, lock_timeout=lock_timeout, originator_id_type="text")
        self.pool.close()
        self.pool = LogConnectionPool(db_name=db_name, lock_timeout=lock_timeout)


class LogRecorder(SQLiteApplicationRecorder):
    """Appends facts under dense positions, with their keys and the request's receipt, in one transaction."""

    held_ms = 0.0  # how long the last transaction held the log's write lock, its commit included

    def construct_create_table_statements(self) -> list[str]:
        return list(CREATE)

    def create_table(self) -> None:
        with self._writing() as cursor:
            cursor.execute("PRAGMA application_id")
            application_id = cursor.fetchone()[0]
            cursor.execute("PRAGMA user_version")
            log_format = cursor.fetchone()[0]
            cursor.execute("SELECT count(*) FROM sqlite_master")
            if application_id != APPLICATION_ID and cursor.fetchone()[0]:
                raise Unavailable(
                    f"{self.datastore.pool.db_name} is a database of another program",
                    hint="choose another folder with --home or SLW_HOME",
                )
            if log_format > LOG_FORMAT:
                raise Unavailable(
                    f"the log has format {log_format}; this build reads up to {LOG_FORMAT}",
                    hint="update slw; an older build must not write to a newer log",
                )
            if log_format < LOG_FORMAT:
                self._create_table(cursor)
                cursor.execute(f"PRAGMA application_id={APPLICATION_ID}")
                cursor.execute(f"PRAGMA user_version={LOG_FORMAT}")

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        keys: Sequence[KeyChange] = (),
        settle: Callable[[Sequence[int]], Receipt | None] | None = None,
        **_: Any,
    ) -> Sequence[int]:
        """Append all events or none; returns their positions.

        Raises eventsourcing's IntegrityError when a stream has moved on or a key is taken, StoreBusy when another
        program holds the log for longer than the lock timeout, Unavailable when the disk is full or read-only.
        """
        with self._writing() as cursor:
            head = read_head(cursor)
            positions: list[int] = []
            chain = head.chain
            for seq, event in enumerate(stored_events, head.seq + 1):
                salt = os.urandom(16)
                state_hash = hashed_state(salt, event.state)
                stream = str(event.originator_id)
                chain = chained(chain, seq, stream, event.originator_version, event.topic, state_hash)
                cursor.execute(
                    "INSERT INTO stored_events VALUES (?,?,?,?,?,?,?,?)",
                    (seq, stream, event.originator_version, event.topic, event.state, salt, state_hash, chain),
                )
                positions.append(seq)
            for change in keys:
                apply_key_change(cursor, change, positions[-1])
            receipt = settle(positions) if settle else None
            if receipt is not None:
                cursor.execute("DELETE FROM receipts WHERE at < ?", ((receipt.at - RECEIPTS_KEPT).isoformat(),))
                cursor.execute(
                    "INSERT INTO receipts VALUES (?,?,?,?)",
                    (receipt.request_id, receipt.arguments_sha256, receipt.answer, receipt.at.isoformat()),
                )
        return positions

    # -- look-ups

    def lookup(self, kind: KeyKind, key: str) -> str | None:
        """The stream that holds the key."""
        row = self._one("SELECT stream FROM keys WHERE kind=? AND key=?", (kind, key))
        return row[0] if row else None

    def holders(self, kind: KeyKind) -> list[str]:
        """Every stream that holds a key of this kind, oldest first."""
        with self._reading() as cursor:
            cursor.execute("SELECT stream FROM keys WHERE kind=? ORDER BY seq, key", (kind,))
            return [row[0] for row in cursor.fetchall()]

    def receipt(self, request_id: str) -> Receipt | None:
        row = self._one("SELECT * FROM receipts WHERE request_id=?", (request_id,))
        return Receipt(row[0], row[1], row[2], datetime.fromisoformat(row[3])) if row else None

    def position_of(self, stream: str, version: int) -> int:
        """The position of one event; 0 when there is none."""
        row = self._one(
            "SELECT seq FROM stored_events WHERE originator_id=? AND originator_version=?", (stream, version)
        )
        return row[0] if row else 0

    def last_recorded_at(self) -> datetime | None:
        """The time of the last fact, in UTC."""
        row = self._one("SELECT state FROM stored_events ORDER BY seq DESC LIMIT 1", ())
        return datetime.fromisoformat(json.loads(row[0])["recorded_at"]).astimezone(UTC) if row else None

    def naming(self, word: str) -> list[Fact]:
        """The facts of the stream of that name, and those whose stored words hold it, in log order."""
        with self._reading() as cursor:
            cursor.execute(
                "SELECT originator_id, originator_version, topic, state FROM stored_events "
                "WHERE originator_id=? OR instr(state, CAST(? AS BLOB)) ORDER BY seq",
                (word, word),
            )
            return [fact_of(*row) for row in cursor.fetchall()]

    def head(self) -> Head:
        """The end of the log."""
        with self._reading() as cursor:
            return read_head(cursor)

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        chosen = f" AND topic IN ({','.join('?' * len(topics))})" if topics else ""
        first = 1 if start is None else start + (not inclusive_of_start)
        with self._reading() as cursor:
            cursor.execute(
                "SELECT seq, originator_id, originator_version, topic, state FROM stored_events "
                f"WHERE seq>=? AND seq<=?{chosen} ORDER BY seq LIMIT ?",
                (first, stop if stop is not None else 2**62, *topics, limit),
            )
            return [
                Notification(id=seq, originator_id=stream, originator_version=version, topic=topic, state=state)
                for seq, stream, version, topic, state in cursor.fetchall()
            ]

    def _max_notification_id(self, c: SQLiteCursor) -> int:
        c.execute("SELECT max(seq) FROM stored_events")
        return c.fetchone()[0] or 0

    # -- transactions

    def _one(self, sql: str, values: tuple[Any, ...]) -> Any:
        with self._reading() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchone()

    @contextmanager
    def _reading(self) -> Iterator[SQLiteCursor]:
        with said_clearly(), self.datastore.transaction(commit=False) as cursor:
            yield cursor

    @contextmanager
    def _writing(self) -> Iterator[SQLiteCursor]:
        """A transaction that holds the write lock from its first statement, so that positions are dense."""
        with said_clearly(), self.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            began = time.perf_counter()
            try:
                yield cursor
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            finally:
                self.held_ms = 1_000 * (time.perf_counter() - began)


def read_head(cursor: SQLiteCursor) -> Head:
    """The end of the log as this transaction sees it.

    AUTOINCREMENT's own counter counts too: were the tail deleted from outside, its positions are not given again,
    and the gap shows.
    """
    cursor.execute("SELECT seq, chain FROM stored_events ORDER BY seq DESC LIMIT 1")
    last = cursor.fetchone()
    cursor.execute("SELECT seq FROM sqlite_sequence WHERE name='stored_events'")
    counted = cursor.fetchone()
    return Head(max(last[0] if last else 0, counted[0] if counted else 0), last[1] if last else GENESIS)


def apply_key_change(cursor: SQLiteCursor, change: KeyChange, seq: int) -> None:
    """Carry one key change out; IntegrityError when a key that must be free is taken."""
    if change.change == "give_up":
        cursor.execute("DELETE FROM keys WHERE stream=? AND kind=?", (change.stream, change.kind))
        return
    verb = "INSERT" if change.change == "take" else "INSERT OR IGNORE"
    cursor.execute(f"{verb} INTO keys VALUES (?,?,?,?)", (change.kind, change.key, change.stream, seq))


@contextmanager
def said_clearly() -> Iterator[None]:
    """Turn what SQLite and the library raise into errors with a code and a hint."""
    try:
        yield
    except sqlite3.IntegrityError as fault:
        raise IntegrityError(str(fault)) from fault
    except SlwError:
        raise
    except Exception as fault:
        refused = refusal_of(fault)
        if refused is None:
            raise
        raise refused from fault


def refusal_of(fault: BaseException) -> SlwError | None:
    """The clear error for what a database raised; None when it is not one of the known conditions."""
    said = str(fault).lower()
    if "locked" in said or "busy" in said:
        return StoreBusy(
            "another program holds the log", hint="close the program that has log.db open, then send the call again"
        )
    if "full" in said:
        return Unavailable("the disk is full; nothing was stored", hint="free some space, then send the call again")
    if "readonly" in said or "read-only" in said or "unable to open" in said:
        return Unavailable(
            "the home cannot be written to", hint="check the permissions of the folder that `slw path` prints"
        )
    if "disk i/o" in said:
        return Unavailable("the disk reported an error", hint="run slw doctor, and look at the system's own log")
    if "not a database" in said or "malformed" in said:
        return Unavailable("the log is damaged", hint="run slw doctor; slw restore brings a backup back")
    return None


class Factory(sqlite.SQLiteFactory):  # the library wants exactly one factory in this module's names
    """The library's way to our log: name this module as PERSISTENCE_MODULE and the file as SQLITE_DBNAME."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        super().__init__(env)
        self.datastore.close()
        db_name = cast("str", self.env.get(self.SQLITE_DBNAME))
        with said_clearly():
            Path(db_name).touch(mode=0o600)
        self.datastore = LogDatastore(db_name, int(self.env.get(self.SQLITE_LOCK_TIMEOUT) or LOCK_TIMEOUT_SECONDS))

    def mapper(self, transcoder: Transcoder | None = None, mapper_class: Any = None) -> Any:  # noqa: ARG002 - the library's signature
        return FactMapper(transcoder=transcoder or self.transcoder())

    def application_recorder(self) -> ApplicationRecorder:
        recorder = LogRecorder(self.datastore)
        recorder.create_table()
        return recorder


def log_environment(path: Path, lock_timeout: int = LOCK_TIMEOUT_SECONDS) -> dict[str, str]:
    """The environment that opens this log in an eventsourcing Application; `lock_timeout` in seconds."""
    return {
        "PERSISTENCE_MODULE": __name__,
        "SQLITE_DBNAME": str(path),
        "SQLITE_LOCK_TIMEOUT": str(lock_timeout),
    }


class LogReader:
    """Reads a log in pages of facts, on a connection of its own that cannot write; works while others append."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise Unavailable(f"there is no log at {path}", hint="slw activate, or any agent's first call, begins one")
        with said_clearly():
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False, timeout=30
            )
            self._db.execute("PRAGMA query_only=1")
            if self._db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise Unavailable(f"{path} is no log of slw", hint="choose another folder with --home or SLW_HOME")

    def position(self) -> int:
        """The last position; 0 when the log is empty."""
        return self._db.execute("SELECT max(seq) FROM stored_events").fetchone()[0] or 0

    def read(self, after: int, limit: int, upto: int | None = None) -> list[tuple[int, Fact]]:
        """The facts behind position `after`, at most `limit` and none past `upto`, as (position, fact)."""
        rows = self._db.execute(
            "SELECT seq, originator_id, originator_version, topic, state FROM stored_events "
            "WHERE seq>? AND seq<=? ORDER BY seq LIMIT ?",
            (after, 2**62 if upto is None else upto, limit),
        ).fetchall()
        return [(seq, fact_of(stream, version, topic, state)) for seq, stream, version, topic, state in rows]

    def stream(self, stream: str) -> list[tuple[int, Fact]]:
        """All facts of one stream."""
        rows = self._db.execute(
            "SELECT seq, originator_version, topic, state FROM stored_events WHERE originator_id=? ORDER BY seq",
            (stream,),
        ).fetchall()
        return [(seq, fact_of(stream, version, topic, state)) for seq, version, topic, state in rows]

    def close(self) -> None:
        self._db.close()
