"""The rules of the write side, over a real log: given what happened, when a caller asks, then facts or a refusal."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slw.domain.errors import (
    Conflict,
    IncompleteFeedback,
    InvalidInput,
    NotFound,
    ScopeMismatch,
    SessionClosed,
    SlwError,
)
from slw.domain.events import Exposure, MemoryVerdict, Procedure, ProcedureVerdict, Verification
from slw.domain.memories import Memories
from slw.domain.memory import Claim
from slw.domain.results import Remembered
from slw.domain.session import Cursor, Ending
from slw.domain.writing import Call
from tests_support import agent, person, shown

SCOPE = "project:app"


def opened(memories: Memories, scope: str = SCOPE, **members: object) -> str:
    return memories.activate(
        task="t", initial_goal="g", scope=scope, continuity_id="", shown=shown(**members), call=agent()
    ).session_id


def told(memories: Memories, session_id: str, *contents: str, scope: str = SCOPE, **claim: object) -> list[Remembered]:
    made = memories.remember(
        session_id=session_id, scope=scope, claims=[Claim(c, **claim) for c in contents], call=agent()
    )
    assert all(isinstance(m, Remembered) for m in made), made
    return made


def recalled(memories: Memories, session_id: str, *memory_ids: str, procedures: tuple[str, ...] = (), **more) -> str:
    return memories.expose(
        session_id=session_id,
        shown=shown(
            "recall",
            memories=tuple(Exposure(target_id=m, rank=n) for n, m in enumerate(memory_ids, 1)),
            procedures=tuple(Exposure(target_id=p, rank=n) for n, p in enumerate(procedures, 1)),
            **more,
        ),
        call=agent(),
    ).retrieval_id


def judged(memories: Memories, retrieval_id: str, *verdicts: MemoryVerdict, procedures=(), coverage="partial"):
    return memories.feedback(
        retrieval_id=retrieval_id, memories=verdicts, procedures=procedures, coverage=coverage, call=agent()
    )


def verdict(memory_id: str, assessment: str = "used", **members: str) -> MemoryVerdict:
    return MemoryVerdict(memory_id=memory_id, assessment=assessment, **members)


def ending(summary: str = "done", procedure: Procedure | None = None) -> Ending:
    return Ending("goal", "success", summary, Verification(status="verified", summary="ran it"), procedure)


def test_activating_opens_a_session_and_records_what_was_shown_in_one_transaction(memories, facts):
    opened(memories)
    assert facts() == ["session.activated", "session.retrieval"]


def test_each_activation_opens_a_new_session(memories):
    assert opened(memories) != opened(memories)


def test_a_continuity_token_joins_sessions_of_its_scope_alone(memories):
    first = memories.activate(task="t", initial_goal="g", scope=SCOPE, continuity_id="", shown=shown(), call=agent())
    again = memories.activate(
        task="t", initial_goal="g", scope=SCOPE, continuity_id=first.continuity_id, shown=shown(), call=agent()
    )
    assert again.continued and again.continuity_id == first.continuity_id
    for scope, token in ((SCOPE, "cont_unknown"), ("project:other", first.continuity_id)):
        with pytest.raises(InvalidInput) as refusal:
            memories.activate(task="t", initial_goal="g", scope=scope, continuity_id=token, shown=shown(), call=agent())
        assert refusal.value.field_errors[0].path == "continuity_id"


def test_the_same_words_in_the_same_scope_are_matched_and_nothing_is_doubled(memories, facts):
    session = opened(memories)
    [first] = told(memories, session, "Straße  is\nPostgres 16")
    [again] = told(memories, session, "STRASSE is postgres 16")
    assert (again.memory_id, again.disposition) == (first.memory_id, "matched")
    assert facts()[-2:] == ["memory.remembered", "memory.restated"]


def test_the_same_words_in_another_scope_are_another_claim(memories):
    [here] = told(memories, opened(memories), "x")
    [there] = told(memories, opened(memories, "project:b"), "x", scope="project:b")
    assert here.memory_id != there.memory_id


def test_a_retired_claim_no_longer_matches(memories):
    session = opened(memories)
    [old] = told(memories, session, "port is 1")
    [new] = told(memories, session, "port is 2", replaces=old.memory_id)
    assert new.replaced == old.memory_id
    [again] = told(memories, session, "port is 1")
    assert again.disposition == "created" and again.memory_id != old.memory_id


def test_replacing_retires_the_old_claim_and_opens_an_applied_case(memories, facts):
    session = opened(memories)
    [old] = told(memories, session, "port is 1")
    told(memories, session, "port is 2", replaces=old.memory_id)
    assert facts()[-3:] == ["memory.remembered", "memory.retired", "memory.correction_opened"]
    held = memories.memory(old.memory_id)
    assert not held.live and [c.state for c in held.cases.values()] == ["applied"]


@pytest.mark.parametrize(
    ("replaces", "scope", "error"),
    [("mem_unknown", SCOPE, NotFound), ("mem", "project:other", ScopeMismatch), ("retired", SCOPE, Conflict)],
)
def test_a_replacement_that_cannot_be_stores_nothing(memories, facts, replaces, scope, error):
    session = opened(memories)
    [old] = told(memories, session, "port is 1")
    if replaces == "retired":
        told(memories, session, "port is 2", replaces=old.memory_id)
    target = replaces if replaces == "mem_unknown" else old.memory_id
    elsewhere = session if scope == SCOPE else opened(memories, scope)
    before = facts()
    [refused] = memories.remember(
        session_id=elsewhere, scope=scope, claims=[Claim("port is 3", replaces=target)], call=agent()
    )
    assert isinstance(refused, error) and refused.hint
    assert facts() == before


def test_replacing_a_claim_by_itself_is_refused(memories):
    session = opened(memories)
    [old] = told(memories, session, "port is 1")
    [refused] = memories.remember(
        session_id=session, scope=SCOPE, claims=[Claim("Port is 1", replaces=old.memory_id)], call=agent()
    )
    assert isinstance(refused, InvalidInput)


def test_one_bad_entry_of_a_batch_does_not_stop_the_rest(memories, facts):
    session = opened(memories)
    before = len(facts())
    results = memories.remember(
        session_id=session,
        scope=SCOPE,
        claims=[Claim("a"), Claim("b", replaces="mem_unknown"), Claim("A"), Claim("c")],
        call=agent(),
    )
    assert [type(r).__name__ for r in results] == ["Remembered", "NotFound", "Remembered", "Remembered"]
    assert results[2].disposition == "matched" and results[2].memory_id == results[0].memory_id
    assert len(facts()) - before == 3
    assert [r.position for r in (results[0], results[2], results[3])] == [before + 1, before + 2, before + 3]


def test_a_batch_may_tell_again_what_it_has_just_replaced(memories):
    session = opened(memories)
    [old] = told(memories, session, "x is 1")
    results = memories.remember(
        session_id=session,
        scope=SCOPE,
        claims=[Claim("x is 2", replaces=old.memory_id), Claim("x is 1")],
        call=agent(),
    )
    assert [r.disposition for r in results] == ["created", "created"]


def test_a_declared_kind_is_confirmed_and_a_restatement_keeps_the_first(memories):
    session = opened(memories)
    [first] = told(memories, session, "Never push to main.", kind="rule")
    assert first.kind.kind == "rule" and first.kind.confirmed
    [again] = told(memories, session, "never push to main.", kind="decision")
    assert again.kind.kind == "rule" and again.kind_conflict == ("rule", "decision")


def test_a_restatement_may_declare_the_kind_of_an_untyped_claim(memories):
    session = opened(memories)
    [first] = told(memories, session, "Never push to main.")
    assert first.kind is None
    [again] = told(memories, session, "never push to main.", type="constraint")
    assert again.kind.kind == "rule" and again.kind_conflict is None


def test_a_claim_of_a_person_needs_no_session(memories):
    [made] = memories.remember(session_id="", scope=SCOPE, claims=[Claim("x", kind="rule")], call=person())
    assert made.kind.source == "person"
    assert memories.memory(made.memory_id).session_id == ""


def test_remembering_needs_an_open_session_of_that_scope(memories):
    session = opened(memories)
    with pytest.raises(ScopeMismatch):
        told(memories, session, "x", scope="project:App")
    with pytest.raises(NotFound):
        told(memories, "sess_unknown", "x")
    memories.commit(session_id=session, ending=ending(), call=agent())
    with pytest.raises(SessionClosed):
        told(memories, session, "x")


def test_an_unknown_retrieval_cannot_be_assessed(memories):
    with pytest.raises(NotFound):
        judged(memories, "ret_unknown", verdict("mem_x"))


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"assessment": "stale"}, "stale_reason"),
        ({"assessment": "stale", "stale_reason": "outdated"}, "reason"),
        ({"assessment": "unassessable"}, "reason"),
        ({"assessment": "used", "stale_reason": "outdated"}, "stale_reason"),
        ({"assessment": "stale", "stale_reason": "superseded", "reason": "r"}, "replacement_memory_id"),
        (
            {"assessment": "stale", "stale_reason": "superseded", "reason": "r", "replacement_memory_id": "mem_no"},
            "replacement_memory_id",
        ),
        ({"assessment": "used", "replacement_memory_id": "mem_no"}, "replacement_memory_id"),
    ],
)
def test_an_incomplete_verdict_is_rejected_by_field_and_the_rest_is_taken(memories, members, field):
    session = opened(memories)
    one, two = told(memories, session, "one", "two")
    retrieval = recalled(memories, session, one.memory_id, two.memory_id)
    taken = judged(memories, retrieval, verdict(one.memory_id, **members), verdict(two.memory_id))
    assert taken.accepted == (two.memory_id,)
    assert [(r.target_id, r.field) for r in taken.rejected] == [(one.memory_id, field)]
    assert all(r.hint and r.reason for r in taken.rejected)
    assert taken.coverage == "partial" and taken.outstanding_memories == (one.memory_id,)


def test_only_what_a_retrieval_showed_can_be_assessed_under_it(memories, facts):
    session = opened(memories)
    one, two = told(memories, session, "one", "two")
    retrieval = recalled(memories, session, one.memory_id)
    before = facts()
    taken = judged(memories, retrieval, verdict(two.memory_id))
    assert taken.accepted == () and taken.rejected[0].field == "memory_id"
    assert facts() == before


def test_a_standing_memory_may_be_assessed_but_need_not(memories):
    session = opened(memories)
    [rule] = told(memories, session, "rule", kind="rule")
    other = opened(memories, standing=(rule.memory_id,))
    memories.commit(session_id=other, ending=ending(), call=agent())
    retrieval = next(iter(memories.session(other).retrievals))
    assert judged(memories, retrieval, verdict(rule.memory_id)).accepted == (rule.memory_id,)


def test_stale_retires_in_the_same_transaction_and_a_later_used_takes_it_back(memories, facts):
    session = opened(memories)
    [one] = told(memories, session, "one")
    retrieval = recalled(memories, session, one.memory_id)
    stale = judged(memories, retrieval, verdict(one.memory_id, "stale", stale_reason="outdated", reason="old"))
    assert stale.applied == ((one.memory_id, "retired"),) and stale.coverage == "complete"
    assert facts()[-2:] == ["session.feedback", "memory.retired"]
    used = judged(memories, retrieval, verdict(one.memory_id))
    assert used.applied == ((one.memory_id, "reinstated"),)
    assert memories.memory(one.memory_id).live


def test_an_agent_cannot_retire_a_claim_whose_kind_a_person_confirmed(memories):
    [rule] = memories.remember(session_id="", scope=SCOPE, claims=[Claim("x", kind="rule")], call=person())
    session = opened(memories)
    retrieval = recalled(memories, session, rule.memory_id)
    taken = judged(memories, retrieval, verdict(rule.memory_id, "stale", stale_reason="contradicted", reason="r"))
    assert taken.applied == ((rule.memory_id, "review_proposed"),)
    held = memories.memory(rule.memory_id)
    assert held.live and [c.state for c in held.cases.values()] == ["proposed"]


def test_a_claim_of_another_scope_is_not_retired_from_afar(memories):
    [far] = told(memories, opened(memories, "project:far"), "x", scope="project:far")
    session = opened(memories)
    retrieval = recalled(memories, session, far.memory_id)
    taken = judged(memories, retrieval, verdict(far.memory_id, "stale", stale_reason="outdated", reason="r"))
    assert taken.applied == ((far.memory_id, "noted"),)
    assert memories.memory(far.memory_id).live


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"use": "used"}, "effect"),
        ({"use": "used", "effect": "helped"}, "contribution"),
        ({"use": "not_used", "effect": "helped"}, "effect"),
    ],
)
def test_a_procedure_verdict_is_held_to_its_rules(memories, members, field):
    session = opened(memories)
    retrieval = recalled(memories, session, procedures=("proc_x",))
    taken = judged(memories, retrieval, procedures=[ProcedureVerdict(procedure_id="proc_x", **members)])
    assert taken.rejected[0].field == field and taken.outstanding_procedures == ("proc_x",)


def test_commit_waits_for_every_exposed_target_and_names_them_per_retrieval(memories):
    session = opened(memories)
    one, two = told(memories, session, "one", "two")
    first = recalled(memories, session, one.memory_id, two.memory_id)
    second = recalled(memories, session, one.memory_id, procedures=("proc_x",))
    judged(memories, first, verdict(two.memory_id, "not_used"))
    with pytest.raises(IncompleteFeedback) as refusal:
        memories.commit(session_id=session, ending=ending(), call=agent())
    assert refusal.value.retryable
    assert refusal.value.outstanding == [
        {"retrieval_id": first, "memory_ids": [one.memory_id], "procedure_ids": []},
        {"retrieval_id": second, "memory_ids": [one.memory_id], "procedure_ids": ["proc_x"]},
    ]
    judged(
        memories,
        second,
        verdict(one.memory_id, "already_known"),
        procedures=[ProcedureVerdict(procedure_id="proc_x", use="not_used")],
    )
    memories.commit(session_id=session, ending=ending(), call=agent())


def test_the_same_commit_again_answers_the_same_and_another_one_changes_nothing(memories, facts):
    session = opened(memories)
    procedure = Procedure(summary="s", steps=("a",), context={"k": [1, {"b": None}]})
    first = memories.commit(session_id=session, ending=ending(procedure=procedure), call=agent())
    assert first.procedure_id == f"proc_{session}"
    before = facts()
    assert memories.commit(session_id=session, ending=ending(procedure=procedure), call=agent()) == first
    with pytest.raises(SessionClosed):
        memories.commit(session_id=session, ending=ending("something else"), call=agent())
    assert facts() == before


def test_feedback_is_accepted_after_the_session_closed(memories):
    session = opened(memories)
    [one] = told(memories, session, "one")
    retrieval = recalled(memories, session, one.memory_id)
    judged(memories, retrieval, verdict(one.memory_id))
    memories.commit(session_id=session, ending=ending(), call=agent())
    assert judged(memories, retrieval, verdict(one.memory_id, "irrelevant")).accepted == (one.memory_id,)


def test_an_idle_session_expires_by_an_event_and_may_still_be_committed_once(memories, clock, facts):
    from datetime import timedelta

    session = opened(memories)
    idle = [(session, clock.now)]
    clock.passes(hours=23)
    assert memories.expire_idle(idle, timedelta(hours=24), agent()) == []
    clock.passes(hours=1)
    assert memories.expire_idle(idle, timedelta(hours=24), agent()) == [session]
    assert memories.expire_idle(idle, timedelta(hours=24), agent()) == []
    with pytest.raises(SessionClosed):
        told(memories, session, "x")
    memories.commit(session_id=session, ending=ending(), call=agent())
    assert facts()[-2:] == ["session.expired", "session.committed"]
    with pytest.raises(SessionClosed):
        memories.commit(session_id=session, ending=ending("other"), call=agent())


def test_a_further_page_belongs_to_the_session_that_got_the_cursor(memories):
    session = opened(memories)
    one, two = told(memories, session, "one", "two")
    retrieval = recalled(memories, session, one.memory_id, candidates=(one.memory_id, two.memory_id))
    cursor = Cursor.parse(Cursor(retrieval, 1).token())
    page = memories.show_page(
        session_id=session,
        cursor=cursor,
        next_offset=2,
        memories=(Exposure(target_id=two.memory_id, rank=1),),
        call=agent(),
    )
    assert judged(memories, page.retrieval_id, verdict(two.memory_id)).accepted == (two.memory_id,)
    other = opened(memories)
    for wrong in (cursor, Cursor(retrieval, 99)):
        with pytest.raises(InvalidInput):
            memories.show_page(session_id=other, cursor=wrong, next_offset=2, memories=(), call=agent())
    for token in ("", "cur_", "ret_x.1", "cur_ret_x", "cur_ret_x.-1", "cur_ret_x.²"):
        with pytest.raises(InvalidInput):
            Cursor.parse(token)


def test_suppressing_is_reversible_and_said_twice_is_a_conflict(memories):
    [one] = told(memories, opened(memories), "one")
    memories.suppress(one.memory_id, "noise", person())
    assert memories.memory(one.memory_id).suppressed_at
    with pytest.raises(Conflict):
        memories.suppress(one.memory_id, "", person())
    memories.unsuppress(one.memory_id, "", person())
    with pytest.raises(Conflict):
        memories.unsuppress(one.memory_id, "", person())
    with pytest.raises(NotFound):
        memories.suppress("mem_unknown", "", person())


def test_a_suppressed_claim_told_again_stays_suppressed(memories):
    session = opened(memories)
    [one] = told(memories, session, "one")
    memories.suppress(one.memory_id, "noise", person())
    [again] = told(memories, session, "One")
    assert again.memory_id == one.memory_id and again.suppressed


def test_a_request_happens_once_and_its_answer_is_kept_a_day(memories, clock, facts):
    session = opened(memories)
    call = Call(agent().actor, "run1-7", "args")
    memories.remember(
        session_id=session, scope=SCOPE, claims=[Claim("x")], call=call, phrase=lambda made: f"at {made[0].position}"
    )
    assert memories.answered(call) == "at 3"
    with pytest.raises(Conflict):
        memories.answered(Call(agent().actor, "run1-7", "other"))
    clock.passes(hours=25)
    memories.remember(
        session_id=session,
        scope=SCOPE,
        claims=[Claim("y")],
        call=Call(agent().actor, "run1-8", "a"),
        phrase=lambda made: "later",
    )
    assert memories.answered(call) is None


def test_time_never_goes_back(memories, clock, log_path):
    from slw.adapters.log import LogReader

    session = opened(memories)
    clock.passes(hours=-5)
    told(memories, session, "x")
    times = [fact.recorded_at for _, fact in LogReader(log_path).read(0, 100)]
    assert times == sorted(times)


def test_two_writers_on_one_log_never_tell_a_claim_twice(log_path, clock):
    from slw.adapters.log import log_environment

    ids: list[str] = []
    with Memories(log_environment(log_path), clock=clock) as one:
        session = opened(one)

        def write() -> None:
            with Memories(log_environment(log_path), clock=clock) as mine:
                for n in range(15):
                    ids.append(told(mine, session, f"claim {n}")[0].memory_id)

        threads = [threading.Thread(target=write) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(ids) == 30 and len(set(ids)) == 15


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1).filter(lambda t: t.strip() and "\0" not in t and t.isprintable()))
def test_any_text_comes_back_as_it_was_told(memories, text):
    session = opened(memories)
    [made] = told(memories, session, text)
    assert isinstance(memories.memory(made.memory_id).content, str)
    if made.disposition == "created":
        assert memories.memory(made.memory_id).content == text


def test_every_error_has_a_code_and_a_hint_where_a_caller_can_act(memories):
    session = opened(memories)
    for ask in (
        lambda: memories.session("sess_no"),
        lambda: memories.memory("mem_no"),
        lambda: memories.session("mem_no"),
        lambda: told(memories, session, "x", scope="project:no"),
    ):
        with pytest.raises(SlwError) as refusal:
            ask()
        error = refusal.value.envelope()["error"]
        assert error["code"] != "internal" and error["hint"] and error["message"]
