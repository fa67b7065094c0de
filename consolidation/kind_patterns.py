"""Cues as short patterns over words: read from data once, then tried only where their first word stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from .kind_words import ENDS, Tags, Word

GAP: Final = 4  # how many words `*` may skip
REACH: Final = 3  # how many words back a negation is heard


class Element(NamedTuple):
    """One place of a pattern: a word or a tag to match, a gap, or the end of the sentence."""

    words: frozenset[str]
    tags: Tags
    optional: bool = False
    gap: bool = False
    end: bool = False
    plain: bool = False  # exactly one word must be there


class Pattern(NamedTuple):
    """One cue: what it speaks for, how loudly, and the words it needs."""

    name: str
    kind: str
    weight: float
    strong: bool
    negatable: bool
    initial: bool
    elements: tuple[Element, ...]
    second: Element | None  # what must come next, when that is a plain word or tag
    unless: str


def compile_pattern(kind: str, line: str) -> Pattern:
    """Read `WEIGHT[!][~] ELEMENT... [!<tag>]`; `^` sentence start, `*` up to four words, `_` any word, `$` end."""
    weight, _, rest = line.strip().partition(" ")
    parts = rest.split()
    unless = ""
    if parts[-1].startswith("!<"):
        unless = parts.pop()[2:-1]
    initial = parts[0] == "^"
    elements = tuple(_element(part) for part in (parts[1:] if initial else parts))
    return Pattern(
        name=f"{kind}: {' '.join(parts)}",
        kind=kind,
        weight=float(weight.rstrip("!~")),
        strong="!" in weight,
        negatable="~" in weight,
        initial=initial,
        elements=elements,
        second=elements[1] if len(elements) > 1 and elements[1].plain else None,
        unless=unless,
    )


def _element(part: str) -> Element:
    if part == "*":
        return Element(frozenset(), frozenset(), optional=True, gap=True)
    if part == "$":
        return Element(frozenset(), frozenset(), end=True)
    optional = len(part) > 1 and part.endswith("?")
    part = part.removesuffix("?") if optional else part
    options = ["<any>"] if part == "_" else part.split("/")
    tags = frozenset(option[1:-1] for option in options if option.startswith("<"))
    return Element(frozenset(options) - {f"<{tag}>" for tag in tags}, tags, optional, plain=not optional)


class PatternIndex:
    """All patterns, by the word or tag they start with."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.by_word: dict[str, list[Pattern]] = {}
        self.by_tag: dict[str, list[Pattern]] = {}
        self._tagged: dict[Tags, list[Pattern]] = {}
        for pattern in patterns:
            first = pattern.elements[0]
            if first.optional or first.end:
                raise ValueError(f"a cue must start with a word or a tag: {pattern.name}")
            for word in sorted(first.words):
                self.by_word.setdefault(word, []).append(pattern)
            for tag in sorted(first.tags):
                self.by_tag.setdefault(tag, []).append(pattern)

    def starting(self, word: Word) -> Sequence[Pattern]:
        """Patterns that may match at this word, in a fixed order."""
        tagged = self._tagged.get(word.tags)
        if tagged is None:  # there are as many sets of tags as the lexicon has, whatever is read
            tagged = [pattern for tag in sorted(word.tags & self.by_tag.keys()) for pattern in self.by_tag[tag]]
            self._tagged[word.tags] = tagged
        named = self.by_word.get(word.text)
        return [*named, *tagged] if named else tagged


def matches(pattern: Pattern, words: Sequence[Word], at: int) -> int:
    """Where a pattern that starts at `at` ends (exclusive), or -1. Bounded work: patterns and gaps are short."""
    if pattern.initial and not words[at].first:
        return -1
    end = _match(pattern.elements, 0, words, at)
    if end > 0 and pattern.unless and _before(words, at, pattern.unless):
        return -1
    return end


def _match(elements: Sequence[Element], which: int, words: Sequence[Word], at: int) -> int:
    while which < len(elements):
        element = elements[which]
        if element.end:
            if at < len(words) and words[at].text not in ENDS:
                return -1
            which += 1
            continue
        if element.gap:
            return _after_gap(elements, which + 1, words, at)
        fits = at < len(words) and _fits(element, words[at])
        if element.optional:
            if fits:
                found = _match(elements, which + 1, words, at + 1)
                if found > 0:
                    return found
            which += 1
            continue
        if not fits:
            return -1
        at += 1
        which += 1
    return at


def _after_gap(elements: Sequence[Element], which: int, words: Sequence[Word], at: int) -> int:
    following = elements[which] if which < len(elements) else None
    for reached in range(at, min(at + GAP + 1, len(words) + 1)):
        if reached > at and words[reached - 1].text in ENDS:
            return -1
        if (
            following is not None
            and following.plain
            and (reached == len(words) or not _fits(following, words[reached]))
        ):
            continue
        found = _match(elements, which, words, reached)
        if found > 0:
            return found
    return -1


def _fits(element: Element, word: Word) -> bool:
    return not word.covered and (word.text in element.words or not element.tags.isdisjoint(word.tags))


def _before(words: Sequence[Word], at: int, tag: str) -> bool:
    """Whether a word with the tag stands in the sentence, before or just behind the cue."""
    sentence = words[at].sentence
    for back in range(at + 3, max(-1, at - 12), -1):
        if back < len(words) and words[back].sentence == sentence and tag in words[back].tags:
            return True
    return False


def negated(words: Sequence[Word], at: int, end: int) -> bool:
    """Whether a negation stands within reach before the cue, or inside it ahead of its last word."""
    for back in range(max(0, at - REACH), end - 1):
        if words[back].sentence == words[at].sentence and "negverb" in words[back].tags:
            return True
    return False
