"""Succession: which generation of a home is the current one, how the next one takes its place, and the way back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from .generation import Generation, Manifest, schema_of, set_aside, synced, written
from .projector import Damaged, ReadPage, ViewKind

CURRENT: Final = "CURRENT"
_NAME: Final = re.compile(r"gen-([0-9a-f]{12})-(\d+)")


class Succession:
    """The generations of one home. Only the owner of the home may use it; the log is reached by `read_page` alone."""

    def __init__(self, home: Path, kinds: Sequence[ViewKind], policy_digest: str, read_page: ReadPage) -> None:
        self.home = home
        self.kinds = list(kinds)
        self.schema = schema_of(kinds, policy_digest)
        self._read_page = read_page

    # -- opening

    def open_current(self, log_position: int) -> tuple[Generation | None, str]:
        """The current generation, or None and why there is none that this code may read.

        A damaged one, or one that is ahead of the log (an older log was put back), is set aside.
        """
        try:
            name = (self.home / CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None, "no generation was current"
        parsed = _NAME.fullmatch(name)
        directory = self.home / name
        if parsed is None:
            return None, f"{CURRENT} names no generation"
        try:
            manifest = Manifest.read(directory)
        except Damaged as damage:
            set_aside(directory)
            return None, str(damage)
        if manifest.schema != self.schema:
            return None, f"{name} is of schema {manifest.schema}; this build reads {self.schema}"
        generation = Generation.open(directory, manifest, self.kinds, self._read_page)
        ahead = max(generation.projector.positions().values(), default=0)
        if ahead > log_position:
            generation.retire()
            set_aside(directory)
            return None, f"{name} stands at {ahead}, ahead of the log at {log_position}"
        return generation, ""

    def create(self, prepare: Callable[[Path], None] = lambda _: None) -> Generation:
        """A new, empty generation beside the current one. Until it is adopted nobody reads it.

        `prepare(folder)` may put whole files of single views there, which are then opened as they are.
        """
        number = 1 + max((number for _, number in self._listed()), default=0)
        directory = self.home / f"gen-{self.schema}-{number}"
        directory.mkdir(mode=0o700, parents=True)
        manifest = Manifest(self.schema, number, "building", {kind.name: kind.version for kind in self.kinds})
        manifest.write(directory)
        prepare(directory)
        return Generation.open(directory, manifest, self.kinds, self._read_page)

    def open_or_grow(
        self, log_position: int, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Generation, str]:
        """The current generation, else one grown from the log and adopted; and why it had to be grown.

        Unfinished builds of an owner that died are removed first.
        """
        self.clean()
        generation, why = self.open_current(log_position)
        if generation is None:
            generation = self.create()
            generation.grow(log_position, progress)
            self.adopt(generation)
        return generation, why

    # -- succession

    def adopt(self, generation: Generation) -> None:
        """Make it the current one. The one before is kept for the way back, older ones go."""
        before = self.current_name()
        generation.projector.flush()
        generation.completed()
        written(self.home / CURRENT, f"{generation.directory.name}\n")
        for directory, _ in self._listed():
            if directory.name not in (before, generation.directory.name) and not unfinished(directory):
                shutil.rmtree(directory)

    def back(self, log_position: int) -> tuple[Generation | None, str]:
        """Make the generation before the current one current again; only one of this schema can be read."""
        current = self.current_name()
        for directory, _ in sorted(self._listed(), key=lambda found: found[1], reverse=True):
            if directory.name == current or unfinished(directory):
                continue
            if Manifest.read(directory).schema != self.schema:
                continue
            written(self.home / CURRENT, f"{directory.name}\n")
            return self.open_current(log_position)
        return None, "no earlier generation of this schema was kept"

    def clean(self) -> list[str]:
        """Remove builds that were never finished; call it when none is under way. Returns their names."""
        current = self.current_name()
        gone = [directory for directory, _ in self._listed() if directory.name != current and unfinished(directory)]
        for directory in gone:
            shutil.rmtree(directory)
        if gone:
            synced(self.home)
        return [directory.name for directory in gone]

    def current_name(self) -> str:
        """The directory that CURRENT names; empty when there is none."""
        try:
            return (self.home / CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return ""

    def _listed(self) -> list[tuple[Path, int]]:
        """Every generation's directory and number, in order of number."""
        found = [(path, parsed) for path in self.home.iterdir() if (parsed := _NAME.fullmatch(path.name))]
        return sorted(((path, int(parsed[2])) for path, parsed in found), key=lambda entry: (entry[1], entry[0].name))


def unfinished(directory: Path) -> bool:
    """Whether a generation was never grown to the end; one whose manifest is damaged does not count as finished."""
    try:
        return Manifest.read(directory).state == "building"
    except Damaged:
        return True
