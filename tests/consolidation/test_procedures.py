from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slw.adapters.embeddings import Embedder
from slw.consolidation.policy import ReadPolicy
from slw.consolidation.procedures import Method, caveats_shown, procedure_text, ranked, record
from slw.domain.vocabulary import FAILED_PROCEDURE_CAVEAT

POLICY = ReadPolicy()
CUE = "deploy the billing service"


def method(number=1, **members):
    told = {
        "procedure_id": f"proc_{number}",
        "position": number,
        "goal": "Deploy the billing service",
        "summary": f"Way number {number}",
        "steps": (f"take way {number}", "look at the metrics"),
    }
    return Method.of(**{**told, **members})


def order(*methods, cue=CUE):
    return [one.procedure_id for one in ranked(cue, methods, POLICY)]


def test_a_method_for_something_else_is_not_shown_whatever_it_did_for_others():
    other = method(goal="Bake bread for the summer party", summary="Flour first", steps=("knead", "wait"), helped=99)
    assert order(other) == []


def test_one_harm_outweighs_two_helps_and_three_reports_of_each_are_all_that_is_capped():
    assert record(0, 0, POLICY) == 0
    assert record(2, 1, POLICY) < 0 < record(3, 1, POLICY)
    assert record(0, 1, POLICY) < -2 * record(1, 0, POLICY)
    assert record(0, 0, POLICY) < record(1, 0, POLICY) < record(2, 0, POLICY) < record(3, 0, POLICY)


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_record_is_bounded_and_more_help_never_lowers_nor_more_harm_lifts(helped, harmed):
    up, down = POLICY.procedure_record
    assert -down <= record(helped, harmed, POLICY) <= up
    assert record(helped + 1, harmed, POLICY) >= record(helped, harmed, POLICY)
    assert record(helped, harmed + 1, POLICY) <= record(helped, harmed, POLICY)


def test_among_methods_for_one_task_help_comes_first_and_harm_last():
    assert order(method(1), method(2, helped=1), method(3, harmed=1)) == ["proc_2", "proc_1", "proc_3"]


def test_two_harms_put_a_method_behind_a_good_one_whatever_helped_before():
    assert order(method(1, helped=3, harmed=2), method(2)) == ["proc_2", "proc_1"]


def test_a_favourite_that_is_less_relevant_does_not_beat_a_relevant_neutral_one():
    favourite = method(1, goal="Look at the billing numbers", helped=99)
    assert order(favourite, method(2))[0] == "proc_2"


def test_one_that_failed_stays_behind_an_equal_one_and_says_so():
    assert order(method(1, outcome="failure"), method(2)) == ["proc_2", "proc_1"]
    assert order(method(1, outcome="failure")) == ["proc_1"]
    assert caveats_shown(("mind the gap",), "failure") == ("mind the gap", FAILED_PROCEDURE_CAVEAT)
    assert caveats_shown((FAILED_PROCEDURE_CAVEAT,), "failure") == (FAILED_PROCEDURE_CAVEAT,)
    assert caveats_shown((), "success") == ()


def test_a_method_of_another_context_is_never_first():
    here = method(1, context={"environment": "staging"}, harmed=3)
    away = method(2, context={"environment": "production"}, helped=9)
    found = ranked(f"{CUE} on staging", [here, away], POLICY)
    assert [one.procedure_id for one in found][:1] == ["proc_1"]
    assert order(away, cue=f"{CUE} on staging") == []
    assert order(here, away)[0] == "proc_2"  # nothing is said of where, so the record decides


def test_the_same_procedure_committed_again_is_one_with_the_reports_of_both():
    first = method(1, summary="Ship by tag", steps=("Freeze main", "tag it"), helped=2)
    again = method(5, summary="ship  by TAG", steps=("freeze main", "Tag it"), harmed=1)
    [one] = ranked(CUE, [first, again, method(3, goal="x", summary="y", steps=("z",))], POLICY)
    assert one.procedure_id == "proc_5"
    assert one.parts["record"] == record(2, 1, POLICY)
    elsewhere = replace(again, context={"environment": "staging"})
    assert len(ranked(CUE, [first, elsewhere], POLICY)) == 2


def test_equal_steps_for_another_goal_are_another_method():
    way = {"summary": "By the book", "steps": ("read the book", "do it")}
    one, other = method(1, **way), method(2, goal="Restore the billing service", **way)
    vectors = {"proc_1": unit(1.0, 0.0), "proc_2": unit(0.6, 0.8)}
    assert len(ranked(CUE, [one, other], POLICY, vector=unit(1.0, 0.6), vectors=vectors)) == 2


def unit(*row):
    return np.array(row, np.float32) / np.float32(np.linalg.norm(row))


@pytest.fixture(scope="module")
def embedder():
    return Embedder()


def test_a_task_in_other_words_finds_its_method_and_not_another(embedder):
    methods = [
        method(1, goal="Rotate expired API keys", summary="Replace credentials one service at a time"),
        method(2, goal="Speed up slow SQL reports", summary="Profile, then add indexes"),
        method(3, goal="Set up a laptop for a new colleague", summary="Run the bootstrap script"),
    ]
    texts = [procedure_text(m.goal, m.summary, m.steps, m.context) for m in methods]
    cue = "renew the API keys of the payment gateway"
    vector, *rows = embedder.embed([cue, *texts])
    vectors = {m.procedure_id: row for m, row in zip(methods, rows, strict=True)}
    assert [one.procedure_id for one in ranked(cue, methods, POLICY, vector=vector, vectors=vectors)] == ["proc_1"]
