from __future__ import annotations

from projections_support import Told, folded
from slw.domain.events import ContentErased, FeedbackGiven, MemoryVerdict

WITHDRAWN = "select assessment, withdrawn_by from feedback order by position, number"


def judged():
    told = Told()
    told.activate()
    told.remember()
    told.recall("ret_1", "mem_1")
    return told


def verdicts(tmp_path, told):
    return [tuple(row.values()) for row in folded(tmp_path, told.facts).query(WITHDRAWN)]


def test_every_verdict_is_kept_none_is_overwritten(tmp_path):
    told = judged()
    told.judge(mem_1="used")
    told.judge(mem_1="irrelevant")
    assert verdicts(tmp_path, told) == [("used", 0), ("irrelevant", 0)]


def test_a_stale_verdict_keeps_its_reason_and_the_replacement(tmp_path):
    told = judged()
    stale = MemoryVerdict(
        memory_id="mem_1",
        assessment="stale",
        stale_reason="superseded",
        reason="it moved",
        replacement_memory_id="mem_2",
    )
    told.tell(FeedbackGiven, "sess_1", retrieval_id="ret_1", memories=(stale,), coverage="complete")
    [row] = folded(tmp_path, told.facts).query("select * from feedback")
    assert (row["stale_reason"], row["reason"], row["replacement_memory_id"]) == ("superseded", "it moved", "mem_2")
    assert row["coverage"] == "complete"


def test_a_procedures_verdict_keeps_use_effect_and_contribution(tmp_path):
    told = judged()
    told.report("proc_sess_0", "harmed")
    [row] = folded(tmp_path, told.facts).query("select target, assessment, effect, reason from feedback")
    assert row == {"target": "procedure", "assessment": "used", "effect": "harmed", "reason": "harmed: ret_1"}


def test_a_withdrawn_feedback_says_which_event_took_it_back(tmp_path):
    told = judged()
    given = told.judge(mem_1="used")
    by = told.withdraw(given, "mem_1")
    assert verdicts(tmp_path, told) == [("used", by)]


def test_taking_back_the_withdrawal_lets_the_verdict_stand_again(tmp_path):
    told = judged()
    by = told.withdraw(told.judge(mem_1="used"), "mem_1")
    told.withdraw(by, "mem_1")
    assert verdicts(tmp_path, told) == [("used", 0)]


def test_a_reason_can_be_erased(tmp_path):
    told = judged()
    told.report("proc_sess_0", "helped")
    told.tell(ContentErased, "mem_1", positions=(4,))
    assert folded(tmp_path, told.facts).query("select reason from feedback") == [{"reason": ""}]
