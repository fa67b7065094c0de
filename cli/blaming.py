"""`slw blame`: who made each field of a memory or session what it is."""

from __future__ import annotations

import click

from .options import shared
from .terminal import Data, Terminal


@click.command("blame")
@click.argument("id_", metavar="ID")
@shared
def blame_command(terminal: Terminal, id_: str) -> None:
    """For each field of a memory or session: which event set it, when, by whom, in which session.

    It reads the log itself, and works with and without an owner.
    """
    from ..adapters.blaming import blame  # noqa: PLC0415 - not for `slw --help`

    terminal.answer({"id": id_, "fields": blame(terminal.home / "log.db", id_)}, blamed)


def blamed(terminal: Terminal, data: Data) -> None:
    """One line a field, the value last, as `git blame` has it."""
    terminal.table(
        ("position", "when", "by", "event", "in", "field", "value"),
        [
            (
                field["position"],
                field["recorded_at"][:16].replace("T", " "),
                field["by"],
                field["topic"],
                field["session_id"] or field["run_id"],
                field["field"],
                ", ".join(field["value"]) if isinstance(field["value"], list) else field["value"],
            )
            for field in data["fields"]
        ],
    )
