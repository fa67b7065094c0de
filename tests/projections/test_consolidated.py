"""A closed session turns into episodes, prototypes and associations; given facts, then rows."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projections_support import SCOPE, Told
from slw.consolidation.associations import ways_of
from slw.consolidation.policy import FoldPolicy
from slw.domain.events import ContentErased, SessionExpired
from slw.projections.columns import micros
from slw.projections.consolidated import Consolidated
from slw.projections.projector import Damaged
from tests_support import PERSON

POLICY = FoldPolicy()
TOPICS = 4
EPISODES = """
SELECT e.*, s.scope AS named FROM episodes e JOIN scopes s ON s.no = e.scope
WHERE formed_at IS NOT NULL ORDER BY e.no"""


@cache
def vector_of(text: str) -> np.ndarray:
    """A unit vector near that of the text's topic, which is the number at its end."""
    digits = "".join(c for c in text if c.isdigit()) or "0"
    topic = np.random.default_rng(int(digits) % TOPICS).normal(size=384)
    own = np.random.default_rng(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)).normal(size=384)
    row = topic + 0.7 * own
    return (row / np.linalg.norm(row)).astype(np.float16).astype(np.float32)


def vectors_of(texts: Sequence[str]) -> list[np.ndarray | None]:
    return [vector_of(text) for text in texts]


@pytest.fixture
def view(tmp_path: Path):
    made: list[Consolidated] = []
    number = count()

    def opened(name: str = "", vectors=vectors_of) -> Consolidated:
        made.append(Consolidated(tmp_path / (name or f"{next(number)}.sqlite"), "space", POLICY, vectors))
        return made[-1]

    yield opened
    for one in made:
        with suppress(sqlite3.ProgrammingError):  # a test may have closed it
            one.close()


@pytest.fixture
def told() -> Told:
    return Told()


def lived(told: Told, session: str, memories: Sequence[int], scope: str = SCOPE, used: Sequence[int] = ()) -> None:
    """A session that tells some memories, and finds some useful together."""
    told.activate(session, scope=scope)
    for n in memories:
        told.remember(f"mem_{scope[-1]}{n}", f"about {n}", session=session, scope=scope)
    if used:
        ids = [f"mem_{scope[-1]}{n}" for n in used]
        told.recall(f"ret_{session}", *ids, session=session)
        told.judge(f"ret_{session}", session=session, **dict.fromkeys(ids, "used"))
    told.commit(session, scope=scope, final_goal=f"goal {len(told.facts)}")
    told.passes(hours=5)


def episodes(view: Consolidated) -> list[str]:
    return [(row["memory_id"] or row["session_id"]) for row in view.rows(EPISODES)]


def edges(view: Consolidated, memory_id: str) -> dict[str, list[str]]:
    """The ways to each memory that is tied to one."""
    named = {row["no"]: row["memory_id"] for row in view.rows("SELECT no, memory_id FROM episodes")}
    [no] = [no for no, name in named.items() if name == memory_id]
    return {named[edge.to]: ways_of(edge) for edge in view.edges_of(no)}


# ---------------------------------------------------------------- episodes


def test_a_commit_forms_one_episode_for_each_claim_and_one_for_how_it_ended(told, view):
    told.activate()
    told.remember("mem_1")
    told.remember("mem_2")
    held = view()
    held.apply(told.facts)
    assert episodes(held) == []
    told.commit()
    held.apply(told.facts)
    assert episodes(held) == ["mem_1", "mem_2", "sess_1"]
    rows = held.rows(EPISODES)
    assert {(row["named"], row["session_id"], row["salience"], row["formed_at"]) for row in rows} == {
        (SCOPE, "sess_1", 1.0, micros(told.at))
    }


def test_what_a_person_tells_becomes_an_episode_at_once(told, view):
    told.remember("mem_1", session="", actor=PERSON)
    held = view()
    held.apply(told.facts)
    assert episodes(held) == ["mem_1"]


def test_an_expired_session_that_is_committed_later_adds_only_how_it_ended(told, view):
    told.activate()
    told.remember("mem_1")
    told.tell(SessionExpired, "sess_1", scope=SCOPE, idle_since=told.at)
    held = view()
    held.apply(told.facts)
    assert episodes(held) == ["mem_1"]
    told.commit()
    held.apply(told.facts)
    held.apply(told.facts)
    assert episodes(held) == ["mem_1", "sess_1"]


def test_a_claim_whose_vector_is_not_there_yet_keeps_the_view_waiting_before_it(told, view):
    told.activate()
    told.remember("mem_1")
    told.commit()
    vectors: list[np.ndarray | None] = [None]
    held = view(vectors=lambda texts: vectors * len(texts))
    held.apply(told.facts)
    assert held.position == 1
    vectors[:] = [vector_of("anything")]
    held.apply(told.facts)
    assert (held.position, episodes(held)) == (3, ["mem_1", "sess_1"])


def test_a_claim_that_was_erased_is_an_episode_without_words_or_place(told, view):
    told.activate()
    told.remember("mem_1", "")
    told.remember("mem_2")
    told.tell(ContentErased, "mem_2", positions=(3,))
    told.commit()
    held = view(vectors=lambda texts: [vector_of(text) for text in texts if text])
    told.facts[1] = told.facts[1]._replace(fact=told.facts[1].fact.model_copy(update={"content": ""}))
    held.apply(told.facts)
    assert [row["coarse"] for row in held.rows(EPISODES)][:2] == [None, None]


# ---------------------------------------------------------------- prototypes


def test_like_episodes_share_a_prototype_named_after_the_one_that_founded_it(told, view):
    lived(told, "sess_1", [0, TOPICS, 2 * TOPICS, 1])
    held = view()
    held.apply(told.facts)
    first = held.rows("SELECT no, coarse FROM episodes WHERE of = 'claim' ORDER BY no")
    assert [row["coarse"] for row in first] == [first[0]["no"]] * 3 + [first[3]["no"]]
    [members] = held.rows("SELECT members FROM prototypes WHERE level = 0 AND no = ?", [first[0]["no"]])
    assert members["members"] >= 3


def test_a_centroid_is_the_mean_of_its_episodes(told, view):
    lived(told, "sess_1", range(12))
    held = view()
    held.apply(told.facts)
    for row in held.rows("SELECT * FROM prototypes WHERE level = 0 AND members > 1"):
        of = held.rows("SELECT vector FROM episodes WHERE coarse = ?", [row["no"]])
        mean = np.mean([np.frombuffer(e["vector"], "<f2").astype(np.float64) for e in of], axis=0)
        assert len(of) == row["members"]
        assert np.frombuffer(row["total"], "<f8") / row["members"] == pytest.approx(mean)


# ---------------------------------------------------------------- associations


def test_memories_told_one_after_the_other_are_tied(told, view):
    lived(told, "sess_1", [0, 1, 2])
    held = view()
    held.apply(told.facts)
    assert edges(held, "mem_p1") == {"mem_p0": ["temporal"], "mem_p2": ["temporal"]}


def test_memories_that_are_alike_are_tied(told, view):
    lived(told, "sess_1", [0])
    lived(told, "sess_2", [TOPICS])
    held = view()
    held.apply(told.facts)
    assert edges(held, "mem_p0") == {f"mem_p{TOPICS}": ["semantic"]}


def test_memories_that_were_shown_and_of_use_together_are_tied_when_the_session_ends(told, view):
    lived(told, "sess_1", [0])
    lived(told, "sess_2", [1])
    lived(told, "sess_3", [], used=[0, 1])
    held = view()
    held.apply(told.facts[:-1])
    assert edges(held, "mem_p0") == {}
    held.apply(told.facts)
    assert edges(held, "mem_p0") == {"mem_p1": ["together"]}


def test_the_last_verdict_counts_and_one_that_was_taken_back_does_not(told, view):
    lived(told, "sess_1", [0, 9])
    lived(told, "sess_2", [1, 6])
    told.activate("sess_3")
    told.recall("ret_1", "mem_p0", "mem_p1", "mem_p6", session="sess_3")
    told.judge("ret_1", session="sess_3", mem_p0="used", mem_p1="used")
    told.judge("ret_1", session="sess_3", mem_p1="irrelevant")
    version = told.judge("ret_1", session="sess_3", mem_p6="used")
    told.withdraw(version, "mem_p6", session="sess_3")
    told.commit("sess_3")
    held = view()
    held.apply(told.facts)
    assert edges(held, "mem_p0") == {"mem_p9": ["temporal"]}


def test_nothing_ties_memories_of_two_scopes(told, view):
    lived(told, "sess_1", [0], scope="project:a")
    lived(told, "sess_2", [TOPICS], scope="project:b")
    told.activate("sess_3", scope="project:a")
    told.recall("ret_1", "mem_a0", f"mem_b{TOPICS}", session="sess_3")
    told.judge("ret_1", session="sess_3", mem_a0="used", **{f"mem_b{TOPICS}": "used"})
    told.commit("sess_3", scope="project:a")
    held = view()
    held.apply(told.facts)
    assert edges(held, "mem_a0") == edges(held, f"mem_b{TOPICS}") == {}
    assert len(held.rows("SELECT DISTINCT scope FROM prototypes")) == 2


# ---------------------------------------------------------------- the view

sessions = st.lists(
    st.tuples(
        st.sampled_from(["project:a", "project:b"]),
        st.integers(0, 6),
        st.lists(st.integers(0, 20), max_size=4, unique=True),
    ),
    min_size=1,
    max_size=10,
)
quiet = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def life(steps) -> Told:
    told, counts = Told(), {"project:a": 0, "project:b": 0}
    for n, (scope, tells, wanted) in enumerate(steps):
        first = counts[scope]
        counts[scope] += tells
        used = [w for w in wanted if w < counts[scope]]
        lived(told, f"sess_{n}", range(first, counts[scope]), scope, used)
    return told


@quiet
@given(sessions)
def test_live_rebuilt_reopened_and_folded_twice_are_the_same(view, tmp_path, steps):
    facts = life(steps).facts
    found = []
    for page in (1, 7, 1_000):
        held = view()
        for start in range(0, len(facts), page):
            held.apply(facts[start : start + page])
            held.apply(facts[: start + page])
            if start % 3 == 0:
                held.flush()
        held.flush()
        found.append(held.digest())
    name = f"reopened-{len(list(tmp_path.iterdir()))}.sqlite"
    half = view(name)
    half.apply(facts[: len(facts) // 2])
    half.flush()
    half.apply(facts)
    half.close()
    again = view(name)
    again.apply(facts)
    again.flush()
    assert [again.digest()] * 3 == found


@quiet
@given(sessions)
def test_the_order_of_sessions_in_other_scopes_changes_nothing_in_a_scope(view, steps):
    """Each scope's sessions alone, or among the other's, at the same times."""

    def seen(told: Told, scope: str) -> list[object]:
        held = view()
        held.apply(told.facts)
        named = {row["no"]: row["memory_id"] or row["session_id"] for row in held.rows("SELECT * FROM episodes")}
        rows = [row for row in held.rows(EPISODES) if row["named"] == scope]
        return [(named[r["no"]], named[r["coarse"]], named[r["fine"]], tied_to(held, named, r["no"])) for r in rows]

    def tied_to(held: Consolidated, named: dict[int, str], no: int) -> list[object]:
        return sorted((named[edge.to], edge.strength, edge.ways) for edge in held.edges_of(no))

    told = life(steps)
    for scope in ("project:a", "project:b"):
        alone = Told()
        alone.facts = [at for at in told.facts if told_in(told, at.fact) == scope]
        alone.facts = [at._replace(position=n) for n, at in enumerate(alone.facts, 1)]
        assert seen(alone, scope) == seen(told, scope)


def told_in(told: Told, fact) -> str:
    """The scope of the session that a fact belongs to."""
    session = getattr(fact, "session_id", "") or fact.originator_id
    return next(at.fact.scope for at in told.facts if at.fact.originator_id == session)


@quiet
@given(sessions)
def test_edges_are_few_and_reading_changes_nothing(view, steps):
    held = view()
    held.apply(life(steps).facts)
    held.flush()
    before = held.digest()
    for row in held.rows(EPISODES):
        assert len(held.edges_of(row["no"])) <= POLICY.edges_most
        assert len(held.edges_of_prototype(row["no"])) <= POLICY.edges_most
    assert held.digest() == before


def test_a_fold_that_fails_changes_nothing_and_can_be_tried_again(told, view):
    lived(told, "sess_1", [0, 1])
    broken = [True]

    def vectors(texts: Sequence[str]) -> list[np.ndarray | None]:
        return [np.zeros(3, np.float32) if broken[0] and "goal" in text else vector_of(text) for text in texts]

    held, whole = view(vectors=vectors), view()
    with pytest.raises(ValueError, match=r"shapes|broadcast|mismatch"):
        held.apply(told.facts)
    assert (held.position, episodes(held)) == (3, [])
    broken[0] = False
    held.apply(told.facts)
    whole.apply(told.facts)
    held.flush()
    whole.flush()
    assert held.digest() == whole.digest()


def test_a_file_of_another_space_is_damaged(tmp_path, view):
    view("one.sqlite").close()
    with pytest.raises(Damaged):
        Consolidated(tmp_path / "one.sqlite", "other", POLICY, vectors_of)
