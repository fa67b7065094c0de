"""An open store in a home of its own, with the packaged embedder, and short ways to ask it."""

from __future__ import annotations

import time

import pytest
from chat_endpoint import Endpoint
from slw.adapters.embeddings import Embedder
from slw.adapters.store import Store
from tests_support import AGENT

SCOPE = "project:app"


@pytest.fixture(scope="session")
def embedder():
    return Embedder()


class Asking:
    """A store, asked as a person by `ask` and as an agent by `agent`; both give the data, or the error's code."""

    def __init__(self, home, embedder):
        self.home = home
        self.embedder = embedder
        self.store = Store.open(home, embedder=embedder)

    def reopen(self):
        self.store.close()
        self.store = Store.open(self.home, embedder=self.embedder)

    def envelope(self, operation, actor=None, **arguments):
        return self.store.ask(operation, arguments, *([actor] if actor else []))

    def ask(self, operation, actor=None, **arguments):
        envelope = self.envelope(operation, actor, **arguments)
        assert envelope["ok"], envelope
        return envelope["data"]

    def agent(self, operation, **arguments):
        return self.ask(operation, AGENT, **arguments)

    def refused(self, operation, actor=None, **arguments):
        envelope = self.envelope(operation, actor, **arguments)
        assert not envelope["ok"], envelope
        assert envelope["error"]["hint"]
        return envelope["error"]

    def session(self, scope=SCOPE):
        return self.agent("activate", task="t", initial_goal="g", scope=scope)["session_id"]

    def told(self, *contents, scope=SCOPE, **claim):
        """Ids of what a person told."""
        return [self.ask("remember", scope=scope, content=c, **claim)["memory_id"] for c in contents]

    def fields(self, memory_id):
        """Kind, state and source of one memory."""
        held = self.ask("show", id=memory_id)
        return held["memory_kind"], held["memory_kind_state"], held["memory_kind_source"]

    def until(self, true, seconds=20.0):
        """Wait until something holds; its value."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = true()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds} s")

    def run_is(self, *states, run_id=None):
        """Wait until a run is in one of these states; the run."""
        named = {"run_id": run_id} if run_id else {}

        def look():
            run = self.ask("kinds/backfill/status", **named)["run"]
            return run if run and run["state"] in states else None

        return self.until(look)

    def digest(self, table="kinds"):
        return self.store.on_engine(
            lambda: (self.store.catch_up(), self.store.generation.projector.digests()[table])[1]
        )


@pytest.fixture
def asking(tmp_path, embedder):
    held = Asking(tmp_path / "home", embedder)
    yield held
    held.store.close()


@pytest.fixture
def quiet(asking):
    """The same with nobody guessing on his own, so that a test knows every statement there is."""
    asking.ask("kinds/settings", backend="off")
    return asking


@pytest.fixture
def endpoint():
    """A chat endpoint that is there while a test runs."""
    held = Endpoint()
    yield held
    held.close()
