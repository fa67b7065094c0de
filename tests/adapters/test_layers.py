"""What sessions turn into, seen through a store with real embeddings: what people list, and what agents recall."""

import pytest
from slw.adapters.embeddings import Embedder
from slw.adapters.store import Store
from slw.domain.events import Actor

AGENT = Actor(kind="client", name="agent", version="1")
SCOPE = "project:layers"
ENDING = {
    "final_goal": "Ship the release",
    "outcome": "success",
    "outcome_summary": "The release is out.",
    "verification": {"status": "verified", "summary": "seen"},
}
DEPLOYS = (
    "Deployments to production go through the staging cluster first.",
    "Every production deployment first runs on the staging cluster.",
)
COFFEE = "The coffee machine on the third floor is cleaned by Petra."


class Working:
    """A store, and an agent that works in it."""

    def __init__(self, store):
        self.store = store

    def __call__(self, operation, actor=AGENT, **arguments):
        envelope = self.store.ask(operation, arguments, actor)
        assert envelope["ok"], envelope
        return envelope["data"]

    def person(self, operation, **arguments):
        return self(operation, Actor(kind="person", name="anna"), **arguments)

    def open(self, scope=SCOPE):
        opened = self("activate", task="a task", initial_goal="look around", scope=scope)
        return {"session_id": opened["session_id"], "scope": scope}, opened

    def tells(self, *contents, scope=SCOPE):
        """A session that tells these and is committed; the ids."""
        here, _ = self.open(scope)
        told = [self("remember", **here, content=content)["memory_id"] for content in contents]
        self.judge_all(here["session_id"], {})
        self("commit", session_id=here["session_id"], **ENDING)
        assert self.store.settle()
        return told

    def judge_all(self, session_id, words):
        """Verdicts on everything the session was shown: those in `words`, else irrelevant."""
        for held in self.store.memories.session(session_id).outstanding():
            verdicts = [{"memory_id": m, "assessment": words.get(m, "irrelevant")} for m in held["memory_ids"]]
            self("feedback", retrieval_id=held["retrieval_id"], memory_feedback=verdicts)

    def found(self, query):
        answer = self.person("search", query=query, scope=SCOPE)
        return {memory["memory_id"]: memory for memory in answer["memories"]}


@pytest.fixture(scope="module")
def embedder():
    return Embedder()


@pytest.fixture
def work(tmp_path, embedder):
    working = Working(Store.open(tmp_path / "home", embedder=embedder))
    yield working
    working.store.close()


def test_every_layer_can_be_listed_and_shown(work):
    one, two, other = work.tells(*DEPLOYS, COFFEE)
    listed = work.person("list", layer="episodes", scope=SCOPE)
    assert [episode["of"] for episode in listed["episodes"]] == ["outcome", "claim", "claim", "claim"]
    assert listed["episodes"][0]["content"] == "Ship the release\nThe release is out."
    assert listed["episodes"][1]["content"] == COFFEE
    topics = work.person("list", layer="prototypes", scope=SCOPE)["prototypes"]
    assert topics[0]["prototype_id"] == f"proto_{one}"
    assert topics[0]["content"] == DEPLOYS[0]
    assert [m["memory_id"] for m in work.person("list", layer="schemas")["memories"]] == [other, two, one]
    assert work.person("list", layer="procedures")["procedures"] == []
    for thing in ("episode_id", "memory_id", "session_id"):
        assert work.person("show", id=listed["episodes"][1].get(thing, one))
    topic = work.person("show", id=topics[0]["prototype_id"])
    assert topic["episodes"] == len(topic["last_episodes"])


def test_claims_of_one_topic_share_a_prototype_and_others_do_not(work):
    one, two, other = work.tells(*DEPLOYS, COFFEE)
    coarse = {e.get("memory_id"): e["prototypes"][0] for e in work.person("list", layer="episodes")["episodes"]}
    assert coarse[one] == coarse[two] != coarse[other]
    tied = {tie["memory_id"]: tie["ways"] for tie in work.person("show", id=one)["associated"]}
    assert tied == {two: ["semantic", "temporal"]}


def test_status_counts_what_has_formed_and_what_waits(work):
    here, _ = work.open()
    work("remember", **here, content=COFFEE)
    work.store.settle()
    before = work.person("status")["consolidation"]
    assert (before["episodes"], before["claims_waiting"]) == (0, 1)
    work("commit", session_id=here["session_id"], **ENDING)
    work.store.settle()
    status = work.person("status")
    assert status["consolidation"]["episodes"] == 2
    assert status["consolidation"]["claims_waiting"] == 0
    assert "last" in status["consolidation"]
    assert status["views"]["consolidated"]["behind"] == 0


def test_what_was_of_use_together_comes_to_mind_and_says_so(work):
    [deploy] = work.tells(DEPLOYS[0])
    [coffee] = work.tells(COFFEE)
    asked = "How do deployments reach production?"
    assert coffee not in work.found(asked)
    here, _ = work.open()
    work("recall", **here, query=f"{DEPLOYS[0]} {COFFEE}")
    work.judge_all(here["session_id"], {deploy: "used", coffee: "used"})
    work("commit", session_id=here["session_id"], **ENDING)
    work.store.settle()
    found = work.found(asked)
    assert list(found) == [deploy, coffee]
    assert (found[deploy]["pathway"], found[coffee]["pathway"]) == ("direct", "associated")
    assert found[coffee]["why"] == "was used together with one of these"


def test_what_is_associated_and_no_longer_live_does_not_come_to_mind(work):
    test_what_was_of_use_together_comes_to_mind_and_says_so(work)
    [coffee] = [m["memory_id"] for m in work.person("list")["memories"] if m["content"] == COFFEE]
    work.person("suppress", memory_id=coffee, reason="not about work")
    assert coffee not in work.found("How do deployments reach production?")


def test_nothing_comes_to_mind_beside_nothing(work):
    work.tells(DEPLOYS[0], COFFEE)
    assert work.found("Which composer wrote the opera about the flying Dutchman?") == {}
