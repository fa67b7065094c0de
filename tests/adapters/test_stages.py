"""How a memory is seen beyond its scope, through the verbs."""

from __future__ import annotations

import pytest
from bench.scopes import measured
from slw.adapters.store import Store

RULE = "Timestamps in the public API are UTC with milliseconds."
QUESTION = "in which time zone are the timestamps of the public API"


@pytest.fixture(scope="module")
def embedder():
    from slw.adapters.embeddings import Embedder

    return Embedder()


@pytest.fixture
def store(tmp_path, embedder):
    opened = Store.open(tmp_path / "home", embedder=embedder)
    yield opened
    opened.close()


def ask(store, operation, **arguments):
    answer = store.ask(operation, arguments)
    assert answer["ok"], answer
    return answer["data"]


def tell(store, scope, content=RULE):
    """The claim remembered in a committed session of a scope."""
    session = ask(store, "activate", task="work", initial_goal="work", scope=scope)
    shown = [memory["memory_id"] for memory in session["memories"]]
    if shown:
        verdicts = [{"memory_id": m, "assessment": "not_used"} for m in shown]
        ask(store, "feedback", retrieval_id=session["retrieval_id"], memory_feedback=verdicts)
    told = ask(store, "remember", session_id=session["session_id"], scope=scope, content=content)
    ask(
        store,
        "commit",
        session_id=session["session_id"],
        final_goal="done",
        outcome="success",
        outcome_summary="done",
        verification={"status": "verified", "summary": "seen"},
    )
    assert store.settle(None)
    return told["memory_id"]


def found(store, scope, query=QUESTION):
    return {m["memory_id"]: m for m in ask(store, "search", query=query, scope=scope)["memories"]}


def test_what_is_told_in_one_scope_is_seen_in_no_other(store):
    tell(store, "project:a")
    assert found(store, "project:b") == {}


def test_what_is_told_in_two_scopes_is_seen_once_in_a_third_and_says_how_widely_it_is_held(store):
    first, second = tell(store, "project:a"), tell(store, "project:b")
    tell(store, "project:c", "The build of the frontend takes four minutes.")
    seen = found(store, "project:c")
    assert first in seen and second not in seen
    assert (seen[first]["stage"], seen[first]["scope"]) == ("portable", "project:a")
    assert list(found(store, "project:b")) == [first]
    assert first not in found(store, "team:core")


def test_a_question_about_something_else_brings_nothing_from_elsewhere(store):
    tell(store, "project:a"), tell(store, "project:b")
    assert found(store, "project:c", "who brings cake on Friday") == {}


def test_a_person_promotes_and_pins_and_why_tells_what_it_rests_on(store):
    memory = tell(store, "project:a")
    assert ask(store, "promote", memory_id=memory, stage="contextual")["stage"] == "contextual"
    assert memory in found(store, "team:core")
    assert ask(store, "pin", memory_id=memory, stage="scoped")["stage"] == "scoped"
    assert found(store, "team:core") == {}
    assert ask(store, "pin", memory_id=memory)["pinned"] == ""
    held = ask(store, "why", id=memory)["held"]
    assert (held["stage"], held["promoted"], held["told_in"]) == ("contextual", "contextual", ["project:a"])
    assert store.ask("promote", {"memory_id": memory, "stage": "contextual"})["error"]["code"] == "conflict"


def test_a_suppressed_memory_is_seen_nowhere_however_widely_it_is_held(store):
    memory = tell(store, "project:a")
    ask(store, "promote", memory_id=memory, stage="global")
    ask(store, "suppress", memory_id=memory)
    assert found(store, "project:b") == found(store, "team:core") == {}


def test_nothing_leaks_between_scopes_that_are_made_to_be_mixed_up():
    found = measured(16, seed=2)
    assert {name: counts["leaks"] for name, counts in found.items()} == {"slw": 0, "without stages": 0}
    assert found["slw"]["lent"] > 0
