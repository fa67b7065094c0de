"""Which of the nine kinds a text most likely is, told by cues in its words: fast, explained and never certain."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from ..domain.vocabulary import KINDS, Kind
from .kind_patterns import Pattern, PatternIndex, compile_pattern, matches, negated
from .kind_shapes import shapes
from .kind_words import LONGEST, Lexicon, Word, read_words

# Below this a cue is no more than a leaning and is not named: of the surer guesses 91 in 100 were right when every
# fifth of our own sentences was judged by weights fitted to the others (tests/bench/fit_kinds.py prints it).
CUE_MIN: Final = 0.6
# A strong cue is one nobody reads in another way. It must also carry the text against all other cues.
STRONG_MIN: Final = 0.7
# Words and meaning are not quite independent witnesses: the product of both claims too much. With this power what
# the two say together is right about as often as it claims to be, on the sentences of tests/consolidation.
_TEMPER: Final = 0.75
# So often cues are looked for at the same word; a text that goes on repeating it has nothing more to say.
_MOST: Final = 16
# With no cue at all, a shape must speak at least so clearly; less is a plain statement.
_LEANING: Final = 0.3
# One clause against another is the frame of a correction: enough of a cue for a model to be heard.
_CONTRAST: Final = frozenset({"correction"})
_NO_TAGS: Final[frozenset[str]] = frozenset()
_ORDER: Final[Mapping[str, int]] = {kind: at for at, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A guessed kind: how sure (0 to 1, calibrated), which cue spoke ("" = none clear), and by which recipe.

    `shares` are the chances of all nine kinds in the order of the vocabulary (empty when only one is known), and
    `cued` the kinds that any cue spoke for.
    """

    kind: Kind
    confidence: float
    cue: str = ""
    strong: bool = False
    recipe: str = ""
    shares: tuple[float, ...] = field(default=(), repr=False)
    cued: frozenset[str] = field(default=frozenset(), repr=False)


class Cue(NamedTuple):
    """A cue that fired, and the words it fired at."""

    pattern: Pattern
    words: str


class Rules:
    """The cue rules of one language: a table of cues, and weights for them fitted to sentences of our own."""

    def __init__(self, table: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
        self.recipe = str(weights["recipe"])
        self._lexicon = Lexicon(table["classes"], table["masked"]["heads"], table["masked"]["tails"])
        cues: dict[str, float] = weights["cues"]
        self._cues = PatternIndex(
            pattern._replace(weight=cues.get(pattern.name, pattern.weight)) for pattern in patterns(table["cues"])
        )
        self._questions = PatternIndex(patterns(table["questions"]))
        self._shapes: dict[str, tuple[float, ...]] = {
            name: tuple(row.get(kind, 0.0) for kind in KINDS) for name, row in weights["shapes"].items()
        }
        self._sharpness = float(weights["sharpness"])

    def fired(self, text: str) -> tuple[dict[str, Cue], dict[str, int]]:
        """The cues found in a text, each once by name, and the shapes of its sentences with their counts."""
        words = read_words(text, self._lexicon)
        return _fired(self._cues, words), shapes(words)

    def suggest(self, text: str) -> Suggestion:
        """The likeliest kind of a text; a plain statement without any cue is semantic."""
        cues, found = self.fired(text)
        scores = list(self._shapes["always"])
        for name, count in found.items():
            row = self._shapes.get(name)
            if row is not None:
                much = repeated(count)
                scores = [score + much * weight for score, weight in zip(scores, row, strict=True)]
        for pattern, _ in cues.values():
            scores[_ORDER[pattern.kind]] += pattern.weight
        shares = softmax(scores, self._sharpness)
        best = max(range(len(KINDS)), key=shares.__getitem__)
        if not cues and shares[best] < _LEANING:
            best = 0
        kind, confidence = KINDS[best], shares[best]
        return Suggestion(
            kind=kind,  # pyright: ignore[reportArgumentType]
            confidence=round(confidence, 4),
            cue=_loudest(kind, cues) if best and confidence >= CUE_MIN else "",
            strong={cue.pattern.kind for cue in cues.values() if cue.pattern.strong} == {kind}
            and confidence >= STRONG_MIN
            and len(text) <= LONGEST,
            recipe=self.recipe,
            shares=tuple(round(share, 6) for share in shares),
            cued=frozenset(cue.pattern.kind for cue in cues.values())
            | (_CONTRAST if "contrast" in found else frozenset[str]()),
        )

    def question_kind(self, query: str) -> Kind | None:
        """The kind a question asks for ("what did we decide"); None for every other query."""
        words = read_words(query, self._lexicon, asking=True)
        best: Pattern | None = None
        for pattern, _ in _fired(self._questions, words).values():
            if best is None or pattern.weight > best.weight:
                best = pattern
        return best.kind if best else None  # pyright: ignore[reportReturnType]


def patterns(table: Mapping[str, Sequence[str]]) -> list[Pattern]:
    """All cues of a table, kind by kind in the order of the data."""
    return [compile_pattern(kind, line) for kind, lines in table.items() for line in lines]


def repeated(count: int) -> float:
    """How much a shape counts that is there `count` times: the second and third time add less."""
    return 0.7 + 0.3 * min(count, 3)


def softmax(scores: Sequence[float], sharpness: float = 1.0) -> list[float]:
    """Chances from scores."""
    top = max(scores)
    powers = [math.exp((score - top) * sharpness) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def combine(rules: Suggestion, model: Suggestion) -> Suggestion:
    """What the rules and a model say together.

    A strong cue is not overruled. A correction needs a correction cue, whatever the model thinks. Otherwise the
    chances of both are multiplied, as those of two witnesses who looked at different things (words, meaning).
    """
    if rules.strong:
        return rules
    joint = [(a * b) ** _TEMPER for a, b in zip(_shares(rules), _shares(model), strict=True)]
    if "correction" not in rules.cued:
        joint[_ORDER["correction"]] = 0.0
    total = sum(joint)
    kind = KINDS[max(range(len(KINDS)), key=joint.__getitem__)]
    return Suggestion(
        kind=kind,  # pyright: ignore[reportArgumentType]
        confidence=round(max(joint) / total, 4),
        cue=rules.cue if kind == rules.kind else "",
        recipe=f"{rules.recipe}+{model.recipe}",
        shares=tuple(round(share / total, 6) for share in joint),
        cued=rules.cued,
    )


def _shares(suggestion: Suggestion) -> Sequence[float]:
    """All nine chances; when only the first is known, the others share the rest alike."""
    if suggestion.shares:
        return [max(share, 1e-6) for share in suggestion.shares]
    sure = min(max(suggestion.confidence, 1e-3), 1 - 1e-3)
    rest = (1 - sure) / (len(KINDS) - 1)
    return [sure if kind == suggestion.kind else rest for kind in KINDS]


def _fired(index: PatternIndex, words: Sequence[Word]) -> dict[str, Cue]:
    found: dict[str, Cue] = {}
    begun: dict[str, int] = {}
    for at, word in enumerate(words):
        if word.covered:
            continue
        begun[word.text] = begun.get(word.text, 0) + 1
        if begun[word.text] > _MOST:
            continue
        text, tags = ("", _NO_TAGS) if at + 1 == len(words) else (words[at + 1].text, words[at + 1].tags)
        for pattern in index.starting(word):
            second = pattern.second
            if second is not None and text not in second.words and second.tags.isdisjoint(tags):
                continue  # most cues end here, before the matcher is even called
            if pattern.name not in found:
                end = matches(pattern, words, at)
                if end > 0 and not (pattern.negatable and negated(words, at, end)):
                    found[pattern.name] = Cue(pattern, " ".join(word.text for word in words[at:end]))
    return found


def _loudest(kind: str, cues: Mapping[str, Cue]) -> str:
    """The words of the loudest cue for a kind; "" when only the shape of the sentence spoke for it."""
    speaking = [cue for cue in cues.values() if cue.pattern.kind == kind]
    return min(speaking, key=lambda cue: (-cue.pattern.weight, cue.pattern.name)).words if speaking else ""


@lru_cache(maxsize=1)
def english() -> Rules:
    """The rules for English, read from the package once."""
    folder = files(str(__package__))
    table = json.loads((folder / "kind_cues.json").read_text("utf-8"))
    weights = json.loads((folder / "kind_weights.json").read_text("utf-8"))
    return Rules(table, weights)


def suggest(text: str) -> Suggestion:
    """The likeliest kind of a text by the English rules."""
    return english().suggest(text)


def question_kind(query: str) -> Kind | None:
    """The kind a question asks for by the English rules; None leaves the ranking as it is."""
    return english().question_kind(query)
