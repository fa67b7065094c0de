"""The options that several commands share, named as the tools' parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ..domain.vocabulary import MAX_PAGE
from .places import default_scope, home_directory
from .terminal import Terminal

Function = Callable[..., Any]


def shared(function: Function) -> Function:
    """Give a command `--json`, `--home` and `--quiet`, and hand it a Terminal as its first argument."""

    @click.option("--json", "as_json", is_flag=True, help="Print the envelope as JSON on stdout.")
    @click.option("--home", metavar="DIR", help="The store's directory (or SLW_HOME).")
    @click.option("--quiet", "-q", is_flag=True, help="Say nothing but the result and errors.")
    @wraps(function)
    def command(*, as_json: bool, home: str | None, quiet: bool, **rest: Any) -> Any:
        # `slw serve --home DIR stop` means the same as `slw serve stop --home DIR`.
        outer = click.get_current_context().find_object(Terminal) or Terminal(home_directory(home))
        place = home_directory(home) if home else outer.home
        terminal = Terminal(place, as_json=as_json or outer.as_json, quiet=quiet or outer.quiet)
        return function(terminal, **rest)

    return command


def scope_option(function: Function) -> Function:
    """`--scope`, by default the project the current directory belongs to."""
    return click.option(
        "--scope", metavar="KIND:ID", help="Where it belongs; default project:<name of the git root folder>."
    )(function)


def every_scope_option(function: Function) -> Function:
    """`--all`: look across scopes, as only a person may."""
    return click.option("--all", "every_scope", is_flag=True, help="Of every scope.")(function)


def session_option(function: Function) -> Function:
    """`--session`, or SLW_SESSION."""
    return click.option(
        "--session", "session_id", metavar="ID", envvar="SLW_SESSION", help="Join an open session (or SLW_SESSION)."
    )(function)


def kind_option(function: Function) -> Function:
    """`--kind`: one of the nine, or another word for one; the owner knows them."""
    return click.option("--kind", metavar="KIND", help="One of the nine memory kinds.")(function)


def page_option(function: Function) -> Function:
    """`--page-size`, as the verbs take it."""
    return click.option("--page-size", type=click.IntRange(1, MAX_PAGE), help="How many memories a page holds.")(
        function
    )


def limit_option(function: Function) -> Function:
    """`--limit` of lists."""
    return click.option("--limit", type=click.IntRange(1, 1000), help="How many at most.")(function)


def scope_or_default(given: str | None) -> str:
    """The scope that was named, else the current project's; outside a repository one must be named."""
    scope = given or default_scope()
    if not scope:
        raise click.UsageError("this directory is in no git repository, so name a scope: --scope project:NAME")
    return scope


def scope_or_every(given: str | None, *, every: bool) -> str:
    """The scope to list: the named one, else the current project's; empty for every scope."""
    if given and every:
        raise click.UsageError("give --scope or --all, not both")
    return "" if every else given or default_scope()


def sent(**members: Any) -> dict[str, Any]:
    """The members that were given: what a person left out is not sent, and the tool's own default holds."""
    return {name: value for name, value in members.items() if value not in (None, "", [], (), {})}
