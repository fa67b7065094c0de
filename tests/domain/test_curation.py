"""Who may say and guess a kind, and how corrections are proposed, settled and rolled back."""

from __future__ import annotations

import pytest
from kinds_support import SCOPE, guess, kind_of, opened, told
from slw.domain.errors import Conflict, NotFound, ScopeMismatch, SlwError
from slw.domain.events import Exposure, MemoryVerdict
from slw.domain.kinds import KindFact, kind_fields, kind_shown, standing_kind
from slw.domain.memories import Memories
from slw.domain.vocabulary import KIND_ALIASES, KIND_AUTHORITY, KIND_LABELS, KIND_NEAREST_TYPE, MEMORY_TYPES, parse_kind
from tests_support import agent, person, shown

# -- words and fields


@pytest.mark.parametrize(("said", "kind"), [*KIND_ALIASES.items(), *((k, k) for k in KIND_LABELS)])
def test_every_word_for_a_kind_is_understood_in_any_dress(said, kind):
    for dressed in (said, said.upper(), f"  {said} ", said.replace("-", "_")):
        assert parse_kind(dressed) == kind


@pytest.mark.parametrize("said", ["", "facts", "semantic memory", "règle", "rule!"])
def test_any_other_word_is_no_kind(said):
    assert parse_kind(said) is None


def test_the_highest_authority_decides_and_between_equals_the_latest():
    order = ["legacy", "rules", "local", "caller", "person"]
    facts = [KindFact(n, "semantic", source) for n, source in enumerate(reversed(order), 1)]
    assert standing_kind(facts).source == "person"
    for source in ("llm", "hosted", "local"):
        assert KIND_AUTHORITY[source] == 3
    assert standing_kind([KindFact(1, "rule", "llm"), KindFact(2, "decision", "local")]).kind == "decision"
    assert standing_kind([]) is None


@pytest.mark.parametrize("memory_type", MEMORY_TYPES)
def test_a_memory_without_a_kind_shows_the_nearest_kind_of_its_type_as_legacy(memory_type):
    fields = kind_fields(None, memory_type=memory_type)
    assert fields["memory_kind_state"] == "legacy" and fields["memory_kind_source"] == "legacy"
    assert fields["memory_kind"] == KIND_NEAREST_TYPE[memory_type]


def test_the_five_fields_in_each_state():
    assert kind_fields(KindFact(1, "decision", "caller")) == {
        "memory_kind": "decision",
        "memory_kind_label": "Decision",
        "memory_kind_state": "confirmed",
        "memory_kind_source": "caller",
        "memory_kind_confidence": 1.0,
    }
    weak = KindFact(1, "decision", "rules", 0.19)
    assert kind_fields(weak)["memory_kind_state"] == "untyped" and kind_fields(weak)["memory_kind"] == ""
    assert kind_fields(weak, memory_type="warning")["memory_kind"] == "rule"
    assert kind_fields(weak, 0.0)["memory_kind_state"] == "suggested"
    assert kind_fields(KindFact(1, "decision", "rules", 0.2))["memory_kind_state"] == "suggested"
    assert kind_fields(KindFact(1, "decision", "legacy", 0.5))["memory_kind_state"] == "legacy"


def test_a_kind_in_words_says_when_it_is_only_a_guess():
    assert kind_shown(kind_fields(KindFact(1, "decision", "person"))) == "Decision"
    assert kind_shown(kind_fields(KindFact(1, "decision", "local", 0.9))) == "Decision (suggested)"
    assert kind_shown(kind_fields(None, memory_type="task")) == "Plan or to-do (legacy)"
    assert kind_shown(kind_fields(None)) == ""


# -- saying a kind


def confirm(memories: Memories, *items, call=None, **more):
    return memories.confirm_kinds(list(items), call or person(), **more)


@pytest.mark.parametrize(("call", "source"), [(agent(), "caller"), (person(), "person")])
def test_who_says_a_kind_is_its_source(memories, call, source):
    made = told(memories, "x")
    [changed] = confirm(memories, (made.memory_id, "rule"), call=call)
    assert changed.changed and changed.kind.source == source and changed.kind.confirmed


def test_an_agent_cannot_change_what_a_person_confirmed_but_may_say_the_same(memories, facts):
    made = told(memories, "x", kind="rule")
    before = facts()
    [refused] = confirm(memories, (made.memory_id, "decision"), call=agent())
    assert isinstance(refused, Conflict) and "slw kinds set" in refused.hint
    [same] = confirm(memories, (made.memory_id, "rule"), call=agent())
    assert not same.changed and same.kind.source == "person"
    assert facts() == before


def test_a_person_overrides_an_agent_and_the_same_word_lifts_its_authority(memories):
    session = opened(memories)
    one = told(memories, "one", session_id=session, kind="rule")
    two = told(memories, "two", session_id=session, kind="rule")
    confirm(memories, (one.memory_id, "decision"), (two.memory_id, "rule"))
    assert kind_of(memories, one.memory_id) == ("decision", "person")
    assert kind_of(memories, two.memory_id) == ("rule", "person")
    [again] = confirm(memories, (two.memory_id, "rule"))
    assert not again.changed


def test_an_agent_may_change_its_own_word(memories):
    made = told(memories, "one", session_id=opened(memories), kind="rule")
    [changed] = confirm(memories, (made.memory_id, "decision"), call=agent())
    assert changed.kind.kind == "decision" and changed.kind.source == "caller"


def test_a_bare_id_accepts_the_suggestion_that_stands(memories):
    made = told(memories, "x")
    [refused] = confirm(memories, (made.memory_id, None))
    assert isinstance(refused, Conflict) and "ID=KIND" in refused.hint
    memories.suggest_kinds([(made.memory_id, guess("status"))], agent())
    [taken] = confirm(memories, (made.memory_id, None))
    assert taken.kind.kind == "status" and taken.kind.source == "person"


def test_each_item_has_its_own_result_in_order_and_all_good_ones_are_one_transaction(memories, facts):
    one, two = told(memories, "one"), told(memories, "two")
    far = told(memories, "far", scope="project:b")
    before = len(facts())
    results = confirm(
        memories,
        (one.memory_id, "rule"),
        ("mem_unknown", "rule"),
        (far.memory_id, "rule"),
        (two.memory_id, "rule"),
        (one.memory_id, "decision"),
        call=agent(),
        scope=SCOPE,
    )
    assert [type(r) for r in results[1:3]] == [NotFound, ScopeMismatch]
    assert [r.kind.kind for r in results if not isinstance(r, SlwError)] == ["rule", "rule", "decision"]
    assert [r.position for r in results if not isinstance(r, SlwError)] == [before + 1, before + 2, before + 3]


# -- guessing a kind


def test_a_guess_gives_way_to_higher_authority_and_never_touches_what_is_confirmed(memories):
    made = told(memories, "x")
    assert memories.suggest_kinds([(made.memory_id, guess("status"))], agent()) == [made.memory_id]
    assert memories.suggest_kinds([(made.memory_id, guess("rule", "legacy"))], agent()) == []
    assert memories.suggest_kinds([(made.memory_id, guess("rule", "local"))], agent()) == [made.memory_id]
    assert memories.suggest_kinds([(made.memory_id, guess("status"))], agent()) == []
    assert memories.suggest_kinds([(made.memory_id, guess("decision", "llm"))], agent()) == [made.memory_id]
    assert kind_of(memories, made.memory_id) == ("decision", "llm")
    confirm(memories, (made.memory_id, "opinion"), call=agent())
    for source in KIND_AUTHORITY:
        if source not in ("person", "caller"):
            assert memories.suggest_kinds([(made.memory_id, guess("status", source))], agent()) == []
    assert kind_of(memories, made.memory_id) == ("opinion", "caller")


def test_the_same_guess_again_adds_nothing(memories, facts):
    made = told(memories, "x")
    memories.suggest_kinds([(made.memory_id, guess("status"))], agent())
    before = facts()
    assert memories.suggest_kinds([(made.memory_id, guess("status"))] * 2, agent()) == []
    assert facts() == before


def test_a_retired_claim_is_guessed_no_more(memories):
    old = told(memories, "x is 1")
    told(memories, "x is 2", replaces=old.memory_id)
    assert memories.suggest_kinds([(old.memory_id, guess("status"))], agent()) == []


def test_a_suggestion_is_there_in_the_answer_to_remember_and_a_declaration_needs_none(log_path, clock):
    from slw.adapters.log import log_environment

    with Memories(log_environment(log_path), clock=clock, suggest_kind=lambda _: guess("status")) as memories:
        assert told(memories, "x").kind.source == "rules"
        assert told(memories, "y", kind="rule").kind.source == "person"
        assert told(memories, "z", type="decision").kind.kind == "decision"
        again = told(memories, "X")
        assert again.disposition == "matched" and again.kind.source == "rules"


# -- corrections


def replaced(memories: Memories) -> tuple[str, str, str]:
    """An old claim, the one in its place, and the case about it."""
    old = told(memories, "port is 1", kind="decision")
    new = told(memories, "port is 2", replaces=old.memory_id)
    [case] = memories.memory(old.memory_id).cases
    return old.memory_id, new.memory_id, case


def proposed(memories: Memories, reason: str = "contradicted") -> tuple[str, str]:
    """A claim whose kind a person confirmed, and the case that an agent's verdict opened."""
    old = told(memories, "port is 1", kind="decision")
    session = opened(memories)
    new = told(memories, "port is 9", session_id=session)
    retrieval = memories.expose(
        session_id=session,
        shown=shown("recall", memories=(Exposure(target_id=old.memory_id, rank=1),)),
        call=agent(),
    ).retrieval_id
    verdict = MemoryVerdict(
        memory_id=old.memory_id,
        assessment="stale",
        stale_reason=reason,
        reason="it is 9",
        replacement_memory_id=new.memory_id if reason == "superseded" else "",
    )
    taken = memories.feedback(
        retrieval_id=retrieval, memories=[verdict], procedures=[], coverage="partial", call=agent()
    )
    assert taken.applied == ((old.memory_id, "review_proposed"),)
    [case] = memories.memory(old.memory_id).cases
    return old.memory_id, case


def test_rolling_a_replacement_back_makes_the_old_claim_live_as_it_was_and_keeps_the_new_one(memories):
    old, new, case = replaced(memories)
    moved = memories.settle_correction(case, "rollback", 1, person())
    assert (moved.state, moved.version, moved.memory_id) == ("rolled_back", 2, old)
    held = memories.memory(old)
    assert held.live and held.kind.kind == "decision"
    assert memories.memory(new).live


@pytest.mark.parametrize("reason", ["contradicted", "superseded"])
def test_a_proposed_case_leaves_the_claim_live_until_a_person_applies_it(memories, facts, reason):
    old, case = proposed(memories, reason)
    assert memories.memory(old).live
    moved = memories.settle_correction(case, "apply", 1, person())
    assert (moved.state, moved.version) == ("applied", 2)
    assert facts()[-2:] == ["memory.correction_applied", "memory.retired"]
    held = memories.memory(old)
    assert not held.live and held.retirement.reason == reason
    back = memories.settle_correction(case, "rollback", 2, person())
    assert (back.state, back.version) == ("rolled_back", 3) and memories.memory(old).live


def test_a_rejected_case_changes_nothing_about_the_claim(memories):
    old, case = proposed(memories)
    moved = memories.settle_correction(case, "reject", 1, person())
    assert (moved.state, moved.version) == ("rejected", 2) and memories.memory(old).live


def test_a_second_verdict_opens_no_second_case_while_one_is_proposed(memories):
    old, case = proposed(memories)
    again, other = proposed(memories)
    assert (again, other) == (old, case)


@pytest.mark.parametrize(
    ("steps", "action", "version"),
    [
        ([], "rollback", 1),
        (["apply"], "apply", 2),
        (["apply"], "reject", 2),
        (["reject"], "apply", 2),
        (["reject"], "rollback", 2),
        (["apply", "rollback"], "rollback", 3),
        (["apply", "rollback"], "apply", 3),
    ],
)
def test_a_case_moves_only_as_its_state_allows(memories, facts, steps, action, version):
    _, case = proposed(memories)
    for at, step in enumerate(steps, 1):
        memories.settle_correction(case, step, at, person())
    before = facts()
    with pytest.raises(Conflict) as refusal:
        memories.settle_correction(case, action, version, person())
    assert refusal.value.hint and facts() == before


@pytest.mark.parametrize("expected", [0, 2, -1])
def test_a_case_that_moved_on_is_not_settled_by_an_old_version(memories, expected):
    _, case = proposed(memories)
    with pytest.raises(Conflict) as refusal:
        memories.settle_correction(case, "apply", expected, person())
    assert "version 1" in refusal.value.message


def test_an_unknown_case_is_not_found(memories):
    with pytest.raises(NotFound):
        memories.settle_correction("case_unknown", "apply", 1, person())


def test_a_rollback_undoes_its_own_retirement_and_no_other(memories):
    """The claim was live again by one case and then retired for a reason of its own: that stays."""
    old, _, case = replaced(memories)
    memories.settle_correction(case, "rollback", 1, person())
    newer = told(memories, "port is 3", replaces=old)
    [first, second] = memories.memory(old).cases
    assert first == case
    with pytest.raises(Conflict):
        memories.settle_correction(first, "rollback", 2, person())
    assert memories.memory(old).retirement.replaced_by == newer.memory_id
    memories.settle_correction(second, "rollback", 1, person())
    assert memories.memory(old).live


def test_a_case_about_a_claim_that_was_retired_since_can_only_be_rejected(memories):
    old, case = proposed(memories)
    told(memories, "port is 3", replaces=old)
    with pytest.raises(Conflict):
        memories.settle_correction(case, "apply", 1, person())
    memories.settle_correction(case, "reject", 1, person())
    assert not memories.memory(old).live


def test_words_told_again_while_retired_stay_one_claim_each_after_a_rollback(memories):
    old, _, case = replaced(memories)
    again = told(memories, "port is 1")
    memories.settle_correction(case, "rollback", 1, person())
    assert memories.memory(old).live and told(memories, "PORT IS 1").memory_id == again.memory_id


# -- settings as facts


def test_only_settings_that_changed_are_recorded(memories, facts):
    assert memories.notice_settings({"kinds.enabled": True, "kinds.backend": "auto"}, person())
    assert not memories.notice_settings({"kinds.enabled": True, "kinds.backend": "auto"}, person())
    assert memories.notice_settings({"kinds.enabled": True, "kinds.backend": "off"}, person())
    assert memories.noticed_settings() == {"kinds.enabled": True, "kinds.backend": "off"}
    assert facts() == ["store.settings_changed"] * 2
    assert memories.notice_settings({"kinds.enabled": 1}, person())
