"""Runs in an open store: they type what has no kind, give way, fail and resume, survive a crash, and are undone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from chat_endpoint import said
from slw.adapters.kind_runner import BatchSize, candidates
from slw.adapters.store import Store

SCOPE = "project:app"


def claims(asking, count, text="The service number {} writes its own log."):
    """Ids of so many claims without a kind, told while nobody guesses."""
    asking.ask("kinds/settings", backend="off")
    ids = []
    for start in range(0, count, 50):
        entries = [{"content": text.format(n)} for n in range(start, min(count, start + 50))]
        ids += [r["data"]["memory_id"] for r in asking.ask("remember", scope=SCOPE, memories=entries)["results"]]
    return ids


def by_rules(asking, **settings):
    asking.ask("kinds/settings", backend="rules", **settings)


# -- typing


def test_a_run_types_what_has_no_kind_and_leaves_the_rest(asking):
    one, two, three, four = claims(asking, 4)
    asking.ask("kinds/set", memory_id=two, kind="rule")
    asking.ask("suppress", memory_id=three)
    asking.told("Another one instead.", replaces=four)
    by_rules(asking)
    run = asking.ask("kinds/backfill/start")
    assert run["total"] == 2 and run["state"] == "queued"
    done = asking.run_is("completed")
    assert (done["processed"], done["changed"], done["skipped"], done["errors"]) == (2, 2, 0, 0)
    assert asking.fields(one)[1:] == ("suggested", "rules")
    assert asking.fields(two) == ("rule", "confirmed", "person")
    assert asking.fields(three)[1] == asking.fields(four)[1] == "legacy"
    assert done["lock_held_ms"]["max"] > 0


def test_refresh_also_goes_over_guesses_and_never_over_what_is_confirmed(asking):
    _, two = asking.told("The gateway has two workers.", "The ledger has three.")
    asking.ask("kinds/set", memory_id=two, kind="opinion")
    by_rules(asking)
    asking.until(lambda: asking.store.kind_policy.position == asking.store.memories.position())
    assert asking.ask("kinds/backfill/start")["total"] == 0
    asking.run_is("completed")
    assert asking.ask("kinds/backfill/start", mode="refresh")["total"] == 1
    asking.run_is("completed")
    assert asking.fields(two) == ("opinion", "confirmed", "person")


def test_memories_told_while_a_run_goes_on_are_not_its_business(asking):
    claims(asking, 3)
    by_rules(asking, rate_per_second=10, batch_size=1)
    run = asking.ask("kinds/backfill/start")
    late = asking.told("We decided to wait.")[0]
    done = asking.run_is("completed")
    assert done["processed"] == 3 and late not in asking.store.memories.run(run["run_id"]).typed


def test_a_second_run_waits_its_turn(asking):
    claims(asking, 20)
    by_rules(asking, rate_per_second=10, batch_size=1)
    run = asking.ask("kinds/backfill/start")
    assert asking.refused("kinds/backfill/start")["code"] == "conflict"
    asking.ask("kinds/backfill/cancel", run_id=run["run_id"])
    assert asking.ask("kinds/backfill/start")["state"] == "queued"


def test_a_run_keeps_its_pace_and_says_how_long_it_will_take(asking):
    claims(asking, 60)
    by_rules(asking, rate_per_second=40, batch_size=5)
    started = time.monotonic()
    asking.ask("kinds/backfill/start")
    run = asking.until(lambda: (r := asking.ask("kinds/backfill/status")["run"])["processed"] >= 20 and r)
    assert run["eta_seconds"] > 0
    asking.run_is("completed")
    assert time.monotonic() - started > 1.2  # never faster than its pace, however long the machine takes


def test_pause_resume_and_cancel(asking):
    ids = claims(asking, 40)
    by_rules(asking, rate_per_second=50, batch_size=2)
    run_id = asking.ask("kinds/backfill/start")["run_id"]
    asking.until(lambda: asking.ask("kinds/backfill/status")["run"]["processed"] >= 4)
    assert asking.ask("kinds/backfill/pause", run_id=run_id)["state"] == "paused"
    time.sleep(0.3)
    rests = asking.ask("kinds/backfill/status")["run"]
    time.sleep(0.3)
    assert asking.ask("kinds/backfill/status")["run"]["processed"] == rests["processed"] < 40
    assert asking.refused("kinds/backfill/pause", run_id=run_id)["code"] == "conflict"
    assert asking.ask("kinds/backfill/resume", run_id=run_id)["state"] == "running"
    assert asking.run_is("completed")["processed"] == 40
    assert all(asking.fields(i)[1] == "suggested" for i in ids)
    by_rules(asking, rate_per_second=20, batch_size=2)
    again = asking.ask("kinds/backfill/start", mode="refresh")["run_id"]
    assert asking.ask("kinds/backfill/cancel", run_id=again)["state"] == "cancelled"
    assert asking.refused("kinds/backfill/resume", run_id=again)["code"] == "conflict"


def test_a_batch_starts_small_grows_and_halves_when_the_middle_of_three_is_over():
    size = BatchSize(50)
    grown = []
    for _ in range(6):
        grown.append(size.size)
        size.took(0.1)
    assert grown == sorted(grown) and grown[0] == 8 and size.size == 50
    size.took(1.6)
    assert size.size == 50
    size.took(1.6)
    assert size.size == 25
    for _ in range(3):
        size.took(1.6)
    assert size.size == 12
    for _ in range(60):
        size.took(10)
    assert size.size == 1


def test_candidates_are_looked_for_in_slices(asking):
    ids = claims(asking, 5)
    by_rules(asking, rate_per_second=1, batch_size=1)
    run_id = asking.ask("kinds/backfill/start")["run_id"]

    def look(after, count):
        return candidates(asking.store, asking.store.tables.runs[run_id], after, count)

    found, position, last = asking.store.on_engine(lambda: look(0, 3))
    assert [s.memory_id for s in found] == ids[:3] and not last
    found, _, last = asking.store.on_engine(lambda: look(position, 9))
    assert [s.memory_id for s in found] == ids[3:] and last


# -- crash


def test_a_run_goes_on_in_the_next_owner_and_types_no_memory_twice(asking):
    ids = claims(asking, 30)
    by_rules(asking, rate_per_second=40, batch_size=2)
    run_id = asking.ask("kinds/backfill/start")["run_id"]
    asking.until(lambda: asking.ask("kinds/backfill/status")["run"]["processed"] >= 6)
    assert asking.store.busy
    asking.reopen()
    done = asking.run_is("completed", run_id=run_id)
    assert (done["processed"], done["changed"]) == (30, 30)
    assert not asking.store.busy
    said_of = asking.store.on_engine(lambda: asking.store.tables.query("select memory_id from kinds"))
    assert sorted(row["memory_id"] for row in said_of) == sorted(ids)


KILLED = """
import sys, time
from slw.adapters.store import Store
store = Store.open(sys.argv[1])
store.ask("kinds/backfill/start", {})
while store.ask("kinds/backfill/status", {})["data"]["run"]["processed"] < int(sys.argv[2]):
    time.sleep(0.005)
print("there", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("reached", [2, 17])
def test_killed_in_mid_run_it_goes_on_at_its_cursor_none_twice_none_missed(asking, reached):
    ids = claims(asking, 40)
    by_rules(asking, rate_per_second=60, batch_size=3)
    asking.store.close()
    owner = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(asking.home), str(reached)],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert owner.stdout.readline() == b"there\n"
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    asking.store = Store.open(asking.home, embedder=asking.embedder)
    done = asking.run_is("completed")
    assert (done["processed"], done["changed"]) == (40, 40)
    assert list(asking.store.memories.run(done["run_id"]).typed) == ids
    rows = asking.store.on_engine(lambda: asking.store.tables.query("select memory_id from kinds order by position"))
    assert [row["memory_id"] for row in rows] == ids


# -- models and consent


def chatting(asking, endpoint, backend="llm", **more):
    where = {f"{backend}_url": endpoint.url, f"{backend}_model": "m"}
    asking.ask("kinds/settings", backend=backend, rate_per_second=1_000, **where, **more)


def test_a_run_by_an_endpoint_asks_once_a_batch(asking, endpoint):
    ids = claims(asking, 20)
    chatting(asking, endpoint)
    asking.ask("kinds/backfill/start")
    done = asking.run_is("completed")
    assert done["backend"] == "llm" and len(endpoint.requests) == 3
    assert {asking.fields(i)[1:] for i in ids} == {("suggested", "llm")}


def test_five_errors_in_a_row_fail_the_run_which_can_be_resumed(asking, endpoint):
    ids = claims(asking, 10)
    chatting(asking, endpoint)
    endpoint.answer = lambda _: (500, b"", {})
    asking.ask("kinds/backfill/start")
    failed = asking.run_is("failed")
    assert "5 errors in a row" in failed["reason"] and "500" in failed["reason"]
    assert len(endpoint.requests) == 5 and failed["processed"] == 0
    endpoint.answer = None
    asking.ask("kinds/backfill/resume", run_id=failed["run_id"])
    done = asking.run_is("completed")
    assert (done["processed"], done["changed"]) == (10, 10) and "reason" not in done
    assert {asking.fields(i)[2] for i in ids} == {"llm"}


def test_an_error_now_and_then_is_counted_and_nothing_is_missed(asking, endpoint):
    claims(asking, 24)
    chatting(asking, endpoint)
    endpoint.answer = lambda body: endpoint.typed(body) if len(endpoint.requests) % 2 else (503, b"", {})
    asking.ask("kinds/backfill/start")
    done = asking.run_is("completed")
    assert (done["processed"], done["changed"]) == (24, 24) and done["errors"] == len(endpoint.requests) // 2


def test_a_hosted_run_without_the_literal_true_sends_nothing(asking, endpoint):
    claims(asking, 20)
    chatting(asking, endpoint, "hosted", hosted_consent=True)
    for unsaid in (False, "true", 1, "yes", None, [True]):
        error = asking.refused("kinds/backfill/start", confirm_data_leaves_device=unsaid)
        assert error["code"] == "needs_confirmation"
        assert (error["facts"], error["requests"], error["leaves_device"]) == (20, 3, True)
    time.sleep(0.3)
    assert endpoint.requests == [] and asking.ask("kinds/backfill/status")["run"] == {}
    asking.ask("kinds/backfill/start", confirm_data_leaves_device=True)
    assert asking.run_is("completed")["backend"] == "hosted"
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize("consent", [False, None])
def test_without_consent_a_hosted_run_is_one_by_the_rules_quietly(asking, endpoint, consent):
    claims(asking, 5)
    chatting(asking, endpoint, "hosted", **({} if consent is None else {"hosted_consent": consent}))
    assert asking.ask("kinds/status")["using"] == "rules" and "hosted_consent" in asking.ask("kinds/status")["why"]
    assert asking.ask("kinds/backfill/start")["backend"] == "rules"
    asking.run_is("completed")
    assert endpoint.requests == []


def test_a_consent_withdrawn_in_mid_run_counts_from_the_next_batch_on(asking, endpoint):
    ids = claims(asking, 40)
    chatting(asking, endpoint, "hosted", hosted_consent=True)
    asking.ask("kinds/settings", rate_per_second=20)
    asking.ask("kinds/backfill/start", confirm_data_leaves_device=True)
    asking.until(lambda: asking.ask("kinds/backfill/status")["run"]["processed"] >= 8)
    (asking.home / "kinds.json").write_text('{"backend": "hosted", "hosted_consent": "true", "rate_per_second": 500}')
    time.sleep(0.1)
    sent = len(endpoint.requests)
    asking.run_is("completed")
    assert len(endpoint.requests) == sent < 5
    assert {asking.fields(i)[2] for i in ids} == {"hosted", "rules"}


def test_new_memories_go_to_the_chosen_endpoint_beside_the_save_path(asking, endpoint):
    chatting(asking, endpoint)
    asking.until(lambda: asking.store.kind_policy.position == asking.store.memories.position())
    endpoint.delay = 0.5
    [memory_id] = asking.told("The gateway has two workers.")  # answered before the endpoint answers
    assert asking.fields(memory_id)[2] == "rules"
    asking.until(lambda: asking.fields(memory_id) == ("opinion", "suggested", "llm"))


def test_what_was_told_under_another_backend_is_not_sent_when_an_endpoint_is_chosen(asking, endpoint):
    claims(asking, 5)
    chatting(asking, endpoint, "hosted", hosted_consent=True)
    asking.until(lambda: asking.store.kind_policy.position == asking.store.memories.position())
    asking.reopen()
    time.sleep(1.2)
    assert endpoint.requests == []


def test_a_model_that_fails_leaves_the_rules_guess_and_saving_goes_on(asking, endpoint):
    chatting(asking, endpoint)
    asking.until(lambda: asking.store.kind_policy.position == asking.store.memories.position())
    endpoint.answer = lambda _: (200, said("no"), {})
    [memory_id] = asking.told("The gateway has two workers.")
    asking.until(lambda: asking.ask("kinds/status")["last_failure"])
    assert asking.fields(memory_id)[1:] == ("suggested", "rules")


# -- revert


def test_a_revert_takes_back_exactly_what_a_run_did_by_digest(asking):
    ids = claims(asking, 30)
    asking.ask("kinds/set", memory_id=ids[3], kind="rule")
    before = asking.digest()
    by_rules(asking)
    run_id = asking.ask("kinds/backfill/start")["run_id"]
    asking.run_is("completed")
    assert asking.digest() != before
    preview = asking.ask("kinds/backfill/revert", run_id=run_id, dry_run=True)
    assert (preview["would_revert"], preview["would_keep"]) == (29, 0)
    asking.ask("kinds/backfill/revert", run_id=run_id)
    done = asking.run_is("reverted")
    assert (done["reverted"], done["kept_because_changed"]) == (29, [])
    assert asking.digest() == before
    assert asking.refused("kinds/backfill/revert", run_id=run_id)["code"] == "conflict"


def test_what_changed_since_is_kept_and_reported_by_id(asking):
    one, two, three = claims(asking, 3)
    by_rules(asking)
    run_id = asking.ask("kinds/backfill/start")["run_id"]
    asking.run_is("completed")
    asking.ask("kinds/set", memory_id=two, kind="rule")
    assert asking.ask("kinds/backfill/revert", run_id=run_id, dry_run=True)["kept_because_changed"] == [two]
    asking.ask("kinds/backfill/revert", run_id=run_id)
    assert asking.run_is("reverted")["kept_because_changed"] == [two]
    assert asking.fields(two) == ("rule", "confirmed", "person")
    assert {asking.fields(i)[1] for i in (one, three)} == {"legacy"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_runs_reverted_in_either_order_leave_the_kinds_as_they_were(asking, endpoint, order):
    claims(asking, 12)
    before = asking.digest()
    by_rules(asking)
    runs = [asking.ask("kinds/backfill/start")["run_id"]]
    asking.run_is("completed", run_id=runs[0])
    chatting(asking, endpoint)
    runs.append(asking.ask("kinds/backfill/start", mode="refresh")["run_id"])
    asking.run_is("completed", run_id=runs[1])
    for n in order:
        asking.ask("kinds/backfill/revert", run_id=runs[n])
        asking.run_is("reverted", run_id=runs[n])
    assert asking.digest() == before


def test_a_revert_goes_on_in_the_next_owner(asking):
    claims(asking, 600)
    before = asking.digest()
    by_rules(asking, rate_per_second=100_000)
    run_id = asking.ask("kinds/backfill/start")["run_id"]
    asking.run_is("completed")
    asking.ask("kinds/backfill/revert", run_id=run_id)
    asking.reopen()
    assert asking.run_is("reverted", run_id=run_id)["reverted"] == 600
    assert asking.digest() == before


def test_recall_is_answered_while_a_run_goes_on(asking):
    claims(asking, 300)
    by_rules(asking, rate_per_second=500)
    asking.store.settle()
    asking.ask("kinds/backfill/start")
    answered_meanwhile = 0
    while asking.ask("kinds/backfill/status")["run"]["state"] != "completed":
        assert asking.ask("search", scope=SCOPE, query="service number 7 log")["memories"]
        answered_meanwhile += 1
    assert answered_meanwhile > 1
