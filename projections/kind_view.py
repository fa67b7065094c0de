"""How kinds are looked at: which kind a memory shows under a cut-off, and whether a question may favour one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ..consolidation.kind_ranking import SUGGESTED_SHARE, favour
from ..consolidation.wording import symbols_of
from ..domain.kinds import DISPLAY_MIN_CONFIDENCE, KindFact, kind_fields
from ..domain.vocabulary import KIND_LABELS
from .schemas import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .recall import Hit

_QUOTED: Final = re.compile(r"[\"“”„«»`]([^\"“”„«»`]{3,})[\"“”„«»`]")


@dataclass(frozen=True, slots=True)
class KindView:
    """What the settings say about showing kinds."""

    min_confidence: float = DISPLAY_MIN_CONFIDENCE
    aware: bool = True

    def fields(self, schema: Schema) -> dict[str, object]:
        """The five kind fields of a memory."""
        standing = None
        if schema.kind is not None and schema.kind_source is not None:
            sure = 1.0 if schema.kind_confidence is None else schema.kind_confidence
            standing = KindFact(0, schema.kind, schema.kind_source, sure)  # pyright: ignore[reportArgumentType] - our words
        return kind_fields(standing, self.min_confidence, schema.type)

    def kind(self, schema: Schema) -> str:
        """The kind that is shown; empty when none is."""
        return str(self.fields(schema)["memory_kind"])

    def share(self, schema: Schema, kind: str) -> float:
        """How far a memory counts as one of this kind when an order is made."""
        fields = self.fields(schema)
        if fields["memory_kind"] != kind:
            return 0.0
        return {"confirmed": 1.0, "suggested": SUGGESTED_SHARE}.get(str(fields["memory_kind_state"]), 0.0)


def favoured(
    hits: Sequence[Hit], kind: str, cue: str, view: KindView, schemas: Mapping[str, Schema], words: Mapping[str, str]
) -> list[Hit]:
    """The hits with those of the kind asked for a little further up."""
    exact = exact_words(cue)
    order = favour(
        [hit.score for hit in hits],
        [view.share(schemas[hit.target_id], kind) for hit in hits],
        [any(said in folded(words.get(hit.target_id, "")) for said in exact) for hit in hits],
    )
    found: list[Hit] = []
    for one in order:
        hit = hits[one.place]
        if one.added > 0:
            parts = {**hit.parts, "kind": round(one.added, 4)}
            why = f"{hit.why}; a {KIND_LABELS[kind].lower()}, as asked"
            hit = replace(hit, score=round(one.score, 6), parts=parts, why=why)
        found.append(hit)
    return found


def exact_words(cue: str) -> list[str]:
    """What of a question an exact hit holds as it stands: all of it, what it quotes, and its code symbols."""
    whole = folded(cue).strip(" ?!.")
    quoted = [folded(said) for said in _QUOTED.findall(cue)]
    symbols = [folded(symbol) for symbol in symbols_of(cue) if not symbol.isalpha() or not symbol.istitle()]
    return [said for said in (whole, *quoted, *symbols) if said]


def folded(text: str) -> str:
    """Text as it is compared: white space and case do not count."""
    return " ".join(text.casefold().split())
