"""How long the owner waits for what; from settings.json in the home, each bad value falling back alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

# No setting may be zero or below; longer than this is surely a slip of the unit.
LONGEST = {"idle_exit_seconds": 7 * 86_400, "session_lifetime_hours": 24 * 365}


@dataclass(frozen=True, slots=True)
class Settings:
    """`problems` are values of the file that could not be used; `slw status` shows them."""

    # Half an hour: past a lunch break the next call pays a start of two seconds instead of everyone 250 MB all day.
    idle_exit_seconds: float = 1_800.0
    # A session nobody named for a day has lost its agent; what it remembered should become part of the past.
    session_lifetime_hours: float = 24.0
    # How often sessions are looked over for expiry.
    expiry_check_seconds: float = 300.0
    # The read models on disk trail the log by at most this much.
    flush_events: int = 500
    flush_seconds: float = 1.0
    # A recall waits this long for vectors of what its own session has just remembered.
    vector_wait_seconds: float = 1.0
    # How long an append waits for another program that holds the log.
    lock_seconds: int = 30
    problems: tuple[str, ...] = field(default=(), compare=False)

    @property
    def session_lifetime(self) -> timedelta:
        return timedelta(hours=self.session_lifetime_hours)


def read_settings(path: Path) -> Settings:
    """The settings of a home; the defaults where the file is missing, damaged or wrong."""
    try:
        told: Any = json.loads(path.read_text())
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as fault:
        return Settings(problems=(f"{path.name} cannot be read ({fault}); every setting has its default",))
    if not isinstance(told, dict):
        return Settings(problems=(f"{path.name} is no JSON object; every setting has its default",))
    good: dict[str, Any] = {}
    problems: list[str] = []
    known = {f.name: f.default for f in fields(Settings) if f.name != "problems"}
    for name, value in told.items():
        if name not in known:
            problems.append(f"{path.name}: {name} is no setting; known are {', '.join(known)}")
        elif isinstance(value, bool) or not isinstance(value, int | float):
            problems.append(f"{path.name}: {name} must be a number; {known[name]} is used")
        elif not 0 < value <= LONGEST.get(name, 86_400):
            problems.append(f"{path.name}: {name} is out of range; {known[name]} is used")
        else:
            good[name] = int(value) if isinstance(known[name], int) else float(value)
    return Settings(**good, problems=tuple(problems))
