"""What only people decide: hiding a memory and taking that back, and how far one is seen."""

from __future__ import annotations

import click

from .asking import ask
from .options import sent, shared
from .terminal import Data, Terminal

STAGES = ("scoped", "portable", "contextual", "global")


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


@click.command("promote")
@click.argument("memory_id", metavar="ID")
@click.argument("stage", type=click.Choice(STAGES))
@shared
def promote_command(terminal: Terminal, memory_id: str, stage: str) -> None:
    """Let a memory be seen beyond its scope, as far as STAGE goes.

    Evidence goes on from there: the memory is held wider where it is used, and falls back where more scopes find it
    irrelevant than of use. `slw pin` holds it where it is.
    """
    terminal.answer(ask(terminal, "promote", sent(memory_id=memory_id, stage=stage)), widened)


@click.command("pin")
@click.argument("memory_id", metavar="ID")
@click.argument("stage", type=click.Choice(STAGES), required=False)
@click.option("--off", is_flag=True, help="Let evidence decide again.")
@shared
def pin_command(terminal: Terminal, memory_id: str, stage: str | None, off: bool) -> None:
    """Hold a memory at STAGE, whatever other scopes make of it."""
    if bool(stage) == off:
        raise click.UsageError("give a STAGE, or --off to let evidence decide again")
    terminal.answer(ask(terminal, "pin", sent(memory_id=memory_id, stage=stage)), widened)


def widened(terminal: Terminal, data: Data) -> None:
    """How far the memory is seen now."""
    terminal.table(("memory", "stage", "pinned"), [(data["memory_id"], data["stage"], data["pinned"] or "no")])


def decided(terminal: Terminal, data: Data) -> None:
    """What the memory is now."""
    terminal.table(("memory", "is now"), [(data["memory_id"], data["state"])])
