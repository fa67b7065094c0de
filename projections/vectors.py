"""Where each memory lies in the space of meanings, searched exactly within its scope."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb  # noqa: F401 - loaded before usearch on purpose: where usearch's library is the first one, onnxruntime's
import numpy as np  # crashes the process when it is loaded later (usearch 2.26, onnxruntime 1.32); a test holds this
from usearch.compiled import MetricKind, ScalarKind
from usearch.index import Index, search

from ..consolidation.episodes import outcome_text
from ..consolidation.procedures import procedure_text
from ..consolidation.wording import document_text, shelf_of
from ..domain.events import ClaimRemembered, ContentErased, Fact, TaskCommitted
from .projector import Damaged, Positioned, ViewKind

FOLDER = "vectors"
VERSION = "2"
MANIFEST = "manifest.json"
# Writing an index rewrites its file, so it waits until this many vectors, or this share of them, are new.
# Until then they are folded again from the log and the embedding cache after a crash.
WRITE_AFTER = 1_000
WRITE_SHARE = 0.1

VectorsOf = Callable[[Sequence[str]], "list[np.ndarray | None]"]


def empty_index(dim: int) -> Index:
    """An index for exact search: its graph is never walked, so it is kept as thin as usearch allows."""
    return Index(
        ndim=dim, metric=MetricKind.IP, dtype=ScalarKind.F16, connectivity=2, expansion_add=1, expansion_search=1
    )


def embedded_texts(fact: Fact) -> list[str]:
    """What of a fact is embedded: what is searched by meaning, and how a task ended."""
    return [*searched_texts(fact), *([outcome_text(fact)] if isinstance(fact, TaskCommitted) else ())]


def without(index: Index, row: int, dim: int) -> Index:
    """The same index but for one row. `remove` would only mark it, and keep its numbers in the file."""
    kept = empty_index(dim)
    rows = np.sort(np.asarray(list(index.keys), np.uint64))
    rows = rows[rows != row]
    for start in range(0, len(rows), WRITE_AFTER):
        some = rows[start : start + WRITE_AFTER]
        kept.add(some, np.asarray(index.get(some), np.float16), threads=1)
    return kept


def searched_texts(fact: Fact) -> list[str]:
    """What of a fact is searched: a claim without its label, a procedure as a whole; nothing of other facts."""
    if isinstance(fact, ClaimRemembered):
        return [document_text(fact.content)]
    if isinstance(fact, TaskCommitted) and fact.procedure is not None:
        told = fact.procedure
        return [procedure_text(fact.final_goal, told.summary, told.steps, told.context)]
    return []


@dataclass(slots=True)
class ScopeVectors:
    """The vectors of one scope, keyed by row number in the order the claims were told there."""

    no: int
    index: Index
    # Where in the log each row was told, with or without a vector; a row is a key of the index.
    positions: array[int] = field(default_factory=lambda: array("q"))
    unwritten: int = 0
    waiting: list[tuple[int, np.ndarray]] = field(default_factory=list[tuple[int, np.ndarray]])

    def settle(self) -> None:
        """Put the waiting vectors into the index, in order, on one thread."""
        if self.waiting:
            keys = np.array([key for key, _ in self.waiting], np.uint64)
            self.index.add(keys, np.stack([vector for _, vector in self.waiting]).astype(np.float16), threads=1)
            self.unwritten += len(self.waiting)
            self.waiting.clear()


class Vectors:
    """The vector view of a generation: one usearch index a scope, float16, exact search."""

    name = "vectors"

    def __init__(self, folder: Path, space: str, vectors_of: VectorsOf, dim: int = 384) -> None:
        """Open or make the folder. Raises Damaged when a file is not what the manifest says."""
        self._folder, self._space, self._vectors_of, self._dim = folder, space, vectors_of, dim
        self._scopes: dict[str, ScopeVectors] = {}
        self._position = 0
        folder.mkdir(mode=0o700, exist_ok=True)
        if (folder / MANIFEST).exists():
            self._load()
        self._durable = self._position

    def _load(self) -> None:
        try:
            manifest = json.loads((self._folder / MANIFEST).read_text())
            if (manifest["version"], manifest["space"]) != (VERSION, self._space):
                raise Damaged("the vectors belong to another space or version")
            for name, held in manifest["scopes"].items():
                file = self._folder / held["file"]
                if sha256_of(file) != held["sha256"]:
                    raise Damaged(f"{held['file']} is not what the manifest says")
                index = empty_index(self._dim)
                index.load(file)
                self._scopes[name] = ScopeVectors(held["no"], index, array("q", held["positions"]))
            self._position = manifest["position"]
        except (OSError, ValueError, KeyError, RuntimeError) as fault:
            raise Damaged(f"vectors: {fault}") from fault

    # -- the view

    @property
    def position(self) -> int:
        return self._position

    def apply(self, page: Sequence[Positioned]) -> None:
        """Fold up to the first claim whose vector is not there yet."""
        news = [at for at in page if at.position > self._position]
        texts = [text for at in news for text in searched_texts(at.fact)]
        found = iter(self._vectors_of(texts) if texts else ())
        for at in news:
            if texts_here := searched_texts(at.fact):
                vector = next(found)
                if vector is None and texts_here[0]:
                    break
                self._add(at, vector)
            elif isinstance(at.fact, ContentErased):
                self._forget(at.fact.positions)
            self._position = at.position
        for scope in self._scopes.values():
            scope.settle()

    def _add(self, at: Positioned, vector: np.ndarray | None) -> None:
        if isinstance(at.fact, ClaimRemembered):
            shelf = at.fact.scope
        elif isinstance(at.fact, TaskCommitted):
            shelf = shelf_of(at.fact.scope)
        else:
            return
        scope = self._scopes.get(shelf)
        if scope is None:
            scope = self._scopes[shelf] = ScopeVectors(len(self._scopes) + 1, empty_index(self._dim))
        if vector is not None:
            scope.waiting.append((len(scope.positions), vector))
        scope.positions.append(at.position)

    def _forget(self, positions: Sequence[int]) -> None:
        """Take out the vectors of what was told at these positions of the log; its words are blanked."""
        for scope in self._scopes.values():
            for position in positions:
                row = bisect_left(scope.positions, position)
                if row < len(scope.positions) and scope.positions[row] == position:
                    scope.settle()
                    scope.index = without(scope.index, row, self._dim)
                    scope.unwritten += WRITE_AFTER

    # -- what recall asks

    def nearest(self, scope_name: str, vector: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers within the scope and cosines, the most alike first."""
        scope = self._scopes.get(scope_name)
        if scope is None or len(scope.index) == 0:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        found = scope.index.search(vector.astype(np.float16), min(limit, len(scope.index)), exact=True, threads=1)
        rows, cosines = found.keys.astype(np.int64), 1.0 - found.distances.astype(np.float64)
        order = np.lexsort((rows, -cosines))
        return rows[order], cosines[order]

    def cosines(self, scope_name: str, vector: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The cosine of each row of the scope; nan where it has no vector."""
        out = np.full(len(rows), np.nan)
        scope = self._scopes.get(scope_name)
        if scope is None or len(scope.index) == 0 or len(rows) == 0:
            return out
        keys = rows.astype(np.uint64)
        there = np.asarray(scope.index.contains(keys))
        if there.any():
            # numpy turns float16 into float32 far slower than usearch compares it as it is.
            held = np.asarray(scope.index.get(keys[there]), np.float16)
            found = search(held, vector.astype(np.float16), len(held), metric=MetricKind.IP, exact=True, threads=1)
            near = np.empty(len(held))
            near[found.keys.astype(np.int64)] = 1.0 - found.distances.astype(np.float64)
            out[there] = near
        return out

    def vectors(self, scope_name: str, rows: np.ndarray) -> list[np.ndarray | None]:
        """The vector (float32) of each row of the scope; None where there is none."""
        scope = self._scopes.get(scope_name)
        if scope is None:
            return [None] * len(rows)
        return [np.asarray(scope.index.get(row), np.float32) if row in scope.index else None for row in rows.tolist()]

    # -- durability

    def flush(self) -> None:
        """Write indexes that have grown enough: beside, synced, renamed; the manifest last."""
        if self._position > self._durable and any(
            s.unwritten >= max(WRITE_AFTER, WRITE_SHARE * len(s.positions)) for s in self._scopes.values()
        ):
            self.write()

    def write(self) -> None:
        """Make everything durable."""
        old = {}
        if (self._folder / MANIFEST).exists():
            old = json.loads((self._folder / MANIFEST).read_text())["scopes"]
        scopes = {}
        for name, scope in self._scopes.items():
            if scope.unwritten or name not in old:
                beside = self._folder / f"{scope.no}.new"
                scope.index.save(beside)
                digest = sha256_of(beside)
                file = f"{scope.no}-{digest[:16]}.usearch"
                put(beside, self._folder / file)
                scope.unwritten = 0
            else:
                file, digest = old[name]["file"], old[name]["sha256"]
            scopes[name] = {
                "no": scope.no,
                "file": file,
                "sha256": digest,
                "positions": list(scope.positions),
            }
        manifest = {"version": VERSION, "space": self._space, "position": self._position, "scopes": scopes}
        beside = self._folder / f"{MANIFEST}.new"
        beside.write_text(json.dumps(manifest))
        put(beside, self._folder / MANIFEST)
        kept = {s["file"] for s in scopes.values()}
        for file in self._folder.glob("*.usearch"):
            if file.name not in kept:
                file.unlink()
        self._durable = self._position

    def digest(self) -> dict[str, str]:
        digest = hashlib.sha256()
        for name, scope in sorted(self._scopes.items()):
            keys = (
                np.sort(np.asarray(list(scope.index.keys), np.uint64)) if len(scope.index) else np.empty(0, np.uint64)
            )
            digest.update(f"{name}\0{len(scope.positions)}\0".encode())
            digest.update(keys.tobytes())
            for start in range(0, len(keys), 1_000):
                digest.update(np.asarray(scope.index.get(keys[start : start + 1_000]), np.float16).tobytes())
        return {"vectors": digest.hexdigest()}

    def counts(self) -> dict[str, int]:
        return {"vectors": sum(len(scope.index) for scope in self._scopes.values())}

    def come_to_rest(self) -> None:
        if self._position > self._durable:
            self.write()

    def close(self) -> None:
        self.come_to_rest()


def sha256_of(path: Path) -> str:
    """sha256 (hex) of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put(beside: Path, path: Path) -> None:
    """Sync a file and put it in another's place, so that a reader sees the old one or the new one whole."""
    beside.chmod(0o600)
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.replace(path)


def vectors_kind(space: str, vectors_of: VectorsOf) -> ViewKind:
    """The vectors as one view of a generation; another space is another version."""
    return ViewKind("vectors", f"{VERSION}-{space}", (FOLDER,), lambda home: Vectors(home / FOLDER, space, vectors_of))
