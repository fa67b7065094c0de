"""`slw kinds`: what sort of knowledge memories are; look, confirm, set, and let a run guess what has no kind."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import click

from ..domain.vocabulary import MAX_CONTENT
from .asking import ask
from .backfill import backfill_group, in_short
from .options import kind_option, limit_option, scope_option, sent, shared
from .shown import kind_label
from .terminal import EXIT_FINE, EXIT_PROBLEM, Data, Terminal

TEXTS_AT_ONCE = 64
ON_OFF = click.Choice(["on", "off"])
YES_NO = click.Choice(["yes", "no"])


@click.group("kinds")
def kinds_command() -> None:
    """Say what sort of knowledge memories are: facts, rules, decisions and so on.

    A guessed kind is only ever a suggestion; what a person or the saving agent confirmed acts.
    """


@kinds_command.command("status")
@shared
def status_command(terminal: Terminal) -> None:
    """Count the kinds, and tell who guesses them."""
    terminal.answer(ask(terminal, "kinds/status", {}), counted)


def counted(terminal: Terminal, data: Data) -> None:
    """Counts, the backend in use and why, and the run there is."""
    terminal.table(
        ("kind", "all", "confirmed", "suggested", "legacy"),
        [(k["label"], k["count"], k["confirmed"], k["suggested"], k["legacy"]) for k in data["kinds"].values()],
    )
    why = f" ({data['why']})" if data["why"] else ""
    terminal.pairs(
        (
            ("untyped", data["untyped"]),
            ("backend", data["backend"]),
            ("guessing now", f"{data['using']}{why}"),
            ("last failure", data["last_failure"]),
        )
    )
    if data["run"]:
        terminal.say(f"run: {in_short(data['run'])}")
    for problem in data["problems"]:
        terminal.complain(f"problem: {problem}")


@kinds_command.command("settings")
@click.option("--enable/--disable", "enabled", default=None, help="Guess kinds at all.")
@click.option("--backend", metavar="B", help="auto, rules, local, llm, hosted or off.")
@click.option("--hosted-consent", type=YES_NO, help="Whether text may leave this device for the hosted backend.")
@click.option("--standing-rules", type=ON_OFF, help="Tell confirmed rules and decisions to new sessions.")
@click.option("--display-min-confidence", type=float, metavar="X", help="A guess below X (0 to 1) is not shown.")
@click.option("--kind-aware", type=ON_OFF, help="Let a question's shape favour a kind.")
@click.option("--rate", type=float, metavar="N", help="Memories a second of a run; 0 for the backend's own pace.")
@click.option("--batch-size", type=int, metavar="N", help="Memories a batch of a run; 0 for the backend's own.")
@click.option("--llm-url", metavar="URL", help="Endpoint of the llm backend; a loopback address.")
@click.option("--llm-model", metavar="NAME", help="The model to ask for there.")
@click.option("--hosted-url", metavar="URL", help="Endpoint of the hosted backend.")
@click.option("--hosted-model", metavar="NAME", help="The model to ask for there.")
@shared
def settings_command(terminal: Terminal, **options: Any) -> None:
    """Show the settings of kinds, or change those that are named."""
    renamed = {
        "hosted_consent": as_boolean(options.pop("hosted_consent"), "yes"),
        "standing_rules_in_session": as_boolean(options.pop("standing_rules"), "on"),
        "kind_aware": as_boolean(options.pop("kind_aware"), "on"),
        "rate_per_second": options.pop("rate"),
    }
    changes = {name: value for name, value in {**options, **renamed}.items() if value is not None}
    data = ask(terminal, "kinds/settings" if changes else "kinds/settings/show", changes)
    terminal.answer(data, settings_told)


def as_boolean(word: str | None, yes: str) -> bool | None:
    return None if word is None else word == yes


def settings_told(terminal: Terminal, data: Data) -> None:
    """Every setting, and who guesses under them."""
    terminal.table(
        ("setting", "value"), [(name, json.dumps(value)) for name, value in data["settings"].items() if value != ""]
    )
    why = f" ({data['why']})" if data["why"] else ""
    terminal.note(f"guessing now: {data['using']}{why}")
    for problem in data["problems"]:
        terminal.complain(f"problem: {problem}")


@kinds_command.command("review")
@kind_option
@scope_option
@limit_option
@shared
def review_command(terminal: Terminal, kind: str | None, scope: str | None, limit: int | None) -> None:
    """List guesses that wait for confirmation, and corrections.

    Of every scope, unless one is named.
    """
    data = ask(terminal, "kinds/review", sent(kind=kind, scope=scope, limit=limit))
    terminal.answer(data, reviewed)


def reviewed(terminal: Terminal, data: Data) -> None:
    """Guesses, then cases."""
    terminal.table(
        ("memory", "looks like", "sure", "because of", "says"),
        [
            (s["memory_id"], kind_label(s), f"{s['memory_kind_confidence']:.2f}", s["cue"], s["content"])
            for s in data["suggestions"]
        ],
    )
    for case in data["corrections"]:
        terminal.say(
            f"{case['case_id']}  {case['memory_id']} is said to be {case['reason']} (version {case['version']})"
        )
        terminal.say(f"    {case['content']}")
    if data["suggestions"]:
        more = data["total"] - len(data["suggestions"])
        rest = f"; {more} more with --limit" if more else ""
        terminal.note(f"accept one with: slw kinds confirm ID, or say another with ID=KIND{rest}")
    elif not data["corrections"]:
        terminal.note("nothing waits for confirmation")


@kinds_command.command("confirm")
@click.argument("items", metavar="ID[=KIND]...", nargs=-1, required=True)
@shared
def confirm_command(terminal: Terminal, items: tuple[str, ...]) -> int:
    """Confirm 1 to 200 kinds; a bare ID takes the guess.

    Each item stands or falls alone; exits 1 when one was refused.
    """
    body = {"items": [item_of(item) for item in items]}
    data = ask(terminal, "kinds/confirm", body)
    terminal.answer(data, lambda t, d: confirmed(t, d, items))
    return EXIT_FINE if data["confirmed"] == data["count"] else EXIT_PROBLEM


def item_of(word: str) -> dict[str, str]:
    memory_id, equals, kind = word.partition("=")
    return {"memory_id": memory_id, "kind": kind} if equals else {"memory_id": memory_id}


def confirmed(terminal: Terminal, data: Data, items: tuple[str, ...]) -> None:
    """What became of each item."""
    terminal.table(
        ("memory", "is now"),
        [(r["data"]["memory_id"], kind_label(r["data"])) for r in data["results"] if r["ok"]],
    )
    for result in data["results"]:
        if not result["ok"]:
            terminal.complain(f"refused {items[result['index']]}: {result['error']['message']}")
            terminal.complain(f"hint: {result['error']['hint']}")


@kinds_command.command("set")
@click.argument("memory_id", metavar="ID")
@click.argument("kind")
@shared
def set_command(terminal: Terminal, memory_id: str, kind: str) -> None:
    """Set and confirm one memory's kind."""
    data = ask(terminal, "kinds/set", {"memory_id": memory_id, "kind": kind})
    terminal.answer(data, lambda t, d: t.table(("memory", "is now"), [(d["memory_id"], kind_label(d))]))


@kinds_command.command("correct")
@click.argument("case_id", metavar="CASE")
@click.argument("action", type=click.Choice(["apply", "reject", "rollback"]))
@click.option("--expected-version", type=int, required=True, metavar="N", help="The version you looked at.")
@shared
def correct_command(terminal: Terminal, case_id: str, action: str, expected_version: int) -> None:
    """Settle a correction: apply, reject, or roll back."""
    body = {"case_id": case_id, "action": action, "expected_version": expected_version}
    data = ask(terminal, "kinds/correction", body)
    columns = ("case", "memory", "is now", "version")
    terminal.answer(data, lambda t, d: t.table(columns, [(d["case_id"], d["memory_id"], d["state"], d["version"])]))


@kinds_command.command("suggest")
@click.argument("texts", metavar="TEXT...|-", nargs=-1, required=True)
@shared
def suggest_command(terminal: Terminal, texts: tuple[str, ...]) -> None:
    """Guess the kinds of texts, without storing anything.

    With - it reads one text a line from standard input and prints one JSON line for each.
    """
    if texts != ("-",):
        suggestions = list(suggested(terminal, texts))
        terminal.answer({"suggestions": suggestions}, lambda t, d: guessed(t, d, texts))
        return
    for suggestion in suggested(terminal, (line.rstrip("\r\n") for line in sys.stdin)):
        click.echo(json.dumps(suggestion, ensure_ascii=False))


def suggested(terminal: Terminal, texts: Iterable[str]) -> Iterator[Data]:
    """One suggestion a text, in order; a blank text has none."""
    waiting = iter(texts)
    while some := list(islice(waiting, TEXTS_AT_ONCE)):
        cleaned = [text.replace("\0", "").strip()[:MAX_CONTENT] for text in some]
        asked = [text for text in cleaned if text]
        answers = iter(ask(terminal, "kinds/suggest", {"texts": asked})["suggestions"] if asked else ())
        for text in cleaned:
            yield next(answers) if text else {"kind": "", "source": "", "confidence": 0.0, "cue": ""}


def guessed(terminal: Terminal, data: Data, texts: tuple[str, ...]) -> None:
    """The guesses beside their texts."""
    terminal.table(
        ("looks like", "sure", "source", "because of", "text"),
        [
            (s.get("label", ""), f"{s['confidence']:.2f}", s["source"], s["cue"], text)
            for s, text in zip(data["suggestions"], texts, strict=True)
        ],
    )


kinds_command.add_command(backfill_group)
