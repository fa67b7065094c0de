"""The `slw` command: the fastest way into a proxy, or on to the commands a person types."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

PROXY = Path(__file__).resolve().parent.parent / "adapters" / "stdio.py"
PROXY_OPTIONS = ("--home", "--tools")


def main() -> None:
    """Run `slw` with the words after it, and leave with an exit code.

    `slw mcp` is what a client starts and waits for, so it becomes the proxy before anything else is imported.
    """
    words = sys.argv[1:]
    options = proxy_options(words[1:]) if words[:1] == ["mcp"] else None
    if options is not None:
        become_proxy(**options)
    from .root import run  # noqa: PLC0415  click is not for the proxy's path

    sys.exit(run(words))


def proxy_options(words: Sequence[str]) -> dict[str, str] | None:
    """`--home DIR` and `--tools SET` of a well-formed `slw mcp`, or None: then click helps or says what is wrong."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in PROXY_OPTIONS or not (equals or rest):
            return None
        found[name.removeprefix("--")] = value if equals else rest.pop(0)
    return found if found.get("tools", "full") in {"core", "full"} else None


def become_proxy(home: str = "", tools: str = "full") -> None:
    """Replace this process by the stdio proxy, which needs the standard library alone."""
    from .places import home_directory  # noqa: PLC0415  with SLW_HOME or --home it imports nothing more

    command = [sys.executable, "-I", "-S", str(PROXY), "--home", str(home_directory(home)), "--tools", tools]
    os.execv(sys.executable, command)  # noqa: S606  our own interpreter, our own file


if __name__ == "__main__":
    main()
