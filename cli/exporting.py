"""`slw export` and `slw import`: the memory for other tools, or for another home."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import click

from .options import shared
from .progress import progress
from .terminal import EXIT_FINE, EXIT_PROBLEM, Data, Terminal


@click.command("export")
@click.argument("kind", type=click.Choice(["parquet", "csv", "jsonl"]))
@click.argument("into", metavar="DIR", type=click.Path(path_type=Path))
@shared
def export_command(terminal: Terminal, kind: Literal["parquet", "csv", "jsonl"], into: Path) -> None:
    """Write the memory into a new folder, with a manifest.

    parquet and csv hold the views of slw schema; jsonl holds the log itself, event by event, and can be imported.
    """
    from ..adapters.exporting import export  # noqa: PLC0415 - not for `slw --help`

    with ExitStack() as bars:
        told = export(terminal.home, kind, into, lambda doing: bars.enter_context(progress(terminal, doing)))
    terminal.answer({"into": str(into.absolute()), **told}, exported)


def exported(terminal: Terminal, data: Data) -> None:
    """What was written."""
    terminal.say(f"{len(data['files'])} files in {data['into']}, up to position {data['position']}")


@click.command("import")
@click.argument("kind", type=click.Choice(["jsonl"]))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@shared
def import_command(terminal: Terminal, kind: str, folder: Path) -> int:  # noqa: ARG001 - one kind, said for what comes
    """Make a home's log from an export of jsonl: the same events, ids and positions.

    The home must not have a log yet. Exits 1 when the read models come to something else than where it was exported.
    """
    from ..adapters.exporting import import_log  # noqa: PLC0415 - not for `slw --help`

    with ExitStack() as bars:
        told = import_log(terminal.home, folder, lambda doing: bars.enter_context(progress(terminal, doing)))
    terminal.answer(told, imported)
    return EXIT_FINE if told["equal"] else EXIT_PROBLEM


def imported(terminal: Terminal, data: Data) -> None:
    """How far the log goes, and whether it comes to the same."""
    same = "equal to those of the export" if data["equal"] else f"differ in {', '.join(data['differs'])}"
    terminal.say(f"{data['position']:,} events; read models {same}")
