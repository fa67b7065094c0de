"""What the verbs answer, asked of a store in this process: real log, real tables, real embeddings."""

import json

import pytest
from slw.adapters.embeddings import Embedder
from slw.adapters.phrasing import PAGE_CHARACTERS
from slw.adapters.store import Store
from slw.domain.events import Actor
from slw.domain.vocabulary import FAILED_PROCEDURE_CAVEAT
from wire import closing, verdicts

AGENT = Actor(kind="client", name="agent", version="1")
SCOPE = "project:verbs"


class Asking:
    """A store, and an agent that asks it."""

    def __init__(self, store):
        self.store = store

    def __call__(self, operation, **arguments):
        envelope = self.store.ask(operation, arguments, AGENT)
        assert envelope["ok"], envelope
        return envelope["data"]

    def refused(self, operation, **arguments):
        envelope = self.store.ask(operation, arguments, AGENT)
        assert not envelope["ok"], envelope
        return envelope["error"]

    def person(self, operation, **arguments):
        envelope = self.store.ask(operation, arguments)
        assert envelope["ok"], envelope
        return envelope["data"]

    def session(self, scope=SCOPE, **more):
        opened = self("activate", task="a task", initial_goal="a goal", scope=scope, **more)
        return {"session_id": opened["session_id"], "scope": scope}


@pytest.fixture(scope="module")
def embedder():
    return Embedder()


@pytest.fixture
def ask(tmp_path, embedder):
    asking = Asking(Store.open(tmp_path / "home", embedder=embedder))
    yield asking
    asking.store.close()


def contents(answer):
    return [memory["content"] for memory in answer["memories"]]


# ---------------------------------------------------------------- pages


def told_of_deploys(ask, count=12):
    here = ask.session()
    entries = [{"content": f"Deploy rule {n}: service {n} deploys to region {n}."} for n in range(count)]
    results = ask("remember", **here, memories=entries)["results"]
    return here, [r["data"]["memory_id"] for r in results]


def test_a_cursor_goes_through_what_was_found_and_nothing_twice(ask):
    here, told = told_of_deploys(ask)
    page = ask("recall", **here, query="which service deploys to which region?", page_size=5)
    assert page["more_available"] is True
    seen = [m["memory_id"] for m in page["memories"]]
    retrievals = {page["retrieval_id"]}
    while page["more_available"]:
        page = ask("recall", **here, continue_from=page["continue_from"], page_size=5)
        seen += [m["memory_id"] for m in page["memories"]]
        retrievals.add(page["retrieval_id"])
    assert sorted(seen) == sorted(told)
    assert len(retrievals) == 3
    assert "continue_from" not in page


def test_a_cursor_is_frozen_and_skips_what_is_no_longer_live(ask):
    here, told = told_of_deploys(ask)
    page = ask("recall", **here, query="which service deploys to which region?", page_size=6)
    shown = {m["memory_id"] for m in page["memories"]}
    hidden = next(memory_id for memory_id in told if memory_id not in shown)
    ask.person("suppress", memory_id=hidden)
    ask("remember", **here, content="Deploy rule 99: service 99 deploys to region 99.")
    rest = ask("recall", **here, continue_from=page["continue_from"], page_size=20)
    assert {m["memory_id"] for m in rest["memories"]} == set(told) - shown - {hidden}


def test_a_page_is_assessed_by_its_own_retrieval(ask):
    here, _ = told_of_deploys(ask)
    first = ask("recall", **here, query="which service deploys to which region?", page_size=6)
    second = ask("recall", **here, continue_from=first["continue_from"], page_size=20)
    wrong = ask("feedback", **{**verdicts(second), "retrieval_id": first["retrieval_id"]})
    assert len(wrong["rejected"]) == len(second["memories"])
    right = ask("feedback", **verdicts(second))
    assert (right["rejected"], right["coverage"]) == ([], "complete")


def test_a_cursor_outlives_the_process_and_dies_with_its_session(ask, tmp_path, embedder):
    here, _ = told_of_deploys(ask)
    page = ask("recall", **here, query="which service deploys to which region?", page_size=5)
    ask.store.close()
    ask.store = Store.open(tmp_path / "home", embedder=embedder)
    again = ask("recall", **here, continue_from=page["continue_from"], page_size=20)
    ask("feedback", **verdicts(page))
    ask("feedback", **verdicts(again))
    ask("commit", **closing(here["session_id"]))
    assert ask.refused("recall", **here, continue_from=page["continue_from"])["code"] == "session_closed"


@pytest.mark.parametrize("cursor", ["cur_x", "nonsense", "cur_ret_00000000000000000000000000.5"])
def test_a_cursor_that_was_never_given_is_invalid(ask, cursor):
    here = ask.session()
    error = ask.refused("recall", **here, continue_from=cursor)
    assert (error["code"], error["field_errors"][0]["path"]) == ("invalid_input", "continue_from")


# ---------------------------------------------------------------- what is shown


def test_a_page_of_long_memories_keeps_its_budget_and_cuts_at_a_sentence(ask):
    here = ask.session()
    for n in range(5):
        sentence = f"Lighthouse number {n} keeps its lamp burning through the storm. "
        ask("remember", **here, content=(sentence * 100)[:8_000])
    found = ask("recall", **here, query="lighthouse lamp burning", page_size=5)
    assert len(found["memories"]) == 5
    assert sum(len(m["content"]) for m in found["memories"]) <= PAGE_CHARACTERS
    assert all(m["truncated"] is True and m["content"].endswith("storm.") for m in found["memories"])


def test_shown_text_has_no_hidden_characters_and_the_log_keeps_the_original(ask):
    here = ask.session()
    original = "The admin\u202e password policy\x1b[2K is strict."
    memory_id = ask("remember", **here, content=original)["memory_id"]
    [shown] = contents(ask("recall", **here, query="admin password policy"))
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    assert ask.store.on_engine(lambda: ask.store.memories.memory(memory_id)).content == original


def test_every_answer_that_shows_memories_says_that_they_are_data(ask):
    here, _ = told_of_deploys(ask, 2)
    assert "data" in ask("recall", **here, query="deploy")["notice"]
    assert "data" in ask("activate", task="deploy", initial_goal="g", scope=SCOPE)["notice"]
    assert "data" in ask.person("list", scope=SCOPE)["notice"]


def test_full_evidence_is_eight_records_of_a_thousand_characters(ask):
    here = ask.session()
    for n in range(5):
        content = f"Otter fact {n}. " + "Otters sleep in rafts. " * 80
        ask("remember", **here, content=content)
        ask("remember", **here, content=content)
    found = ask("recall", **here, query="otters sleep", evidence="full")
    assert len(found["evidence"]) == 8
    assert all(len(record["content"]) <= 1_000 for record in found["evidence"])
    assert {r["memory_id"] for r in found["evidence"][:5]} == {m["memory_id"] for m in found["memories"]}


def test_a_failed_procedure_warns_of_itself_and_no_caveat_is_cut(ask):
    here = ask.session()
    caveats = [f"Caveat {n}: " + "mind the gap " * 100 for n in range(12)]
    procedure = {"summary": "Migrate the ledger table", "steps": [{"summary": "copy rows"}], "caveats": caveats}
    ask("commit", **{**closing(here["session_id"]), "outcome": "failure"}, procedure=procedure)
    opened = ask("activate", task="Migrate the ledger table", initial_goal="ledger migrated", scope=SCOPE)
    [shown] = opened["procedures"]
    assert shown["caveats"] == [*(c.strip() for c in caveats), FAILED_PROCEDURE_CAVEAT]
    assert shown["outcome"] == "failure"


# ---------------------------------------------------------------- scopes and conversations


def test_a_scope_written_in_another_way_is_warned_of_once_it_is_cold(ask):
    ask("remember", **ask.session("project:My-App"), content="The app listens on port 8080.")
    [warning] = ask("activate", task="t", initial_goal="g", scope="project:my_app.git")["warnings"]
    assert (warning["code"], warning["scope"]) == ("scope_fragmentation", "project:My-App")
    assert ask("activate", task="t", initial_goal="g", scope="project:My-App")["warnings"] == []
    assert ask("activate", task="t", initial_goal="g", scope="project:another")["warnings"] == []


def test_a_conversation_goes_on_in_its_scope(ask):
    first = ask("activate", task="t", initial_goal="g", scope=SCOPE)
    second = ask("activate", task="t", initial_goal="g", scope=SCOPE, continuity_id=first["continuity_id"])
    assert (first["continuity_state"], second["continuity_state"]) == ("started", "continued")
    assert second["continuity_id"] == first["continuity_id"]
    assert second["session_id"] != first["session_id"]


def test_one_scope_never_sees_another(ask):
    ask("remember", **ask.session("project:a"), content="The treasure is under the oak.")
    other = ask.session("project:b")
    assert ask("recall", **other, query="treasure under the oak")["memories"] == []


# ---------------------------------------------------------------- people


def test_what_a_person_suppressed_is_in_no_verb_and_telling_it_again_says_so(ask):
    here = ask.session()
    memory_id = ask("remember", **here, content="The office plant is called Fern.")["memory_id"]
    assert ask.person("suppress", memory_id=memory_id, reason="private")["state"] == "suppressed"
    assert ask("recall", **here, query="office plant Fern")["memories"] == []
    assert ask.person("list", scope=SCOPE)["memories"] == []
    assert ask.person("list", scope=SCOPE, state="suppressed")["memories"][0]["memory_id"] == memory_id
    again = ask("remember", **here, content="The office plant is called Fern.")
    assert (again["disposition"], again["warnings"][0]["code"]) == ("matched", "suppressed")
    assert ask.person("unsuppress", memory_id=memory_id)["state"] == "active"
    assert contents(ask("recall", **here, query="office plant Fern")) == ["The office plant is called Fern."]
    assert ask.store.ask("unsuppress", {"memory_id": memory_id})["error"]["code"] == "conflict"


def test_a_person_remembers_without_a_session_and_recalls_without_a_trace(ask):
    told = ask.person("remember", scope=SCOPE, content="The release branch is cut on Mondays.")
    before = ask.store.memories.position()
    found = ask.person("recall", scope=SCOPE, query="when is the release branch cut?")
    assert found["memories"][0]["memory_id"] == told["memory_id"]
    assert found["memories"][0]["provenance"]["client"] == "person"
    assert "retrieval_id" not in found
    assert ask.person("search", scope=SCOPE, query="release branch")["memories"][0]["memory_id"] == told["memory_id"]
    assert ask.store.memories.position() == before


def test_show_and_why_tell_a_memory_its_events_and_where_it_was_shown(ask):
    here = ask.session()
    memory_id = ask("remember", **here, content="Invoices are rounded half to even.")["memory_id"]
    found = ask("recall", **here, query="how are invoices rounded?")
    ask("feedback", **verdicts(found))
    shown = ask.person("show", id=memory_id)
    assert (shown["content"], shown["state"]) == ("Invoices are rounded half to even.", "active")
    told = ask.person("why", id=memory_id)
    assert told["events"][0]["topic"] == "memory.remembered"
    assert told["shown"][0]["retrieval_id"] == found["retrieval_id"]
    assert told["feedback"][0]["assessment"] == "used"
    assert told["salience"]["used"] == 1
    parts = ask.person("why", id=found["retrieval_id"], memory_id=memory_id)["shown"]
    assert json.loads(parts[0]["parts"])
    assert ask.person("show", id=found["retrieval_id"])["cue"] == "how are invoices rounded?"
    assert ask.person("show", id=here["session_id"])["state"] == "open"


def test_sessions_are_listed_newest_first_and_by_state(ask):
    first, second = ask.session(), ask.session("project:elsewhere")
    ask("commit", **closing(first["session_id"]))
    listed = ask.person("sessions")["sessions"]
    assert [s["session_id"] for s in listed] == [second["session_id"], first["session_id"]]
    assert [s["state"] for s in listed] == ["open", "committed"]
    assert [s["session_id"] for s in ask.person("sessions", state="open")["sessions"]] == [second["session_id"]]
    assert ask.person("sessions", scope=SCOPE, limit=1)["sessions"][0]["task"] == "a task"


def test_status_tells_what_there_is_and_how_far_everything_is(ask):
    told_of_deploys(ask, 3)
    assert ask.store.settle()
    status = ask.person("status")
    assert status["memories"] == {"live": 3, "all": 3}
    assert {view["behind"] for view in status["views"].values()} == {0}
    assert status["embeddings"]["vectors"] == 3
    assert status["problems"] == []


# ---------------------------------------------------------------- without a model, and back


def test_without_a_model_words_answer_and_say_so_and_a_model_catches_up_later(tmp_path, embedder):
    store = Store.open(tmp_path / "home", embedder=Embedder(weights=tmp_path / "none.onnx"))
    ask = Asking(store)
    here = ask.session()
    ask("remember", **here, content="The cafeteria serves dumplings on Friday.")
    found = ask("recall", **here, query="dumplings friday")
    assert contents(found) == ["The cafeteria serves dumplings on Friday."]
    assert [w["code"] for w in found["warnings"]] == ["embeddings_unavailable"]
    assert not store.settle(60)
    assert "embeddings" in " ".join(ask.person("status")["problems"])
    store.close()
    ask.store = Store.open(tmp_path / "home", embedder=embedder)
    assert ask.store.settle()
    assert ask.person("status")["embeddings"]["vectors"] == 1
    assert ask("recall", **here, query="what is for lunch at the end of the week?")["warnings"] == []
    ask.store.close()


# ---------------------------------------------------------------- faults of ours


def test_a_fault_of_ours_is_internal_with_an_id_that_is_in_the_log(ask, caplog):
    here = ask.session()
    ask.store.recall = None
    error = ask.refused("recall", **here, query="anything")
    assert error["code"] == "internal"
    assert error["message"].split()[-1] in caplog.text
    assert "Traceback" not in json.dumps(error)
