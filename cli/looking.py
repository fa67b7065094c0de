"""Looking without leaving a trace: lists, searches, one thing in full, and why it is as it is."""

from __future__ import annotations

import json

import click

from ..domain.vocabulary import MEMORY_STATES
from .asking import ask
from .layers import layered
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
from .past import Point, as_of_option, ask_then
from .shown import memories, warnings
from .terminal import Data, Terminal, in_one_line

LAYERS = ("episodes", "prototypes", "schemas", "procedures")
# Members of an event that its line has in places of their own.
TOLD_APART = {"position", "event_id", "topic", "recorded_at", "by"}


@click.command("list")
@scope_option
@every_scope_option
@kind_option
@click.option("--state", type=click.Choice(MEMORY_STATES), help="Only those; by default what is live.")
@click.option("--layer", type=click.Choice(LAYERS), help="What lies beneath; by default schemas, the memories.")
@limit_option
@as_of_option
@shared
def list_command(
    terminal: Terminal,
    scope: str | None,
    kind: str | None,
    state: str | None,
    layer: str | None,
    limit: int | None,
    as_of: Point,
    *,
    every_scope: bool,
) -> None:
    """List memories, newest first; or the episodes, prototypes (largest first) or procedures.

    Of the current project; outside a repository, of every scope.
    """
    body = sent(scope=scope_or_every(scope, every=every_scope), kind=kind, state=state, layer=layer, limit=limit)
    terminal.answer(ask_then(terminal, "list", body, as_of), found)


@click.command("search")
@click.argument("query")
@scope_option
@kind_option
@limit_option
@as_of_option
@shared
def search_command(
    terminal: Terminal, query: str, scope: str | None, kind: str | None, limit: int | None, as_of: Point
) -> None:
    """Search memories; leaves no trace."""
    body = sent(query=query, scope=scope_or_default(scope), kind=kind, limit=limit)
    terminal.answer(ask_then(terminal, "search", body, as_of), found)


def found(terminal: Terminal, data: Data) -> None:
    """The memories of a list or a search, or another layer."""
    if "layer" in data:
        layered(terminal, data)
        return
    memories(terminal, data["memories"])
    if not data["memories"]:
        terminal.note("nothing is remembered")
    warnings(terminal, data)


@click.command("show")
@click.argument("id_", metavar="ID")
@as_of_option
@shared
def show_command(terminal: Terminal, id_: str, as_of: Point) -> None:
    """Show one memory, procedure, session, retrieval, episode or prototype."""
    terminal.answer(ask_then(terminal, "show", {"id": id_}, as_of), in_full)


@click.command("why")
@click.argument("id_", metavar="ID")
@click.argument("memory_id", metavar="[MEMORY]", required=False)
@as_of_option
@shared
def why_command(terminal: Terminal, id_: str, memory_id: str | None, as_of: Point) -> None:
    """Tell the chain of events behind a memory's state.

    With a retrieval's ID and a MEMORY: the parts of the score with which it was shown.
    """
    terminal.answer(ask_then(terminal, "why", sent(id=id_, memory_id=memory_id), as_of), explained)


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


def explained(terminal: Terminal, data: Data) -> None:
    """A chain of events, then where its subject was shown and what was said of it."""
    if "salience" in data:
        terminal.say(f"{data['id']} is {data['state']}; salience {in_one_line(data['salience'])}")
    for event in data.get("events", []):
        rest = {name: value for name, value in event.items() if name not in TOLD_APART}
        moment = str(event["recorded_at"])[:19].replace("T", " ")
        terminal.say(f"{event['position']:>6}  {moment}  {event['topic']}  {event['by']}  {in_one_line(rest)}")
    for exposure in data.get("shown", []):
        target = exposure.get("retrieval_id") if "id" in data else exposure["target_id"]
        terminal.say(f"shown: {target} rank {exposure['rank']}, {exposure['pathway']}, score {exposure['score']:.3f}")
        terminal.say(f"    {in_one_line(parts_of(exposure))}")
    for verdict in data.get("feedback", []):
        terminal.say(f"feedback: {in_one_line(verdict)}")


def parts_of(exposure: Data) -> Data:
    """The parts of a score, the largest first; the read model keeps them as JSON text."""
    parts: dict[str, float] = json.loads(exposure.get("parts") or "{}")
    return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))


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
