"""`slw backup` and `slw restore`: one file with everything that cannot be grown back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from .confirming import confirm
from .options import shared
from .progress import progress
from .terminal import Data, Terminal


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@shared
def backup_command(terminal: Terminal, file: Path | None) -> None:
    """Write one file with the log and its vectors, checked from end to end.

    Agents may go on working. Default: slw-DATE-TIME.backup in the current directory.
    """
    from ..adapters.backing_up import back_up  # noqa: PLC0415 - not for `slw --help`

    target = file or Path(f"slw-{datetime.now(UTC):%Y%m%d-%H%M%S}.backup")
    with progress(terminal, "checking the copy") as moved:
        about = back_up(terminal.home, target, moved)
    data = {"file": str(target.absolute()), "position": about.position, "bytes": target.stat().st_size}
    terminal.answer(data, backed_up)


def backed_up(terminal: Terminal, data: Data) -> None:
    """Where it is and how far it goes."""
    terminal.say(f"{data['file']}: {data['position']:,} events, {data['bytes']:,} bytes, checked")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Put it in the place of the log that is there, which is kept beside it.")
@shared
def restore_command(terminal: Terminal, file: Path, yes: bool) -> None:
    """Put a backup into the home, and verify it.

    What was there is kept in a folder of the home. Positions and ids are the same as before.
    """
    from ..adapters.backing_up import restore  # noqa: PLC0415 - not for `slw --help`
    from ..adapters.store import Store  # noqa: PLC0415 - likewise
    from ..adapters.verifying import verify_quickly  # noqa: PLC0415 - likewise

    there = (terminal.home / "log.db").exists()
    if there:
        confirm(f"{terminal.home} holds a log; put {file} in its place? What is there is kept.", yes=yes)

    def grow() -> None:
        store = Store.open(terminal.home)
        try:
            store.growth.wait()
        finally:
            store.close()

    about, aside = restore(terminal.home, file, yes=yes or there, grow=grow)
    seen = verify_quickly(terminal.home)
    data = {"position": about.position, "kept": str(aside) if aside else "", "whole": seen.whole}
    terminal.answer(data, restored)


def restored(terminal: Terminal, data: Data) -> None:
    """How far the log goes now, and where the one before is."""
    terminal.say(f"the log goes to position {data['position']:,} again")
    if data["kept"]:
        terminal.say(f"what was there is in {data['kept']}")
