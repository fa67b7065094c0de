"""The read side over real tables, words, vectors and the packaged model: what comes back, and what never does."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projections_support import METHOD, SCOPE, Told
from slw.adapters.embeddings import Embedder
from slw.consolidation.policy import FoldPolicy, ReadPolicy
from slw.consolidation.wording import query_text
from slw.domain.events import (
    ClaimReinstated,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    Compensated,
    ContentErased,
    KindConfirmed,
)
from slw.projections.recall import FROM_EACH, Recall
from slw.projections.tables import Tables
from slw.projections.vectors import Vectors
from slw.projections.words import Words
from tests_support import START

LATER = START + timedelta(days=1)
PROJECT = (
    "The staging database is Postgres 16 on port 5433",
    "Deploys go out on Tuesdays, never on Fridays",
    "We chose uvicorn over gunicorn because of the unix socket",
    "Anna reviews everything that touches billing",
    "The flaky test in checkout was a race on the session cache",
    "Use tabs in Makefiles and spaces everywhere else",
    "API keys live in the vault under team/app, not in the repository",
    "The mobile client still needs the v1 endpoints until June",
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


@pytest.fixture
def grown(tmp_path_factory, embedder):
    """Recall over everything that was told."""
    known: dict[str, np.ndarray] = {}

    def vectors_of(texts):
        missing = [text for text in dict.fromkeys(texts) if text and text not in known]
        known.update(zip(missing, embedder.embed(missing) if missing else (), strict=True))
        return [known.get(text) for text in texts]

    def grow(told: Told, policy: ReadPolicy | None = None, **members) -> Recall:
        home = tmp_path_factory.mktemp("generation")
        views = (
            Tables(home / "model.duckdb", FoldPolicy()),
            Words(home / "words.sqlite"),
            Vectors(home / "v", "s", vectors_of),
        )
        for view in views:
            view.apply(told.facts)
        return Recall(*views, policy or ReadPolicy(), **members)

    return grow


@pytest.fixture
def ask(embedder):
    def asked(recall: Recall, cue: str, scope: str = SCOPE, *, meaning: bool = True, **members):
        vector = embedder.embed([query_text(cue)])[0] if meaning else None
        return recall.search(cue, vector, scope, as_of=members.pop("as_of", LATER), **members)

    return asked


def told_of(*contents: str, session: str = "sess_1") -> Told:
    told = Told()
    told.activate(session)
    for n, content in enumerate(contents):
        told.remember(f"mem_{n}", content, session=session)
    return told


def ids(found) -> list[str]:
    return [hit.target_id for hit in found.memories]


# ---------------------------------------------------------------- what comes back


@pytest.mark.parametrize(
    ("cue", "first"),
    [
        ("which port does the staging database listen on?", "mem_0"),
        ("can I release on a friday?", "mem_1"),
        ("why did we pick uvicorn", "mem_2"),
        ("who should review the billing change", "mem_3"),
        ("race condition in checkout tests", "mem_4"),
        ("tabs or spaces?", "mem_5"),
        ("who should look at payments code", "mem_3"),
        ("where are secrets and credentials stored", "mem_6"),
    ],
)
def test_a_question_brings_its_answer_first(grown, ask, cue, first):
    assert ids(ask(grown(told_of(*PROJECT)), cue))[0] == first


@pytest.mark.parametrize("cue", ["who won the football match in Madrid?", "recipe for lentil soup", "the the the"])
def test_an_unrelated_question_brings_nothing_rather_than_the_least_bad(grown, ask, cue):
    found = ask(grown(told_of(*PROJECT)), cue)
    assert (ids(found), found.relevant_total, found.procedures) == ([], 0, [])


def test_without_a_model_words_alone_answer_and_refuse(grown, ask):
    recall = grown(told_of(*PROJECT))
    assert ids(ask(recall, "which port is the staging database on?", meaning=False))[0] == "mem_0"
    assert ids(ask(recall, "who won the football match in Madrid?", meaning=False)) == []


def test_a_scope_where_nothing_was_told_brings_nothing(grown, ask):
    found = ask(grown(told_of(*PROJECT)), "staging database port", "project:other")
    assert (found.memories, found.procedures, found.relevant_total) == ([], [], 0)


def test_why_is_one_short_phrase_and_the_parts_stand_beside_the_score(grown, ask):
    [hit, *_] = ask(grown(told_of(*PROJECT)), "which port does the staging database listen on?").memories
    assert hit.why.startswith("says '") and "close in meaning" in hit.why and len(hit.why) < 120
    assert hit.pathway == "direct"
    assert hit.parts["words"] > 0 and hit.parts["cosine"] > 0.4 and 0 < hit.parts["said_share"] <= 1


def test_what_stands_beside_an_answer_is_marked_as_associated(grown, ask):
    told = told_of("The billing export failed again last night", "It was the same certificate as in March")
    for n in range(9):
        told.remember(f"mem_far_{n}", f"Nothing to do with it, number {n}", session=f"sess_far_{n}")
    found = {hit.target_id: hit.pathway for hit in ask(grown(told), "billing export failed").memories}
    assert found["mem_0"] == "direct"
    assert found["mem_1"] == "associated"


def test_the_limit_cuts_the_list_and_not_the_count(grown, ask):
    recall = grown(told_of(*(f"Postgres setting number {n}" for n in range(30))))
    found = ask(recall, "postgres setting", limit=7)
    assert len(found.memories) == 7
    assert found.relevant_total == 30
    assert ids(found) == ids(ask(recall, "postgres setting", limit=30))[:7]


def test_the_same_question_twice_is_answered_alike_and_equals_stand_in_log_order(grown, ask):
    told = Told()
    for n in range(12):
        told.remember(f"mem_{n:02}", "Postgres listens on 5433", session=f"sess_{n}")
    recall = grown(told)
    found = ask(recall, "which port does postgres use")
    assert ids(found) == sorted(ids(found))
    assert found == ask(recall, "which port does postgres use")


def test_a_date_in_the_question_prefers_what_is_of_that_date(grown, ask):
    told = Told()
    for n, month in enumerate((3, 5, 7)):
        at = START.replace(month=month)
        told.remember(f"mem_{n}", f"The release slipped by a week, release {n}", session=f"sess_{n}", occurred_at=at)
    assert ids(ask(grown(told), "what happened with the release in May?"))[0] == "mem_1"


def test_a_procedure_that_fits_the_task_comes_apart_from_memories(grown, ask):
    told = told_of(*PROJECT)
    told.commit("sess_1", METHOD, final_goal="release a new version of the app")
    found = ask(grown(told), "release a new version by tag")
    assert [hit.target_id for hit in found.procedures] == ["proc_sess_1"]
    assert "proc_sess_1" not in ids(found)


# ---------------------------------------------------------------- bounds


def test_salience_orders_equals_and_does_not_beat_relevance(grown, ask):
    told = Told()
    for n, content in enumerate(("Postgres listens on 5433", "Postgres listens on 5433", "Redis keeps our sessions")):
        told.remember(f"mem_{n}", content, session=f"sess_{n}")
    for n in range(16):
        told.recall(f"ret_{n}", "mem_1", "mem_2")
        told.judge(f"ret_{n}", mem_1="used", mem_2="used")
    found = ids(ask(grown(told), "which port does postgres listen on?", as_of=START))
    assert found[:2] == ["mem_1", "mem_0"]


def test_what_feedback_taught_of_a_question_moves_a_memory_up(grown, ask):
    told = told_of(
        "Postgres listens on port 5433", "Postgres replicas listen on port 5434", "Postgres listens to Redis"
    )
    cue = "which port does postgres listen on?"
    before = ids(ask(grown(told), cue))
    taught = grown(told, associations=lambda _vector, _ids: {before[1]: 1.0})
    assert ids(ask(taught, cue)) == [before[1], before[0], before[2]]
    assert "helped with a question like this" in ask(taught, cue).memories[0].why


def test_memories_that_are_gone_do_not_crowd_out_those_that_hold(grown, ask):
    told = Told()
    for n in range(2 * FROM_EACH):
        told.remember(f"mem_{n}", "Postgres listens on port 5433", session=f"sess_{n}")
        told.tell(ClaimRetired, f"mem_{n}", reason="outdated", explanation="moved")
    told.remember("mem_now", "The database can be reached through the socket of the pooler", session="sess_now")
    assert ids(ask(grown(told), "how do I reach the postgres database port?")) == ["mem_now"]


# ---------------------------------------------------------------- kinds


def test_a_kind_is_looked_for_among_all_of_its_memories_however_far_down_they_stand(grown, ask):
    told = Told()
    for n in range(4 * FROM_EACH):
        told.remember(f"mem_{n}", f"Postgres setting number {n}", session=f"sess_{n // 20}")
    told.remember("mem_rule", "A Postgres setting is changed by its number alone", session="sess_rule", kind="rule")
    recall = grown(told)
    found = ask(recall, "postgres setting number", kind="rule")
    assert ids(found) == ["mem_rule"]
    assert found.hidden_by_kind == 10


def test_a_confirmed_kind_is_found_by_it(grown, ask):
    told = told_of(*PROJECT)
    told.tell(KindConfirmed, "mem_1", kind="rule", source="person")
    found = ask(grown(told), "deploys on fridays", kind="rule")
    assert ids(found) == ["mem_1"]


# ---------------------------------------------------------------- what never comes back


def test_scopes_that_look_alike_never_leak(grown, ask):
    told = Told()
    scopes = ("project:app", "project:app-2", "project:APP", "project:äpp", "project:a\u0308pp", "team:app")
    for n, scope in enumerate(scopes):
        for m, content in enumerate(PROJECT):
            told.remember(f"mem_{n}_{m}", content, session=f"sess_{n}", scope=scope)
    recall = grown(told)
    for n, scope in enumerate(scopes):
        found = ids(ask(recall, "staging database port and deploys", scope))
        assert found and all(memory.startswith(f"mem_{n}_") for memory in found)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["retire", "return", "hide", "show", "erase"])), max_size=14)
)
def test_after_any_life_what_is_stale_suppressed_or_erased_is_not_returned_and_what_holds_is(grown, ask, deeds):
    told = told_of(*PROJECT[:6])
    retired: dict[int, int] = {}
    hidden: set[int] = set()
    erased: set[int] = set()
    for n, deed in deeds:
        memory = f"mem_{n}"
        if deed == "retire" and n not in retired:
            retired[n] = told.tell(ClaimRetired, memory, reason="outdated", explanation="so")
        elif deed == "return" and n in retired:
            told.tell(ClaimReinstated, memory, compensates=Compensated(stream=memory, version=retired.pop(n)))
        elif deed == "hide" and n not in hidden:
            told.tell(ClaimSuppressed, memory)
            hidden.add(n)
        elif deed == "show" and n in hidden:
            told.tell(ClaimUnsuppressed, memory)
            hidden.remove(n)
        elif deed == "erase" and n not in erased:
            told.tell(ContentErased, memory, positions=(n + 2,))
            erased.add(n)
    recall = grown(told)
    for n, content in enumerate(PROJECT[:6]):
        for meaning in (True, False):
            found = ids(ask(recall, content, meaning=meaning))
            gone = {f"mem_{m}" for m in (*retired, *hidden, *erased)}
            assert not gone & set(found)
            if f"mem_{n}" not in gone:
                assert found[0] == f"mem_{n}"
