from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import Life
from projections_support import Told
from slw.adapters.log import LogReader, log_environment
from slw.consolidation.policy import FoldPolicy, ReadPolicy
from slw.domain.events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimReinstated,
    ClaimRetired,
    ClaimSuppressed,
    Compensated,
    ContentErased,
    KindSuggested,
)
from slw.domain.memories import Memories
from slw.projections.projector import Positioned
from slw.projections.stages import Stages
from tests_support import Clock, numbered_ids

TEXT = "Tests run against a real database"


def vectors_of(texts):
    """A vector for each text, drawn from its hash: equal texts are equal, others have nothing in common."""
    seeds = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") for text in texts)
    rows = [np.random.default_rng(seed).standard_normal(384).astype(np.float32) for seed in seeds]
    return [row / np.linalg.norm(row) for row in rows]


def stages(home, facts, page=1_000, name="stages"):
    view = Stages(home / f"{name}-{page}.sqlite", "space", FoldPolicy(), vectors_of)
    for start in range(0, len(facts), page):
        view.apply(facts[start : start + page])
        view.flush()
    return view


def tell_in(told, scope, content=TEXT, *, committed=True):
    """The claim told in a session of a scope; returns the memory."""
    number = len(told.facts)
    memory, session = f"mem_{number}", f"sess_{number}"
    told.activate(session, scope=scope)
    told.remember(memory, content, session, scope=scope)
    if committed:
        told.commit(session, scope=scope)
    return memory


def judge_in(told, scope, memory, word="used"):
    session = f"sess_{len(told.facts)}"
    told.activate(session, scope=scope)
    version = told.judge(f"ret_{session}", session, **{memory: word})
    told.commit(session, scope=scope)
    return session, version


@pytest.fixture
def told():
    return Told()


def test_the_oldest_of_the_twins_carries_the_stage_and_hides_the_others(told, tmp_path):
    first = tell_in(told, "project:a")
    second = tell_in(told, "project:b", f"  {TEXT.upper()} ")
    view = stages(tmp_path, told.facts)
    assert (view.stage_of(first), view.stage_of(second)) == ("portable", "scoped")
    assert view.visible("project:b", ReadPolicy()) == ({first: 1.0}, {second})
    assert view.visible("project:c", ReadPolicy()) == ({first: 1.0}, {second})
    assert view.visible("team:core", ReadPolicy()) == ({}, frozenset())
    assert view.story(first)["told_in"] == ["project:a", "project:b"]


def test_in_a_store_of_one_scope_nothing_is_ever_seen_elsewhere(told, tmp_path):
    for _ in range(20):
        memory = tell_in(told, "project:a", f"{TEXT} {len(told.facts)}")
        judge_in(told, "project:a", memory)
    view = stages(tmp_path, told.facts)
    assert view.visible("project:new", ReadPolicy()) == ({}, frozenset())
    assert view.counts() == {"portable": 0, "contextual": 0, "global": 0}


def test_being_used_elsewhere_widens_and_being_irrelevant_there_narrows(told, tmp_path):
    first = tell_in(told, "project:a")
    tell_in(told, "project:b")
    for scope in "cdefgh":
        judge_in(told, f"project:{scope}", first)
    assert stages(tmp_path, told.facts, name="wide").stage_of(first) == "global"
    judge_in(told, "project:i", first, "irrelevant")
    assert stages(tmp_path, told.facts, name="less").stage_of(first) == "contextual"


def test_a_verdict_that_was_taken_back_is_no_evidence(told, tmp_path):
    first = tell_in(told, "project:a")
    tell_in(told, "project:b")
    judge_in(told, "project:c", first)
    session, version = judge_in(told, "project:d", first)
    assert stages(tmp_path, told.facts, name="with").stage_of(first) == "contextual"
    again = told.withdraw(version, first, session=session)
    assert stages(tmp_path, told.facts, name="without").stage_of(first) == "portable"
    told.withdraw(again, first, session=session)
    assert stages(tmp_path, told.facts, name="again").stage_of(first) == "contextual"


def test_a_twin_that_is_retired_is_no_evidence_until_it_is_reinstated(told, tmp_path):
    first, second = tell_in(told, "project:a"), tell_in(told, "project:b")
    version = told.tell(ClaimRetired, second, reason="outdated", explanation="it moved on")
    assert stages(tmp_path, told.facts, name="retired").stage_of(first) == "scoped"
    told.tell(ClaimReinstated, second, compensates=Compensated(stream=second, version=version))
    assert stages(tmp_path, told.facts, name="again").stage_of(first) == "portable"


def test_where_the_oldest_is_hidden_by_a_person_the_next_one_carries(told, tmp_path):
    first, second = tell_in(told, "project:a"), tell_in(told, "project:b")
    third = tell_in(told, "project:c")
    told.tell(ClaimSuppressed, first)
    view = stages(tmp_path, told.facts)
    assert (view.stage_of(second), view.stage_of(third)) == ("portable", "scoped")
    assert first not in view.visible("project:d", ReadPolicy())[0]


def test_a_person_promotes_and_pins(told, tmp_path):
    memory = tell_in(told, "project:a")
    told.tell(ClaimPromoted, memory, stage="contextual")
    assert stages(tmp_path, told.facts, name="up").visible("team:x", ReadPolicy())[0] == {memory: 0.7}
    told.tell(ClaimPinned, memory, stage="global")
    assert stages(tmp_path, told.facts, name="pin").visible("team:x", ReadPolicy())[0] == {memory: 1.0}
    told.tell(ClaimPinned, memory, stage=None)
    assert stages(tmp_path, told.facts, name="off").stage_of(memory) == "contextual"


def test_near_twins_must_be_of_one_kind(tmp_path):
    def near(texts):
        return vectors_of(["one and the same" for _ in texts])

    for kind, stage in (("rule", "scoped"), ("semantic", "portable")):
        told = Told()
        first, second = tell_in(told, "project:a", "Deploys go out on Tuesdays"), ""
        told.tell(KindSuggested, first, kind="semantic", source="rules", confidence=0.9)
        second = tell_in(told, "project:b", "Deployments go out on Tuesday")
        told.tell(KindSuggested, second, kind=kind, source="rules", confidence=0.9)
        view = Stages(tmp_path / f"{kind}.sqlite", "space", FoldPolicy(), near)
        view.apply(told.facts)
        assert view.stage_of(first) == stage


def test_erasing_a_founder_groups_the_others_as_if_it_had_never_been_told(told, tmp_path):
    first = tell_in(told, "project:a")
    tell_in(told, "project:b")
    tell_in(told, "project:c")
    told.tell(ContentErased, first, positions=(2,))
    live = stages(tmp_path, told.facts, name="live")
    blanked = [
        Positioned(p, fact.model_copy(update={"content": ""}))
        if fact.originator_id == first and p == 2
        else Positioned(p, fact)
        for p, fact in told.facts
    ]
    assert live.digest() == stages(tmp_path, blanked, name="grown").digest()
    assert live.stage_of(first) == "scoped"


def test_without_a_vector_it_waits_and_goes_on_from_there(told, tmp_path):
    first = tell_in(told, "project:a")
    tell_in(told, "project:b")
    there = []
    view = Stages(
        tmp_path / "late.sqlite",
        "space",
        FoldPolicy(),
        lambda texts: vectors_of(texts) if there else [None] * len(texts),
    )
    view.apply(told.facts)
    assert view.position == 1
    there.append(True)
    view.apply(told.facts)
    assert (view.position, view.stage_of(first)) == (len(told.facts), "portable")


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_live_rebuilt_and_reopened_come_to_the_same_rows(seed, tmp_path_factory):
    home = tmp_path_factory.mktemp("life")
    clock = Clock()
    with Memories(log_environment(home / "log.db"), clock=clock, ids=numbered_ids()) as memories:
        Life(memories, clock, seed).steps(60)
    reader = LogReader(home / "log.db")
    facts = [Positioned(*found) for found in reader.read(0, 100_000)]
    reader.close()
    views = [stages(home, facts, page) for page in (1, 7, 1_000)]
    assert views[0].digest() == views[1].digest() == views[2].digest()
    views[1].apply(facts)
    views[1].close()
    again = Stages(home / "stages-7.sqlite", "space", FoldPolicy(), vectors_of)
    assert again.digest() == views[0].digest()
    for view in (views[0], views[2], again):
        view.close()
