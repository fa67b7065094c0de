"""Foreign: claims of other scopes that a scope may see, weighed against a question, and its own that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..consolidation.procedures import root
from ..consolidation.salience import scale, strength_at
from ..consolidation.wording import words_of
from .recall import Hit, reason
from .salience import Strength
from .schemas import Schema
from .vectors import Vectors
from .words import Words

# A scope sees a handful of what is held everywhere; what fits less would only crowd out its own.
MOST: Final = 10
WHY: Final = {
    "portable": "holds in scopes of this kind",
    "contextual": "holds in other scopes",
    "global": "holds anywhere",
}
Visible = Callable[[str], tuple[Mapping[str, float], frozenset[str]]]


class Foreign:
    """Scores what other scopes lend by its own words and meaning alone: nothing was told beside it here."""

    def __init__(
        self,
        visible: Visible,
        stage_of: Callable[[str], str],
        schemas: Mapping[str, Schema],
        salience: Mapping[str, Strength],
        words: Words,
        vectors: Vectors,
        policy: ReadPolicy,
        fold_policy: FoldPolicy,
    ) -> None:
        """`visible(scope)`: what it sees of other scopes, with its weight, and which of its own stand behind that."""
        self._visible, self._stage_of = visible, stage_of
        self._schemas, self._salience = schemas, salience
        self._words, self._vectors = words, vectors
        self._policy, self._fold_policy = policy, fold_policy
        self._roots: dict[str, frozenset[str]] = {}

    def hidden(self, scope: str) -> frozenset[str]:
        """The scope's own claims in whose place a twin from elsewhere is shown."""
        return self._visible(scope)[1]

    def hits(
        self, cue: str, vector: np.ndarray | None, scope: str, as_of: datetime, wanted: Callable[[Schema], bool]
    ) -> list[Hit]:
        """The claims of other scopes that answer the cue, best first; each must do so clearly, by itself."""
        shares = self._visible(scope)[0]
        lent = [self._schemas[i] for i in shares if i in self._schemas]
        lent = [held for held in lent if held.live and wanted(held)]
        if not lent:
            return []
        tells = self._tells(cue, scope)
        cosines = self._cosines(vector, lent)
        self._read([held.memory_id for held in lent])
        mass = sum(tells.values())
        floor = self._policy.floor_words if vector is None else self._policy.floor
        found: list[Hit] = []
        for held in lent:
            said = [word for word in tells if root(word) in self._roots[held.memory_id]]
            share = sum(tells[word] for word in said) / mass if mass else 0.0
            cosine = cosines.get(held.memory_id, 0.0)
            if share + cosine < floor:
                continue
            parts = {
                "words": self._policy.words_weight * share,
                "meaning": self._policy.meaning_weight * cosine,
                "said_share": share,
                "cosine": cosine,
                "stage": shares[held.memory_id],
            }
            firm = scale(
                strength_at(self._salience[held.memory_id], as_of, self._fold_policy), self._policy, self._fold_policy
            )
            score = (parts["words"] + parts["meaning"]) * firm * shares[held.memory_id]
            why = f"{reason(parts, sorted(said, key=lambda w: -tells[w]), 0)}; {WHY[self._stage_of(held.memory_id)]}"
            rounded = {name: round(value, 4) for name, value in parts.items()}
            found.append(Hit(held.memory_id, round(score, 6), "direct", rounded, why))
        return sorted(found, key=lambda hit: (-hit.score, self._schemas[hit.target_id].position))[:MOST]

    def _tells(self, cue: str, scope: str) -> dict[str, float]:
        """The words of the cue and how much each tells in the scope that asks; one it never heard tells most."""
        shelf = self._words.scope(scope)
        heard = self._words.heard(shelf, cue) if shelf else None
        known = {term.spoken: term.tells for term in heard.terms} if heard else {}
        most = max(known.values(), default=1.0)
        return {word: known.get(word, most) for word in words_of(cue)}

    def _cosines(self, vector: np.ndarray | None, lent: Sequence[Schema]) -> dict[str, float]:
        if vector is None:
            return {}
        by_scope: dict[str, list[Schema]] = {}
        for held in lent:
            by_scope.setdefault(held.scope, []).append(held)
        found: dict[str, float] = {}
        for scope, some in by_scope.items():
            rows = np.array([self._words.row_of(held.memory_id) or 0 for held in some], np.int64)
            near = np.nan_to_num(self._vectors.cosines(scope, vector, rows))
            found |= {held.memory_id: max(0.0, cosine) for held, cosine in zip(some, near.tolist(), strict=True)}
        return found

    def _read(self, memory_ids: Sequence[str]) -> None:
        """The roots of what is lent; words never change, so each is read once."""
        new = [memory_id for memory_id in memory_ids if memory_id not in self._roots]
        if new:
            contents = self._words.contents(new)
            self._roots |= {i: frozenset(root(word) for word in words_of(contents.get(i, ""))) for i in new}
