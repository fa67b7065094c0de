from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from projections_support import METHOD, Told, digests, folded
from slw.consolidation.policy import FoldPolicy
from slw.consolidation.salience import strength_at
from slw.projections.salience import Salience

POLICY = FoldPolicy()
M = "mem_1"


def begun():
    told = Told()
    told.activate()
    told.remember()
    return told


def strength(told, target=M):
    salience = Salience(POLICY)
    for at in told.facts:
        if type(at.fact) in Salience.listens_to:
            salience.install(salience.staged(at))
    return salience.rows[target]


def test_a_claim_starts_at_one():
    told = begun()
    held = strength(told)
    assert (held.value, held.since, held.used, held.irrelevant) == (1.0, told.at, 0, 0)


def test_used_raises_and_irrelevant_lowers():
    used, irrelevant = begun(), begun()
    used.judge(mem_1="used")
    irrelevant.judge(mem_1="irrelevant")
    assert strength(irrelevant).value < 1.0 < strength(used).value
    assert (strength(used).used, strength(irrelevant).irrelevant) == (1, 1)


def test_verdicts_that_say_nothing_of_worth_change_nothing():
    for word in ("not_used", "already_known", "unassessable", "stale"):
        told = begun()
        told.judge(mem_1=word)
        assert strength(told).value == 1.0


def test_the_last_verdict_in_a_retrieval_counts_as_if_the_earlier_had_never_been_given():
    changed, straight = begun(), begun()
    changed.judge(mem_1="used")
    for told in (changed, straight):
        told.passes(hours=1)
        told.judge(mem_1="irrelevant")
    assert strength(changed).value == strength(straight).value
    assert (strength(changed).used, strength(changed).irrelevant) == (0, 1)


def test_verdicts_in_several_retrievals_all_count():
    told = begun()
    for n in range(3):
        told.judge(f"ret_{n}", mem_1="used")
    assert strength(told).used == 3


def test_a_withdrawn_verdict_leaves_the_value_as_it_would_be_without_it():
    undone, without = begun(), begun()
    for told in (undone, without):
        told.judge("ret_1", mem_1="used")
    version = undone.judge("ret_2", mem_1="irrelevant")
    for told in (undone, without):
        told.passes(days=3)
        told.judge("ret_3", mem_1="used")
    undone.withdraw(version, M)
    assert (strength(undone).value, strength(undone).since) == (strength(without).value, strength(without).since)


def test_withdrawing_a_changed_verdict_brings_the_earlier_one_back():
    told = begun()
    told.judge(mem_1="used")
    before = strength(told)
    told.withdraw(told.judge(mem_1="irrelevant"), M)
    assert (strength(told).value, strength(told).used) == (before.value, 1)


def test_taking_back_a_withdrawal_is_as_if_nothing_had_been_taken_back():
    told = begun()
    version = told.judge(mem_1="used")
    before = strength(told).value
    told.withdraw(told.withdraw(version, M), M)
    assert strength(told).value == before


def test_a_procedure_that_helped_is_held_more_firmly():
    told = begun()
    told.commit(procedure=METHOD)
    told.report("proc_sess_1", "helped")
    held = strength(told, "proc_sess_1")
    assert (held.value > 1.0, held.helped) == (True, 1)


def test_what_is_held_fades_with_the_time_asked_for_and_no_reading_writes():
    told = begun()
    told.judge(mem_1="used")
    held = strength(told)
    month = timedelta(days=30)
    assert strength_at(held, told.at, POLICY) == held.value
    assert abs(strength_at(held, told.at + month, POLICY) - held.value / 2) < 1e-9
    assert strength_at(held, told.at + 99 * month, POLICY) == POLICY.salience_floor * held.value
    assert strength(told).value == held.value


def test_before_it_was_reinforced_nothing_has_faded():
    held = strength(begun())
    assert strength_at(held, held.since - timedelta(days=9), POLICY) == held.value


WORDS = st.sampled_from(["used", "irrelevant", "not_used", "withdraw"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(WORDS, st.integers(0, 3), st.integers(0, 4_000)), max_size=40))
def test_salience_stays_within_its_bounds_and_takes_back_exactly(deeds):
    told, without, versions = begun(), begun(), []
    withdrawn = set()
    for word, retrieval, hours in deeds:
        told.passes(hours=hours)
        if word == "withdraw":
            if versions:
                withdrawn.add(told.withdraw(versions[-1], M) and versions.pop())
            continue
        versions.append(told.judge(f"ret_{retrieval}", mem_1=word))
        held = strength(told)
        assert 0.05 <= held.value <= 2.0
        assert 0.05 <= strength_at(held, told.at + timedelta(days=400), POLICY) <= 2.0
    for at in told.facts:
        if at.fact.TOPIC == "session.feedback" and at.fact.originator_version not in withdrawn:
            without.at = at.fact.recorded_at
            without.judge(at.fact.retrieval_id, mem_1=at.fact.memories[0].assessment)
    assert strength(told).value == strength(without).value
    assert (strength(told).used, strength(told).irrelevant) == (strength(without).used, strength(without).irrelevant)


def test_a_strength_written_and_read_again_goes_on_as_if_never_written(tmp_path):
    told = begun()
    told.judge(mem_1="used")
    folded(tmp_path, told.facts).close()
    told.passes(days=2)
    told.judge("ret_2", mem_1="irrelevant")
    tables = folded(tmp_path, told.facts)
    assert tables.salience[M] == strength(told)
    assert tables.digest() == digests(tmp_path, told.facts)
