"""Export and import: the log as lines of JSON, or the views as Parquet or CSV, with a manifest of what was written."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

import duckdb
from eventsourcing.persistence import StoredEvent

from ..domain.errors import Conflict, InvalidInput, NotFound, Unavailable
from ..projections.analytics import SCHEMA, VIEWS
from ..projections.generation import synced, written
from .integrity import check_log, open_read_only
from .keys_table import grow_back
from .log import LogDatastore, LogRecorder, fact_of
from .publishing import publish
from .reach import claim_home
from .replaying import Progress, position_of, replayed
from .stillness import stillness

Format = Literal["parquet", "csv", "jsonl"]
MANIFEST: Final = "manifest.json"
EVENTS_FILE: Final = "events.jsonl"
FORMAT: Final = 1
PAGE: Final = 5_000
# Vectors depend on the model, and are made again where the log is imported.
NOT_COMPARED: Final = ("vectors", "consolidated", "cues", "stages")


def export(home: Path, kind: Format, into: Path, moved: Callable[[str], Progress]) -> dict[str, Any]:
    """Write the memory into a folder that is not there yet or empty; returns the manifest."""
    if into.exists() and any(into.iterdir()):
        raise InvalidInput(f"{into} is not empty", hint="name a folder that is not there yet")
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    if kind == "jsonl":
        manifest = _export_log(home, into, moved)
    else:
        published = publish(home)
        manifest = {"position": published.position, "views": _export_views(published.path, kind, into)}
    files = {path.name: _sum_of(path) for path in sorted(into.iterdir())}
    manifest = {"format": FORMAT, "kind": kind, **manifest, "files": files}
    written(into / MANIFEST, json.dumps(manifest, indent=1))
    return manifest


def _export_views(snapshot: Path, kind: str, into: Path) -> dict[str, int]:
    rows: dict[str, int] = {}
    shape = "format parquet" if kind == "parquet" else "format csv, header"
    with duckdb.connect(str(snapshot), read_only=True, config={"threads": 2}) as db:
        for view in VIEWS:
            target = str((into / f"{view.name}.{kind}").absolute()).replace("'", "''")
            [(count,)] = db.execute(f"copy (from {SCHEMA}.{view.name}) to '{target}' ({shape})").fetchall()
            rows[view.name] = count
    return rows


def _export_log(home: Path, into: Path, moved: Callable[[str], Progress]) -> dict[str, Any]:
    end = position_of(home / "log.db", None)
    writing = moved("exporting")
    with (into / EVENTS_FILE).open("w", encoding="utf-8") as lines:
        for seq, stream, version, topic, state in _rows(home / "log.db", end):
            line = {
                "position": seq,
                "stream": stream,
                "version": version,
                "topic": topic,
                "fact": json.loads(state),
            }
            lines.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
            if seq % PAGE == 0:
                writing(seq, end)
    with replayed(home / "log.db", home / "embeddings.db", end, progress=moved("replaying")) as (_, told):
        digests = {name: digest for name, digest in told.digests.items() if name.partition(".")[0] not in NOT_COMPARED}
    return {"position": end, "digests": digests}


def _rows(log: Path, upto: int) -> Iterator[tuple[int, str, int, str, bytes]]:
    with closing(open_read_only(log)) as db:
        yield from db.execute(
            "SELECT seq, originator_id, originator_version, topic, state FROM stored_events WHERE seq<=? ORDER BY seq",
            (upto,),
        )


def import_log(home: Path, folder: Path, moved: Callable[[str], Progress]) -> dict[str, Any]:
    """Make the log of a home that has none from our own export; the same events at the same positions.

    All of it or nothing: the log takes its place when it is whole and comes to the digests of the manifest.
    """
    manifest = _manifest(folder)
    place = claim_home(home)
    with stillness(place), tempfile.TemporaryDirectory(prefix=".importing-", dir=place) as scratch:
        if (place / "log.db").exists():
            raise Conflict(f"{place} has a log already", hint="import into another home: --home DIR")
        made = Path(scratch) / "log.db"
        told = _written_log(made, folder / EVENTS_FILE, manifest["position"], moved("importing"))
        checked = check_log(made)
        if checked.findings or checked.position != manifest["position"] or told != manifest["position"]:
            why = checked.findings[0].what if checked.findings else f"it ends at {checked.position}"
            raise Unavailable(f"the export is not whole: {why}", hint="export again")
        with replayed(made, place / "embeddings.db", told, progress=moved("replaying")) as (_, came_to):
            differs = [name for name, digest in manifest["digests"].items() if came_to.digests.get(name) != digest]
        for beside in ("log.db-wal", "log.db-shm"):
            (Path(scratch) / beside).unlink(missing_ok=True)
        made.chmod(0o600)
        made.rename(place / "log.db")
        synced(place)
    return {"position": told, "equal": not differs, "differs": differs, "chain": checked.chain.hex()}


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        kind, sums = manifest["kind"], manifest["files"]
    except (OSError, ValueError, KeyError) as fault:
        raise NotFound(f"{folder} holds no export of slw", hint="slw export jsonl DIR writes one") from fault
    if kind != "jsonl":
        raise InvalidInput(
            f"{folder} is an export for other tools", hint="slw export jsonl DIR writes what can be imported"
        )
    if manifest.get("format") != FORMAT:
        raise Unavailable(f"{folder} has format {manifest.get('format')}", hint="update slw, then import")
    if _sum_of(folder / EVENTS_FILE) != sums.get(EVENTS_FILE):
        raise Unavailable(f"{EVENTS_FILE} is not what its manifest says", hint="export again")
    return manifest


def _written_log(log: Path, lines: Path, end: int, progress: Progress) -> int:
    log.touch(mode=0o600)
    datastore = LogDatastore(str(log))
    try:
        recorder = LogRecorder(datastore)
        recorder.create_table()
        told = 0
        page: list[StoredEvent] = []
        with lines.open(encoding="utf-8") as file:
            for line in file:
                page.append(_event(line, told + len(page) + 1))
                if len(page) == PAGE:
                    recorder.insert_events(page)
                    told += len(page)
                    page.clear()
                    progress(told, end)
        if page:
            recorder.insert_events(page)
            told += len(page)
    finally:
        datastore.close()
    grow_back(log)
    return told


def _event(line: str, expected: int) -> StoredEvent:
    said = json.loads(line)
    if said["position"] != expected:
        raise Unavailable(f"position {expected} is missing in {EVENTS_FILE}", hint="export again")
    state = json.dumps(said["fact"], ensure_ascii=False, separators=(",", ":")).encode()
    fact_of(said["stream"], said["version"], said["topic"], state)
    return StoredEvent(
        originator_id=said["stream"], originator_version=said["version"], topic=said["topic"], state=state
    )


def _sum_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
