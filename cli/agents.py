"""What agents and their clients start: the proxy, and the owner of the store."""

from __future__ import annotations

import click

from .main import become_proxy
from .options import shared
from .terminal import Terminal


@click.command("mcp")
@click.option("--tools", type=click.Choice(["core", "full"]), default="full", show_default=True, help="Which tools.")
@shared
def mcp_command(terminal: Terminal, tools: str) -> None:
    """Serve one agent over stdio; what a client's configuration starts.

    stdout carries the protocol and nothing else. The owner of the store is started if none runs.
    """
    become_proxy(home=str(terminal.home), tools=tools)
