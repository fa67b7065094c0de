"""Runs that type memories: states and transitions, batches, and a revert that takes back exactly what a run did."""

from __future__ import annotations

import pytest
from kinds_support import guess, kind_of, told
from slw.adapters.log import log_environment
from slw.domain.backfill import ALLOWED, BackfillRun, BatchCounts
from slw.domain.errors import Conflict, NotFound
from slw.domain.memories import Memories
from tests_support import agent, person

STATES = ("queued", "running", "paused", "completed", "cancelled", "failed", "reverting", "reverted")


def started(memories: Memories, mode: str = "untyped", *, run: bool = True) -> str:
    run_id = memories.start_backfill(mode, "rules", 1, person()).id
    if run:
        memories.take_up_run(run_id, agent())
    return run_id


def typed(memories: Memories, run_id: str, *guesses, cursor: int = 1, **counts) -> BackfillRun:
    made = [(memory_id, guess(kind, *more)) for memory_id, kind, *more in guesses]
    return memories.type_batch(run_id, made, BatchCounts(cursor, len(made), **counts), agent())


def reverted(memories: Memories, run_id: str, limit: int = 100) -> BackfillRun:
    run = memories.act_on_run(run_id, "revert", person())
    while run.state == "reverting":
        run = memories.revert_batch(run_id, limit, agent())
    return run


def in_state(memories: Memories, state: str) -> str:
    """A run that got to a state by the shortest way, with one memory typed where it can have one."""
    run_id = started(memories, run=state != "queued")
    if state in ("paused", "cancelled"):
        memories.act_on_run(run_id, "pause" if state == "paused" else "cancel", person())
    if state in ("completed", "reverting", "reverted"):
        memories.complete_run(run_id, agent())
    if state == "failed":
        memories.fail_run(run_id, "five errors in a row", agent())
    if state in ("reverting", "reverted"):
        memories.act_on_run(run_id, "revert", person())
        if state == "reverted":
            memories.revert_batch(run_id, 10, agent())
    assert memories.run(run_id).state == state
    return run_id


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("action", ["pause", "resume", "cancel", "revert"])
def test_a_run_moves_only_as_its_state_allows_and_a_refusal_names_the_state(memories, facts, state, action):
    run_id = in_state(memories, state)
    before = facts()
    if state in ALLOWED[action]:
        memories.act_on_run(run_id, action, person())
        assert len(facts()) == len(before) + 1
    else:
        with pytest.raises(Conflict) as refusal:
            memories.act_on_run(run_id, action, person())
        assert f"is {state}" in refusal.value.message and facts() == before


@pytest.mark.parametrize("state", [s for s in STATES if s != "running"])
def test_only_a_running_run_types_completes_or_fails(memories, state):
    run_id = in_state(memories, state)
    for step in (
        lambda: typed(memories, run_id),
        lambda: memories.complete_run(run_id, agent()),
        lambda: memories.fail_run(run_id, "r", agent()),
    ):
        with pytest.raises(Conflict):
            step()


@pytest.mark.parametrize("state", [s for s in STATES if s != "reverting"])
def test_only_a_reverting_run_withdraws(memories, state):
    run_id = in_state(memories, state)
    with pytest.raises(Conflict):
        memories.revert_batch(run_id, 10, agent())


@pytest.mark.parametrize("state", ["queued", "running", "paused", "reverting"])
def test_one_run_at_a_time(memories, state):
    run_id = in_state(memories, state)
    assert memories.active_run().id == run_id
    with pytest.raises(Conflict) as refusal:
        memories.start_backfill("untyped", "rules", 0, person())
    assert run_id in refusal.value.message


@pytest.mark.parametrize("state", ["completed", "cancelled", "failed", "reverted"])
def test_a_run_that_rests_for_good_lets_another_start_and_waits_for_it(memories, state):
    first = in_state(memories, state)
    assert memories.active_run() is None
    second = started(memories)
    if state != "reverted":
        action = "resume" if state == "failed" else "revert"
        with pytest.raises(Conflict) as refusal:
            memories.act_on_run(first, action, person())
        assert second in refusal.value.message


def test_a_failed_run_says_why_and_goes_on_where_it_was(memories):
    one = told(memories, "one")
    run_id = started(memories)
    typed(memories, run_id, (one.memory_id, "status"), cursor=7, errors=1)
    failed = memories.fail_run(run_id, "the endpoint refused five times", agent())
    assert (failed.state, failed.reason) == ("failed", "the endpoint refused five times")
    again = memories.act_on_run(run_id, "resume", person())
    assert (again.state, again.reason, again.cursor, again.errors) == ("running", "", 7, 1)


def test_an_unknown_run_is_not_found(memories):
    for run_id in ("run_unknown", "mem_x", ""):
        with pytest.raises(NotFound):
            memories.act_on_run(run_id, "pause", person())


def test_a_batch_is_one_transaction_and_counts_what_it_left_alone(memories, facts):
    one, two, three, four = (told(memories, w) for w in ("one", "two", "three", "four"))
    memories.confirm_kinds([(two.memory_id, "rule")], person())
    memories.suppress(three.memory_id, "", person())
    told(memories, "five", replaces=four.memory_id)
    run_id = started(memories)
    before = len(facts())
    run = typed(memories, run_id, *((m.memory_id, "status") for m in (one, two, three, four)), cursor=9)
    assert list(run.typed) == [one.memory_id]
    assert (run.processed, run.skipped, run.cursor) == (4, 3, 9)
    assert facts()[before:] == ["memory.kind_suggested", "backfill.batch"]


def test_a_memory_that_got_a_kind_since_it_was_picked_is_left_to_it_unless_the_run_refreshes(memories):
    made = told(memories, "one")
    memories.suggest_kinds([(made.memory_id, guess("rule"))], agent())
    run_id = started(memories)
    assert not typed(memories, run_id, (made.memory_id, "status")).typed
    memories.complete_run(run_id, agent())
    run_id = started(memories, "refresh")
    assert typed(memories, run_id, (made.memory_id, "status")).typed
    assert kind_of(memories, made.memory_id) == ("status", "rules")


def test_a_run_never_replaces_higher_authority(memories):
    made = told(memories, "one")
    memories.suggest_kinds([(made.memory_id, guess("rule", "local"))], agent())
    run_id = started(memories, "refresh")
    assert not typed(memories, run_id, (made.memory_id, "status")).typed
    assert typed(memories, run_id, (made.memory_id, "status", "llm")).typed


def test_the_same_memory_twice_in_a_batch_is_typed_once(memories, facts):
    made = told(memories, "one")
    run_id = started(memories)
    typed(memories, run_id, (made.memory_id, "status"), (made.memory_id, "status"))
    assert facts().count("memory.kind_suggested") == 1


def test_a_run_goes_on_in_another_process_from_its_cursor(memories, log_path, clock):
    one, two = told(memories, "one"), told(memories, "two")
    run_id = started(memories)
    typed(memories, run_id, (one.memory_id, "status"), cursor=1)
    with Memories(log_environment(log_path), clock=clock) as other:
        run = other.active_run()
        assert (run.id, run.state, run.cursor, list(run.typed)) == (run_id, "running", 1, [one.memory_id])
        typed(other, run_id, (two.memory_id, "status"), cursor=2)
    # The first process notices that the run has moved on, and does not work on what it remembers.
    assert memories.complete_run(run_id, agent()).processed == 2
    assert list(memories.run(run_id).typed) == [one.memory_id, two.memory_id]


def test_a_step_that_is_refused_leaves_no_trace_in_the_run_that_is_held(memories):
    run_id = started(memories)
    with pytest.raises(NotFound):
        typed(memories, run_id, ("mem_unknown", "status"))
    assert memories.complete_run(run_id, agent()).processed == 0


# -- revert


def test_reverting_takes_back_exactly_what_the_run_did(memories):
    one, two, three = (told(memories, w) for w in ("one", "two", "three"))
    memories.suggest_kinds([(two.memory_id, guess("rule", "rules", 0.9, "older"))], agent())
    before = memories.memory(two.memory_id).kind
    run_id = started(memories, "refresh")
    typed(memories, run_id, *((m.memory_id, "status") for m in (one, two, three)))
    memories.complete_run(run_id, agent())
    memories.confirm_kinds([(three.memory_id, "decision")], person())
    assert memories.revert_preview(run_id) == ([one.memory_id, two.memory_id], [three.memory_id])
    run = reverted(memories, run_id)
    assert run.state == "reverted" and list(run.kept) == [three.memory_id]
    assert kind_of(memories, one.memory_id) is None
    assert memories.memory(two.memory_id).kind == before
    assert kind_of(memories, three.memory_id) == ("decision", "person")
    assert all(f.run_id == "" for f in memories.memory(three.memory_id).kind_facts.values())
    with pytest.raises(Conflict):
        memories.act_on_run(run_id, "revert", person())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_reverting_two_runs_in_either_order_leaves_what_was_there_before_both(memories, order):
    made = [told(memories, w) for w in ("one", "two", "three")]
    memories.suggest_kinds([(made[0].memory_id, guess("opinion", "rules", 0.4, "first"))], agent())
    before = [memories.memory(m.memory_id).kind for m in made]
    runs = []
    for kind in ("status", "rule"):
        runs.append(started(memories, "refresh"))
        typed(memories, runs[-1], *((m.memory_id, kind) for m in made))
        memories.complete_run(runs[-1], agent())
    first = reverted(memories, runs[order[0]])
    # The earlier run is covered by the later one everywhere; the later one decides what is shown.
    assert list(first.kept) == ([m.memory_id for m in made] if order[0] == 0 else [])
    second = reverted(memories, runs[order[1]])
    assert not second.kept
    assert [memories.memory(m.memory_id).kind for m in made] == before


def test_a_revert_goes_on_after_a_crash_and_withdraws_nothing_twice(memories, log_path, clock, facts):
    made = [told(memories, f"claim {n}") for n in range(7)]
    run_id = started(memories)
    typed(memories, run_id, *((m.memory_id, "status") for m in made))
    memories.complete_run(run_id, agent())
    memories.act_on_run(run_id, "revert", person())
    memories.revert_batch(run_id, 3, agent())
    with Memories(log_environment(log_path), clock=clock) as other:
        assert other.active_run().state == "reverting"
        while other.run(run_id).state == "reverting":
            other.revert_batch(run_id, 3, agent())
    assert facts().count("memory.kind_withdrawn") == 7
    assert all(kind_of(memories, m.memory_id) is None for m in made)
    assert memories.active_run() is None


def test_a_run_that_typed_nothing_is_reverted_at_once(memories):
    run_id = in_state(memories, "cancelled")
    assert reverted(memories, run_id).state == "reverted"


def test_a_retired_memory_loses_the_kind_that_a_run_gave_it_too(memories):
    made = told(memories, "one")
    run_id = started(memories)
    typed(memories, run_id, (made.memory_id, "status"))
    memories.complete_run(run_id, agent())
    told(memories, "two", replaces=made.memory_id)
    reverted(memories, run_id)
    assert kind_of(memories, made.memory_id) is None


def test_a_run_of_many_batches_is_not_replayed_for_each_of_them(log_path, clock):
    class Counting(Memories):
        replays = 0

        def run(self, run_id: str) -> BackfillRun:
            self.replays += 1
            return super().run(run_id)

    with Counting(log_environment(log_path), clock=clock) as memories:
        run_id = started(memories)
        for n in range(20):
            typed(memories, run_id, (told(memories, f"claim {n}").memory_id, "status"), cursor=n)
        assert memories.replays == 1
        assert len(memories.run(run_id).typed) == 20
