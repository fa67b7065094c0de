from __future__ import annotations

from projections_support import METHOD, Told, digests, folded
from slw.domain.events import ClaimRetired, ContentErased, SessionExpired


def test_an_open_session_is_in_memory_with_what_it_is_about(tmp_path):
    told = Told()
    told.activate()
    tables = folded(tmp_path, told.facts)
    [row] = tables.open_sessions()
    assert (row.session_id, row.scope, row.task, row.state) == ("sess_1", "project:app", "ship it", "open")
    assert (row.client, row.actor_kind) == ("test-agent 1", "client")


def test_every_fact_that_names_a_session_moves_its_last_time(tmp_path):
    told = Told()
    told.activate()
    for name in (
        told.remember,
        lambda: told.recall("ret_1", "mem_1"),
        lambda: told.judge(mem_1="used"),
        lambda: told.tell(ClaimRetired, "mem_1", reason="outdated", explanation="gone", session_id="sess_1"),
    ):
        told.passes(hours=1)
        name()
        assert folded(tmp_path, told.facts, f"{told.at.hour}.duckdb").sessions["sess_1"].last_at == told.at


def test_a_committed_session_leaves_memory_and_stays_in_the_table(tmp_path):
    told = Told()
    told.activate()
    told.passes(hours=2)
    told.commit(procedure=METHOD)
    tables = folded(tmp_path, told.facts)
    assert tables.sessions == {}
    [row] = tables.query("select * from sessions")
    assert (row["state"], row["outcome"], row["verification"]) == ("committed", "success", "verified")
    assert (row["final_goal"], row["procedure_id"]) == ("a release", "proc_sess_1")
    assert row["closed_at"] == told.at.replace(tzinfo=None)


def test_an_expired_session_may_be_committed_long_after_it_left_memory(tmp_path):
    told = Told()
    told.activate()
    told.tell(SessionExpired, "sess_1", scope="project:app", idle_since=told.at)
    tables = folded(tmp_path, told.facts)
    assert tables.sessions == {}
    told.passes(days=9)
    told.commit()
    tables.apply(told.facts)
    [row] = tables.query("select state, outcome, expired_at, closed_at from sessions")
    assert (row["state"], row["outcome"]) == ("committed", "success")
    assert row["expired_at"] < row["closed_at"]
    assert tables.digest() == digests(tmp_path, told.facts)


def test_feedback_after_the_end_changes_nothing_of_the_session(tmp_path):
    told = Told()
    told.activate()
    told.remember()
    told.recall("ret_1", "mem_1")
    told.commit()
    before = folded(tmp_path, told.facts).query("select * from sessions")
    told.passes(days=1)
    told.judge(mem_1="used")
    assert folded(tmp_path, told.facts, "after.duckdb").query("select * from sessions") == before


def test_a_persons_claim_belongs_to_no_session(tmp_path):
    told = Told()
    told.remember(session="")
    assert folded(tmp_path, told.facts).query("select * from sessions") == []


def test_erasing_blanks_what_was_said_at_those_positions_alone(tmp_path):
    told = Told()
    told.activate("sess_1", task="the secret")
    told.activate("sess_2", task="something else")
    told.commit("sess_2", outcome_summary="the secret again")
    told.tell(ContentErased, "mem_9", positions=(1, 3))
    rows = folded(tmp_path, told.facts).query("select task, outcome_summary, outcome from sessions order by position")
    assert rows == [
        {"task": "", "outcome_summary": "", "outcome": None},
        {"task": "something else", "outcome_summary": "", "outcome": "success"},
    ]
