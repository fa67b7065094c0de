"""Backups: what was written where and at which position; each is an anchor of the log's chain."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from ..projections.generation import written

RECORD: Final = "backups.json"


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup of a home: the file, and the end of the log in it."""

    path: str
    position: int
    chain: str
    at: str

    @property
    def link(self) -> bytes:
        """The chain at that position; one that nothing equals where the record was damaged."""
        try:
            return bytes.fromhex(self.chain)
        except ValueError:
            return b""


def backups_of(home: Path) -> list[Backup]:
    """The backups that were made of the home and are still where they were written."""
    try:
        told = json.loads((home / RECORD).read_bytes())
        found = [Backup(**entry) for entry in told]
    except (OSError, ValueError, TypeError):
        return []
    return [backup for backup in found if Path(backup.path).exists()]


def note_backup(home: Path, path: Path, position: int, chain: bytes, at: datetime) -> Backup:
    """Remember a backup."""
    made = Backup(str(path), position, chain.hex(), at.isoformat())
    others = [backup for backup in backups_of(home) if backup.path != made.path]
    written(home / RECORD, json.dumps([asdict(backup) for backup in (*others, made)], indent=1))
    return made
