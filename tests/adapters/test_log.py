"""The log keeps what it was given: append-only, dense, chained, durable, and readable by later builds."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from eventsourcing.persistence import MapperDeserialisationError
from slw.adapters.log import GENESIS, FactMapper, LogReader, chained, fact_of, hashed_state, log_environment
from slw.domain.errors import StoreBusy, Unavailable
from slw.domain.events import all_facts
from slw.domain.memories import Memories
from slw.domain.memory import Claim
from tests_support import AGENT, START, agent, shown

GOLDEN = Path(__file__).parent / "stored_facts.jsonl"


def remember(memories: Memories, *contents: str) -> str:
    session = memories.activate(
        task="t", initial_goal="g", scope="project:a", continuity_id="", shown=shown(), call=agent()
    ).session_id
    memories.remember(session_id=session, scope="project:a", claims=[Claim(c) for c in contents], call=agent())
    return session


def rows(path: Path) -> list[tuple]:
    with sqlite3.connect(path) as db:
        return db.execute("SELECT * FROM stored_events ORDER BY seq").fetchall()


def test_positions_are_dense_and_the_chain_holds(memories, log_path):
    remember(memories, "a", "b")
    remember(memories, "c")
    stored = rows(log_path)
    assert [r[0] for r in stored] == list(range(1, len(stored) + 1))
    link = GENESIS
    for seq, stream, version, topic, state, salt, state_hash, chain in stored:
        assert hashed_state(salt, state) == state_hash
        link = chained(link, seq, stream, version, topic, state_hash)
        assert chain == link


@pytest.mark.parametrize("attack", ["DELETE FROM stored_events", "UPDATE stored_events SET state='x' WHERE seq=1"])
def test_the_log_refuses_to_be_rewritten(memories, log_path, attack):
    remember(memories, "a")
    before = rows(log_path)
    with sqlite3.connect(log_path) as db, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(attack)
    assert rows(log_path) == before


def test_a_position_is_never_given_twice_even_if_the_tail_was_cut_from_outside(memories, log_path):
    remember(memories, "a")
    with sqlite3.connect(log_path) as db:
        db.execute("DROP TRIGGER stored_events_keep")
        db.execute("DELETE FROM stored_events WHERE seq=3")
    remember(memories, "b")
    assert [r[0] for r in rows(log_path)] == [1, 2, 4, 5, 6]


def test_commits_wait_for_the_disk(memories):
    with memories.recorder.datastore.get_connection(commit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous")
        assert cursor.fetchone()[0] == 2
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone()[0] == "wal"


def test_the_log_file_is_for_its_owner_alone(memories, log_path):
    remember(memories, "a")
    assert log_path.stat().st_mode & 0o077 == 0


def test_every_fact_is_read_from_the_bytes_that_older_builds_stored():
    """The golden file holds stored bytes of every fact; a change of shape needs an upcaster, not another file."""
    golden = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    assert sorted({g["topic"] for g in golden}) == sorted(all_facts())
    for g in golden:
        fact = fact_of("stream", 1, g["topic"], json.dumps(g["state"]).encode())
        again = FactMapper(transcoder=None).to_stored_event(fact)
        assert json.loads(again.state) == g["state"], g["topic"]


def test_a_fact_that_this_build_does_not_know_is_named():
    with pytest.raises(MapperDeserialisationError, match=r"memory\.invented 3 of mem_x"):
        fact_of("mem_x", 3, "memory.invented", b"{}")
    with pytest.raises(MapperDeserialisationError, match=r"memory\.remembered"):
        fact_of("mem_x", 1, "memory.remembered", b'{"surprise": 1}')


def test_an_older_shape_is_upcast_step_by_step():
    from typing import ClassVar

    from slw.adapters import log
    from slw.domain.events import Fact

    class Renamed(Fact):
        """A fact whose member was named otherwise before."""

        class_version: ClassVar[int] = 3
        words: str
        loud: bool

        @staticmethod
        def upcast_v1_v2(state):
            state["words"] = state.pop("text")

        @staticmethod
        def upcast_v2_v3(state):
            state["loud"] = False

    fact_of("x", 1, "session.page", json.dumps(page_state()).encode())  # the table of classes is filled
    log._classes["test.renamed"] = Renamed
    state = {"recorded_at": START.isoformat(), "actor": {"kind": "system"}}
    for stored in (
        {"text": "hello"},
        {"class_version": 2, "words": "hello"},
        {"class_version": 3, "words": "hello", "loud": False},
    ):
        fact = fact_of("x", 1, "test.renamed", json.dumps({**state, **stored}).encode())
        assert (fact.words, fact.loud) == ("hello", False)
    Renamed.TOPIC = "test.renamed"
    assert json.loads(FactMapper(transcoder=None).to_stored_event(fact).state)["class_version"] == 3
    del log._classes["test.renamed"]


def page_state() -> dict:
    return {
        "recorded_at": START.isoformat(),
        "actor": {"kind": "client"},
        "retrieval_id": "ret_1",
        "continues": "ret_0",
        "offset": 1,
        "next_offset": 2,
    }


def test_a_log_held_by_another_program_is_store_busy(memories, log_path):
    remember(memories, "a")
    memories.recorder.datastore.pool.close()
    from slw.adapters.log import LogDatastore

    memories.recorder.datastore = LogDatastore(str(log_path))
    memories.recorder.datastore.pool.lock_timeout = 0.05
    other = sqlite3.connect(log_path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy) as refusal:
        remember(memories, "b")
    assert refusal.value.retryable and refusal.value.hint
    other.rollback()
    remember(memories, "b")


def test_a_file_that_is_no_log_is_left_alone(tmp_path, clock):
    foreign = tmp_path / "log.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE theirs (x)")
    with pytest.raises(Unavailable, match="another program"):
        Memories(log_environment(foreign), clock=clock)
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"not a database at all" * 100)
    with pytest.raises(Unavailable, match="damaged"):
        Memories(log_environment(garbage), clock=clock)
    with sqlite3.connect(foreign) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_a_log_of_a_newer_format_is_refused(memories, log_path, clock):
    remember(memories, "a")
    memories.close()
    with sqlite3.connect(log_path) as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(Unavailable, match="format 99") as refusal:
        Memories(log_environment(log_path), clock=clock)
    assert "update slw" in refusal.value.hint


def test_a_reader_reads_pages_while_another_writes(memories, log_path):
    remember(memories, "a", "b", "c")
    reader = LogReader(log_path)
    seen = []
    while page := reader.read(seen[-1] if seen else 0, 2):
        seen += [position for position, _ in page]
        if len(seen) == 2:
            remember(memories, "d")
    assert seen == list(range(1, reader.position() + 1))
    assert [p for p, _ in reader.read(0, 100, upto=3)] == [1, 2, 3]
    reader.close()


WRITER = """
import sys, itertools
from datetime import UTC, datetime
from pathlib import Path
from slw.adapters.log import log_environment
from slw.domain.memories import Memories
from slw.domain.memory import Claim
from tests_support import agent, shown
with Memories(log_environment(Path(sys.argv[1])), clock=lambda: datetime.now(UTC)) as memories:
    session = memories.activate(task="t", initial_goal="g", scope="s:a", continuity_id="", shown=shown(), call=agent())
    for n in itertools.count():
        [made] = memories.remember(session_id=session.session_id, scope="s:a", claims=[Claim(f"{sys.argv[2]} {n}")],
                                   call=agent())
        print(made.position, made.memory_id, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(log_path):
    acknowledged: dict[int, str] = {}
    for round_ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(log_path), str(round_)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
        for _ in range(20):
            position, memory_id = writer.stdout.readline().split()
            acknowledged[int(position)] = memory_id
        time.sleep(0.005 * round_)
        os.kill(writer.pid, signal.SIGKILL)
        for line in writer.stdout:
            if line.endswith("\n"):
                position, memory_id = line.split()
                acknowledged[int(position)] = memory_id
        writer.wait()
    reader = LogReader(log_path)
    stored = {position: fact.originator_id for position, fact in reader.read(0, 100_000)}
    assert len(acknowledged) >= 60
    assert {p: stored.get(p) for p in acknowledged} == acknowledged
    assert sorted(stored) == list(range(1, max(stored) + 1))


def test_an_actor_stands_in_every_fact(memories, log_path):
    remember(memories, "a")
    assert {fact.actor for _, fact in LogReader(log_path).read(0, 10)} == {AGENT}
