"""Looking after the store: how it stands, where its files are, and the shell's completion."""

from __future__ import annotations

import click

from .options import shared
from .past import Point, as_of_option, ask_then
from .terminal import Data, Terminal

PLACES = {
    "log": "log.db",
    "embeddings": "embeddings.db",
    "socket": "owner.sock",
    "analytics": "analytics.duckdb",
    "fault-log": "slw.log",
}


@click.command("status")
@as_of_option
@shared
def status_command(terminal: Terminal, as_of: Point) -> None:
    """Tell what the store holds and how its read models stand."""
    terminal.answer(ask_then(terminal, "status", {}, as_of), status_told)


def status_told(terminal: Terminal, data: Data) -> None:
    """The store's state, as an outline."""
    terminal.outline(data)


@click.command("path")
@click.option("--log", "which", flag_value="log", help="The event log.")
@click.option("--embeddings", "which", flag_value="embeddings", help="The cache of vectors.")
@click.option("--analytics", "which", flag_value="analytics", help="The published snapshot for SQL.")
@click.option("--socket", "which", flag_value="socket", help="The owner's socket.")
@click.option("--fault-log", "which", flag_value="fault-log", help="The owner's own log of faults.")
@shared
def path_command(terminal: Terminal, which: str | None) -> None:
    """Print where the store's files are."""
    path = terminal.home / PLACES[which] if which else terminal.home
    terminal.answer({"path": str(path)}, path_told)


def path_told(terminal: Terminal, data: Data) -> None:
    """Just the path, for use in `$(...)`."""
    terminal.say(data["path"])


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@shared
def completion_command(terminal: Terminal, shell: str) -> None:
    """Print the completion script of a shell.

    For bash: eval "$(slw completion bash)" in .bashrc; zsh likewise in .zshrc; fish: slw completion fish | source.
    """
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    from .root import slw  # noqa: PLC0415  the root imports this module when the command is called

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    script = kind(slw, {}, "slw", "_SLW_COMPLETE").source()
    terminal.answer({"shell": shell, "script": script}, script_told)


def script_told(terminal: Terminal, data: Data) -> None:
    """The script itself."""
    terminal.say(data["script"])
