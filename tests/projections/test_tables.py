from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from lives import Life
from projections_support import METHOD, Told, digests, folded, opened
from slw.adapters.log import LogReader, log_environment
from slw.consolidation.policy import FoldPolicy
from slw.domain.errors import Unavailable
from slw.domain.events import FeedbackGiven, MemoryVerdict
from slw.domain.memories import Memories
from slw.projections.projector import Damaged, Positioned
from slw.projections.tables import Tables, relations, schema_version
from tests_support import Clock, numbered_ids


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A life of several hundred facts through the real write side on a real log, and how the write side holds it."""
    home = tmp_path_factory.mktemp("life")
    clock = Clock()
    with Memories(log_environment(home / "log.db"), clock=clock, ids=numbered_ids()) as memories:
        life = Life(memories, clock, seed=7)
        life.steps(250)
        held = {memory_id: memories.memory(memory_id) for memory_id in life.known}
        sessions = {session_id: memories.session(session_id) for session_id in life.sessions}
    reader = LogReader(home / "log.db")
    facts = [Positioned(*row) for row in reader.read(0, 100_000)]
    reader.close()
    return facts, held, sessions


def test_a_life_on_the_real_log_ends_in_the_states_that_the_write_side_holds(lived, tmp_path):
    facts, held, sessions = lived
    tables = folded(tmp_path, facts)
    assert len(facts) > 300
    assert tables.schemas.keys() == held.keys()
    for memory_id, memory in held.items():
        schema = tables.schemas[memory_id]
        kind = memory.kind
        assert schema.suppressed == bool(memory.suppressed_at)
        assert schema.live == (memory.live and not memory.suppressed_at)
        assert (schema.kind, schema.kind_source) == ((kind.kind, kind.source) if kind else (None, None))
        retired = memory.retirement
        assert (schema.stale_reason, schema.replaced_by) == (
            (retired.reason, retired.replaced_by) if retired else (None, "")
        )
    stored = {row["session_id"]: row["state"] for row in tables.query("select session_id, state from sessions")}
    assert stored == {session_id: session.state for session_id, session in sessions.items()}


@pytest.mark.parametrize("page", [1, 7, 1_000])
def test_rebuilt_in_any_page_size_equals_live(lived, tmp_path, page):
    facts, _, _ = lived
    facts = facts[:200] if page == 1 else facts
    live = opened(tmp_path)
    chance = random.Random(3)
    for at in facts:
        live.apply([at])
        if chance.random() < 0.02:
            live.flush()
    live.flush()
    assert live.digest() == digests(tmp_path, facts, page)


def test_each_fact_twice_is_once(lived, tmp_path):
    facts, _, _ = lived
    tables = opened(tmp_path)
    for start in range(0, len(facts), 50):
        page = facts[start : start + 50]
        tables.apply([at for at in page for _ in (1, 2)])
        tables.apply(page)
        tables.flush()
        tables.apply(page)
        tables.flush()
    assert tables.digest() == digests(tmp_path, facts)


def test_what_is_in_memory_after_a_restart_is_what_was_there_before(lived, tmp_path):
    facts, _, _ = lived
    before = folded(tmp_path, facts)
    held = {name: dict(getattr(before, name)) for name in ("schemas", "salience", "procedures", "sessions")}
    before.close()
    after = opened(tmp_path)
    assert after.position == facts[-1].position
    assert {name: getattr(after, name) for name in held} == held
    assert list(after.schemas) == list(held["schemas"])


def test_closed_without_a_flush_the_tail_is_folded_again(lived, tmp_path):
    facts, _, _ = lived
    tables = folded(tmp_path, facts[:100])
    tables.apply(facts[:180])
    tables.close()
    again = opened(tmp_path)
    assert again.position == 100
    again.apply(facts)
    again.flush()
    assert again.digest() == digests(tmp_path, facts)


def test_folding_again_or_reading_changes_nothing(lived, tmp_path):
    facts, _, _ = lived
    tables = folded(tmp_path, facts)
    before = tables.digest()
    tables.query("select count(*) from exposures")
    tables.apply(facts)
    tables.flush()
    assert tables.digest() == before


def test_a_fact_that_one_table_cannot_fold_is_folded_by_none(tmp_path):
    told = Told()
    told.activate()
    told.remember()
    told.judge(mem_1="used")
    broken = FeedbackGiven.model_construct(
        **{**told.facts[-1].fact.__dict__, "memories": (MemoryVerdict.model_construct(memory_id="mem_1"),)}
    )
    tables = opened(tmp_path)
    with pytest.raises(AttributeError):
        tables.apply([*told.facts[:2], Positioned(3, broken)])
    assert tables.position == 2
    tables.apply(told.facts)
    tables.flush()
    assert tables.digest() == digests(tmp_path, told.facts)


def test_a_write_that_fails_loses_nothing_and_is_made_up_by_the_next(tmp_path):
    told = Told()
    told.activate()
    tables = opened(tmp_path)
    tables.apply(told.facts)
    tables._db.execute("alter table sessions rename to elsewhere")
    with pytest.raises(duckdb.Error):
        tables.flush()
    tables._db.execute("alter table elsewhere rename to sessions")
    told.commit(procedure=METHOD)
    tables.apply(told.facts)
    tables.flush()
    assert tables.digest() == digests(tmp_path, told.facts)


def test_a_file_of_another_schema_version_is_not_read(tmp_path):
    folded(tmp_path, []).close()
    with duckdb.connect(tmp_path / "model.duckdb") as db:
        db.execute("update positions set schema_version = 'older'")
    with pytest.raises(Damaged, match="another schema version"):
        opened(tmp_path)


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b[:5_000], lambda _: b"not a database" * 999])
def test_a_spoilt_file_is_damaged(tmp_path, spoil):
    told = Told()
    told.activate()
    folded(tmp_path, told.facts).close()
    path = tmp_path / "model.duckdb"
    whole = path.read_bytes()
    path.write_bytes(spoil(whole) or b"\0" * 4_096)
    with pytest.raises(Damaged):
        opened(tmp_path)


def test_a_file_that_another_process_holds_is_unavailable_and_not_damaged(tmp_path):
    opened(tmp_path).close()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "model.duckdb")], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Unavailable, match="another process"):
            opened(tmp_path)
    finally:
        holder.kill()
        holder.wait()


HOLD = "import duckdb, sys, time; held = duckdb.connect(sys.argv[1]); print('held', flush=True); time.sleep(60)"

# Folds a page of its own telling at a time and writes each, until it is killed.
FOLDING = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from folds import facts
from slw.consolidation.policy import FoldPolicy
from slw.projections.tables import Tables
page = facts(400)
tables = Tables(Path(sys.argv[1]), FoldPolicy())
print("folding", flush=True)
for start in range(0, len(page), 3):
    tables.apply(page[start : start + 3])
    tables.flush()
"""


def killed_while_writing(path, seconds):
    here = Path(__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, "-c", FOLDING, str(path), str(here / "bench")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "folding\n"
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def rows_and_position_equal_after_kills(tmp_path, bench_facts, kills):
    chance = random.Random(kills)
    reached = []
    for n in range(kills):
        path = tmp_path / f"{n}.duckdb"
        killed_while_writing(path, chance.uniform(0.05, 1.2))
        tables = Tables(path, FoldPolicy())
        reached.append(tables.position)
        assert tables.digest() == digests(tmp_path, bench_facts[: tables.position], name=f"{n}-again.duckdb")
        tables.close()
    assert max(reached) > 0


@pytest.fixture(scope="module")
def bench_facts():
    sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
    from folds import facts

    return facts(400)


def test_killed_in_mid_write_rows_and_position_agree(tmp_path, bench_facts):
    rows_and_position_equal_after_kills(tmp_path, bench_facts, kills=3)


@pytest.mark.long
def test_killed_in_mid_write_rows_and_position_agree_24_times(tmp_path, bench_facts):
    rows_and_position_equal_after_kills(tmp_path, bench_facts, kills=24)


def test_a_row_in_memory_has_the_columns_of_its_table_in_their_order():
    for relation in relations(FoldPolicy()):
        if hasattr(relation, "row"):
            assert list(relation.row.__dataclass_fields__) == list(relation.columns), relation.name


def test_the_schema_version_follows_the_columns_and_the_folds(monkeypatch):
    before = schema_version()
    assert schema_version() == before
    monkeypatch.setattr("slw.projections.feedback.Feedback.version", 2)
    assert schema_version() != before
