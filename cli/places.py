"""Where the memory is kept, and which scope the current directory belongs to."""

from __future__ import annotations

import os
from pathlib import Path


def home_directory(given: str | None = "") -> Path:
    """The store's directory: the option, else SLW_HOME, else the platform's directory for a user's data."""
    chosen = given or os.environ.get("SLW_HOME", "")
    if not chosen:
        import platformdirs  # noqa: PLC0415  the proxy's path does without it when a home is named

        chosen = platformdirs.user_data_dir("slw", appauthor=False)
    return Path(chosen).expanduser().absolute()


def git_root(start: Path) -> Path | None:
    """The nearest directory upwards that holds `.git` (a directory, or a file in a worktree)."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def default_scope(start: Path | None = None) -> str:
    """`project:<name of the git root folder>`, or empty outside a repository: there is nothing to guess from."""
    root = git_root((start or Path.cwd()).absolute())
    return f"project:{root.name}" if root and root.name else ""
