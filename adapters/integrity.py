"""Whether the log is what was written: every byte, link, stream and key; the first bad place is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from eventsourcing.persistence import MapperDeserialisationError

from ..domain.events import Fact
from .keys_table import KeysFolded, erased_positions
from .log import APPLICATION_ID, GENESIS, LOG_FORMAT, chained, fact_of, hashed_state
from .references import References

PAGE = 2_000
# Found out of one cause, further findings only hide it.
MOST_FINDINGS = 20
# What the quick look reads: an hour of four busy agents, in some 30 ms.
TAIL = 2_000

RESTORE = "slw restore FILE brings a backup back; slw replay --to {before} --into DIR shows what stood before it"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was written: in which part, at which position (0: none), and what to do."""

    part: str
    position: int
    what: str
    hint: str


class Anchor(NamedTuple):
    """A link of the chain that something outside the log has noted."""

    position: int
    chain: bytes
    noted_in: str


@dataclass(slots=True)
class LogChecked:
    """What the check saw: the end of the log, how many events it read, how many of them are erased, what is wrong."""

    position: int = 0
    chain: bytes = GENESIS
    events: int = 0
    erased: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])

    def found(self, part: str, position: int, what: str, hint: str = "") -> None:
        """Note one thing, as long as there are not too many."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(part, position, what, hint or RESTORE.format(before=max(position - 1, 0))))


class Row(NamedTuple):
    """One stored event."""

    seq: int
    stream: str
    version: int
    topic: str
    state: bytes
    salt: bytes
    state_hash: bytes
    chain: bytes


def check_log(
    path: Path,
    anchors: Iterable[Anchor] = (),
    *,
    quick: bool = False,
    upto: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> LogChecked:
    """Read the log, or with `quick` its end and the anchors, on a connection that cannot write.

    Damage is never raised, it is found. `progress(events read)` is called after each page. With `upto` nothing past
    that position is looked at.
    """
    seen = LogChecked()
    try:
        with closing(open_read_only(path)) as db:
            db.execute("BEGIN")  # one snapshot, while agents go on writing
            if not _is_ours(db, seen):
                return seen
            last = db.execute(
                "SELECT seq, chain FROM stored_events WHERE seq<=? ORDER BY seq DESC LIMIT 1",
                (2**62 if upto is None else upto,),
            ).fetchone()
            if last:
                seen.position, seen.chain = int(last[0]), bytes(last[1])
            if upto is None:
                _check_end(db, seen)
            _check_anchors(db, seen, anchors)
            if quick:
                _check_density(db, seen)
                _check_rows(db, seen, max(0, seen.position - TAIL), progress, whole=False)
            else:
                _check_rows(db, seen, 0, progress, whole=True, keys_too=upto is None)
                if upto is None:
                    _check_pages(db, seen)
    except (sqlite3.Error, MapperDeserialisationError, TypeError, ValueError, AttributeError) as fault:
        # The last three: a column holds something of another type than we ever write.
        seen.found("log", seen.events + 1, f"the file cannot be read on from here: {fault}")
    return seen


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that sees what is committed and cannot write."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30, isolation_level=None)
    db.execute("PRAGMA query_only=1")
    return db


def _is_ours(db: sqlite3.Connection, seen: LogChecked) -> bool:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        seen.found("log", 0, "log.db does not carry the mark of a log of slw")
        return False
    log_format = db.execute("PRAGMA user_version").fetchone()[0]
    if not 1 <= log_format <= LOG_FORMAT:
        seen.found("log", 0, f"log.db says it has format {log_format}", "update slw, or slw restore FILE")
        return False
    present = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    for name in ("stored_events", "keys", "receipts", "stored_events_keep", "stored_events_stay", "keys_of_stream"):
        if name not in present:
            seen.found("log", 0, f"{name} is missing in log.db; the log can be changed or read wrongly")
    return "stored_events" in present


def _check_end(db: sqlite3.Connection, seen: LogChecked) -> None:
    """SQLite counts the positions it gave; a log that ends before that was cut."""
    counted = db.execute("SELECT seq FROM sqlite_sequence WHERE name='stored_events'").fetchone()
    if seen.position and (counted is None or counted[0] != seen.position):
        given = counted[0] if counted else 0
        seen.found("log", seen.position + 1, f"positions up to {given} were given, but the log ends at {seen.position}")


def _check_density(db: sqlite3.Connection, seen: LogChecked) -> None:
    """As many events as positions."""
    held = db.execute("SELECT count(*) FROM stored_events WHERE seq<=?", (seen.position,)).fetchone()[0]
    if held != seen.position:
        seen.found(
            "log",
            _first_gap(db, seen.position),
            f"{held} events stand at positions up to {seen.position}, where there must be one at each",
        )


def _first_gap(db: sqlite3.Connection, end: int) -> int:
    """The first position without an event, by halving: up to there, as many events as positions."""
    low, high = 0, end
    while high - low > 1:
        middle = (low + high) // 2
        held = db.execute("SELECT count(*) FROM stored_events WHERE seq BETWEEN 1 AND ?", (middle,)).fetchone()[0]
        low, high = (middle, high) if held == middle else (low, middle)
    return high


def _check_anchors(db: sqlite3.Connection, seen: LogChecked, anchors: Iterable[Anchor]) -> None:
    for anchor in sorted(anchors):
        if anchor.position > seen.position:
            seen.found(
                "anchor",
                seen.position + 1,
                f"{anchor.noted_in} was made at position {anchor.position}, but the log ends at {seen.position}",
            )
        elif anchor.position > 0:
            row = db.execute("SELECT chain FROM stored_events WHERE seq=?", (anchor.position,)).fetchone()
            if row is None or row[0] != anchor.chain:
                seen.found(
                    "anchor",
                    anchor.position,
                    f"the chain at {anchor.position} is not the one that {anchor.noted_in} noted: "
                    "the log was rewritten at or before it",
                )


def _rows(db: sqlite3.Connection, after: int, upto: int, progress: Callable[[int], None] | None) -> Iterator[Row]:
    """Row by row, so that damage in the file is met at its own position."""
    found = db.execute(
        "SELECT seq, originator_id, originator_version, topic, state, salt, state_hash, chain FROM stored_events "
        "WHERE seq>? AND seq<=? ORDER BY seq",
        (after, upto),
    )
    for read, row in enumerate(found, 1):
        yield Row._make(row)
        if progress and read % PAGE == 0:
            progress(read)


def _check_rows(
    db: sqlite3.Connection,
    seen: LogChecked,
    after: int,
    progress: Callable[[int], None] | None,
    *,
    whole: bool,
    keys_too: bool = False,
) -> None:
    """Every event behind `after`: its words, its link, its place in its stream; with `whole` also what it refers to."""
    erased = erased_positions(db)
    before = db.execute("SELECT chain FROM stored_events WHERE seq=?", (after,)).fetchone() if after else None
    link, expected = (before[0] if before else GENESIS), after + 1
    versions: dict[str, int] = {}
    keys = KeysFolded(erased)
    references = References()
    for row in _rows(db, after, seen.position, progress):
        if row.seq != expected:
            seen.found("log", expected, f"events {expected} to {row.seq - 1} are missing, or stand elsewhere")
        expected = row.seq + 1
        _check_state(row, seen, erased)
        if row.chain != chained(link, row.seq, row.stream, row.version, row.topic, row.state_hash):
            seen.found("log", row.seq, f"the chain breaks at {row.topic} of {row.stream}: it was changed or moved")
        link = row.chain  # what follows is held against what stands here, so that one change is one finding
        fact = _fact(row, seen)
        if whole:
            if row.version != versions.get(row.stream, 0) + 1:
                held = versions.get(row.stream, 0)
                seen.found("log", row.seq, f"{row.stream} goes from version {held} to {row.version}")
            versions[row.stream] = row.version
            if fact is not None:
                keys.fold(row.seq, fact)
                for lost in references.missing(fact, versions):
                    seen.found("references", row.seq, lost, "slw log --since POSITION shows the events around it")
        seen.events += 1
    if whole and keys_too:
        for position, what in keys.differences(db):
            seen.found("keys", position, what, "slw rebuild --projection keys grows the table back from the log")


def _check_state(row: Row, seen: LogChecked, erased: Mapping[int, str]) -> None:
    if row.seq in erased and not row.salt:
        seen.erased += 1
    elif hashed_state(row.salt, row.state) != row.state_hash:
        seen.found("log", row.seq, f"the words of {row.topic} ({row.stream}, version {row.version}) were changed")


def _fact(row: Row, seen: LogChecked) -> Fact | None:
    try:
        return fact_of(row.stream, row.version, row.topic, row.state)
    except (MapperDeserialisationError, UnicodeDecodeError) as fault:
        seen.found("facts", row.seq, f"no fact that this build can read: {fault}", "update slw, or slw restore FILE")
        return None


def _check_pages(db: sqlite3.Connection, seen: LogChecked) -> None:
    """SQLite's own check of every page and index; costs about as much as reading the file."""
    said: Sequence[str] = [str(row[0]) for row in db.execute("PRAGMA integrity_check(5)")]
    for line in said:
        if line != "ok":
            seen.found("file", 0, f"SQLite finds log.db damaged: {line}")
