"""The vectors of the labelled exemplars: packaged for the packaged model, made once for any other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ..consolidation.kind_model import exemplars
from ..consolidation.wording import document_text

PACKAGED: Final = Path(__file__).parent / "model" / "kind_exemplars.npz"


def exemplar_texts() -> list[str]:
    """The texts that are embedded, in the exemplars' order."""
    return [document_text(text) for text, _ in exemplars()]


def texts_sha256(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def packaged_vectors(space: str) -> np.ndarray | None:
    """The packaged vectors (n, dim); None when they are of another space or of other exemplars."""
    try:
        with np.load(PACKAGED, allow_pickle=False) as held:
            if str(held["space"]) != space or str(held["texts"]) != texts_sha256(exemplar_texts()):
                return None
            return held["vectors"].astype(np.float32)
    except (OSError, ValueError, KeyError):
        return None


def pack(space: str, embed: Callable[[Sequence[str]], np.ndarray], path: Path = PACKAGED) -> int:
    """Write the packaged vectors anew, as after any change of the exemplars; returns how many there are."""
    texts = exemplar_texts()
    vectors = embed(texts).astype(np.float16)
    np.savez_compressed(path, vectors=vectors, space=np.array(space), texts=np.array(texts_sha256(texts)))
    return len(texts)


if __name__ == "__main__":
    from .embeddings import Embedder

    embedder = Embedder()
    print(f"{pack(embedder.space, embedder.embed)} exemplars of {embedder.space}")  # noqa: T201 - a tool for who edits them
