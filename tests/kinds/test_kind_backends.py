"""The model backends against a real HTTP server on loopback: what is sent, what is believed, and what never leaves."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from chat_endpoint import Endpoint, said
from slw.adapters.kind_backends import (
    Choice,
    EndpointBackend,
    ModelFailed,
    choose,
    endpoint_of,
    is_loopback,
    model_guesses,
    read_answer,
    rule_guess,
)
from slw.adapters.kind_settings import KindSettings
from slw.domain.vocabulary import KINDS

STRONG = "We decided to use Postgres for the ledger."
PLAIN = "The ledger lives beside the gateway."


def asked(endpoint, *texts, source="llm", budget=2.0, key=""):
    return model_guesses(EndpointBackend(source, endpoint.url, "some-model", key), texts, budget)


def no_key(_):
    return None


# -- asking


def test_a_batch_is_one_request_and_the_model_answers_for_what_it_guessed(endpoint):
    one, two = asked(endpoint, PLAIN, "The gateway has two workers.")
    assert (one.kind, one.source) == ("opinion", "llm") == (two.kind, two.source)
    [request] = endpoint.requests
    assert request["path"] == "/v1/chat/completions" and request["body"]["model"] == "some-model"
    assert "Authorization" not in request["headers"]
    assert all(kind in request["body"]["messages"][0]["content"] for kind in KINDS)


def test_a_key_goes_with_the_request(endpoint):
    asked(endpoint, PLAIN, source="hosted", key="secret")
    assert endpoint.requests[0]["headers"]["Authorization"] == "Bearer secret"


def test_a_model_that_disagrees_with_a_strong_cue_does_not_replace_it(endpoint):
    [guess] = asked(endpoint, STRONG)
    assert (guess.kind, guess.source) == ("decision", "rules")
    assert guess == rule_guess(STRONG)


def test_a_model_makes_no_correction_without_the_cue(endpoint):
    endpoint.kinds = "correction"
    [guess] = asked(endpoint, PLAIN)
    assert guess.kind != "correction"


def test_a_long_text_is_sent_in_part(endpoint):
    asked(endpoint, "word " * 2_000)
    [note] = json.loads(endpoint.requests[0]["body"]["messages"][1]["content"])
    assert len(note["note"]) == 2_000


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: (500, b"{}", {}),
        lambda _: (200, b"", {}),
        lambda _: (200, b"<html>", {}),
        lambda _: (200, b"[]", {}),
        lambda _: (200, said("I cannot help with that."), {}),
        lambda _: (200, said('{"kinds": []}'), {}),
        lambda _: (200, said('{"kinds": {"n": 1}}'), {}),
        lambda _: (200, said('{"kinds": [{"n": 1, "kind": "nonsense"}]}'), {}),
        lambda _: (200, said("{" * 50_000 + "}" * 50_000), {}),
        lambda _: (200, json.dumps({"choices": [{"message": {"content": None}}]}).encode(), {}),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_failure_of_the_model(endpoint, answer):
    endpoint.answer = answer
    with pytest.raises(ModelFailed):
        asked(endpoint, PLAIN)


def test_where_the_model_says_nothing_of_one_text_the_rules_do(endpoint):
    endpoint.answer = lambda _: (
        200,
        said('Sure: {"kinds": [{"n": 2, "kind": "To-Do"}, {"n": 9, "kind": "rule"}]}'),
        {},
    )
    one, two = asked(endpoint, PLAIN, "The gateway has two workers.")
    assert one == rule_guess(PLAIN)
    assert two.source == "llm"


def test_only_a_confidence_that_is_one_is_believed():
    for told, sure in ((0.25, 0.25), (1, 1.0), (7, 0.5), ("0.9", 0.5), (True, 0.5), (None, 0.5)):
        [found] = read_answer(said(json.dumps({"kinds": [{"n": 1, "kind": "rule", "confidence": told}]})), 1, "r")
        assert found.confidence == sure


@pytest.mark.parametrize("slow_in", ["the first byte", "each byte"])
def test_a_model_is_cut_off_when_its_time_is_over(endpoint, slow_in):
    endpoint.delay = 1.5
    if slow_in == "each byte":
        endpoint.answer = lambda _: (200, said("x" * 5_000), {})
    with pytest.raises(ModelFailed, match="within"):
        asked(endpoint, PLAIN, budget=0.3)


def test_nobody_at_the_address_is_a_failure_of_the_model():
    with pytest.raises(ModelFailed):
        model_guesses(EndpointBackend("llm", "http://127.0.0.1:9/v1", "m"), [PLAIN], 1.0)


def test_a_redirect_is_not_followed(endpoint):
    """An endpoint on this machine could send the text elsewhere by a redirect."""
    elsewhere = Endpoint()
    endpoint.answer = lambda _: (307, b"", {"Location": f"{elsewhere.url}/chat/completions"})
    with pytest.raises(ModelFailed):
        asked(endpoint, PLAIN)
    assert elsewhere.requests == []
    elsewhere.server.shutdown()
    elsewhere.server.server_close()


def test_no_proxy_is_used_for_a_loopback_endpoint(endpoint, monkeypatch):
    proxy = Endpoint()
    monkeypatch.setenv("http_proxy", proxy.url)
    asked(endpoint, PLAIN)
    assert proxy.requests == [] and len(endpoint.requests) == 1
    proxy.server.shutdown()
    proxy.server.server_close()


# -- choosing


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:11434/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://localhost:1/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://0.0.0.0/v1", False),
        ("http://127.0.0.1@example.com/v1", False),
        ("http://127.0.0.1.nip.io/v1", False),
        ("https://api.example.com/v1", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_only_an_address_that_can_mean_nothing_but_this_machine_is_loopback(url, loopback):
    assert is_loopback(urlsplit(url)) is loopback
    chosen = choose(KindSettings(backend="llm", llm_url=url, llm_model="m"), model_up=True, key=no_key)
    assert chosen.backend == ("llm" if loopback else "rules") and bool(chosen.why) is not loopback


def test_auto_is_local_when_the_embedder_is_up_and_never_hosted():
    ready = {"hosted_consent": True, "hosted_url": "https://x.example/v1", "hosted_model": "m"}
    for up, backend in ((True, "local"), (False, "rules")):
        assert choose(KindSettings(**ready), model_up=up, key=lambda _: "k").backend == backend


def test_hosted_needs_both_gates():
    ready = {"hosted_url": "https://x.example/v1", "hosted_model": "m"}
    without = choose(KindSettings(backend="hosted", **ready), model_up=True, key=lambda _: "k")
    assert without.backend == "rules" and "hosted_consent" in without.why
    both = choose(KindSettings(backend="hosted", hosted_consent=True, **ready), model_up=True, key=lambda _: "k")
    assert both == Choice("hosted")
    unchosen = choose(KindSettings(backend="rules", hosted_consent=True, **ready), model_up=True, key=lambda _: "k")
    assert unchosen == Choice("rules")


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"hosted_url": "http://x.example/v1", "hosted_model": "m"}, "https"),
        ({"hosted_url": "https://x.example/v1", "hosted_model": ""}, "hosted_model"),
        ({"hosted_url": "https://x.example/v1", "hosted_model": "m"}, "SLW_HOSTED_KEY"),
    ],
)
def test_what_hosted_lacks_is_said_and_the_rules_step_in(settings, missing):
    chosen = choose(KindSettings(backend="hosted", hosted_consent=True, **settings), model_up=True, key=no_key)
    assert chosen.backend == "rules" and missing in chosen.why
    assert endpoint_of(chosen, KindSettings(), no_key) is None


def test_switched_off_means_no_guess_at_all():
    assert choose(KindSettings(enabled=False), model_up=True, key=no_key).backend == "off"
    assert choose(KindSettings(backend="off"), model_up=True, key=no_key).backend == "off"
