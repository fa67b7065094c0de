"""Feedback through the verbs changes what comes back for that question, at once, and for no unrelated one."""

from contextlib import closing

import pytest
from slw.adapters.store import Store

SCOPE = "project:app"
DAYS = {"billing": "Monday", "search": "Tuesday", "login": "Wednesday", "mail": "Thursday", "report": "Friday"}
TERMS = {"Acme": 10, "Globex": 14, "Initech": 30, "Umbrella": 45}
TOLD = [
    *(f"The {what} service is deployed by the release script on {day}." for what, day in DAYS.items()),
    *(f"Invoices of {who} are paid within {days} days." for who, days in TERMS.items()),
]
DEPLOYED, PAID = "When is a service deployed?", "How soon are invoices paid?"
TIMES = 16


@pytest.fixture
def store(tmp_path):
    with closing(Store.open(tmp_path / "home")) as opened:
        yield opened


def ask(store, operation, **arguments):
    answer = store.ask(operation, arguments)
    assert answer["ok"], answer
    return answer["data"]


def told(store):
    session = ask(store, "activate", task="t", initial_goal="g", scope=SCOPE)["session_id"]
    ask(store, "remember", session_id=session, scope=SCOPE, memories=[{"content": text} for text in TOLD])
    assert store.settle()
    return session


def recalled(store, session, query):
    shown = ask(store, "recall", session_id=session, scope=SCOPE, query=query, page_size=9)
    return shown["retrieval_id"], [memory["memory_id"] for memory in shown["memories"]]


def judged(store, session, query, memory, assessment, times=TIMES):
    for _ in range(times):
        retrieval, _ = recalled(store, session, query)
        verdict = {"memory_id": memory, "assessment": assessment}
        ask(store, "feedback", retrieval_id=retrieval, memory_feedback=[verdict])


def test_used_again_and_again_comes_first_for_that_question(store):
    session = told(store)
    before = recalled(store, session, DEPLOYED)[1]
    judged(store, session, DEPLOYED, before[3], "used")
    assert recalled(store, session, DEPLOYED)[1][0] == before[3]


def test_irrelevant_again_and_again_falls_behind_for_that_question(store):
    session = told(store)
    before = recalled(store, session, DEPLOYED)[1]
    judged(store, session, DEPLOYED, before[0], "irrelevant")
    after = recalled(store, session, DEPLOYED)[1]
    assert before[0] not in after[:4]


@pytest.mark.parametrize("assessment", ["used", "irrelevant"])
def test_an_unrelated_question_is_moved_by_no_association(store, assessment):
    session = told(store)
    judged(store, session, DEPLOYED, recalled(store, session, DEPLOYED)[1][0], assessment)
    retrieval, _ = recalled(store, session, PAID)
    [shown] = [fact for _, fact in store.events_of(session) if getattr(fact, "retrieval_id", "") == retrieval]
    assert all(exposure.parts["association"] == 0 for exposure in shown.memories)


def test_a_verdict_counts_for_the_very_next_question(store):
    session = told(store)
    before = recalled(store, session, DEPLOYED)[1]
    judged(store, session, DEPLOYED, before[2], "used", times=1)
    shown = ask(store, "recall", session_id=session, scope=SCOPE, query=DEPLOYED, page_size=9)["memories"]
    assert shown[0]["memory_id"] == before[2]


def test_what_was_learned_survives_a_restart_and_a_rebuild_is_equal(tmp_path):
    home = tmp_path / "home"
    with closing(Store.open(home)) as store:
        session = told(store)
        judged(store, session, DEPLOYED, recalled(store, session, DEPLOYED)[1][3], "used", times=2)
        assert store.settle()
        live = store.on_engine(store.generation.projector.digests), dict(store.cues._lessons)
    for generation in home.glob("gen-*"):
        generation.rename(tmp_path / generation.name)
    with closing(Store.open(home)) as store:
        store.growth.wait()
        assert store.settle()
        assert (store.on_engine(store.generation.projector.digests), dict(store.cues._lessons)) == live
