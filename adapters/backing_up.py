"""Backup and restore: one file with the log and its vectors, taken while agents write, checked on both ways."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..domain.errors import NeedsConfirmation, NotFound, Unavailable
from ..projections.generation import synced
from .backups import note_backup
from .integrity import Finding, check_log, open_read_only
from .reach import claim_home
from .stillness import stillness

ABOUT: Final = "backup.json"
FORMAT: Final = 1
# What of a home cannot be grown back from the log, or is costly to.
KEPT: Final = ("log.db", "embeddings.db")
CHOSEN: Final = ("settings.json", "kinds.json")
# What is set aside when another log takes the place.
REPLACED: Final = ("log.db*", "embeddings.db*", "gen-*", "CURRENT", "as-of", "analytics.duckdb*", *CHOSEN)


@dataclass(frozen=True, slots=True)
class About:
    """What a backup says of itself."""

    format: int
    position: int
    chain: str
    at: str


def back_up(home: Path, target: Path, progress: Callable[[int, int], None] = lambda *_: None) -> About:
    """Write a checked backup of the home to a file that is not there yet. Agents may go on writing.

    Raises Unavailable when there is nothing to back up, or when what was copied is not whole.
    """
    if not (home / "log.db").exists():
        raise Unavailable(f"there is no log in {home}", hint="slw activate, or an agent's first call, begins one")
    if target.exists():
        raise NeedsConfirmation(f"{target} is there already", hint="name a file that is not there yet")
    with tempfile.TemporaryDirectory(prefix=".slw-backup-", dir=target.absolute().parent) as scratch:
        copy = Path(scratch)
        for name in KEPT:
            if (home / name).exists():
                _copied(home / name, copy / name)
        checked = check_log(copy / "log.db", progress=lambda read: progress(read, max(read, 1)))
        _require_whole("the log is not whole", checked.findings)
        about = About(FORMAT, checked.position, checked.chain.hex(), datetime.now(UTC).isoformat())
        (copy / ABOUT).write_text(json.dumps(asdict(about)))
        for name in CHOSEN:
            if (home / name).exists():
                shutil.copyfile(home / name, copy / name)
        whole = copy / "whole.tar"
        with os.fdopen(os.open(whole, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                for name in (ABOUT, *KEPT, *CHOSEN):
                    if (copy / name).exists():
                        tar.add(copy / name, name)
            file.flush()
            os.fsync(file.fileno())
        whole.rename(target)
        synced(target.absolute().parent)
    note_backup(home, target.absolute(), about.position, checked.chain, datetime.now(UTC))
    return about


def _copied(source: Path, target: Path) -> None:
    """A consistent copy of a SQLite file, in one read of it, whoever writes meanwhile."""
    with closing(open_read_only(source)) as live, closing(sqlite3.connect(target)) as copy:
        live.backup(copy)
        # A file of its own: nothing may be left beside it that the archive would miss.
        copy.execute("PRAGMA journal_mode=DELETE")


def _require_whole(said: str, findings: list[Finding]) -> None:
    if findings:
        first = min(findings, key=lambda found: found.position)
        raise Unavailable(f"{said}: position {first.position}: {first.what}", hint=first.hint)


@contextmanager
def opened(file: Path, beside: Path) -> Iterator[tuple[Path, About]]:
    """The content of a backup in a temporary folder, checked from end to end."""
    if not file.exists():
        raise NotFound(f"there is no file {file}", hint="name a file that slw backup wrote")
    with tempfile.TemporaryDirectory(prefix=".slw-restore-", dir=beside) as scratch:
        place = Path(scratch)
        try:
            with tarfile.open(file) as tar:
                for name in (ABOUT, *KEPT, *CHOSEN):
                    if name in tar.getnames():
                        tar.extract(name, place, filter="data")
            about = About(**json.loads((place / ABOUT).read_bytes()))
        except (tarfile.TarError, OSError, ValueError, TypeError) as fault:
            raise Unavailable(f"{file} is no whole backup of slw: {fault}", hint="use another backup") from fault
        if about.format > FORMAT:
            raise Unavailable(f"{file} has format {about.format}", hint="update slw, then restore")
        checked = check_log(place / "log.db")
        _require_whole(f"the log in {file} is not whole", checked.findings)
        if (checked.position, checked.chain.hex()) != (about.position, about.chain):
            raise Unavailable(f"the log in {file} is not the one it was written with", hint="use another backup")
        yield place, about


def restore(home: Path, file: Path, *, yes: bool, grow: Callable[[], None]) -> tuple[About, Path | None]:
    """Put a backup into the home; what was there is kept in a folder of the home, whose path is returned.

    Needs `yes` where there is a log. `grow()` lets the read models grow before any agent asks.
    """
    place = claim_home(home)
    if (place / "log.db").exists() and not yes:
        raise NeedsConfirmation(
            f"{place} holds a log already", hint="say --yes: what is there now is kept in a folder beside it"
        )
    with stillness(place), opened(file, place) as (content, about):
        aside = _set_aside(place)
        for name in (*KEPT, *CHOSEN):
            if (content / name).exists():
                (content / name).rename(place / name)
                (place / name).chmod(0o600)
        synced(place)
        grow()
        return about, aside


def _set_aside(home: Path) -> Path | None:
    """Move what another log replaces into a folder of its own; None when there is nothing.

    The log goes first: killed in between, the home has no log, and everything that was there stands in the folder.
    """
    found = [path for pattern in REPLACED for path in sorted(home.glob(pattern))]
    if not found:
        return None
    number = 1
    while (aside := home / f"before-restore-{number}").exists():
        number += 1
    aside.mkdir(mode=0o700)
    for path in found:
        path.rename(aside / path.name)
    synced(aside)
    return aside
