"""Copies of files that are in use: made whole first, then copied by a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..domain.errors import Unavailable
from ..projections.generation import MANIFEST, Generation
from .integrity import open_read_only

if TYPE_CHECKING:
    from .store import Store

# DuckDB and SQLite hold their files by locks of the process, and the kernel lets go of all of them as soon as the
# same process closes any descriptor of the file. So whoever copies must be another process.
COPIER: Final = """
import json, os, shutil, sys
for source, target in json.loads(sys.stdin.read()).items():
    if os.path.isdir(source):
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
"""


def copied(pairs: Mapping[Path, Path]) -> None:
    """Copy each file or folder to its target, which is not there yet. Raises Unavailable when the disk is full."""
    told = json.dumps({str(source): str(target) for source, target in pairs.items()})
    done = subprocess.run(  # noqa: S603 - our own interpreter, our own few lines
        [sys.executable, "-I", "-S", "-c", COPIER], input=told, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Unavailable(f"files cannot be copied: {said}", hint="look at the disk's free space, then try again")


def copy_live(store: Store, into: Path, views: Sequence[str] = ()) -> tuple[Path, int]:
    """A copy of the generation that answers, or of some of its views, at one position; on the engine's thread.

    Returns the copy's folder and that position. Writes go on; reads wait for as long as it takes to copy files.
    """
    store.catch_up()
    generation = store.generation
    wanted = [kind for kind in store.growth.succession.kinds if not views or kind.name in views]
    for kind in wanted:
        generation.views[kind.name].come_to_rest()
    target = into / generation.directory.name
    if views:
        target.mkdir(mode=0o700)
        files = [name for kind in wanted for name in kind.files if (generation.directory / name).exists()]
        copied({generation.directory / name: target / name for name in files})
    else:
        anchored(generation, store.home.log)
        copied({generation.directory: target})
    return target, min(generation.views[kind.name].position for kind in wanted)


def anchored(generation: Generation, log: Path) -> None:
    """Note in the manifest which chain the log has where the generation stands."""
    position = generation.position
    with closing(open_read_only(log)) as db:
        row = db.execute("SELECT chain FROM stored_events WHERE seq=?", (position,)).fetchone()
    if row is not None:
        generation.anchor(position, bytes(row[0]).hex())


def copy_at_rest(home: Path, name: str, into: Path) -> Path:
    """A copy of a generation that nobody has open; the caller holds the home's lease."""
    source = home / name
    if not (source / MANIFEST).exists():
        raise Unavailable(f"{name} is not there", hint="any command that reads grows it back, such as slw status")
    copied({source: into / name})
    return into / name
