"""Undo takes back what was done and nothing else, says what it kept and why, and can itself be undone."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import Life
from slw.adapters.integrity import check_log
from slw.adapters.log import LogReader, log_environment
from slw.domain.errors import Conflict, InvalidInput, NotFound
from slw.domain.events import Exposure, MemoryVerdict, Procedure, Verification
from slw.domain.memories import Memories
from slw.domain.memory import Claim
from slw.domain.session import Ending
from slw.domain.undoing import Selector
from tests_support import Clock, agent, numbered_ids, person, shown

SCOPE = "project:app"


def opened(memories: Memories, scope: str = SCOPE) -> str:
    return memories.activate(
        task="t", initial_goal="g", scope=scope, continuity_id="", shown=shown(), call=agent()
    ).session_id


def told(memories: Memories, session_id: str, content: str, **claim: object) -> str:
    [made] = memories.remember(
        session_id=session_id, scope=SCOPE, claims=[Claim(content, **claim)], call=agent() if session_id else person()
    )
    return made.memory_id


def shown_to(memories: Memories, session_id: str, *memory_ids: str) -> str:
    exposed = tuple(Exposure(target_id=m, rank=n) for n, m in enumerate(memory_ids, 1))
    return memories.expose(session_id=session_id, shown=shown("recall", memories=exposed), call=agent()).retrieval_id


def judged(memories: Memories, retrieval_id: str, memory_id: str, assessment: str, **members: str) -> None:
    memories.feedback(
        retrieval_id=retrieval_id,
        memories=[MemoryVerdict(memory_id=memory_id, assessment=assessment, **members)],
        procedures=[],
        coverage="partial",
        call=agent(),
    )


def undo(memories: Memories, **selector: object):
    return memories.undo(Selector(**selector), person())


def state(memories: Memories) -> dict[str, object]:
    """What holds of every memory and session, without how it came to be."""
    reader = LogReader(Path(memories.recorder.datastore.pool.db_name))
    streams = dict.fromkeys(fact.originator_id for _, fact in reader.read(0, 100_000))
    reader.close()
    found: dict[str, object] = {}
    for stream in streams:
        if stream.startswith("mem_"):
            held = memories.memory(stream)
            kind = (held.kind.kind, held.kind.source, held.kind.confidence) if held.kind else None
            retired = (held.retirement.reason, held.retirement.replaced_by) if held.retirement else None
            if retired and memories.history(stream)[held.retirement.version].explanation.startswith("undone by"):
                continue
            waiting = sorted(c.case_id for c in held.cases.values() if c.state == "proposed")
            holder = memories.ledger.lookup("claim", held.key) if held.live else None
            found[stream] = (held.live, kind, retired, bool(held.suppressed_at), waiting, holder == stream)
        elif stream.startswith("sess_"):
            session = memories.session(stream)
            verdicts = [session.feedback[v].memories for v in sorted(session.feedback)]
            if verdicts or session.procedure_id:
                found[stream] = (verdicts, session.procedure_id)
    return found


def test_a_claim_told_in_the_session_is_retired_as_withdrawn(memories):
    session = opened(memories)
    claim = told(memories, session, "tabs")
    report = undo(memories, session_id=session)
    assert [(u.stream, u.became) for u in report.undone] == [(claim, "withdrawn")]
    assert report.kept == {}
    assert memories.memory(claim).retirement.reason == "withdrawn"
    assert report.position == memories.position()


def test_an_undo_stands_in_the_log_under_one_run_id(memories, facts):
    session = opened(memories)
    told(memories, session, "tabs")
    before = len(facts())
    undo(memories, session_id=session)
    assert facts()[before:] == ["store.undo_started", "memory.retired", "store.undo_completed"]


def test_a_dry_run_tells_the_same_and_changes_nothing(memories, facts):
    session = opened(memories)
    told(memories, session, "tabs")
    before = facts()
    dry = memories.undo(Selector(session_id=session), person(), dry_run=True)
    assert facts() == before
    assert dry.undone == undo(memories, session_id=session).undone


def test_an_undo_made_twice_changes_nothing_more(memories, facts):
    session = opened(memories)
    told(memories, session, "tabs")
    undo(memories, session_id=session)
    before = facts()
    assert undo(memories, session_id=session).undone == []
    assert facts() == before


def test_a_claim_that_was_told_again_elsewhere_is_kept_and_said(memories):
    first, second = opened(memories), opened(memories)
    claim = told(memories, first, "tabs")
    told(memories, second, "Tabs")
    report = undo(memories, session_id=first)
    assert report.kept == {claim: f"told again in {second}"}
    assert memories.memory(claim).live
    again = undo(memories, session_id=second)
    assert [u.became for u in again.undone] == ["restatement_withdrawn"]
    assert [u.became for u in undo(memories, session_id=first).undone] == ["withdrawn"]


def test_a_claim_whose_kind_a_person_confirmed_is_kept(memories):
    session = opened(memories)
    claim = told(memories, session, "tabs")
    memories.confirm_kinds([(claim, "rule")], person())
    assert undo(memories, session_id=session).kept == {claim: "its kind was confirmed by anna"}


def test_a_replaced_claim_holds_again_and_its_case_is_rolled_back(memories):
    old = told(memories, opened(memories), "tabs")
    session = opened(memories)
    new = told(memories, session, "spaces", replaces=old)
    undo(memories, session_id=session)
    assert (memories.memory(old).live, memories.memory(new).live) == (True, False)
    assert [c.state for c in memories.memory(old).cases.values()] == ["rolled_back"]
    assert told(memories, opened(memories), "tabs") == old


def test_feedback_counts_no_more_and_what_it_retired_holds_again(memories):
    claim = told(memories, opened(memories), "tabs")
    session = opened(memories)
    judged(memories, shown_to(memories, session, claim), claim, "stale", stale_reason="outdated", reason="old")
    report = undo(memories, session_id=session)
    assert sorted(u.became for u in report.undone) == ["feedback_withdrawn", "reinstated"]
    assert memories.memory(claim).live
    assert memories.session(session).feedback == {}


def test_a_retired_claim_whose_words_are_told_anew_stays_retired(memories):
    claim = told(memories, opened(memories), "tabs")
    session = opened(memories)
    judged(memories, shown_to(memories, session, claim), claim, "stale", stale_reason="outdated", reason="old")
    anew = told(memories, opened(memories), "tabs")
    assert undo(memories, session_id=session).kept == {claim: f"{anew} says the same now"}
    assert not memories.memory(claim).live


def test_the_procedure_of_a_session_is_withdrawn_and_comes_back(memories):
    session = opened(memories)
    ending = Ending(
        "g", "success", "s", Verification(status="verified", summary="v"), Procedure(summary="p", steps=("one",))
    )
    memories.commit(session_id=session, ending=ending, call=agent())
    run = undo(memories, session_id=session).run_id
    assert memories.session(session).procedure_id == ""
    undo(memories, run_id=run)
    assert memories.session(session).procedure_id == f"proc_{session}"


def test_what_a_person_hid_is_shown_again(memories, clock):
    claim = told(memories, opened(memories), "tabs")
    clock.passes(hours=1)
    memories.suppress(claim, "wrong", person())
    undo(memories, client="anna", since=clock.now)
    assert not memories.memory(claim).suppressed_at


def test_a_client_is_undone_from_a_time_on(memories, clock):
    before = told(memories, opened(memories), "tabs")
    clock.passes(hours=1)
    after = told(memories, opened(memories), "spaces")
    undo(memories, client="test-agent", since=clock.now)
    assert (memories.memory(before).live, memories.memory(after).live) == (True, False)


def test_undoing_in_any_order_leaves_the_claim_withdrawn(memories):
    teller, judge = opened(memories), opened(memories)
    claim = told(memories, teller, "tabs")
    judged(memories, shown_to(memories, judge, claim), claim, "stale", stale_reason="outdated", reason="old")
    undo(memories, session_id=teller)
    undo(memories, session_id=judge)
    assert not memories.memory(claim).live
    assert told(memories, opened(memories), "tabs") != claim


def test_what_was_never_is_not_found_and_nothing_named_is_refused(memories):
    with pytest.raises(NotFound):
        undo(memories, session_id="sess_never")
    with pytest.raises(InvalidInput):
        undo(memories)


def test_a_run_that_types_is_undone_by_its_own_rules_once(memories, clock):
    life = Life(memories, clock, 3)
    life.steps(30)
    life.runs.clear()
    life.run()
    [run_id] = life.runs
    undo(memories, run_id=run_id)
    assert memories.run(run_id).state == "reverted"
    with pytest.raises(Conflict):
        undo(memories, run_id=run_id)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_undo_is_as_if_it_never_was_and_undo_of_undo_as_if_it_were(seed):
    """A life, then a session of its own, undone at once."""
    with tempfile.TemporaryDirectory() as folder:
        log, clock = Path(folder) / "log.db", Clock()
        with Memories(log_environment(log), clock=clock, ids=numbered_ids()) as memories:
            life = Life(memories, clock, seed)
            life.steps(40)
            before = state(memories)
            life.open.clear()
            life.activate()
            [session] = life.open
            for deed in (life.remember, life.recall, life.feedback, life.remember, life.commit):
                if session in life.open:
                    retrievals = {r: of for r, of in life.retrievals.items() if of[0] == session}
                    everything, life.retrievals = life.retrievals, retrievals
                    chance, life.chance = life.chance, Sober(life.chance)
                    try:
                        deed()
                    finally:
                        life.chance = chance
                        everything.update(life.retrievals)
                        life.retrievals = everything
            after = state(memories)
            report = undo(memories, session_id=session)
            assert report.kept == {}
            assert state(memories) == before
            assert check_log(log).findings == []
            if report.undone:
                undone_again = undo(memories, run_id=report.run_id)
                assert state(memories) == after
                assert check_log(log).findings == []
                undo(memories, run_id=undone_again.run_id)
                assert state(memories) == before


class Sober(random.Random):
    """Chance that never lets a person speak in an agent's session."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.setstate(chance.getstate())
        self.first = True

    def random(self) -> float:
        first, self.first = self.first, False
        return 0.5 if first else super().random()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_undo_in_the_middle_of_a_life_breaks_no_rule_of_the_log(seed):
    with tempfile.TemporaryDirectory() as folder:
        log, clock = Path(folder) / "log.db", Clock()
        with Memories(log_environment(log), clock=clock, ids=numbered_ids()) as memories:
            life = Life(memories, clock, seed)
            runs: list[str] = []
            for _ in range(4):
                life.steps(25)
                for session in life.chance.sample(life.sessions, min(2, len(life.sessions))):
                    runs.append(undo(memories, session_id=session).run_id)
                    assert undo(memories, session_id=session).undone == []
            for run in runs[::2]:
                try:
                    undo(memories, run_id=run)
                except NotFound:
                    continue
            assert check_log(log).findings == []
