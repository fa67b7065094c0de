"""What agents and their clients start: the proxy, and the owner of the store."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from .asking import start_owner, stop_owner
from .main import become_proxy
from .options import shared
from .terminal import Data, Terminal


@click.command("mcp")
@click.option("--tools", type=click.Choice(["core", "full"]), default="full", show_default=True, help="Which tools.")
@shared
def mcp_command(terminal: Terminal, tools: str) -> None:
    """Serve one agent over stdio; what a client's configuration starts.

    stdout carries the protocol and nothing else. The owner of the store is started if none runs.
    """
    become_proxy(home=str(terminal.home), tools=tools)


@click.group("serve", invoke_without_command=True)
@click.option("--foreground", is_flag=True, help="Stay in this terminal until interrupted.")
@shared
@click.pass_context
def serve_command(context: click.Context, terminal: Terminal, *, foreground: bool) -> None:
    """Start the owner of the store, the one process that all agents share.

    It starts by itself when an agent or a command needs it, and exits when nobody has needed it for half an hour.
    """
    if context.invoked_subcommand is not None:
        context.obj = terminal
        return
    if foreground:
        stay(terminal.home)
    started = start_owner(terminal.home)
    terminal.answer({"home": str(terminal.home), "started": started}, served)


def stay(home: Path) -> None:
    """Become the owner in this terminal; it says so itself, and why when it cannot."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", "slw.adapters.owner", "--foreground", "--home", str(home)])  # noqa: S606


def served(terminal: Terminal, data: Data) -> None:
    """Whether the owner is new."""
    terminal.say(f"{'started' if data['started'] else 'running already'}: {data['home']}")


@serve_command.command("stop")
@shared
def stop_command(terminal: Terminal) -> None:
    """Ask the owner to finish and exit."""
    terminal.answer({"home": str(terminal.home), "stopped": stop_owner(terminal.home)}, stopped)


def stopped(terminal: Terminal, data: Data) -> None:
    """Whether there was one."""
    terminal.say(f"{'stopped' if data['stopped'] else 'none was running'}: {data['home']}")
