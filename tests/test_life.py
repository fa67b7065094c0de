"""Random lives of a store against a plain model: what is told is found, what ended stays away, a rebuild is equal.

`pytest -m long tests/test_life.py` lives 100 of them; the default run 10.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from slw.adapters.embeddings import Embedder
from slw.adapters.store import Store

SCOPES = ("project:app", "project:app-2", "project:App")
TEXTS = (
    "The staging database is Postgres 16 on port 5433.",
    "Deploys happen on Tuesdays after the smoke tests are green.",
    "Never push to main without a review.",
    "Alice prefers tabs over spaces in Go files.",
    "The payment gateway retries three times before it gives up.",
    "We chose Redis streams over Kafka for the job queue.",
    "The release branch is cut every second Friday.",
    "Feature flags live in config/flags.yaml.",
    "The login page leaks a file descriptor under load.",
    "Backups run at four in the morning to the Oslo bucket.",
)
EMBEDDER = Embedder()


@dataclass
class Told:
    """A claim as the model holds it."""

    memory_id: str
    scope: str
    text: str
    live: bool = True
    suppressed: bool = False

    @property
    def shown(self) -> bool:
        return self.live and not self.suppressed


@dataclass
class Session:
    session_id: str
    scope: str
    open: bool = True
    exposed: dict[str, set[str]] = field(default_factory=dict)  # retrieval -> ids that want a verdict
    assessed: set[str] = field(default_factory=set)


class Life(RuleBasedStateMachine):
    """One store, several agents, a person, crashes and rebuilds."""

    @initialize()
    def begin(self):
        self.home = Path(tempfile.mkdtemp(prefix="slw-life-"))
        self.store = Store.open(self.home, embedder=EMBEDDER)
        self.told: list[Told] = []
        self.sessions: list[Session] = []

    def ask(self, operation, **arguments):
        return self.store.ask(operation, arguments)

    def ok(self, operation, **arguments):
        answer = self.ask(operation, **arguments)
        assert answer["ok"], answer
        return answer["data"]

    def live_twin(self, scope, text):
        return next((t for t in self.told if t.live and t.scope == scope and t.text == text), None)

    def check_shown(self, scope, memories):
        by_id = {t.memory_id: t for t in self.told}
        for memory in memories:
            told = by_id[memory["memory_id"]]
            assert told.shown and told.scope == scope
            assert memory["content"] == told.text

    @rule(scope=st.sampled_from(SCOPES), task=st.sampled_from(TEXTS))
    def activate(self, scope, task):
        data = self.ok("activate", task=task, initial_goal="find out", scope=scope)
        self.check_shown(scope, data["memories"])
        remembered = any(t.shown and t.scope == scope for t in self.told)
        assert data["memory_state"] == ("available" if remembered else "cold_start")
        session = Session(data["session_id"], scope)
        session.exposed[data["retrieval_id"]] = {m["memory_id"] for m in data["memories"]}
        self.sessions.append(session)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), text=st.sampled_from(TEXTS))
    def remember(self, data, text):
        session = data.draw(st.sampled_from(self.sessions))
        answer = self.ask("remember", session_id=session.session_id, scope=session.scope, content=text)
        if not session.open:
            assert answer["error"]["code"] == "session_closed"
            return
        twin = self.live_twin(session.scope, text)
        assert answer["data"]["disposition"] == ("matched" if twin else "created")
        if twin:
            assert answer["data"]["memory_id"] == twin.memory_id
        else:
            self.told.append(Told(answer["data"]["memory_id"], session.scope, text))

    @precondition(lambda self: any(s.open for s in self.sessions) and any(t.live for t in self.told))
    @rule(data=st.data(), text=st.sampled_from(TEXTS))
    def replace(self, data, text):
        session = data.draw(st.sampled_from([s for s in self.sessions if s.open]))
        old = data.draw(st.sampled_from([t for t in self.told if t.live]))
        answer = self.ask(
            "remember", session_id=session.session_id, scope=session.scope, content=text, replaces=old.memory_id
        )
        twin = self.live_twin(session.scope, text)
        if old.scope != session.scope:
            assert answer["error"]["code"] == "scope_mismatch"
        elif twin is old:
            assert answer["error"]["code"] == "invalid_input"
        else:
            old.live = False
            if not twin:
                self.told.append(Told(answer["data"]["memory_id"], session.scope, text))

    @precondition(lambda self: any(s.open for s in self.sessions))
    @rule(data=st.data(), text=st.sampled_from(TEXTS))
    def recall(self, data, text):
        session = data.draw(st.sampled_from([s for s in self.sessions if s.open]))
        answer = self.ok("recall", session_id=session.session_id, scope=session.scope, query=text, page_size=20)
        self.check_shown(session.scope, answer["memories"])
        twin = self.live_twin(session.scope, text)
        if twin and twin.shown:
            assert twin.memory_id in {m["memory_id"] for m in answer["memories"]}
        session.exposed[answer["retrieval_id"]] = {m["memory_id"] for m in answer["memories"]}

    @precondition(lambda self: any(ids for s in self.sessions for ids in s.exposed.values()))
    @rule(data=st.data(), verdict=st.sampled_from(("used", "irrelevant", "stale", "already_known")))
    def feedback(self, data, verdict):
        session = data.draw(st.sampled_from([s for s in self.sessions if any(s.exposed.values())]))
        retrieval = data.draw(st.sampled_from([r for r, ids in session.exposed.items() if ids]))
        memory_id = data.draw(st.sampled_from(sorted(session.exposed[retrieval])))
        reason = {"stale_reason": "outdated", "reason": "moved on"} if verdict == "stale" else {}
        item = {"memory_id": memory_id, "assessment": verdict, **reason}
        answer = self.ok("feedback", retrieval_id=retrieval, memory_feedback=[item])
        assert answer["accepted"] == [memory_id]
        session.assessed.add(memory_id)
        told = next(t for t in self.told if t.memory_id == memory_id)
        [applied] = answer["applied"]
        effect = applied["change"] if "change" in applied else applied["effect"]
        if effect == "retired":
            told.live = False
        elif effect == "reinstated":
            told.live = True

    @precondition(lambda self: any(s.open for s in self.sessions))
    @rule(data=st.data())
    def commit(self, data):
        session = data.draw(st.sampled_from([s for s in self.sessions if s.open]))
        answer = self.ask(
            "commit",
            session_id=session.session_id,
            final_goal="done",
            outcome="success",
            outcome_summary="it works",
            verification={"status": "verified", "summary": "tried"},
        )
        waiting = set().union(*session.exposed.values()) - session.assessed
        if waiting:
            assert answer["error"]["code"] == "incomplete_feedback"
            named = {m for o in answer["error"]["outstanding"] for m in o["memory_ids"]}
            assert named == waiting
        else:
            assert answer["ok"]
            session.open = False

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def suppress_or_show(self, data):
        told = data.draw(st.sampled_from(self.told))
        self.ok("unsuppress" if told.suppressed else "suppress", memory_id=told.memory_id)
        told.suppressed = not told.suppressed

    @rule()
    def crash(self):
        """The home as it lies on the disk at this very moment goes on; whatever was only in memory is gone."""
        image = Path(tempfile.mkdtemp(prefix="slw-life-")) / "home"
        shutil.copytree(self.home, image, ignore=shutil.ignore_patterns("*.sock", "owner.lock"))
        self.store.close()
        shutil.rmtree(self.home)
        self.home = image
        self.store = Store.open(self.home, embedder=EMBEDDER)

    def digests(self, store):
        assert store.settle()
        return store.on_engine(store.generation.projector.digests)

    @invariant()
    def nothing_failed(self):
        if hasattr(self, "store"):
            assert not self.store.generation.projector.failures

    def teardown(self):
        if not hasattr(self, "store"):
            return
        live = self.digests(self.store)
        self.store.close()
        for grown in self.home.glob("gen-*"):
            shutil.rmtree(grown)
        (self.home / "CURRENT").unlink()
        rebuilt = Store.open(self.home, embedder=EMBEDDER)
        try:
            assert self.digests(rebuilt) == live
        finally:
            rebuilt.close()
            shutil.rmtree(self.home)


quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
Life.TestCase.settings = settings(
    max_examples=10, stateful_step_count=25, deadline=None, suppress_health_check=quiet, derandomize=True
)
TestLife = Life.TestCase


class LongLife(Life):
    """The same, longer and more often."""


LongLife.TestCase.settings = settings(
    max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=quiet
)
TestLongLife = pytest.mark.long(LongLife.TestCase)
