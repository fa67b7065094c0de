"""Kinds as agents and people ask about them: saved, said, confirmed, counted, filtered, favoured, and told at start."""

from __future__ import annotations

import json

import pytest
from slw.adapters.catalogue import OPERATIONS
from slw.adapters.kind_commands import ChangeSettings
from slw.adapters.kind_settings import CHECKS
from slw.adapters.tools import chosen, published
from slw.domain.vocabulary import KINDS
from tests_support import AGENT

SCOPE = "project:app"
DECIDED = "We decided to use Postgres for the ledger."
NEVER = "Never push to main."
PLAIN = "The ledger lives beside the gateway."


# -- saving


def test_a_suggestion_is_there_in_the_answer_to_remember(asking):
    answer = asking.ask("remember", scope=SCOPE, content=NEVER)
    assert answer["memory_kind"] == "rule" and answer["memory_kind_state"] == "suggested"
    assert answer["memory_kind_source"] == "rules" and answer["memory_kind_label"] == "Standing rule"
    assert 0.2 <= answer["memory_kind_confidence"] <= 1


def test_a_declared_kind_or_a_type_that_says_one_is_confirmed(asking):
    session = asking.session()
    for told, kind in (
        ({"kind": "Policy"}, "rule"),
        ({"type": "task"}, "prospective"),
        ({"type": "preference"}, "opinion"),
    ):
        answer = asking.agent("remember", session_id=session, scope=SCOPE, content=f"about {kind}", **told)
        assert (answer["memory_kind"], answer["memory_kind_state"], answer["memory_kind_source"]) == (
            kind,
            "confirmed",
            "caller",
        )


def test_another_word_is_refused_and_nothing_is_saved(asking):
    error = asking.refused("remember", scope=SCOPE, content="x", kind="mood")
    assert error["code"] == "invalid_input" and all(kind in error["message"] for kind in KINDS)
    assert asking.ask("list")["total"] == 0


def test_saying_the_same_words_with_another_kind_keeps_the_first_and_says_so(asking):
    session = asking.session()
    asking.agent("remember", session_id=session, scope=SCOPE, content=NEVER, kind="rule")
    again = asking.agent("remember", session_id=session, scope=SCOPE, content=NEVER, kind="decision")
    assert again["memory_kind"] == "rule" and again["kind_conflict"] == {"kept": "rule", "requested": "decision"}


def test_without_suggestions_a_memory_shows_the_nearest_kind_of_its_type_as_legacy(quiet):
    answer = quiet.ask("remember", scope=SCOPE, content=NEVER, type="warning")
    assert (answer["memory_kind"], answer["memory_kind_state"]) == ("rule", "legacy")
    assert quiet.fields(answer["memory_id"]) == ("rule", "legacy", "legacy")


def test_a_guess_below_the_cut_off_is_not_shown_and_one_setting_decides_everywhere(asking):
    [memory_id] = asking.told(PLAIN)
    asking.ask("kinds/settings", backend="rules", display_min_confidence=1.0)
    shown = [
        asking.ask("show", id=memory_id),
        asking.ask("list")["memories"][0],
        asking.ask("recent", scope=SCOPE)["memories"][0],
        asking.ask("search", query="ledger gateway", scope=SCOPE)["memories"][0],
        asking.ask("trace", query="ledger gateway", scope=SCOPE)["memories"][0],
        asking.ask("recall", query="ledger gateway", scope=SCOPE)["memories"][0],
        asking.ask("remember", content=PLAIN, scope=SCOPE),
    ]
    names = ("memory_kind", "memory_kind_label", "memory_kind_state", "memory_kind_source", "memory_kind_confidence")
    told = [tuple(one[name] for name in names) for one in shown]
    assert set(told) == {("semantic", "Fact", "legacy", "legacy", 0.0)}
    asking.ask("kinds/settings", display_min_confidence=0)
    assert asking.fields(memory_id) == ("semantic", "suggested", "rules")


def test_a_model_suggestion_follows_beside_the_save_path(asking):
    [memory_id] = asking.told("The gateway has two workers.")
    asking.until(lambda: asking.store.kind_policy.position >= asking.store.memories.position() - 1)
    kind, state, source = asking.until(lambda: asking.fields(memory_id)[2] == "local" and asking.fields(memory_id))
    assert (kind, state, source) == ("semantic", "suggested", "local")
    before = asking.store.memories.position()
    asking.reopen()
    asking.until(lambda: asking.store.kind_policy.position == before)
    assert asking.store.memories.position() == before


# -- saying


def test_set_memory_kind_by_an_agent_is_the_callers_word_and_a_persons_stays(asking):
    one, two = asking.told(DECIDED, PLAIN)
    assert asking.agent("kinds/set", memory_id=one, kind="choice")["memory_kind_source"] == "caller"
    assert asking.ask("kinds/set", memory_id=two, kind="fact")["memory_kind_source"] == "person"
    assert asking.refused("kinds/set", AGENT, memory_id=two, kind="rule")["code"] == "conflict"
    assert asking.agent("kinds/set", memory_id=two, kind="semantic")["changed"] is False
    for wrong in ({"kind": ""}, {"kind": None}, {}, {"kind": "rule", "scope": "x:y"}):
        assert asking.refused("kinds/set", memory_id=one, **wrong)["code"] == "invalid_input"


def test_two_hundred_items_are_one_transaction_and_one_more_is_refused(quiet):
    ids = [
        entry["data"]["memory_id"]
        for part in range(4)
        for entry in quiet.ask(
            "remember", scope=SCOPE, memories=[{"content": f"claim {part * 50 + n}"} for n in range(50)]
        )["results"]
    ]
    items = [{"memory_id": memory_id, "kind": "rule"} for memory_id in ids]
    assert quiet.refused("kinds/confirm", items=[*items, items[0]])["code"] == "invalid_input"
    assert quiet.refused("kinds/confirm", items=[])["code"] == "invalid_input"
    before = quiet.store.memories.position()
    answer = quiet.ask("kinds/confirm", items=items)
    assert answer["confirmed"] == answer["count"] == 200
    assert [r["data"]["position"] for r in answer["results"]] == list(range(before + 1, before + 201))
    assert quiet.ask("kinds/counts")["kinds"]["rule"] == {
        "label": "Standing rule",
        "count": 200,
        "confirmed": 200,
        "suggested": 0,
        "legacy": 0,
    }


def test_one_bad_item_fails_alone_in_request_order(asking):
    one, two = asking.told(DECIDED, PLAIN)
    asking.ask("kinds/set", memory_id=two, kind="opinion")
    items = [
        7,
        {"memory_id": one},
        {"memory": one},
        {"memory_id": two, "kind": "rule"},
        {"memory_id": one, "kind": "mood"},
        {"memory_id": "mem_unknown", "kind": "rule"},
        None,
        {"memory_id": one, "kind": "decision", "more": 1},
    ]
    results = asking.agent("kinds/confirm", items=items)["results"]
    assert [r["index"] for r in results] == list(range(8))
    assert [r["ok"] for r in results] == [False, True, False, False, False, False, False, False]
    assert [r["error"]["code"] for r in results if not r["ok"]] == [
        "invalid_input", "invalid_input", "conflict", "invalid_input", "not_found", "invalid_input", "invalid_input",
    ]  # fmt: skip
    assert results[1]["data"]["memory_kind_state"] == "confirmed"
    assert "items[2].memory_id" in json.dumps(results[2])


def test_the_same_request_again_answers_the_same(asking):
    [one] = asking.told(DECIDED)
    told = {"items": [{"memory_id": one}]}
    first = asking.store.ask("kinds/confirm", told, AGENT, "request-1")
    before = asking.store.memories.position()
    assert asking.store.ask("kinds/confirm", told, AGENT, "request-1") == first
    assert asking.store.memories.position() == before


# -- looking


def test_review_lists_guesses_newest_first_with_what_they_heard_and_agents_name_their_scope(asking):
    asking.ask("kinds/settings", backend="rules")
    one, two = asking.told(DECIDED, NEVER)
    [far] = asking.told("We agreed to freeze on Fridays.", scope="project:far")
    asking.ask("kinds/set", memory_id=one, kind="decision")
    mine = asking.agent("kinds/review", scope=SCOPE)
    assert [s["memory_id"] for s in mine["suggestions"]] == [two] and mine["total"] == 1
    assert mine["suggestions"][0]["cue"] and mine["suggestions"][0]["memory_kind_state"] == "suggested"
    assert asking.refused("kinds/review", AGENT)["field_errors"][0]["path"] == "scope"
    assert [s["memory_id"] for s in asking.ask("kinds/review")["suggestions"]] == [far, two]
    assert [s["memory_id"] for s in asking.ask("kinds/review", kind="rule")["suggestions"]] == [two]


def test_counts_are_exact_and_of_live_memories(asking):
    asking.ask("kinds/settings", backend="rules")
    one, two, _ = asking.told(DECIDED, NEVER, PLAIN)
    asking.ask("kinds/set", memory_id=one, kind="decision")
    asking.ask("suppress", memory_id=two)
    told = asking.ask("kinds/status")
    assert told["total"] == 2 and told["kinds"]["decision"]["confirmed"] == 1
    assert told["kinds"]["rule"]["count"] == 0 and told["kinds"]["semantic"]["suggested"] == 1
    assert asking.ask("kinds/counts", scope="project:none")["total"] == 0


def test_list_recent_and_search_leave_no_trace_and_need_no_session(asking):
    asking.ask("kinds/settings", backend="rules")
    one, two = asking.told(DECIDED, NEVER)
    before = asking.store.memories.position()
    assert [m["memory_id"] for m in asking.agent("recent", scope=SCOPE)["memories"]] == [two, one]
    assert [m["memory_id"] for m in asking.agent("recent", scope=SCOPE, kind="decision")["memories"]] == [one]
    found = asking.agent("search", scope=SCOPE, query="postgres ledger", limit=1)["memories"]
    assert [m["memory_id"] for m in found] == [one]
    assert asking.store.memories.position() == before
    for operation in ("recent", "search"):
        assert asking.refused(operation, AGENT)["code"] == "invalid_input"


# -- what kinds change


def test_a_kind_filter_searches_inside_the_kind_and_tells_what_it_hid(asking):
    asking.ask("kinds/settings", backend="rules")
    noise = [{"content": f"The ledger job number {n} writes the ledger file {n}.", "kind": "fact"} for n in range(60)]
    asking.ask("remember", scope=SCOPE, memories=noise)
    [wanted] = asking.told("For the ledger we chose Postgres over MySQL.", kind="decision")
    asking.store.settle()
    found = asking.ask("recall", scope=SCOPE, query="ledger file job", kind="decision")
    assert [m["memory_id"] for m in found["memories"]] == [wanted]
    assert found["hidden_by_kind"] > 0
    assert asking.ask("recall", scope=SCOPE, query="ledger file job", kind="rule")["memories"] == []
    assert asking.ask("recall", scope=SCOPE, query="ledger file job")["hidden_by_kind"] == 0


def test_a_question_without_a_shape_is_ranked_as_without_kinds_to_the_byte(asking):
    asking.told(DECIDED, NEVER, PLAIN, "The ledger runs two workers.")
    asking.store.settle()
    told = asking.ask("recall", scope=SCOPE, query="ledger workers gateway")
    asking.ask("kinds/settings", kind_aware=False)
    assert json.dumps(asking.ask("recall", scope=SCOPE, query="ledger workers gateway")) == json.dumps(told)


def test_a_question_that_asks_for_a_kind_favours_it_by_fifteen_in_a_hundred_and_a_guess_by_half(asking):
    asking.ask("kinds/settings", backend="rules")
    confirmed, guessed, other = asking.told(
        "The ledger moves to Postgres.", "We decided that ledger rows are immutable.", "The ledger has two workers."
    )
    asking.ask("kinds/set", memory_id=confirmed, kind="decision")
    asking.store.settle()
    query = "what did we decide about the ledger?"
    aware = {m["memory_id"]: m for m in asking.ask("trace", scope=SCOPE, query=query)["memories"]}
    asking.ask("kinds/settings", kind_aware=False)
    plain = {m["memory_id"]: m for m in asking.ask("trace", scope=SCOPE, query=query)["memories"]}
    for memory_id, reach in ((confirmed, 0.15), (guessed, 0.075), (other, 0.0)):
        assert aware[memory_id]["score"] == pytest.approx(plain[memory_id]["score"] * (1 + reach), abs=1e-4)
        assert (aware[memory_id]["parts"]["kind"] > 0) == (reach > 0)
        assert aware[memory_id]["rank_without_kinds"] == plain[memory_id]["rank"]


def test_standing_rules_come_newest_first_rules_then_decisions_and_do_not_repeat_in_memories(asking):
    asking.ask("kinds/settings", backend="rules")
    rules = asking.told(*(f"Rule {n}: run check {n} before a push." for n in range(12)), kind="rule")
    decisions = asking.told(*(f"Decision {n}: service {n} uses Postgres." for n in range(7)), kind="decision")
    asking.told("Never deploy on Friday.")  # a guess only
    asking.told("Rule of another project.", kind="rule", scope="project:far")
    asking.store.settle()
    answer = asking.agent("activate", task="push the service", initial_goal="push", scope=SCOPE)
    standing = answer["standing"]
    assert [m["memory_id"] for m in standing["rules"]] == rules[::-1][:10]
    assert [m["memory_id"] for m in standing["decisions"]] == decisions[::-1][:5]
    told = {m["memory_id"] for m in (*standing["rules"], *standing["decisions"])}
    assert not told & {m["memory_id"] for m in answer["memories"]}
    assert standing["omitted"] == {"count": 4, "memory_ids": [*rules[1::-1], *decisions[1::-1]]}
    ending = {
        "session_id": answer["session_id"],
        "final_goal": "g",
        "outcome": "success",
        "outcome_summary": "s",
        "verification": {"status": "verified", "summary": "v"},
    }
    if answer["memories"]:
        feedback = [{"memory_id": m["memory_id"], "assessment": "not_used"} for m in answer["memories"]]
        asking.agent("feedback", retrieval_id=answer["retrieval_id"], memory_feedback=feedback)
    assert asking.agent("commit", **ending)["committed"]


def test_retired_suppressed_and_replaced_rules_do_not_stand(asking):
    suppressed, replaced, kept = asking.told("Rule one.", "Rule two.", "Rule three.", kind="rule")
    asking.ask("suppress", memory_id=suppressed)
    [newer] = asking.told("Rule two, better.", kind="rule", replaces=replaced)
    answer = asking.agent("activate", task="t", initial_goal="g", scope=SCOPE)
    assert [m["memory_id"] for m in answer["standing"]["rules"]] == [newer, kept]
    asking.ask("kinds/settings", standing_rules_in_session=False)
    answer = asking.agent("activate", task="t", initial_goal="g", scope=SCOPE)
    assert answer["standing"] == {"rules": [], "decisions": [], "omitted": {"count": 0, "memory_ids": []}}


def test_a_rule_that_a_person_widened_stands_in_other_scopes_too(asking):
    [rule] = asking.told("Never log secrets.", kind="rule")
    other = "project:other"
    activate = {"task": "t", "initial_goal": "g", "scope": other}
    assert asking.agent("activate", **activate)["standing"]["rules"] == []
    asking.ask("promote", memory_id=rule, stage="global")
    standing = asking.agent("activate", **activate)["standing"]
    assert [(m["memory_id"], m["scope"]) for m in standing["rules"]] == [(rule, SCOPE)]


def test_forty_long_rules_say_what_was_left_out(asking):
    entries = [{"content": f"Rule {n}: " + "x" * 1_490, "kind": "rule"} for n in range(40)]
    asking.ask("remember", scope=SCOPE, memories=entries)
    standing = asking.agent("activate", task="t", initial_goal="g", scope=SCOPE)["standing"]
    assert len(standing["rules"]) == 2
    assert standing["omitted"]["count"] == len(standing["omitted"]["memory_ids"]) == 38


def test_replacing_opens_an_applied_case_and_rollback_brings_the_old_one_back(asking):
    [old] = asking.told("Staging is Postgres 16.", kind="fact")
    answer = asking.ask("remember", scope=SCOPE, content="Staging is Postgres 17.", replaces=old)
    new = answer["memory_id"]
    [case] = asking.ask("show", id=old)["cases"]
    assert (answer["replaced"], answer["case_id"]) == (old, case["case_id"])
    assert (case["state"], case["version"]) == ("applied", 1)
    stale = {"case_id": case["case_id"], "action": "rollback", "expected_version": 2}
    assert asking.refused("kinds/correction", AGENT, **stale)["code"] == "conflict"
    moved = asking.agent("kinds/correction", case_id=case["case_id"], action="rollback", expected_version=1)
    assert (moved["state"], moved["version"], moved["memory_id"]) == ("rolled_back", 2, old)
    assert {m["memory_id"] for m in asking.ask("list")["memories"]} == {old, new}


def test_an_agents_verdict_on_a_confirmed_claim_waits_for_review_and_stays_live(asking):
    [old] = asking.told("Staging is Postgres 16.", kind="fact")
    asking.store.settle()
    session = asking.session()
    shown = asking.agent("recall", session_id=session, scope=SCOPE, query="staging postgres")
    asking.agent(
        "feedback",
        retrieval_id=shown["retrieval_id"],
        memory_feedback=[
            {"memory_id": old, "assessment": "stale", "stale_reason": "contradicted", "reason": "it is 17"}
        ],
    )
    [case] = asking.agent("kinds/review", scope=SCOPE)["corrections"]
    assert case["memory_id"] == old and case["state"] == "proposed"
    assert asking.ask("show", id=old)["state"] == "needs_review"
    settle = {"case_id": case["case_id"], "action": "apply", "expected_version": case["version"]}
    assert asking.ask("kinds/correction", **settle)["state"] == "applied"
    assert asking.ask("list")["memories"] == []
    assert asking.agent("kinds/review", scope=SCOPE)["corrections"] == []


# -- settings


def test_every_setting_can_be_changed_by_name():
    assert set(ChangeSettings.model_fields) == set(CHECKS)


def test_a_change_and_an_edit_by_hand_are_facts_by_who_did_them(asking):
    asking.ask("kinds/settings", backend="rules")
    [(_, fact)] = asking.store.on_engine(lambda: asking.store.events_of("store"))
    assert fact.settings == {"kinds.backend": "rules"} and fact.actor.kind == "person"
    (asking.home / "kinds.json").write_text('{"backend": "off", "kind_aware": false}')
    asking.until(lambda: len(asking.store.on_engine(lambda: asking.store.events_of("store"))) == 2)
    _, (_, fact) = asking.store.on_engine(lambda: asking.store.events_of("store"))
    assert fact.settings == {"kinds.backend": "off", "kinds.kind_aware": False} and fact.actor.kind == "system"


def test_a_file_damaged_under_a_running_owner_is_reported_and_standing_rules_stay_as_they_were(asking):
    asking.told("Rule one.", kind="rule")
    asking.ask("kinds/settings", standing_rules_in_session=False, backend="hosted", hosted_consent=True)
    (asking.home / "kinds.json").write_text('{"standing_rules_in_session": tr')
    told = asking.ask("kinds/status")
    assert told["problems"] and told["backend"] == "auto"
    assert any("kinds.json" in problem for problem in asking.ask("status")["problems"])
    assert asking.ask("kinds/settings/show")["settings"]["hosted_consent"] is False
    assert asking.agent("activate", task="t", initial_goal="g", scope=SCOPE)["standing"]["rules"] == []
    asking.reopen()
    assert asking.agent("activate", task="t", initial_goal="g", scope=SCOPE)["standing"]["rules"] == []
    assert asking.ask("kinds/settings", standing_rules_in_session=True)["problems"] == []
    assert len(asking.agent("activate", task="t", initial_goal="g", scope=SCOPE)["standing"]["rules"]) == 1


def test_switching_kinds_off_means_no_guess_and_saving_goes_on(asking):
    asking.ask("kinds/settings", enabled=False)
    answer = asking.ask("remember", scope=SCOPE, content=NEVER)
    assert answer["memory_kind_state"] == "legacy"
    assert asking.ask("kinds/status")["using"] == "off"
    assert asking.refused("kinds/backfill/start")["code"] == "conflict"


def test_trying_the_classifier_stores_nothing(asking):
    before = asking.store.memories.position()
    rule, plain = asking.ask("kinds/suggest", texts=[NEVER, "The gateway has two workers."])["suggestions"]
    assert (rule["kind"], rule["source"]) == ("rule", "rules") and rule["cue"]
    assert plain["source"] == "local" and 0 < plain["confidence"] <= 1
    asking.ask("kinds/settings", backend="rules")
    assert asking.ask("kinds/suggest", texts=[PLAIN])["suggestions"][0]["source"] == "rules"
    assert asking.store.memories.position() == before + 1  # the setting


# -- tools


def test_all_tools_together_are_small_flat_and_described():
    tools = [
        published(operation).model_dump(by_alias=True, exclude_none=True, mode="json")
        for operation in chosen(OPERATIONS, "full")
    ]
    names = {tool["name"] for tool in tools}
    assert names >= {
        "set_memory_kind", "memory_kinds_status", "review_memory_kinds", "confirm_memory_kinds", "review_correction",
        "list_recent", "search",
    }  # fmt: skip
    assert len(json.dumps(tools, separators=(",", ":")).encode()) <= 14 * 1024
    assert not any(word in json.dumps(tools) for word in ("$ref", "anyOf", "oneOf", '"null"'))
    assert all(len(tool["description"]) < 2_048 for tool in tools)
    assert len(chosen(OPERATIONS, "core")) == 5
