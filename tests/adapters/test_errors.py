"""Every error of the contract by its name, as a tool answers it."""

import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest
from slw.adapters.reach import post, stop_owner
from wire import Wire, closing, verdicts

SCOPE = "project:errors"


@pytest.fixture(scope="module")
def client():
    place = Path(tempfile.mkdtemp(prefix="slw-"))
    client = Wire(place / "h")
    client.home = place / "h"
    client.initialize()
    yield client
    client.close()
    stop_owner(client.home)
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def opened(client):
    return client.data("activate", task="t", initial_goal="g", scope=SCOPE)


@pytest.fixture(scope="module")
def here(opened):
    return {"session_id": opened["session_id"], "scope": SCOPE}


@pytest.fixture
def fresh(client):
    """A session of its own."""
    opened = client.data("activate", task="another", initial_goal="g", scope=SCOPE)
    client.data("feedback", **verdicts(opened))
    return {"session_id": opened["session_id"], "scope": SCOPE}


def test_every_failure_says_what_was_wrong_and_what_to_do_next(client):
    error = client.error("activate", task=" ", initial_goal="g", scope=SCOPE)
    assert error["code"] == "invalid_input"
    assert error["retryable"] is False
    assert error["field_errors"] == [{"path": "task", "message": "must not be blank"}]
    assert error["message"]
    assert error["hint"]


def test_unknown_arguments_are_refused(client, here):
    error = client.error("remember", **here, content="c", importance=5)
    assert error["field_errors"] == [{"path": "importance", "message": "is not a field of this call"}]


def test_a_session_is_required_of_an_agent(client):
    for verb, extra in (("remember", {"content": "c"}), ("recall", {"query": "q"})):
        assert client.error(verb, scope=SCOPE, **extra)["field_errors"][0]["path"] == "session_id"


def test_ids_that_were_never_issued_are_not_found(client, here):
    session = {**here, "session_id": "sess_00000000000000000000000000"}
    assert client.error("remember", **session, content="c")["code"] == "not_found"
    assert client.error("recall", **session, query="q")["code"] == "not_found"
    assert client.error("feedback", retrieval_id="ret_none")["code"] == "not_found"
    assert client.error("commit", **closing("sess_none"))["code"] == "not_found"
    assert client.error("remember", **here, content="c", replaces="mem_none")["code"] == "not_found"
    for operation, body in (("show", {"id": "mem_none"}), ("why", {"id": "ret_none"}), ("show", {"id": "x"})):
        assert post(client.home, operation, body)["error"]["code"] == "not_found"


def test_a_scope_that_is_not_the_sessions_is_a_mismatch(client, here):
    for verb, extra in (("remember", {"content": "c"}), ("recall", {"query": "q"})):
        error = client.error(verb, session_id=here["session_id"], scope="project:Errors", **extra)
        assert error["code"] == "scope_mismatch"
        assert SCOPE in error["message"]


def test_a_committed_session_is_closed(client, fresh):
    client.data("commit", **closing(fresh["session_id"]))
    assert client.error("remember", **fresh, content="c")["code"] == "session_closed"
    assert client.error("recall", **fresh, query="q")["code"] == "session_closed"
    other = {**closing(fresh["session_id"]), "outcome": "failure"}
    assert client.error("commit", **other)["code"] == "session_closed"


def test_replacing_what_holds_no_more_is_a_conflict(client, here):
    first = client.data("remember", **here, content="The port is 8080.")["memory_id"]
    client.data("remember", **here, content="The port is 9090.", replaces=first)
    error = client.error("remember", **here, content="The port is 7070.", replaces=first)
    assert error["code"] == "conflict"
    found = client.data("recall", **here, query="which port?")
    assert "7070" not in str(found["memories"])


def test_a_continuity_token_of_another_scope_is_invalid(client, opened):
    error = client.error(
        "activate", task="t", initial_goal="g", scope="project:other", continuity_id=opened["continuity_id"]
    )
    assert (error["code"], error["field_errors"][0]["path"]) == ("invalid_input", "continuity_id")


def test_a_verdict_that_cannot_be_taken_is_rejected_with_its_field(client, fresh):
    told = client.data("remember", **fresh, content="Verdicts about zebras need reasons.")
    found = client.data("recall", **fresh, query="zebras")
    memory_id = told["memory_id"]
    answer = client.data(
        "feedback",
        retrieval_id=found["retrieval_id"],
        items=[
            {"memory_id": memory_id, "assessment": "stale"},
            {"memory_id": "mem_not_shown", "assessment": "used"},
            {"procedure_id": "proc_not_shown", "use": "not_used"},
        ],
    )
    assert answer["accepted"] == []
    assert {(r["target_id"], r["field"]) for r in answer["rejected"]} == {
        (memory_id, "stale_reason"),
        ("mem_not_shown", "memory_id"),
        ("proc_not_shown", "procedure_id"),
    }
    assert memory_id in answer["outstanding"]["memory_ids"]


def test_one_bad_entry_does_not_stop_a_batch(client, here):
    answer = client.data(
        "remember",
        **here,
        memories=[
            {"content": "Batches carry llamas."},
            {"content": "", "type": "fact"},
            "no object",
            {"content": "Batches carry okapis.", "replaces": "mem_none"},
            {"content": "batches  CARRY llamas."},
            {"content": "Batches carry tapirs.", "colour": "grey"},
        ],
    )
    assert [r["index"] for r in answer["results"]] == list(range(6))
    assert [r["ok"] for r in answer["results"]] == [True, False, False, False, True, False]
    codes = [r["error"]["code"] for r in answer["results"] if not r["ok"]]
    assert codes == ["invalid_input", "invalid_input", "not_found", "invalid_input"]
    assert answer["results"][1]["error"]["field_errors"][0]["path"] == "memories[1].content"
    assert answer["results"][5]["error"]["field_errors"][0]["path"] == "memories[5].colour"
    assert answer["results"][4]["data"]["disposition"] == "matched"
    assert answer["results"][4]["data"]["memory_id"] == answer["results"][0]["data"]["memory_id"]
    assert answer["stored"] == 2


def test_the_same_request_with_other_arguments_is_a_conflict(client, here):
    once = {"meta": {"slw/request-id": "r-1"}}
    first = client.call("remember", **once, **here, content="Told under one request id.")
    again = client.call("remember", **once, **here, content="Told under one request id.")
    assert again == first
    other = client.call("remember", **once, **here, content="Something else.")
    assert other["error"]["code"] == "conflict"


def test_a_tool_that_is_not_there_is_named(client):
    error = client.error("forget", memory_id="mem_1")
    assert error["code"] == "invalid_input"
    assert "slowave_recall" in error["hint"]


def test_a_log_that_another_program_holds_is_busy(home):
    home.mkdir()
    (home / "settings.json").write_text('{"lock_seconds": 1}')
    client = Wire(home)
    client.initialize()
    opened = client.data("activate", task="t", initial_goal="g", scope=SCOPE)
    other = sqlite3.connect(home / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    error = client.error("remember", session_id=opened["session_id"], scope=SCOPE, content="c")
    assert (error["code"], error["retryable"]) == ("store_busy", True)
    other.execute("ROLLBACK")
    other.close()
    client.data("remember", session_id=opened["session_id"], scope=SCOPE, content="c")
    client.close()


def test_a_full_disk_is_said_and_nothing_is_half_stored(home):
    home.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "slw-full", home], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root can make a small disk")
    try:
        client = Wire(home)
        client.initialize()
        opened = client.data("activate", task="t", initial_goal="g", scope=SCOPE)
        (home / "ballast").write_bytes(b"")
        filling = subprocess.run(
            ["dd", "if=/dev/zero", f"of={home / 'ballast'}", "bs=4k"], capture_output=True, check=False
        )
        assert filling.returncode
        here = {"session_id": opened["session_id"], "scope": SCOPE}
        errors = [client.call("remember", **here, content=f"claim {n} " * 800) for n in range(3)]
        refused = [e["error"] for e in errors if not e["ok"]]
        assert refused
        assert {(e["code"], e["retryable"]) for e in refused} == {("unavailable", True)}
        assert "full" in refused[0]["message"]
        (home / "ballast").unlink()
        client.data("remember", **here, content="There is room again.")
        client.close()
        stop_owner(home)
    finally:
        subprocess.run(["umount", "-l", home], check=True)
