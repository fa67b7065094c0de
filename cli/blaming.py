"""`slw blame`: who made each field of a memory or session what it is."""

from __future__ import annotations

import click

from .options import shared
from .terminal import Data, Terminal


@click.command("blame")
@click.argument("id_", metavar="ID")
@shared
def blame_command(terminal: Terminal, id_: str) -> None:
    """Tell which event set each field of a memory or session, when and by whom.

    It reads the log itself, and works with and without an owner.
    """
    from ..adapters.blaming import blame  # noqa: PLC0415 - not for `slw --help`

    terminal.answer({"id": id_, "fields": blame(terminal.home / "log.db", id_)}, blamed)


def blamed(terminal: Terminal, data: Data) -> None:
    """Event by event, what of the present state is its doing."""
    at = 0
    for field in sorted(data["fields"], key=lambda field: field["position"]):
        if field["position"] != at:
            at = field["position"]
            where = " ".join(f"in {place}" for place in (field["session_id"], field["run_id"]) if place)
            when = field["recorded_at"][:16].replace("T", " ")
            terminal.heading(f"{at:>6}  {when}  {field['topic']}  {field['by']}  {where}".rstrip())
        value = field["value"]
        terminal.say(f"        {field['field']}: {', '.join(value) if isinstance(value, list) else value}")
