"""The verbs by hand against a real store: what a person types, what comes back, and with which exit code."""

import json

import pytest

SCOPE = ("--scope", "project:shop")


def told(done):
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)["data"]


def refused(done, code):
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout)["error"]


def by_whoever_asked(store):
    """The events of the log, but for those that a policy of the owner adds in its own time."""
    return [line for line in store("log").stdout.splitlines() if "memory.kind_suggested" not in line]


@pytest.fixture(scope="module")
def claim(store):
    return told(store("remember", "Coupons are checked before taxes are added.", *SCOPE, "--json"))["memory_id"]


def opened(store, task="change how coupons work"):
    return told(store("activate", task, *SCOPE, "--json"))


def assess_everything(store, retrieval):
    words = [f"{memory['memory_id']}=used" for memory in retrieval["memories"]]
    if words:
        store("feedback", retrieval["retrieval_id"], *words)


def test_a_claim_told_by_a_person_is_found_again(store, claim):
    assert claim in store("search", "when are coupons checked?", *SCOPE).stdout
    assert claim in store("list", *SCOPE).stdout
    assert "Coupons are checked" in store("show", claim).stdout


def test_the_words_may_come_from_standard_input(store):
    done = store("remember", "-", *SCOPE, "--json", stdin="Refunds go to the card that paid.\n")
    assert told(done)["memory_id"] in store("search", "where do refunds go?", *SCOPE).stdout


def test_a_recall_without_a_session_only_reads(store, claim):
    before = by_whoever_asked(store)
    found = told(store("recall", "coupons", *SCOPE, "--json"))
    assert claim in [memory["memory_id"] for memory in found["memories"]]
    assert by_whoever_asked(store) == before


def test_a_session_joined_by_the_environment_is_closed_with_everything_assessed(store, claim):
    session = opened(store)
    found = told(store("recall", "coupons", *SCOPE, "--json", SLW_SESSION=session["session_id"]))
    assert claim in [memory["memory_id"] for memory in found["memories"]]
    words = ("--goal", "coupons", "--outcome", "success", "--summary", "done", "--json")
    error = refused(store("commit", *words, SLW_SESSION=session["session_id"]), 4)
    assert error["code"] == "incomplete_feedback"
    assess_everything(store, session)
    assess_everything(store, found)
    assert told(store("commit", *words, SLW_SESSION=session["session_id"]))["outcome"] == "success"
    assert refused(store("recall", "coupons", *SCOPE, "--json", SLW_SESSION=session["session_id"]), 4)


def test_commit_takes_the_last_session_that_a_person_opened(store):
    session = opened(store, "a task to be closed by default")
    assess_everything(store, session)
    words = ("--goal", "g", "--outcome", "partial", "--summary", "s", "--procedure-summary", "How", "--step", "one")
    done = told(store("commit", *words, "--step", "two", "--caveat", "slowly", "--json"))
    assert done["procedure_id"] == f"proc_{session['session_id']}"
    assert (
        "beware" in store("show", done["procedure_id"]).stdout or "slowly" in store("show", done["procedure_id"]).stdout
    )


def test_feedback_on_what_was_not_shown_is_refused(store):
    session = opened(store)
    done = store("feedback", session["retrieval_id"], "mem_00000000000000000000000000=used")
    assert done.returncode == 4
    assert "mem_00000000000000000000000000" in done.stderr


def test_a_verdict_that_is_none_is_a_usage_error(store):
    assert store("feedback", "ret_1", "mem_1=splendid").returncode == 2


def test_an_id_that_was_never_issued_is_3(store):
    assert refused(store("show", "mem_00000000000000000000000000", "--json"), 3)["code"] == "not_found"
    done = store("suppress", "mem_00000000000000000000000000")
    assert (done.returncode, done.stdout) == (3, "")
    assert "hint:" in done.stderr


def test_a_kind_that_is_none_of_the_nine_is_a_usage_error_that_names_them(store):
    done = store("remember", "x is y", *SCOPE, "--kind", "gossip")
    assert done.returncode == 2
    assert "prospective" in done.stderr


def test_a_suppressed_memory_is_hidden_until_it_is_let_back(store):
    hidden = told(store("remember", "Gift cards never expire in our shop.", *SCOPE, "--json"))["memory_id"]
    assert store("suppress", hidden, "--reason", "not true any more").returncode == 0
    assert hidden not in store("search", "do gift cards expire?", *SCOPE).stdout
    assert store("unsuppress", hidden).returncode == 0
    assert hidden in store("search", "do gift cards expire?", *SCOPE).stdout


def test_what_replaces_a_claim_retires_it(store):
    old = told(store("remember", "Shipping costs five euros.", *SCOPE, "--json"))["memory_id"]
    new = store("remember", "Shipping is free above fifty euros, else six.", *SCOPE, "--replaces", old, "--json")
    found = store("search", "what does shipping cost?", *SCOPE).stdout
    assert told(new)["memory_id"] in found
    assert old not in found
    assert "memory.retired" in store("why", old).stdout


def test_the_log_can_be_read_from_a_position_by_stream_and_line_by_line(store, claim):
    lines = store("log", "--ndjson").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["position"] for event in events] == list(range(1, len(events) + 1))
    assert store("log", "--since", "1", "--ndjson").stdout.splitlines()[: len(lines) - 1] == lines[1:]
    assert {json.loads(line)["stream"] for line in store("log", "--stream", claim, "--ndjson").stdout.splitlines()} == {
        claim
    }
    assert store("log", "--since", "2999-01-01T00:00:00Z", "--ndjson").stdout == ""


def test_status_says_how_far_the_read_models_are(store, claim):
    status = told(store("status", "--json"))
    assert claim
    assert "position" in json.dumps(status)
