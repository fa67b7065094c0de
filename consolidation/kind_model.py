"""Which kind a memory's embedding suggests: a linear reading of labelled exemplars, refitted when people confirm more.

The exemplars ship with the package; whoever holds the embedder embeds them once and hands the vectors in. Kinds are
not neighbourhoods (two sentences about invoices are close whatever their kind), so plain nearest neighbours do
poorly here; ridge regression finds the directions that tell kinds apart and weighs every exemplar along them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from ..domain.vocabulary import KINDS
from .kinds import Suggestion

Matrix = NDArray[np.float64]
_RECIPE: Final = "local-1"
# How hard the fit is held back. From 0.5 to 3 the left-out accuracy of our exemplars hardly moves; 1 is in the middle.
_RIDGE: Final = 1.0
# The sharpness of the softmax over the linear scores is picked from these by leave-one-out likelihood.
_SHARPNESS: Final = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0)
# Fewer than this, or a single kind, and there is nothing to tell apart.
_FEWEST: Final = 18


@lru_cache(maxsize=1)
def exemplars() -> tuple[tuple[str, str], ...]:
    """The labelled exemplars of the package, as (text, kind) in a fixed order."""
    held = cast(
        "Mapping[str, Sequence[str]]",
        json.loads((files(str(__package__)) / "kind_exemplars.json").read_text("utf-8")),
    )
    return tuple((text, kind) for kind in KINDS for text in held[kind])


class KindModel:
    """A classifier over unit vectors (n, d) of any one space, with chances calibrated by leaving each one out."""

    def __init__(self, vectors: NDArray[Any], labels: Sequence[str]) -> None:
        if len(vectors) != len(labels) or len(labels) < _FEWEST:
            raise ValueError(f"{len(vectors)} vectors and {len(labels)} labels; at least {_FEWEST} of each are needed")
        known = np.asarray(vectors, dtype=np.float64)
        kinds = np.array([KINDS.index(label) for label in labels])
        truth: Matrix = np.eye(len(KINDS))[kinds]
        self._mean: Matrix = known.mean(axis=0)
        self._share: Matrix = truth.mean(axis=0)
        centred = known - self._mean
        held = centred.T @ centred + _RIDGE * np.eye(known.shape[1])
        pull = cast("Matrix", np.linalg.solve(held, centred.T))
        self._weights: Matrix = pull @ (truth - self._share)
        left_out = _left_out(centred, pull, centred @ self._weights + self._share, truth)
        losses = [_loss(left_out, kinds, sharpness) for sharpness in _SHARPNESS]
        self._sharpness = _SHARPNESS[losses.index(min(losses))]
        #: The share of exemplars that the others get right, and their mean log loss: what `status` may show.
        self.left_out_accuracy = float((left_out.argmax(axis=1) == kinds).mean())
        self.left_out_loss = min(losses)
        digest = hashlib.sha256(np.asarray(vectors, dtype="<f4").tobytes() + "\n".join(labels).encode())
        self.recipe = f"{_RECIPE}-{digest.hexdigest()[:8]}"

    def suggest(self, vector: NDArray[Any]) -> Suggestion:
        """The likeliest kind of one text by its vector (d,)."""
        return self.suggest_many(np.asarray(vector)[None, :])[0]

    def suggest_many(self, vectors: NDArray[Any]) -> list[Suggestion]:
        """The likeliest kind of each row of (n, d)."""
        scores = (np.asarray(vectors, dtype=np.float64) - self._mean) @ self._weights + self._share
        found: list[Suggestion] = []
        for row in _chances(scores, self._sharpness):
            best = int(row.argmax())
            found.append(
                Suggestion(
                    kind=KINDS[best],  # pyright: ignore[reportArgumentType]
                    confidence=round(float(row[best]), 4),
                    recipe=self.recipe,
                    shares=tuple(round(float(share), 6) for share in row),
                )
            )
        return found


def _left_out(centred: Matrix, pull: Matrix, fitted: Matrix, truth: Matrix) -> Matrix:
    """What each exemplar would score had it not been in the fit: the closed form for ridge regression (PRESS)."""
    own = np.einsum("nd,dn->n", centred, pull) + 1 / len(centred)
    own = np.minimum(own, 0.999)[:, None]
    return (fitted - own * truth) / (1 - own)


def _chances(scores: Matrix, sharpness: float) -> Matrix:
    powers: Matrix = np.exp((scores - scores.max(axis=1, keepdims=True)) * sharpness)
    return powers / powers.sum(axis=1, keepdims=True)


def _loss(scores: Matrix, kinds: NDArray[np.int_], sharpness: float) -> float:
    chances = _chances(scores, sharpness)
    return float(-np.log(chances[np.arange(len(kinds)), kinds] + 1e-12).mean())
