"""What only people decide: hiding a memory, and taking that back."""

from __future__ import annotations

import click

from .asking import ask
from .options import sent, shared
from .terminal import Data, Terminal


@click.command("suppress")
@click.argument("memory_id", metavar="ID")
@click.option("--reason", help="Why; kept in the log.")
@shared
def suppress_command(terminal: Terminal, memory_id: str, reason: str | None) -> None:
    """Hide a memory from every verb; deletes nothing.

    `slw unsuppress` takes it back.
    """
    terminal.answer(ask(terminal, "suppress", sent(memory_id=memory_id, reason=reason)), decided)


@click.command("unsuppress")
@click.argument("memory_id", metavar="ID")
@click.option("--reason", help="Why; kept in the log.")
@shared
def unsuppress_command(terminal: Terminal, memory_id: str, reason: str | None) -> None:
    """Let a suppressed memory be shown again."""
    terminal.answer(ask(terminal, "unsuppress", sent(memory_id=memory_id, reason=reason)), decided)


def decided(terminal: Terminal, data: Data) -> None:
    """What the memory is now."""
    terminal.table(("memory", "is now"), [(data["memory_id"], data["state"])])
