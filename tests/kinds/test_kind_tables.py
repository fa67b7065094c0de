"""What the read models hold of kinds and runs: the digest after a run and its revert is the digest before the run."""

from __future__ import annotations

import pytest
from kinds_support import guess, opened, told
from slw.adapters.log import LogReader
from slw.consolidation.policy import FoldPolicy
from slw.domain.backfill import BatchCounts
from slw.projections.projector import Positioned, Projector
from slw.projections.runs import seconds_left
from slw.projections.tables import Tables
from tests_support import agent, person


class Looking:
    """The tables over a log, kept up with it."""

    def __init__(self, log_path, file):
        self.reader = LogReader(log_path)
        self.tables = Tables(file, FoldPolicy())
        self.projector = Projector(
            lambda after, limit: [Positioned(*row) for row in self.reader.read(after, limit)], [self.tables]
        )

    def now(self):
        self.projector.catch_up()
        assert not self.projector.failures
        return self.tables

    def digest(self, name="kinds"):
        self.now()
        return self.projector.digests()[name]


@pytest.fixture
def looking(memories, log_path, tmp_path):
    held = Looking(log_path, tmp_path / "model.duckdb")
    yield held
    held.projector.close()
    held.reader.close()


def ran(memories, mode, *guesses, batches=1, clock=None):
    run_id = memories.start_backfill(mode, "rules", len(guesses), person()).id
    memories.take_up_run(run_id, agent())
    size = -(-len(guesses) // batches)
    for n in range(0, len(guesses), size):
        if clock:
            clock.passes(seconds=2)
        some = guesses[n : n + size]
        memories.type_batch(run_id, some, BatchCounts(n + len(some), len(some), lock_held_ms=float(n + 1)), agent())
    memories.complete_run(run_id, agent())
    return run_id


def reverted(memories, run_id):
    run = memories.act_on_run(run_id, "revert", person())
    while run.state == "reverting":
        run = memories.revert_batch(run_id, 2, agent())


def test_the_digest_of_kinds_after_a_run_and_its_revert_is_the_one_before(memories, looking):
    made = [told(memories, f"claim {n}").memory_id for n in range(5)]
    memories.suggest_kinds([(made[1], guess("opinion", "rules", 0.4))], agent())
    memories.confirm_kinds([(made[2], "rule")], person())
    before = looking.digest()
    kinds = {m: looking.tables.schemas[m].kind for m in made}
    run_id = ran(memories, "refresh", *((m, guess("status")) for m in made))
    assert looking.digest() != before
    assert looking.tables.schemas[made[0]].kind == "status"
    reverted(memories, run_id)
    assert looking.digest() == before
    assert {m: looking.tables.schemas[m].kind for m in made} == kinds


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_also_when_a_refresh_run_typed_the_same_memories_again_in_between(memories, looking, order):
    made = [told(memories, f"claim {n}").memory_id for n in range(5)]
    memories.suggest_kinds([(made[1], guess("opinion", "rules", 0.4))], agent())
    before = looking.digest()
    runs = [
        ran(memories, "untyped", *((m, guess("status")) for m in made)),
        ran(memories, "refresh", *((m, guess("rule", "local")) for m in made)),
    ]
    for n in order:
        reverted(memories, runs[n])
    assert looking.digest() == before


def test_a_statement_and_its_withdrawal_in_one_page_leave_no_row(memories, looking):
    made = told(memories, "x").memory_id
    reverted(memories, ran(memories, "untyped", (made, guess("status"))))
    looking.now()
    assert looking.tables.query("select * from kinds") == []
    assert looking.tables.query("select * from kinds") == []


def test_live_rebuilt_and_rebuilt_fact_by_fact_are_the_same(memories, looking, log_path, tmp_path, clock):
    made = [told(memories, f"claim {n}", kind="rule" if n % 2 else None).memory_id for n in range(6)]
    first = ran(memories, "untyped", *((m, guess("status")) for m in made), batches=3, clock=clock)
    live = [looking.digest("kinds"), looking.digest("runs")]
    reverted(memories, first)
    live = [looking.digest("kinds"), looking.digest("runs")]
    again = Looking(log_path, tmp_path / "again.duckdb")
    assert [again.digest("kinds"), again.digest("runs")] == live
    slowly = Tables(tmp_path / "slowly.duckdb", FoldPolicy())
    for row in again.reader.read(0, 1_000):
        slowly.apply([Positioned(*row)])
        slowly.flush()
    assert [slowly.digest()[name] for name in ("kinds", "runs")] == live
    slowly.close()
    again.projector.close()


def test_a_statement_keeps_where_it_came_from(memories, looking):
    session = opened(memories)
    declared = told(memories, "x", session_id=session, kind="rule")
    guessed = told(memories, "y")
    memories.suggest_kinds([(guessed.memory_id, guess("status", "local", 0.5, "recipe-7", "a cue"))], agent())
    looking.now()
    rows = looking.tables.query("select memory_id, kind, source, confidence, recipe, cue from kinds order by position")
    assert [tuple(r.values()) for r in rows] == [
        (declared.memory_id, "rule", "caller", 1.0, "", ""),
        (guessed.memory_id, "status", "local", 0.5, "recipe-7", "a cue"),
    ]


def test_a_run_tells_its_counts_its_pace_and_how_long_it_held_the_log(memories, looking, clock):
    made = [told(memories, f"claim {n}").memory_id for n in range(8)]
    memories.confirm_kinds([(made[0], "rule")], person())
    run_id = memories.start_backfill("untyped", "rules", 12, person()).id
    memories.take_up_run(run_id, agent())
    for n in (0, 4):
        clock.passes(seconds=2)
        batch = [(m, guess("status")) for m in made[n : n + 4]]
        memories.type_batch(run_id, batch, BatchCounts(n + 4, 4, errors=n // 4, lock_held_ms=10.0 * n), agent())
        clock.passes(hours=3 if n == 0 else 0)  # no owner was there
    row = looking.now().runs[run_id]
    assert (row.state, row.processed, row.changed, row.skipped, row.errors) == ("running", 8, 7, 1, 1)
    assert row.held_ms == [40.0]
    assert row.active_seconds == 2.0
    assert seconds_left(row) == 1.0
    memories.fail_run(run_id, "why", agent())
    assert (looking.now().runs[run_id].state, looking.tables.runs[run_id].reason) == ("failed", "why")
    reverted(memories, run_id)
    row = looking.now().runs[run_id]
    assert (row.state, row.reverted, row.kept) == ("reverted", 7, 0)
