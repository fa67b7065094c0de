"""What an open store knows about guessing kinds: the settings, who guesses under them, and the on-device model."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..consolidation.kind_model import KindModel, exemplars
from ..consolidation.wording import document_text
from ..domain.errors import Unavailable
from ..domain.kinds import kind_fields
from ..domain.memory import KindGuess
from ..domain.results import KindChanged, Remembered
from ..projections.kind_view import KindView
from .kind_backends import (
    PACES,
    Backend,
    Choice,
    LocalBackend,
    choose,
    endpoint_of,
    model_guesses,
    rule_guess,
)
from .kind_exemplars import exemplar_texts, packaged_vectors
from .kind_settings import PREFIX, KindSettings, KindSettingsFile, to_notice

if TYPE_CHECKING:
    from .embeddings import EmbeddingCache

log = logging.getLogger("slw")

# The newest ones that people confirmed join the exemplars; more would only slow the fit.
CONFIRMED_JOINING: Final = 2_000


class KindDesk:
    """Where everything that guesses or shows kinds asks how. Safe to call from several threads.

    `noticed()` tells the settings that the log knows, `model_up()` whether the embedder works, and `cache` holds the
    vectors that memories have anyway.
    """

    def __init__(
        self, path: Path, cache: EmbeddingCache, *, space: str, noticed: Mapping[str, Any], model_up: Callable[[], bool]
    ) -> None:
        standing = noticed.get(f"{PREFIX}standing_rules_in_session", True)
        self.file = KindSettingsFile(path, last_good=standing is not False)
        self._cache = cache
        self._space = space
        self._model_up = model_up
        self._lock = threading.Lock()
        self._local: LocalBackend | None = None
        self._joined: tuple[str, ...] | None = None
        self.failure = ""  # what the last model that was asked had to say for itself

    # -- settings

    def settings(self) -> KindSettings:
        """What kinds.json says now."""
        with self._lock:
            return self.file.read()

    def change(self, changes: Mapping[str, Any]) -> KindSettings:
        """Write changed settings; InvalidInput names what is wrong."""
        with self._lock:
            return self.file.change(changes)

    def unnoticed(self, noticed: Mapping[str, Any]) -> dict[str, Any]:
        """Settings that the log does not know yet. What a damaged file comes to is no decision of anyone."""
        settings = self.settings()
        return {} if settings.problems else to_notice(settings, noticed)

    # -- guessing

    def choice(self) -> Choice:
        """Who guesses now."""
        return choose(self.settings(), model_up=self._model_up(), key=os.environ.get)

    def suggest(self, content: str) -> KindGuess | None:
        """The guess that is made while a memory is saved: by the rules, whatever the backend; none when it is off.

        Saving never fails because of a kind.
        """
        try:
            return None if self.choice().backend == "off" else rule_guess(content)
        except Exception:
            log.exception("the kind rules failed at a text of %d characters", len(content))
            return None

    def backend(self, choice: Choice) -> Backend | None:
        """The model that a choice means; None for the rules."""
        if choice.backend == "local":
            return self._local
        return endpoint_of(choice, self.settings(), os.environ.get)

    def guesses(self, texts: Sequence[str], choice: Choice, budget: float) -> list[KindGuess]:
        """One guess a text by that choice; raises ModelFailed."""
        return model_guesses(self.backend(choice), texts, budget)

    def guessed_here(self, texts: Sequence[str], embed: Callable[[Sequence[str]], np.ndarray]) -> list[KindGuess]:
        """What the rules, and unless they are chosen alone the on-device model, say of texts; nothing is sent away."""
        if self.choice().backend in ("rules", "off"):
            return model_guesses(None, texts, 0)
        try:
            if self._local is None:
                self.teach([], embed)
            vectors = embed([document_text(text) for text in texts])
        except Unavailable:
            return model_guesses(None, texts, 0)
        assert self._local is not None  # noqa: S101 - it was just taught
        given = LocalBackend(self._local.model, lambda _: list(vectors))
        return model_guesses(given, texts, 0)

    def pace(self, backend: str) -> tuple[float, int]:
        """Memories a second, and memories a batch, of a run."""
        settings = self.settings()
        rate, size = PACES.get(backend, PACES["rules"])
        return settings.rate_per_second or rate, settings.batch_size or size

    # -- the on-device model

    def teach(self, confirmed: Sequence[tuple[str, str]], embed: Callable[[Sequence[str]], np.ndarray]) -> None:
        """Fit the model to the exemplars and to (content, kind) pairs that people confirmed; nothing when it is fitted.

        `embed` is asked for the exemplars' vectors where the packaged ones are of another space.
        """
        newest = [(document_text(content), kind) for content, kind in confirmed[-CONFIRMED_JOINING:]]
        joined = tuple(f"{kind}\0{text}" for text, kind in newest)
        if self._local is not None and joined == self._joined:
            return
        known = self._exemplar_vectors(embed)
        own = self._cache.get([text for text, _ in newest])
        there = [(vector, kind) for vector, (_, kind) in zip(own, newest, strict=True) if vector is not None]
        vectors = np.vstack([known, *(vector[None, :] for vector, _ in there)])
        labels = [kind for _, kind in exemplars()] + [kind for _, kind in there]
        self._local = LocalBackend(KindModel(vectors, labels), self._vectors_of)
        self._joined = joined

    @property
    def taught(self) -> dict[str, Any]:
        """What the on-device model rests on, for `status`."""
        if self._local is None:
            return {"fitted": False}
        model = self._local.model
        return {
            "fitted": True,
            "recipe": model.recipe,
            "confirmed_memories": len(self._joined or ()),
            "left_out_accuracy": round(model.left_out_accuracy, 3),
        }

    def _exemplar_vectors(self, embed: Callable[[Sequence[str]], np.ndarray]) -> np.ndarray:
        packaged = packaged_vectors(self._space)
        if packaged is not None:
            return packaged
        texts = exemplar_texts()
        missing = [text for text, held in zip(texts, self._cache.get(texts), strict=True) if held is None]
        if missing:
            self._cache.put(missing, embed(missing))
        return np.stack([vector for vector in self._cache.get(texts) if vector is not None])

    def _vectors_of(self, contents: Sequence[str]) -> list[np.ndarray | None]:
        return self._cache.get([document_text(content) for content in contents])

    # -- showing

    def view(self) -> KindView:
        """How kinds are looked at under the settings."""
        settings = self.settings()
        return KindView(settings.display_min_confidence, settings.kind_aware)

    def told(self, done: Remembered | KindChanged) -> dict[str, Any]:
        """The five kind fields of what was just remembered."""
        return kind_fields(done.kind, self.settings().display_min_confidence, done.type)
