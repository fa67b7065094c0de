from __future__ import annotations

from projections_support import METHOD, Told, digests, folded
from slw.domain.events import Compensated, ContentErased, ProcedureWithdrawn

P = "proc_sess_1"


def committed():
    told = Told()
    told.activate()
    told.commit(procedure=METHOD, outcome="failure")
    return told


def procedure(tmp_path, told):
    return folded(tmp_path, told.facts, f"{len(told.facts)}.duckdb").procedures[P]


def test_a_procedure_is_kept_with_the_goal_and_the_outcome_of_its_task(tmp_path):
    row = procedure(tmp_path, committed())
    assert (row.goal, row.summary, row.outcome) == ("a release", "release by tag", "failure")
    assert (row.steps, row.caveats, row.context) == (("freeze", "tag"), ("not on Fridays",), '{"os":"linux"}')


def test_a_task_without_a_procedure_leaves_none(tmp_path):
    told = Told()
    told.activate()
    told.commit()
    assert folded(tmp_path, told.facts).procedures == {}


def test_evidence_counts_the_last_verdict_of_each_retrieval(tmp_path):
    told = committed()
    told.report(P, "helped", "ret_1")
    told.report(P, "harmed", "ret_1")
    told.report(P, "helped", "ret_2")
    told.report(P, "not_used", "ret_3")
    assert procedure(tmp_path, told).evidence == {
        "helped": 1,
        "no_effect": 0,
        "harmed": 1,
        "unknown": 0,
        "not_used": 1,
    }


def test_the_last_three_contributions_that_count_are_told_newest_first(tmp_path):
    told = committed()
    for n in range(1, 6):
        told.report(P, "helped", f"ret_{n}")
    told.report(P, "not_used", "ret_5")
    assert procedure(tmp_path, told).last_contributions == ["helped: ret_4", "helped: ret_3", "helped: ret_2"]


def test_a_withdrawn_report_counts_no_more_and_its_contribution_is_gone(tmp_path):
    told = committed()
    told.report(P, "helped", "ret_1")
    told.withdraw(told.report(P, "harmed", "ret_2"), P)
    row = procedure(tmp_path, told)
    assert (row.harmed, row.helped, row.last_contributions) == (0, 1, ["helped: ret_1"])


def test_a_withdrawn_procedure_says_so(tmp_path):
    told = committed()
    told.tell(
        ProcedureWithdrawn,
        "sess_1",
        procedure_id=P,
        compensates=Compensated(stream="sess_1", version=2),
        run_id="run_1",
    )
    assert procedure(tmp_path, told).withdrawn


def test_erasing_blanks_its_words_and_single_contributions(tmp_path):
    told = committed()
    told.report(P, "helped", "ret_1")
    told.report(P, "helped", "ret_2")
    told.tell(ContentErased, "mem_1", positions=(2, 3))
    row = procedure(tmp_path, told)
    assert (row.goal, row.summary, row.steps) == ("", "", ())
    assert row.last_contributions == ["helped: ret_2"]
    assert row.helped == 2


def test_a_procedure_written_and_read_again_is_the_same(tmp_path):
    told = committed()
    told.report(P, "helped", "ret_1")
    before = folded(tmp_path, told.facts)
    held = before.procedures[P]
    before.close()
    again = folded(tmp_path, told.facts)
    assert again.procedures[P] == held
    assert again.digest() == digests(tmp_path, told.facts)
