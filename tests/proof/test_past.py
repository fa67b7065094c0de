"""The past is exactly what a replay to that point is: what was remembered, and what would have been found."""

from __future__ import annotations

import random
import time
from functools import partial

import pytest
from proof_home import vector_of
from slw.adapters.past import Past, travels_of
from slw.adapters.replaying import replayed, time_of
from slw.adapters.store import Store
from slw.domain.errors import Unavailable

CUES = ("two reviewers", "what does Anna prefer", "the build broke", "Postgres or the old API", "release 2")
SCOPES = ("project:app", "project:web", "team:core")


@pytest.fixture
def store(lived):
    opened = Store.open(lived)
    opened.growth.wait()
    yield opened
    opened.close()


def past_at(store, position):
    while True:
        try:
            return travels_of(store).at(position)
        except Unavailable as waiting:
            if "being replayed" not in waiting.message:
                raise
            time.sleep(0.02)


def asked(store, position, operation, **arguments):
    past_at(store, position)
    envelope = store.ask("as_of", {"point": str(position), "operation": operation, "arguments": arguments})
    assert envelope["ok"], envelope
    return envelope["data"]


def compared(store, home, cases, seed):
    chance = random.Random(seed)
    for _ in range(cases):
        position = chance.randrange(1, store.memories.position())
        cue, scope = chance.choice(CUES), chance.choice(SCOPES)
        at = time_of(home / "log.db", position)
        past = past_at(store, position)
        search = partial(past.recall.search, cue, vector_of(cue), scope, as_of=past.now())
        found = store.on_engine(search)
        with replayed(home / "log.db", home / "embeddings.db", position) as (generation, told):
            again = Past(store, generation, position, at).recall.search(cue, vector_of(cue), scope, as_of=at)
            assert past.now() == at
            assert found == again, (position, cue, scope)
            assert store.on_engine(past.generation.projector.digests) == told.digests


def test_what_would_have_been_found_then_is_what_a_replay_finds(store, lived):
    compared(store, lived, 6, 1)


@pytest.mark.long
def test_a_hundred_times_what_would_have_been_found_is_what_a_replay_finds(store, lived):
    compared(store, lived, 100, 2)


def test_lists_and_states_are_of_then(store):
    middle = store.memories.position() // 2
    then, now = asked(store, middle, "status"), store.ask("status", {})["data"]
    assert then["position"] == middle < now["position"]
    assert then["memories"]["all"] < now["memories"]["all"]
    listed = asked(store, middle, "list", limit=1_000)["memories"]
    assert all(memory["provenance"]["position"] <= middle for memory in listed)
    for memory in listed[:5]:
        shown = asked(store, middle, "show", id=memory["memory_id"])
        assert shown["state"] in ("active", "needs_review")
        assert all(
            event["position"] <= middle for event in asked(store, middle, "why", id=memory["memory_id"])["events"]
        )


def test_the_past_is_only_looked_at(store):
    envelope = store.ask("as_of", {"point": "5", "operation": "remember", "arguments": {}})
    assert envelope["error"]["code"] == "invalid_input"
    before = store.memories.position()
    asked(store, 50, "recall", query="two reviewers", scope="project:app")
    assert store.memories.position() == before


def test_the_two_latest_points_stay_open(store, lived):
    for position in (10, 20, 30):
        past_at(store, position)
    assert sorted(path.name for path in (lived / "as-of").iterdir()) == ["20", "30"]
