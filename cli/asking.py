"""How a command asks the owner: over its socket, starting it if need be, with the answer's data or a refusal."""

from __future__ import annotations

from typing import Any

from .terminal import Data, Refused, Terminal


def ask(terminal: Terminal, operation: str, body: Data) -> Any:
    """The data of one operation's answer; a failure envelope is raised as Refused."""
    from ..adapters import stdio  # noqa: PLC0415  `slw --help` has nothing to ask

    stdio.ensure_owner(terminal.home)
    envelope = stdio.post(terminal.home, operation, dict(body))
    if not envelope["ok"]:
        raise Refused(envelope)
    return envelope["data"]
