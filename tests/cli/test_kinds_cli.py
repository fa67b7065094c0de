"""`slw kinds` and `slw trace` as a person types them."""

import json

import pytest

SCOPE = ("--scope", "project:app")


def data(done):
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)["data"]


@pytest.fixture(scope="module")
def told(store):
    """Ids of a guessed rule, a confirmed decision and a guessed fact."""
    return [
        data(store("remember", text, *SCOPE, *more, "--json"))["memory_id"]
        for text, more in (
            ("Never push to main.", ()),
            ("We picked Postgres for the ledger.", ("--type", "decision")),
            ("The ledger lives beside the gateway.", ()),
        )
    ]


def test_status_counts_and_tells_who_guesses(store, told):
    done = store("kinds", "status")
    assert "Decision\t1\t1\t0\t0" in done.stdout and "guessing now: local" in done.stdout
    assert data(store("kinds", "status", "--json"))["total"] == 3


def test_review_shows_guesses_and_how_to_accept_them(store, told):
    done = store("kinds", "review", "--kind", "rule")
    assert (
        done.stdout.startswith(told[0]) and "Standing rule (suggested)" in done.stdout and "never push" in done.stdout
    )
    assert "slw kinds confirm ID" in done.stderr


def test_confirm_takes_ids_and_ids_with_kinds_and_tells_what_was_refused(store, told):
    done = store("kinds", "confirm", told[0], f"{told[2]}=status", "mem_unknown", f"{told[2]}=mood")
    assert done.returncode == 1
    assert f"{told[0]}\tStanding rule\n{told[2]}\tCurrent state" in done.stdout
    assert "refused mem_unknown" in done.stderr and f"refused {told[2]}=mood" in done.stderr
    assert store("kinds", "confirm").returncode == 2


def test_set_confirms_one_kind_by_any_word_for_it(store, told):
    assert store("kinds", "set", told[2], "Fact").stdout == f"{told[2]}\tFact\n"
    assert store("kinds", "set", told[2], "mood").returncode == 2
    assert store("kinds", "set", "mem_unknown", "fact").returncode == 3


def test_settings_are_shown_changed_and_refused(store):
    assert 'backend\t"auto"' in store("kinds", "settings").stdout
    done = store("kinds", "settings", "--backend", "jev", "--hosted-consent", "yes", "--standing-rules", "off")
    assert 'backend\t"hosted"' in done.stdout and "hosted_consent\ttrue" in done.stdout
    assert "rules (hosted_url or hosted_model is not set)" in done.stderr
    assert store("kinds", "settings", "--backend", "gpt").returncode == 2
    assert store("kinds", "settings", "--hosted-consent", "true").returncode == 2
    back = store("kinds", "settings", "--backend", "auto", "--hosted-consent", "no", "--standing-rules", "on")
    assert "guessing now: local" in back.stderr


def test_suggest_reads_one_text_a_line_and_prints_one_json_line_each(store):
    done = store("kinds", "suggest", "-", stdin="Never push to main\n\nTo rotate the key, run make rotate\nlast one")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["kind"] for line in lines][:3] == ["rule", "", "procedure"] and len(lines) == 4
    assert all({"kind", "source", "confidence", "cue"} <= line.keys() for line in lines)
    assert "Standing rule" in store("kinds", "suggest", "Never push to main").stdout
    [one] = data(store("kinds", "suggest", "Never push to main", "--json"))["suggestions"]
    assert one["kind"] == "rule"


def test_trace_tells_every_channel_and_the_rank_without_kinds(store, told):
    done = store("trace", "what did we decide about the ledger", *SCOPE)
    assert "asks for decision" in done.stderr and "a decision, as asked" in done.stdout
    [first, *_] = data(store("trace", "what did we decide about the ledger", *SCOPE, "--json"))["memories"]
    assert first["memory_id"] == told[1] and first["parts"]["kind"] > 0 and first["rank_without_kinds"] >= 1
    assert "asks for no kind" in store("trace", "ledger", *SCOPE).stderr


def test_a_run_is_started_watched_and_taken_back(store, told):
    store("kinds", "settings", "--backend", "off")
    late = data(store("remember", "The mailer retries twice.", *SCOPE, "--json"))["memory_id"]
    assert store("kinds", "backfill", "start").returncode == 4
    store("kinds", "settings", "--backend", "rules")
    run = data(store("kinds", "backfill", "start", "--wait", "--json"))
    assert (run["state"], run["changed"]) == ("completed", 1)
    shown = store("kinds", "backfill", "status")
    assert "processed: 1 of 1" in shown.stdout and "log held:" in shown.stdout and run["run_id"] in shown.stdout
    dry = store("kinds", "backfill", "revert", run["run_id"], "--dry-run")
    assert "would lose the run's kind: 1" in dry.stdout
    assert "taken back: 1 of 1" in store("kinds", "backfill", "revert", run["run_id"], "--wait").stdout
    again = store("kinds", "backfill", "revert", run["run_id"])
    assert again.returncode == 4 and "is reverted" in again.stderr
    assert store("kinds", "backfill", "pause", run["run_id"]).returncode == 4
    assert store("kinds", "backfill", "status", "run_unknown").returncode == 3
    assert "(legacy)" in store("list", *SCOPE).stdout and late


def test_a_correction_is_rolled_back_by_hand(store, told):
    old = data(store("remember", "The mailer port is 25.", *SCOPE, "--json"))["memory_id"]
    store("remember", "The mailer port is 587.", *SCOPE, "--replaces", old)
    [case] = data(store("show", old, "--json"))["cases"]
    done = store("kinds", "correct", case["case_id"], "rollback", "--expected-version", "1")
    assert "rolled_back\t2" in done.stdout
    assert store("kinds", "correct", case["case_id"], "rollback", "--expected-version", "1").returncode == 4
