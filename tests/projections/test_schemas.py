from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projections_support import SCOPE, Told, digests, folded, opened
from slw.domain.events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimReinstated,
    ClaimRestated,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    Compensated,
    ContentErased,
    CorrectionApplied,
    CorrectionOpened,
    CorrectionRejected,
    KindConfirmed,
    KindSuggested,
    KindWithdrawn,
)
from slw.projections.schemas import Schemas
from tests_support import PERSON

M = "mem_1"


@pytest.fixture
def told():
    log = Told()
    log.activate()
    log.remember()
    return log


def retire(told, **members):
    return told.tell(ClaimRetired, M, **{"reason": "outdated", "explanation": "it moved on", **members})


def reinstate(told, version):
    told.tell(ClaimReinstated, M, compensates=Compensated(stream=M, version=version))


def schema(told):
    schemas = Schemas()
    for at in told.facts:
        if type(at.fact) in Schemas.listens_to:
            schemas.install(schemas.staged(at))
    return schemas.rows[M]


def test_a_claim_is_active_in_its_scope_from_the_moment_it_is_in_the_log(told):
    held = schema(told)
    assert (held.state, held.stage, held.scope, held.position, held.live) == ("active", "scoped", SCOPE, 2, True)
    assert (held.kind, held.kind_source, held.kind_confidence) == (None, None, None)


def test_its_words_are_in_the_table_and_not_in_memory(told, tmp_path):
    tables = folded(tmp_path, told.facts)
    assert tables.query("select content from schemas") == [{"content": "what mem_1 says"}]
    assert not hasattr(tables.schemas[M], "content")


def test_later_changes_leave_the_words_as_they_are(told, tmp_path):
    tables = folded(tmp_path, told.facts)
    retire(told)
    tables.apply(told.facts)
    assert tables.query("select content, state from schemas") == [{"content": "what mem_1 says", "state": "stale"}]


def test_a_retirement_says_why_and_what_holds_instead(told):
    retire(told, reason="superseded", replaced_by="mem_2")
    held = schema(told)
    assert (held.state, held.stale_reason, held.replaced_by, held.live) == ("stale", "superseded", "mem_2", False)


def test_taking_a_retirement_back_leaves_no_trace_of_it(told):
    version = retire(told, reason="superseded", replaced_by="mem_2")
    reinstate(told, version)
    held = schema(told)
    assert (held.state, held.stale_reason, held.replaced_by) == ("active", None, "")


def test_suppressed_and_retired_comes_back_right_in_either_order_of_undo(told):
    told.tell(ClaimSuppressed, M)
    version = retire(told)
    undo = {
        "reinstate": lambda: reinstate(told, version),
        "unsuppress": lambda: told.tell(ClaimUnsuppressed, M),
    }
    halfway = {"reinstate": "suppressed", "unsuppress": "stale"}
    told_so_far, versions = list(told.facts), dict(told.versions)
    for first, second in permutations(undo):
        told.facts, told.versions = list(told_so_far), dict(versions)
        assert schema(told).state == "suppressed"
        undo[first]()
        assert schema(told).state == halfway[first]
        undo[second]()
        assert schema(told).state == "active"


def test_a_proposed_correction_asks_for_review_and_leaves_the_claim_live(told):
    told.tell(CorrectionOpened, M, case_id="case_1", replacement_id="mem_2", reason="contradicted")
    assert (schema(told).state, schema(told).live) == ("needs_review", True)
    told.tell(CorrectionRejected, M, case_id="case_1")
    assert schema(told).state == "active"


def test_an_applied_correction_retires(told):
    told.tell(CorrectionOpened, M, case_id="case_1", replacement_id="mem_2", reason="contradicted")
    told.tell(CorrectionApplied, M, case_id="case_1")
    retire(told, reason="contradicted", replaced_by="mem_2")
    assert schema(told).state == "stale"


def test_a_correction_that_was_applied_at_once_asks_for_no_review(told):
    told.tell(CorrectionOpened, M, case_id="case_1", replacement_id="mem_2", reason="superseded", applied=True)
    assert schema(told).state == "active"


def test_a_restatement_is_counted(told):
    told.tell(ClaimRestated, M, session_id="sess_1")
    assert (schema(told).restatements, schema(told).last_position) == (1, 3)


def test_a_declared_kind_is_confirmed_by_whoever_told_it():
    for actor, source in ((None, "caller"), (PERSON, "person")):
        told = Told()
        told.remember(kind="rule", **({"actor": actor} if actor else {}))
        held = schema(told)
        assert (held.kind, held.kind_source, held.kind_confidence) == ("rule", source, 1.0)


def test_the_highest_authority_decides_the_kind_then_the_latest_and_a_withdrawal_uncovers_what_is_left(told):
    told.tell(KindSuggested, M, kind="semantic", source="rules", confidence=0.6)
    model = told.tell(KindSuggested, M, kind="decision", source="local", confidence=0.8)
    told.tell(KindSuggested, M, kind="status", source="rules", confidence=0.9)
    assert (schema(told).kind, schema(told).kind_confidence) == ("decision", 0.8)
    told.tell(KindWithdrawn, M, compensates=Compensated(stream=M, version=model), run_id="run_1")
    assert (schema(told).kind, schema(told).kind_source) == ("status", "rules")
    told.tell(KindConfirmed, M, kind="rule", source="person")
    told.tell(KindSuggested, M, kind="opinion", source="hosted", confidence=0.99)
    assert (schema(told).kind, schema(told).kind_source, schema(told).kind_confidence) == ("rule", "person", 1.0)


def test_a_pin_holds_over_a_promotion_until_it_is_taken_away(told):
    told.tell(ClaimPromoted, M, stage="portable")
    told.tell(ClaimPinned, M, stage="global")
    assert schema(told).stage == "global"
    told.tell(ClaimPinned, M, stage=None)
    assert schema(told).stage == "portable"


def test_an_erased_claim_is_never_live_again_and_has_no_words(told, tmp_path):
    tables = folded(tmp_path, told.facts)
    told.tell(ContentErased, M, positions=(2,))
    tables.apply(told.facts)
    assert (tables.schemas[M].state, tables.schemas[M].live) == ("stale", False)
    assert tables.query("select content from schemas") == [{"content": ""}]


def test_a_claim_is_found_by_log_position_and_by_scope_also_after_a_restart(tmp_path):
    told = Told()
    told.activate()
    for n in range(5):
        told.remember(f"mem_{n}", scope=f"project:{n % 2}")
    written = folded(tmp_path, told.facts)
    for tables in (written, None):
        if tables is None:
            written.close()
            tables = opened(tmp_path)  # noqa: PLW2901 - the same, opened anew
        assert [s.memory_id for s in tables.claims.of_scope("project:0")] == ["mem_0", "mem_2", "mem_4"]
        assert tables.claims.at_position(3).memory_id == "mem_1"
        assert tables.claims.at_position(1) is None
        assert tables.claims.at_position(99) is None


def test_facts_of_a_claim_nobody_told_begin_no_row(tmp_path):
    told = Told()
    told.tell(ClaimSuppressed, M)
    assert folded(tmp_path, told.facts).schemas == {}


DEEDS = st.lists(
    st.sampled_from(["retire", "reinstate", "suppress", "unsuppress", "open", "reject", "erase"]), max_size=14
)


@settings(max_examples=200, deadline=None)
@given(DEEDS)
def test_the_state_follows_from_what_stands_whatever_happened_before(deeds):
    told = Told()
    told.remember()
    retired, suppressed, cases, erased = [], False, [], False
    for deed in deeds:
        match deed:
            case "retire":
                retired.append(retire(told))
            case "reinstate" if retired:
                reinstate(told, retired.pop(0))
            case "suppress":
                told.tell(ClaimSuppressed, M)
                suppressed = True
            case "unsuppress":
                told.tell(ClaimUnsuppressed, M)
                suppressed = False
            case "open":
                cases.append(f"case_{len(told.facts)}")
                told.tell(CorrectionOpened, M, case_id=cases[-1], replacement_id="mem_2", reason="contradicted")
            case "reject" if cases:
                told.tell(CorrectionRejected, M, case_id=cases.pop())
            case "erase":
                told.tell(ContentErased, M)
                erased = True
    gone = "stale" if retired or erased else "needs_review" if cases else "active"
    assert schema(told).state == ("suppressed" if suppressed else gone)


def test_live_and_rebuilt_rows_are_equal_after_many_changes(told, tmp_path):
    tables = opened(tmp_path)
    for change in (
        lambda: retire(told, reason="superseded", replaced_by="mem_2"),
        lambda: told.tell(ClaimSuppressed, M),
        lambda: told.tell(KindSuggested, M, kind="rule", source="local", confidence=0.7),
        lambda: told.tell(ClaimPinned, M, stage="global"),
    ):
        change()
        tables.apply(told.facts)
        tables.flush()
    assert tables.digest() == digests(tmp_path, told.facts)
