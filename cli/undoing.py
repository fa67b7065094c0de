"""`slw undo`: taking back what a session, a run or a client did."""

from __future__ import annotations

from datetime import datetime

import click

from .asking import ask
from .log import PositionOrTime
from .options import sent, shared
from .terminal import Data, Terminal


@click.command("undo")
@click.option("--session", metavar="ID", help="What happened in this session.")
@click.option("--run", metavar="ID", help="What this run did: one that typed memories, or an undo.")
@click.option("--client", metavar="NAME", help="What this client did; `person` for what was done by hand.")
@click.option("--since", type=PositionOrTime(), help="With --client: only from that time on.")
@click.option("--dry-run", is_flag=True, help="Tell what would be taken back, and change nothing.")
@shared
def undo_command(
    terminal: Terminal,
    session: str | None,
    run: str | None,
    client: str | None,
    since: int | datetime | None,
    dry_run: bool,
) -> None:
    """Take back what a session, a run or a client did; nothing is deleted.

    Claims are withdrawn, retirements and kinds taken back, feedback counts no more. What others build on is kept and
    named. The undo is a run of its own: `slw undo --run` takes it back.
    """
    if [session, run, client].count(None) != 2:  # noqa: PLR2004 - one of three is given
        raise click.UsageError("name one of --session, --run and --client")
    if (client is None) != (since is None):
        raise click.UsageError("--client and --since go together: slw undo --client NAME --since TIME")
    if isinstance(since, int):
        from ..adapters.replaying import time_of  # noqa: PLC0415 - not for `slw --help`

        since = time_of(terminal.home / "log.db", max(since, 1))
    body = sent(session=session, run=run, client=client, since=since.isoformat() if since else None, dry_run=dry_run)
    terminal.answer(ask(terminal, "undo", body), undone)


def undone(terminal: Terminal, data: Data) -> None:
    """What was taken back and what was kept, by id."""
    terminal.table(("id", "fact", "became"), [(u["id"], u["topic"], u["became"]) for u in data["undone"]])
    terminal.table(("kept", "why"), [(kept["id"], kept["why"]) for kept in data["kept"]])
    if not data["undone"]:
        terminal.note("nothing is left to take back")
    elif data["dry_run"]:
        terminal.note("nothing was changed; without --dry-run it is")
    else:
        terminal.note(f"undone by {data['run_id']}; slw undo --run {data['run_id']} takes that back")
