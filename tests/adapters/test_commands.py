"""What a caller may send, and how a wrong field is named."""

import pytest
from slw.adapters.commands import Activate, ClaimTold, Commit, Feedback, Recall, Remember
from slw.adapters.fields import parse
from slw.domain.errors import InvalidInput

ACTIVATE = {"task": "t", "initial_goal": "g", "scope": "project:a"}
COMMIT = {
    "session_id": "sess_1",
    "final_goal": "g",
    "outcome": "success",
    "outcome_summary": "s",
    "verification": {"status": "verified", "summary": "ran it"},
}


def wrong(command, arguments):
    with pytest.raises(InvalidInput) as refused:
        parse(command, arguments)
    assert refused.value.hint
    return {error.path: error.message for error in refused.value.field_errors}


def test_text_is_trimmed_and_nothing_else_is_done_to_it():
    assert parse(Activate, {**ACTIVATE, "task": "  Fix É 🦊 \u202e it\n "}).task == "Fix É 🦊 \u202e it"


@pytest.mark.parametrize("blank", ["", "   ", "\n\t"])
def test_blank_required_text_is_refused(blank):
    assert wrong(Activate, {**ACTIVATE, "task": blank}) == {"task": "must not be blank"}


@pytest.mark.parametrize(
    ("text", "said"), [("a\0b", "NUL"), ("a\ud800b", "lone surrogate"), ("x" * 4097, "longer than 4096")]
)
def test_text_that_is_no_text_or_too_long_is_refused(text, said):
    assert said in wrong(Activate, {**ACTIVATE, "task": text})["task"]


def test_a_limit_counts_what_is_left_after_trimming():
    assert len(parse(ClaimTold, {"content": " " + "x" * 8192 + " "}).content) == 8192


@pytest.mark.parametrize("scope", ["project", ":a", "project:", " : ", "project:  "])
def test_a_scope_has_two_parts(scope):
    assert "kind:id" in wrong(Activate, {**ACTIVATE, "scope": scope})["scope"]


def test_only_the_first_colon_splits_a_scope():
    assert parse(Activate, {**ACTIVATE, "scope": "repo:host:1/a"}).scope == "repo:host:1/a"


@pytest.mark.parametrize("size", [0, 21, "5", 5.5, True, None, [5]])
def test_a_page_size_is_a_whole_number_from_1_to_20(size):
    assert list(wrong(Activate, {**ACTIVATE, "page_size": size})) == ["page_size"]


def test_unknown_arguments_are_refused_at_every_level():
    assert wrong(Activate, {**ACTIVATE, "scpoe": "x"}) == {"scpoe": "is not a field of this call"}
    verification = {**COMMIT["verification"], "when": "now"}
    procedure = {"summary": "s", "steps": [{"summary": "a", "order": 1}]}
    assert list(wrong(Commit, {**COMMIT, "verification": verification, "procedure": procedure})) == [
        "verification.when",
        "procedure.steps[0].order",
    ]
    verdict = {"memory_id": "m", "assessment": "used", "stars": 5}
    assert list(wrong(Feedback, {"retrieval_id": "r", "memory_feedback": [verdict]})) == ["memory_feedback[0].stars"]
    assert list(wrong(Feedback, {"retrieval_id": "r", "items": [{"procedure_id": "p", "use": "used", "x": 1}]})) == [
        "items[0].x"
    ]


def test_an_optional_word_may_be_empty_but_never_null():
    assert parse(Activate, {**ACTIVATE, "continuity_id": ""}).continuity_id is None
    assert "null" in wrong(Activate, {**ACTIVATE, "continuity_id": None})["continuity_id"]
    assert "null" in wrong(Remember, {"scope": "a:b", "memories": None})["memories"]
    assert "null" in wrong(Commit, {**COMMIT, "procedure": None})["procedure"]


@pytest.mark.parametrize(("word", "kind"), [("policy", "rule"), ("How_To", "procedure"), ("decision", "decision")])
def test_a_kind_may_be_told_by_another_word_for_it(word, kind):
    assert parse(ClaimTold, {"content": "c", "kind": word}).kind == kind


def test_an_unknown_kind_is_answered_with_the_nine():
    assert "semantic, episodic, status" in wrong(ClaimTold, {"content": "c", "kind": "vibe"})["kind"]


@pytest.mark.parametrize("time", ["2026-05-01", "2026-05-01T10:00:00", "yesterday", 1767225600, "2026-13-01T10:00:00Z"])
def test_a_time_is_rfc_3339_with_an_offset(time):
    assert list(wrong(ClaimTold, {"content": "c", "occurred_at": time})) == ["occurred_at"]


@pytest.mark.parametrize("time", ["2026-05-01T10:00:00Z", "2026-05-01t10:00:00.5+02:00", "2026-05-01 10:00:00-08:00"])
def test_a_time_with_an_offset_is_taken(time):
    assert parse(ClaimTold, {"content": "c", "occurred_at": time}).occurred_at.tzinfo is not None


def test_remember_takes_one_claim_or_a_batch_and_says_which_is_missing():
    assert list(wrong(Remember, {"scope": "a:b"})) == ["content"]
    assert list(wrong(Remember, {"scope": "a:b", "content": "c", "memories": [{}]})) == ["memories"]
    assert list(wrong(Remember, {"scope": "a:b", "type": "fact", "memories": [{}]})) == ["memories"]
    assert list(wrong(Remember, {"scope": "a:b", "memories": []})) == ["memories"]
    assert list(wrong(Remember, {"scope": "a:b", "memories": [{}] * 65})) == ["memories"]


def test_recall_takes_a_query_or_a_cursor():
    assert list(wrong(Recall, {"scope": "a:b"})) == ["query"]
    assert list(wrong(Recall, {"scope": "a:b", "query": "q", "continue_from": "cur_x.5"})) == ["query"]


def test_items_of_feedback_are_told_apart_by_their_id():
    command = parse(
        Feedback,
        {
            "retrieval_id": "r",
            "items": [{"procedure_id": "p", "use": "not_used"}, {"memory_id": "m", "assessment": "used"}],
        },
    )
    assert [v.memory_id for v in command.on_memories] == ["m"]
    assert [v.procedure_id for v in command.on_procedures] == ["p"]


@pytest.mark.parametrize("name", ["retrieval_context", "preconditions"])
def test_fields_of_the_older_procedure_are_refused_by_name(name):
    procedure = {"summary": "s", "steps": [{"summary": "a"}], name: {}}
    assert "no longer taken" in wrong(Commit, {**COMMIT, "procedure": procedure})[f"procedure.{name}"]


def test_a_procedure_has_steps_and_version_2():
    for procedure in ({"summary": "s", "steps": []}, {"summary": "s", "steps": [{"summary": "a"}], "version": 1}):
        assert len(wrong(Commit, {**COMMIT, "procedure": procedure})) == 1


def test_a_context_has_bounds():
    def with_context(context):
        return {**COMMIT, "procedure": {"summary": "s", "steps": [{"summary": "a"}], "context": context}}

    deep = {}
    for _ in range(8):
        deep = {"in": deep}
    assert "deeper" in wrong(Commit, with_context(deep))["procedure.context"]
    assert "longer" in wrong(Commit, with_context({"a": "x" * 16_384}))["procedure.context"]
    assert "NUL" in wrong(Commit, with_context({"a": ["\0"]}))["procedure.context"]
    assert "JSON" in wrong(Commit, with_context({"a": float("nan")}))["procedure.context"]
    assert parse(Commit, with_context({"a": {"b": [1, True, None, "x"]}})).procedure.context["a"]["b"][2] is None
