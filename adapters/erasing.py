"""Erase: the one audited exception to append-only. Words are blanked wherever they stand; what happened stays."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ..consolidation.wording import query_text
from ..domain.errors import Internal, NotFound
from ..domain.events import Actor, ClaimRemembered, ContentErased, Fact, RetrievalRecorded
from ..domain.identity import normalised
from ..domain.keys import KeyChange
from ..projections.succession import CURRENT
from ..projections.vectors import embedded_texts
from .backups import Backup, backups_of
from .embeddings import EmbeddingCache, bundled_space
from .log import CREATE, FactMapper, apply_key_change, chained, fact_of, hashed_state, read_head
from .publishing import one_at_a_time
from .stillness import stillness

# The members that hold what people and agents wrote. Everything else is an id, a word of ours, a number or a time.
FREE_TEXT: Final = frozenset(
    {
        "content",
        "task",
        "initial_goal",
        "final_goal",
        "cue",
        "outcome_summary",
        "summary",
        "explanation",
        "contribution",
        "reason",
        "steps",
        "caveats",
        "context",
        "evidence_refs",
    }
)
WORDS_OF_OURS: Final = {"memory.retired": "reason", "memory.correction_opened": "reason", "backfill.failed": "reason"}
PATIENCE_SECONDS: Final = 10.0


@dataclass(slots=True)
class Blanked:
    """One stored event that held the words, before and after."""

    position: int
    stream: str
    topic: str
    fact: Fact
    state: bytes


@dataclass(slots=True)
class Plan:
    """What an erasure comes to: the claims that go, the events that are blanked, and where copies lie outside."""

    memory_ids: list[str]
    texts: list[str]
    blanked: list[Blanked] = field(default_factory=list[Blanked])
    backups: list[Backup] = field(default_factory=list[Backup])

    def told(self) -> dict[str, Any]:
        """As JSON, without the words."""
        topics: dict[str, int] = {}
        for event in self.blanked:
            topics[event.topic] = topics.get(event.topic, 0) + 1
        return {
            "memory_ids": self.memory_ids,
            "events": len(self.blanked),
            "topics": topics,
            "backups": [backup.path for backup in self.backups],
        }


def plan(home: Path, memory_id: str, further: Sequence[str] = ()) -> Plan:
    """What erasing a memory's words, and `further` texts, would blank. Changes nothing.

    NotFound when the memory was never told. A memory that is erased already comes to nothing more in the log.
    """
    with closing(sqlite3.connect(f"{(home / 'log.db').absolute().as_uri()}?mode=ro", uri=True)) as db:
        return _planned(db, home, memory_id, further)


def _planned(db: sqlite3.Connection, home: Path, memory_id: str, further: Sequence[str]) -> Plan:
    row = db.execute(
        "SELECT originator_id, originator_version, topic, state FROM stored_events "
        "WHERE originator_id=? AND originator_version=1",
        (memory_id,),
    ).fetchone()
    told = fact_of(*row) if row else None
    if not isinstance(told, ClaimRemembered):
        raise NotFound(f"memory {memory_id!r} was never issued", hint="slw list shows the ids there are")
    texts = [text for text in (told.content, *further) if normalised(text)]
    found = Plan([memory_id], texts)
    if not texts:
        return found
    needles = [normalised(text) for text in texts]
    for seq, stream, version, topic, state in db.execute(
        "SELECT seq, originator_id, originator_version, topic, state FROM stored_events ORDER BY seq"
    ):
        members = json.loads(state)
        if not _blank(members, needles, WORDS_OF_OURS.get(topic, "")):
            continue
        blank = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
        fact_of(stream, version, topic, blank)  # what is left must still be a fact
        found.blanked.append(Blanked(seq, stream, topic, fact_of(stream, version, topic, state), blank))
        if topic == ClaimRemembered.TOPIC and stream not in found.memory_ids:
            found.memory_ids.append(stream)
    found.backups = [backup for backup in backups_of(home) if any(b.position <= backup.position for b in found.blanked)]
    return found


def _blank(members: dict[str, Any], needles: Sequence[str], ours: str) -> bool:
    """Empty every free text in a state that holds one of the needles; True when there was one."""
    changed = False
    for name, value in members.items():
        if name in FREE_TEXT and name != ours:
            members[name], here = _emptied(value, needles)
        else:
            here = False
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict):
                    here = _blank(part, needles, ours) or here
        changed = changed or here
    return changed


def _emptied(value: Any, needles: Sequence[str]) -> tuple[Any, bool]:
    """The value with every string empty that holds a needle, and whether there was one."""
    if isinstance(value, str):
        held = normalised(value)
        return ("", True) if any(needle in held for needle in needles) else (value, False)
    if isinstance(value, list):
        parts = [_emptied(part, needles) for part in value]
        return [part for part, _ in parts], any(here for _, here in parts)
    if isinstance(value, dict):
        named = {_emptied(name, needles): _emptied(part, needles) for name, part in value.items()}
        return (
            {name: part for (name, _), (part, _) in named.items()},
            any(in_name or in_part for (_, in_name), (_, in_part) in named.items()),
        )
    return value, False


def erase(
    home: Path, memory_id: str, actor: Actor, further: Sequence[str] = (), grow: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Blank the words in the log, and make everything else in the home forget them.

    `grow()` is called while the home is still held, to let the read models grow back before anyone asks.
    """
    with one_at_a_time(home), stillness(home):
        done = _erase_in_log(home / "log.db", memory_id, actor, further, home)
        _forget_vectors(home / "embeddings.db", done)
        for place in _forgetful(home):
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        _clean_messages(home, done.texts)
        grow()
        return {**done.told(), "still_in": [str(path) for path in still_in(home, done.texts)]}


def _erase_in_log(log: Path, memory_id: str, actor: Actor, further: Sequence[str], home: Path) -> Plan:
    with closing(sqlite3.connect(log, timeout=30, isolation_level=None)) as db:
        db.execute("PRAGMA secure_delete=ON")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("BEGIN IMMEDIATE")
        done = _planned(db, home, memory_id, further)
        [stay] = [statement for statement in CREATE if "stored_events_stay" in statement]
        db.execute("DROP TRIGGER stored_events_stay")
        db.executemany(
            "UPDATE stored_events SET state=?, salt=x'' WHERE seq=?",
            [(event.state, event.position) for event in done.blanked],
        )
        db.execute(stay)
        _append(db, done, actor)
        needles = [normalised(text) for text in done.texts]
        gone = [
            (request_id,)
            for request_id, answer in db.execute("SELECT request_id, answer FROM receipts").fetchall()
            if any(needle in normalised(text) for text in _strings(json.loads(answer)) for needle in needles)
        ]
        db.executemany("DELETE FROM receipts WHERE request_id=?", gone)
        db.execute("COMMIT")
        _without_a_trace(db)
    return done


def _append(db: sqlite3.Connection, done: Plan, actor: Actor) -> None:
    """One fact for each erased claim; the first names also what was blanked in other streams."""
    cursor: Any = db.cursor()
    head = read_head(cursor)
    chain, seq = head.chain, head.seq
    last = json.loads(db.execute("SELECT state FROM stored_events ORDER BY seq DESC LIMIT 1").fetchone()[0])
    at = max(datetime.now(UTC), datetime.fromisoformat(last["recorded_at"]))
    own = set(done.memory_ids[1:])
    for memory_id in done.memory_ids if done.blanked else ():
        first = memory_id == done.memory_ids[0]
        positions = [e.position for e in done.blanked if e.stream == memory_id or (first and e.stream not in own)]
        version = db.execute(
            "SELECT max(originator_version) FROM stored_events WHERE originator_id=?", (memory_id,)
        ).fetchone()[0]
        fact = ContentErased(
            originator_id=memory_id,
            originator_version=version + 1,
            recorded_at=at,
            actor=actor,
            positions=tuple(positions),
        )
        event = FactMapper(transcoder=None).to_stored_event(fact)  # pyright: ignore[reportArgumentType] - it needs none
        seq += 1
        salt = os.urandom(16)
        state_hash = hashed_state(salt, event.state)
        chain = chained(chain, seq, memory_id, version + 1, event.topic, state_hash)
        db.execute(
            "INSERT INTO stored_events VALUES (?,?,?,?,?,?,?,?)",
            (seq, memory_id, version + 1, event.topic, event.state, salt, state_hash, chain),
        )
        apply_key_change(cursor, KeyChange("give_up", "claim", memory_id), seq)


def _without_a_trace(db: sqlite3.Connection) -> None:
    """Write the file anew without what was freed, and empty the write-ahead log."""
    db.execute("VACUUM")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > deadline:
            raise Internal(
                "the words are blanked, but another program reads the log and keeps its write-ahead file in use",
                hint="close it (slw log --follow?), then run slw erase once more",
            )
        time.sleep(0.1)


def _forget_vectors(embeddings: Path, done: Plan) -> None:
    if not embeddings.exists():
        return
    texts = {text for event in done.blanked for text in embedded_texts(event.fact)}
    texts |= {query_text(event.fact.cue) for event in done.blanked if isinstance(event.fact, RetrievalRecorded)}
    space = bundled_space()
    with closing(EmbeddingCache(embeddings, space.id, space.dim)) as cache:
        cache.forget(sorted({*texts, *done.texts}))
    with closing(sqlite3.connect(embeddings, timeout=30, isolation_level=None)) as db:
        _without_a_trace(db)


def _forgetful(home: Path) -> Iterator[Path]:
    """What grows back from the log, or is made anew when someone asks for it."""
    for pattern in ("gen-*", CURRENT, "as-of", "analytics.duckdb*", "*.damaged-*", ".analytics*"):
        yield from sorted(home.glob(pattern))


def _clean_messages(home: Path, texts: Sequence[str]) -> None:
    for path in home.glob("slw.log*"):
        said = path.read_bytes()
        cleaned = said
        for text in texts:
            for written in _spellings(text):
                cleaned = cleaned.replace(written, b"[erased]")
        if cleaned != said:
            path.write_bytes(cleaned)


def still_in(home: Path, texts: Sequence[str]) -> list[Path]:
    """The files of the home in which one of the texts still stands, byte by byte."""
    found: list[Path] = []
    for path in sorted(home.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if any(written in data for text in texts for written in _spellings(text)):
                found.append(path)
    return found


def _spellings(text: str) -> set[bytes]:
    """The text as it may stand in a file: as it is, and as JSON writes it."""
    escaped = (json.dumps(text, ensure_ascii=plain)[1:-1] for plain in (True, False))
    return {text.encode(), *(word.encode() for word in escaped)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
