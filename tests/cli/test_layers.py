"""The layers beneath memories on a terminal: a person's claim is an episode at once, and founds a topic."""

import json

import pytest

SCOPE = ("--scope", "project:shop")


@pytest.fixture(scope="module")
def claim(store):
    done = store("remember", "Coupons are checked before taxes are added.", *SCOPE, "--json")
    return json.loads(done.stdout)["data"]["memory_id"]


def listed(store, layer):
    """The layer, once the vector of what was just told is there."""
    for _ in range(50):
        done = store("list", "--layer", layer, *SCOPE)
        assert done.returncode == 0, done.stderr
        if done.stdout:
            return done.stdout
    return done.stderr


def test_episodes_and_prototypes_are_listed_with_their_words_and_shown_by_id(store, claim):
    episodes = listed(store, "episodes")
    assert f"ep_{claim}  Coupons are checked before taxes are added." in episodes
    assert f"proto_{claim} fine_{claim}" in episodes
    assert "1 episode(s)" in listed(store, "prototypes")
    assert "Coupons are checked" in store("show", f"proto_{claim}").stdout
    assert "Coupons are checked" in store("show", f"ep_{claim}").stdout
    assert "episodes: 1" in store("status").stdout


def test_a_layer_without_anything_says_so(store, claim):
    assert claim in listed(store, "schemas")
    assert "no procedures yet" in store("list", "--layer", "procedures", *SCOPE).stderr
