"""Read models are grown anew beside the live ones; whatever happens on the way, the live ones answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from slw.adapters.store import Store
from slw.adapters.upkeep import keep_the_others
from slw.adapters.verifying import current_name, verify
from slw.domain.errors import Conflict


@pytest.fixture
def store(lived):
    opened = Store.open(lived)
    opened.growth.wait()
    yield opened
    opened.close()


def rebuilt(store, *projections):
    store.on_engine(lambda: store.growth.rebuild(lambda folder: keep_the_others(store, list(projections), folder)))
    while store.growth.rebuilding:
        time.sleep(0.01)
    return store.growth.rebuilt


def digests(store):
    return store.on_engine(lambda: (store.catch_up(), store.generation.projector.digests())[1])


@pytest.mark.parametrize("projections", [(), ("tables",), ("words",), ("vectors",), ("tables", "words")])
def test_a_new_generation_stands_in_the_place_of_the_old_and_is_the_same(store, lived, projections):
    before, name = digests(store), current_name(lived)
    assert rebuilt(store, *projections) == current_name(lived) != name
    assert digests(store) == before
    assert (lived / name).is_dir()


def test_the_one_before_can_be_read_again(store, lived):
    first = current_name(lived)
    with pytest.raises(Conflict):
        store.on_engine(store.growth.go_back)
    second = rebuilt(store)
    assert store.on_engine(store.growth.go_back) == first == current_name(lived)
    assert store.on_engine(store.growth.go_back) == second


def test_the_store_answers_while_it_is_rebuilt(store):
    store.on_engine(lambda: store.growth.rebuild(lambda _: None))
    asked = 0
    while store.growth.rebuilding:
        assert store.ask("status", {})["ok"]
        asked += 1
    assert asked and store.ask("list", {"limit": 5})["data"]["memories"]


KILLED = """
import sys
from slw.adapters.store import Store
store = Store.open(sys.argv[1])
store.growth.wait()
store.on_engine(lambda: store.growth.rebuild(lambda _: None))
print("begun", flush=True)
while store.growth.rebuilding:
    pass
print("done", flush=True)
"""


@pytest.mark.parametrize("rounds", [4, pytest.param(30, marks=pytest.mark.long)])
def test_killed_in_the_middle_the_live_one_is_untouched_and_the_rest_is_cleaned_up(lived, rounds):
    for round_ in range(rounds):
        before = current_name(lived)
        started = subprocess.Popen([sys.executable, "-c", KILLED, str(lived)], stdout=subprocess.PIPE, text=True)
        started.stdout.readline()
        time.sleep(0.02 * (round_ % 10))
        os.kill(started.pid, signal.SIGKILL)
        after = current_name(lived)
        started.wait()
        assert after == before or (lived / after / "manifest.json").exists()
        store = Store.open(lived)
        store.growth.wait()
        store.close()
        names = {path.name for path in lived.glob("gen-*")}
        assert current_name(lived) in names and len(names) <= 2
    seen = verify(lived)
    assert seen.whole, (seen.findings, seen.differences)
