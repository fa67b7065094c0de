"""Verify: the log against itself, and the live read models against a replay of the log to the same position."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from ..consolidation.policy import FoldPolicy
from ..domain.errors import SlwError, Unavailable
from ..projections.generation import Generation, Manifest
from ..projections.projector import Damaged, Positioned
from ..projections.succession import CURRENT
from ..projections.vectors import FOLDER, MANIFEST
from .backups import backups_of
from .comparing import Difference, differences
from .copying import copy_at_rest
from .embeddings import bundled_space
from .integrity import Anchor, Finding, LogChecked, check_log
from .log import LogReader
from .reach import answers, post, take_lease
from .replaying import KeptVectors, Progress, replayed
from .views import view_kinds

# With one of these wrong a replay would only show the same fault again, further on.
UNREADABLE: Final = ("log", "file", "facts")
REBUILD: Final = "slw rebuild grows new read models from the log; nothing is lost"


@dataclass(slots=True)
class Verified:
    """What was looked at and what is wrong. `position` is where the log and the read models were compared."""

    position: int
    events: int
    erased: int
    quick: bool
    generation: str = ""
    compared: list[str] = field(default_factory=list[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    differences: list[Difference] = field(default_factory=list[Difference])
    views: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def whole(self) -> bool:
        return not self.findings and not self.differences

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return {"whole": self.whole, **asdict(self)}


def verify_quickly(home: Path) -> Verified:
    """The log's end, its density and its anchors, manifests, and index files against them. Reads no row anew."""
    anchors, findings = anchors_of(home)
    log = check_log(home / "log.db", anchors, quick=True)
    current = current_generation(home)
    if current is not None:
        findings += index_findings(current)
    return _verified(log, findings, quick=True, generation=current.name if current else "")


def verify(home: Path, moved: Callable[[str], Progress] = lambda _: lambda *__: None) -> Verified:
    """Everything. `moved(what)` gives a function that is called with (done, of) while that part goes on.

    With an owner there, it is asked for a copy at one position; without one, the files at rest are looked at, and
    nobody may start an owner meanwhile.
    """
    anchors, findings = anchors_of(home)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slw-verify-")))
        copy, upto = _copy(home, scratch, stack, findings)
        reading = moved("checking the log")
        end = _end(home)
        log = check_log(home / "log.db", anchors, progress=lambda read: reading(read, max(read, end)))
        seen = _verified(log, findings, quick=False, generation=copy.name if copy else "")
        if copy is None or any(found.part in UNREADABLE for found in log.findings):
            return seen
        findings = index_findings(copy)
        seen.findings += findings
        position = log.position if upto is None else min(upto, log.position)
        _compare(home, copy, position, seen, moved("replaying"))
    return seen


def _verified(log: LogChecked, findings: list[Finding], *, quick: bool, generation: str) -> Verified:
    return Verified(log.position, log.events, log.erased, quick, generation, findings=[*log.findings, *findings])


def _end(home: Path) -> int:
    try:
        with closing(LogReader(home / "log.db")) as reader:
            return reader.position()
    except SlwError:
        return 0  # check_log says what is wrong with it


def _copy(home: Path, scratch: Path, stack: ExitStack, findings: list[Finding]) -> tuple[Path | None, int | None]:
    """A copy of the live generation and the position it is at (None: it is caught up with the log where it stands)."""
    if not answers(home):
        lease = take_lease(home)
        if lease is not None:
            stack.callback(os.close, lease)
            name = current_name(home)
            if not name:
                return None, None
            try:
                return copy_at_rest(home, name, scratch), None
            except Unavailable as refused:
                findings.append(Finding(name, 0, refused.message, refused.hint))
                return None, None
    envelope = post(home, "copy", {"into": str(scratch)})
    if not envelope["ok"]:
        error = envelope["error"]
        raise Unavailable(error["message"], hint=error["hint"])
    data = envelope["data"]
    findings += [Finding("read models", 0, problem, REBUILD) for problem in data["problems"]]
    return Path(data["copy"]), data["position"]


def _compare(home: Path, copy: Path, position: int, seen: Verified, progress: Progress) -> None:
    space, policy = bundled_space(), FoldPolicy()
    log, embeddings = home / "log.db", home / "embeddings.db"
    with (
        closing(LogReader(log)) as reader,
        closing(KeptVectors(embeddings, space.id, space.dim)) as kept,
        replayed(log, embeddings, position, progress=progress) as (again, told),
    ):
        kinds = view_kinds(policy, space.id, kept.get)
        try:
            live = Generation.open(
                copy,
                Manifest.read(copy),
                kinds,
                lambda after, limit: [Positioned(at, fact) for at, fact in reader.read(after, limit, position)],
            )
        except Damaged as damage:
            seen.findings.append(Finding(copy.name, 0, str(damage), REBUILD))
            return
        if live.manifest.schema != again.manifest.schema:
            live.retire()
            seen.findings.append(
                Finding(copy.name, 0, "it was made by another version of slw, and cannot be compared", REBUILD)
            )
            return
        seen.findings += [Finding(copy.name, 0, f"damaged: {mended}", REBUILD) for mended in live.mended]
        # What a crash left unwritten is in the log, and is folded before anything is compared.
        try:
            live.projector.catch_up(position)
            digests, seen.views = live.projector.digests(), live.projector.positions()
        except (duckdb.Error, sqlite3.Error, RuntimeError, ValueError) as fault:
            seen.findings.append(Finding(copy.name, 0, f"it cannot be read: {fault}", REBUILD))
            return
        finally:
            with suppress(duckdb.Error, sqlite3.Error):
                live.retire()
        seen.findings += [Finding(name, 0, why, REBUILD) for name, why in live.projector.failures.items()]
        again.retire()
        seen.compared = sorted(digests)
        behind = {name: (at, told.views[name]) for name, at in seen.views.items() if at != told.views[name]}
        for name, (at, expected) in behind.items():
            seen.findings.append(
                Finding(name, at, f"stands at {at}; a replay comes to {expected}: vectors differ", "slw status")
            )
        seen.differences = differences(digests, told.digests, copy, again.directory)


# ---------------------------------------------------------------- what lies in the home


def current_name(home: Path) -> str:
    try:
        return (home / CURRENT).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def current_generation(home: Path) -> Path | None:
    """The folder of the live generation; None when there is none."""
    name = current_name(home)
    return home / name if name and (home / name).is_dir() else None


def anchors_of(home: Path) -> tuple[list[Anchor], list[Finding]]:
    """Every place where something in the home noted the log's chain, and what cannot be read of it."""
    findings: list[Finding] = []
    anchors = [Anchor(backup.position, backup.link, backup.path) for backup in backups_of(home)]
    name = current_name(home)
    if (home / CURRENT).exists() and not (home / name).is_dir():
        findings.append(Finding(CURRENT, 0, "CURRENT names a generation that is not there", REBUILD))
    for folder in sorted(home.glob("gen-*")):
        if ".damaged-" in folder.name:
            continue
        try:
            manifest = Manifest.read(folder)
            if manifest.chain:
                anchors.append(Anchor(manifest.position, bytes.fromhex(manifest.chain), folder.name))
        except (Damaged, ValueError) as damage:
            findings.append(Finding(folder.name, 0, str(damage), REBUILD))
    return anchors, findings


def index_findings(generation: Path) -> list[Finding]:
    """Vector files that are not what their manifest says."""
    manifest = generation / FOLDER / MANIFEST
    if not manifest.exists():
        return []
    try:
        scopes = json.loads(manifest.read_bytes())["scopes"]
        wrong = [
            held["file"] for held in scopes.values() if _sum_of(generation / FOLDER / held["file"]) != held["sha256"]
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        return [Finding("vectors", 0, f"the manifest of the vectors cannot be read: {fault}", REBUILD)]
    return [Finding("vectors", 0, f"{file} is not what its manifest says", REBUILD) for file in wrong]


def _sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
