from __future__ import annotations

from projections_support import Told, exposed, folded
from slw.domain.events import ContentErased, PageShown


def recalled():
    told = Told()
    told.activate()
    told.recall(
        "ret_1",
        "mem_2",
        "mem_1",
        procedures=("proc_sess_0",),
        standing=("mem_7",),
        candidates=("mem_2", "mem_1", "mem_3"),
        kind="rule",
        hidden_by_kind=4,
        warnings=("vectors_pending",),
        cue="how do we flush ünïcode?",
    )
    return told


def test_a_retrieval_is_kept_as_it_was_asked(tmp_path):
    [row] = folded(tmp_path, recalled().facts).query("select * from retrievals")
    assert (row["verb"], row["cue"], row["kind"], row["hidden_by_kind"]) == (
        "recall",
        "how do we flush ünïcode?",
        "rule",
        4,
    )
    assert (row["standing"], row["memories"], row["procedures"], row["candidates"]) == (1, 2, 1, 3)
    assert row["warnings"] == '["vectors_pending"]'


def test_everything_shown_is_an_exposure_with_rank_and_score_as_they_were(tmp_path):
    rows = folded(tmp_path, recalled().facts).query(
        "select place, target_id, rank, score, parts from exposures order by position, number"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("standing", "mem_7", 1, 0.0, "{}"),
        ("memories", "mem_2", 1, 1.0, '{"words":0.5}'),
        ("memories", "mem_1", 2, 0.5, '{"words":0.5}'),
        ("procedures", "proc_sess_0", 1, 1.0, '{"words":0.5}'),
    ]


def test_a_further_page_has_its_own_id_and_names_what_it_continues(tmp_path):
    told = recalled()
    told.tell(
        PageShown,
        "sess_1",
        retrieval_id="ret_2",
        continues="ret_1",
        offset=2,
        next_offset=3,
        memories=exposed(["mem_3"]),
    )
    tables = folded(tmp_path, told.facts)
    [page] = tables.query("select verb, continues, page_offset, next_offset from retrievals where retrieval_id='ret_2'")
    assert page == {"verb": "page", "continues": "ret_1", "page_offset": 2, "next_offset": 3}
    assert tables.query("select target_id from exposures where retrieval_id='ret_2'") == [{"target_id": "mem_3"}]


def test_a_cue_can_be_erased_also_when_it_was_not_written_yet(tmp_path):
    told = recalled()
    told.tell(ContentErased, "mem_1", positions=(2,))
    assert folded(tmp_path, told.facts).query("select cue from retrievals") == [{"cue": ""}]
