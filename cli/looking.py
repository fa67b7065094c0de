"""Looking without leaving a trace: lists, searches, one thing in full, and why it is as it is."""

from __future__ import annotations

import click

from ..domain.vocabulary import MEMORY_STATES
from .asking import ask
from .options import (
    every_scope_option,
    kind_option,
    limit_option,
    scope_option,
    scope_or_default,
    scope_or_every,
    sent,
    shared,
)
from .shown import memories, warnings
from .terminal import Data, Terminal


@click.command("list")
@scope_option
@every_scope_option
@kind_option
@click.option("--state", type=click.Choice(MEMORY_STATES), help="Only those; by default what is live.")
@limit_option
@shared
def list_command(
    terminal: Terminal, scope: str | None, kind: str | None, state: str | None, limit: int | None, *, every_scope: bool
) -> None:
    """List memories, newest first.

    Of the current project; outside a repository, of every scope.
    """
    body = sent(scope=scope_or_every(scope, every=every_scope), kind=kind, state=state, limit=limit)
    terminal.answer(ask(terminal, "list", body), found)


@click.command("search")
@click.argument("query")
@scope_option
@kind_option
@limit_option
@shared
def search_command(terminal: Terminal, query: str, scope: str | None, kind: str | None, limit: int | None) -> None:
    """Search memories; leaves no trace."""
    body = sent(query=query, scope=scope_or_default(scope), kind=kind, limit=limit)
    terminal.answer(ask(terminal, "search", body), found)


def found(terminal: Terminal, data: Data) -> None:
    """The memories of a list or a search."""
    memories(terminal, data["memories"])
    if not data["memories"]:
        terminal.note("nothing is remembered")
    warnings(terminal, data)


@click.command("show")
@click.argument("id_", metavar="ID")
@shared
def show_command(terminal: Terminal, id_: str) -> None:
    """Show one memory, procedure, session or retrieval."""
    terminal.answer(ask(terminal, "show", {"id": id_}), in_full)


@click.command("why")
@click.argument("id_", metavar="ID")
@click.argument("memory_id", metavar="[MEMORY]", required=False)
@shared
def why_command(terminal: Terminal, id_: str, memory_id: str | None) -> None:
    """Tell the chain of events behind a memory's state.

    With a retrieval's ID and a MEMORY: the parts of the score with which it was shown.
    """
    terminal.answer(ask(terminal, "why", sent(id=id_, memory_id=memory_id)), in_full)


@click.command("sessions")
@scope_option
@every_scope_option
@click.option("--state", type=click.Choice(["open", "committed", "expired"]), help="Only those.")
@limit_option
@shared
def sessions_command(
    terminal: Terminal, scope: str | None, state: str | None, limit: int | None, *, every_scope: bool
) -> None:
    """List task sessions, newest first.

    Of the current project; outside a repository, of every scope.
    """
    body = sent(scope=scope_or_every(scope, every=every_scope), state=state, limit=limit)
    terminal.answer(ask(terminal, "sessions", body), told_sessions)


def in_full(terminal: Terminal, data: Data) -> None:
    """Everything there is to say of one thing."""
    terminal.outline(data)


def told_sessions(terminal: Terminal, data: Data) -> None:
    """Sessions, one a line."""
    terminal.table(
        ("session", "state", "opened", "scope", "task"),
        [
            (held["session_id"], held["state"], str(held["activated_at"])[:16], held["scope"], held["task"])
            for held in data["sessions"]
        ],
    )
    if not data["sessions"]:
        terminal.note("no session yet")
