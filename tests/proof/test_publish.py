"""The snapshot is fresh to the last event, holds the whole log, and is whole whenever its maker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import duckdb
import pytest
from proof_home import live_in
from slw.adapters.asking_sql import asked
from slw.adapters.log import LogReader
from slw.adapters.publishing import Published, publish


def at_rest(home) -> Published:
    """Publish until the owner it woke has done what it does at first: expire sessions, suggest kinds."""
    for _ in range(50):
        made = publish(home)
        if made.held == 0.0:
            return made
        time.sleep(0.1)
    raise AssertionError("the log does not come to rest")


def test_the_snapshot_holds_the_log_and_the_read_models(lived):
    made = at_rest(lived)
    reader = LogReader(lived / "log.db")
    assert made.position == reader.position()
    stored = [(at, fact.originator_id, fact.TOPIC) for at, fact in reader.read(0, 100_000)]
    reader.close()
    assert asked(made.path, "select position, stream, topic from v1.events order by position").rows == stored
    [(told,)] = asked(made.path, "select count(*) from v1.memories").rows
    assert told == sum(topic == "memory.remembered" for _, _, topic in stored)
    assert made.path.stat().st_mode & 0o077 == 0


def test_it_is_fresh_again_after_more_happened_and_only_then_made_anew(lived):
    first = at_rest(lived)
    live_in(lived, 99, 20)
    second = publish(lived)
    assert second.position > first.position
    assert asked(second.path, "select count(*), max(position) from v1.events").rows == [(second.position,) * 2]


def test_any_client_opens_the_file_while_agents_go_on(lived):
    made = publish(lived)
    with duckdb.connect(str(made.path), read_only=True) as db:
        [(tags,)] = db.execute("select tags from duckdb_databases() where path is not null").fetchall()
        assert "v1.2.0" in str(tags)
        live_in(lived, 98, 10)
        publish(lived)
        assert db.execute("select max(position) from v1.events").fetchall() == [(made.position,)]


KILLED = """
import sys
from pathlib import Path
from slw.adapters.publishing import publish
print("begun", flush=True)
publish(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("rounds", [6, pytest.param(34, marks=pytest.mark.long)])
def test_killed_at_any_moment_the_snapshot_before_is_whole(lived, rounds):
    position = publish(lived).position
    for round_ in range(rounds):
        live_in(lived, 1_000 + round_, 5)
        started = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(lived)], stdout=subprocess.PIPE, env={**os.environ}
        )
        started.stdout.readline()
        time.sleep(0.03 * (round_ % 12))
        os.kill(started.pid, signal.SIGKILL)
        started.wait()
        [(seen,)] = asked(lived / "analytics.duckdb", "select max(position) from v1.events").rows
        assert seen >= position
        position = seen
    made = publish(lived)
    assert list(lived.glob(".analytics-*")) == []
    assert asked(made.path, "select count(*) from v1.events").rows == [(made.position,)]
