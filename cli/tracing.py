"""`slw trace`: a question's answers with every part of their scores, and what kinds did to their order."""

from __future__ import annotations

import click

from .asking import ask
from .options import kind_option, limit_option, scope_option, scope_or_default, sent, shared
from .shown import kind_label, warnings
from .terminal import Data, Terminal

# What every answer has a share of, in the order of the formula.
CHANNELS = ("words", "meaning", "named", "session", "association", "salience", "kind")


@click.command("trace")
@click.argument("query")
@scope_option
@kind_option
@limit_option
@shared
def trace_command(terminal: Terminal, query: str, scope: str | None, kind: str | None, limit: int | None) -> None:
    """Search, and tell every channel's score of each answer.

    Leaves no trace in the log. `was` is the rank without what kinds did.
    """
    body = sent(query=query, scope=scope_or_default(scope), kind=kind, limit=limit)
    terminal.answer(ask(terminal, "trace", body), traced)


def traced(terminal: Terminal, data: Data) -> None:
    """One line an answer."""
    asked = data["asks_for_kind"] or "no kind"
    off = "" if data["kind_aware"] else "; kind_aware is off"
    terminal.note(f"the question asks for {asked}{off}")
    parts = list(CHANNELS)
    for hit in data["memories"]:
        parts += [name for name in hit["parts"] if name not in parts]
    terminal.table(
        ("rank", "was", "score", *parts, "kind is", "memory", "why", "says"),
        [
            (
                *(hit["rank"], hit["rank_without_kinds"], f"{hit['score']:.3f}"),
                *(f"{hit['parts'].get(name, 0.0):.3f}" for name in parts),
                *(kind_label(hit), hit["memory_id"], hit["why"], hit["content"]),
            )
            for hit in data["memories"]
        ],
    )
    for hit in data["procedures"]:
        shares = ", ".join(f"{name} {value:.3f}" for name, value in hit["parts"].items())
        terminal.say(f"{hit['procedure_id']}  {hit['score']:.3f} ({shares})  {hit['summary']}")
    if data["hidden_by_kind"]:
        terminal.note(f"{data['hidden_by_kind']} likely answer(s) are of another kind")
    if not data["memories"] and not data["procedures"]:
        terminal.note("nothing relevant is remembered")
    warnings(terminal, data)
