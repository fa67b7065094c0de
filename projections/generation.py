"""A generation: one directory with one set of read models, all folded from the same log by the same code."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal, Self

from .projector import Damaged, Projector, ReadPage, View, ViewKind

MANIFEST: Final = "manifest.json"
# Facts folded between two writes while a generation grows: larger writes cost less CPU a row, and memory is bounded
# by what waits. 500 a write take 63 us of CPU a fact, 20,000 take 22 (tests/bench/folds.py).
GROWTH: Final = 20_000


def schema_of(kinds: Sequence[ViewKind], policy_digest: str) -> str:
    """The schema version of a set of views, 12 hex digits: other code or another policy is another generation."""
    shape = [sorted((kind.name, kind.version) for kind in kinds), policy_digest]
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation says of itself. `chain` (hex) anchors it in the log at `position`."""

    schema: str
    number: int
    state: Literal["building", "complete"]
    views: dict[str, str]
    position: int = 0
    chain: str = ""

    def write(self, directory: Path) -> None:
        """Replace the manifest in one step, on the disk when this returns."""
        members = asdict(self)
        written(directory / MANIFEST, json.dumps({**members, "check": checked(members)}, indent=1, sort_keys=True))

    @classmethod
    def read(cls, directory: Path) -> Self:
        """The manifest there; Damaged when it is missing, unreadable or changed by another hand."""
        try:
            members = json.loads((directory / MANIFEST).read_bytes())
            check = members.pop("check")
            if check != checked(members):
                raise Damaged(f"{directory.name}: the manifest is not what was written")
            return cls(**members)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as fault:
            raise Damaged(f"{directory.name}: the manifest cannot be read: {fault}") from fault


def checked(members: dict[str, object]) -> str:
    """The sum that tells whether a manifest is as it was written."""
    return hashlib.sha256(json.dumps(members, sort_keys=True).encode()).hexdigest()


class Generation:
    """An open generation. A reader holds it while it reads; a retired one closes when its last reader is done."""

    def __init__(self, directory: Path, manifest: Manifest, views: Sequence[View], read_page: ReadPage) -> None:
        self.directory = directory
        self.manifest = manifest
        self.projector = Projector(read_page, views)
        self.mended: list[str] = []  # views that were damaged and are being grown anew, and why
        self._readers = 0
        self._retired = False
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: Path, manifest: Manifest, kinds: Sequence[ViewKind], read_page: ReadPage) -> Self:
        """Open every view; a damaged one is set aside and stands at position 0 again."""
        views: list[View] = []
        mended: list[str] = []
        try:
            for kind in kinds:
                try:
                    views.append(kind.open(directory))
                except Damaged as damage:
                    for name in kind.files:
                        set_aside(directory / name)
                    views.append(kind.open(directory))
                    mended.append(f"{kind.name}: {damage}")
        except BaseException:
            for view in views:
                view.close()
            raise
        generation = cls(directory, manifest, views, read_page)
        generation.mended = mended
        closed_to_others(directory)
        return generation

    @property
    def views(self) -> dict[str, View]:
        return self.projector.views

    @property
    def position(self) -> int:
        """Every view has folded up to here."""
        return min(self.projector.positions().values(), default=0)

    @property
    def complete(self) -> bool:
        """Whether it was ever grown to the end of the log, and so may be the current one."""
        return self.manifest.state == "complete"

    def grow(
        self,
        to: int,
        progress: Callable[[int, int], None] | None = None,
        going_on: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Fold the log up to `to` in large steps, each written; `progress(reached, to)` after each.

        True when every view is there. False when one stopped or waits for what it needs (the others went on), or
        `going_on()` said no.
        """
        reached = self.position
        while reached < to and going_on():
            reached = min(to, reached + GROWTH)
            self.projector.catch_up(reached)
            self.projector.flush()
            if progress:
                progress(reached, to)
        return self.position >= to

    def anchor(self, position: int, chain: str) -> None:
        """Say in the manifest that the log had this chain there: a log that is shorter or other is then found out."""
        self.manifest = replace(self.manifest, position=position, chain=chain)
        self.manifest.write(self.directory)

    def completed(self) -> None:
        """Say in the manifest that it may be the current one."""
        self.manifest = replace(self.manifest, state="complete")
        self.manifest.write(self.directory)

    # -- readers

    @contextmanager
    def reading(self) -> Iterator[Self]:
        """Hold the generation: it stays open until the last reader lets go, also when it is retired meanwhile."""
        with self._lock:
            if self._retired:
                raise Damaged(f"{self.directory.name} is retired")
            self._readers += 1
        try:
            yield self
        finally:
            with self._lock:
                self._readers -= 1
                last = self._retired and self._readers == 0
            if last:
                self.projector.close()

    def retire(self) -> None:
        """Take no more readers, and close when the last one is done."""
        with self._lock:
            if self._retired:
                return
            self._retired = True
            unused = self._readers == 0
        if unused:
            self.projector.close()


def written(path: Path, text: str) -> None:
    """Replace a file by one with this text, all or nothing, on the disk when this returns; only its user may read."""
    beside = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    synced(path.parent)


def synced(directory: Path) -> None:
    """Put a directory's names on the disk."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def set_aside(path: Path) -> Path | None:
    """Rename what is damaged to a name that nobody reads, and keep it; None when nothing is there."""
    if not path.exists():
        return None
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.rename(aside)
    synced(path.parent)
    return aside


def closed_to_others(directory: Path) -> None:
    """Directories 0700 and files 0600, whatever made them."""
    directory.chmod(0o700)
    for path in directory.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
