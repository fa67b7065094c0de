"""How a command asks the owner: over its socket, starting it if need be, with the answer's data or a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .terminal import Data, Refused, Terminal


def ask(terminal: Terminal, operation: str, body: Data) -> Any:
    """The data of one operation's answer; a failure envelope is raised as Refused."""
    from ..adapters import stdio  # noqa: PLC0415  `slw --help` has nothing to ask

    envelope = stdio.post(terminal.home, operation, dict(body))
    if not envelope["ok"]:
        raise Refused(envelope)
    return envelope["data"]


def start_owner(home: Path) -> bool:
    """See that an owner serves this home; False when one did already."""
    from ..adapters import stdio  # noqa: PLC0415

    try:
        was_there = stdio.answers(home)
        stdio.ensure_owner(home)
    except stdio.Unreachable as gone:
        raise Refused(gone.envelope) from gone
    return not was_there


def stop_owner(home: Path) -> bool:
    """Ask the owner to finish and wait until it is gone; False when there was none."""
    from ..adapters import stdio  # noqa: PLC0415

    try:
        return stdio.stop_owner(home)
    except stdio.Unreachable as gone:
        raise Refused(gone.envelope) from gone
