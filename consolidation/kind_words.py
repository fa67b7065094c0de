"""Sentences as the cue rules see them: words with tags, and what must not be read as a cue covered up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

# Beyond this, only the head and the tail are read: what a note is, it says at its start or at its end.
HEAD: Final = 560
TAIL: Final = 240
LONGEST: Final = HEAD + TAIL
# Ordinary prose of that length has some 160 words and marks; a text of nothing but marks would have 800.
HEAD_WORDS: Final = 150
TAIL_WORDS: Final = 50

# Every branch consumes what it looks at, and the two that look ahead for a closing mark are bounded: linear time.
_TOKEN: Final = re.compile(
    r"`[^`\n]{1,120}`"  # code between ticks
    r"|--?[a-z][\w-]{0,40}(?==)?"  # --flag
    r"|[^\W\d_]+['\u2019]t\b"  # don't
    r"|['\u2019](?:s|re|ve|ll|d|m)\b"  # 's
    r"|[^\W_]+(?:[-_/.:=@][^\W_]+)*(?:\(\))?"  # word, two-words, path/to.py, 4.2
    r"|[,;:.?!()\n\"“”„«»\u2018]"
    r"|'(?=\w)|'"
)
_CODE: Final = re.compile(r"..*[_/=@]|[a-z]+\.[a-z]|.*\(\)$|.*[a-z]:[a-z0-9]")
ENDS: Final = frozenset(".?!;\n")
_CLOSING: Final[Mapping[str, str]] = {'"': '"', "“": "”", "„": "“", "«": "»", "\u2018": "\u2019", "'": "'"}
_LONGEST_QUOTE: Final = 40
Tags = frozenset[str]


class Word(NamedTuple):
    """One word or mark: lower case, its tags, and whether it may be read as a cue."""

    text: str
    tags: Tags
    first: bool
    sentence: int
    covered: bool


class Lexicon:
    """Which tags a word has, from the classes of a language and from its shape."""

    def __init__(self, classes: Mapping[str, str], heads: str, tails: str) -> None:
        tags: dict[str, set[str]] = {}
        for name, words in classes.items():
            for word in words.split():
                tags.setdefault(word, set()).add(name)
        for word, names in tags.items():
            names.update(_shape(word))
            if names & {"conduct", "work", "operate", "being"}:
                names.update(("base", "imp"))
            if "lexpast" in names:
                names.add("past")
            if "count" in names:
                names.add("num")
            if "adj_ed" in names:
                names.discard("past")
        self._tags: dict[str, Tags] = {word: frozenset(names) for word, names in tags.items()}
        self.heads = frozenset(heads.split())
        self.tails = frozenset(tails.split())

    def tags(self, word: str) -> Tags:
        """All tags of a lower-case word."""
        return self._tags.get(word) or frozenset(_shape(word))


def _shape(word: str) -> set[str]:
    found = {"any"} if word[0].isalnum() else set[str]()
    if word.endswith("ed") and len(word) > len("red"):
        found.add("past")
    elif word.endswith("ing") and len(word) > len("bring"):
        found.add("ing")
    elif word[0].isdigit():
        found.add("num")
    return found


def bounded(text: str) -> str:
    """The part of a text that is read: all of it, or its head and its tail."""
    if len(text) <= LONGEST:
        return text
    return text[:HEAD] + "\n" + text[-TAIL:]


def read_words(text: str, lexicon: Lexicon, *, asking: bool = False) -> list[Word]:
    """The words of a text in order, with quoted speech, names of things and (unless `asking`) questions covered up."""
    found = _TOKEN.findall(bounded(text))
    if len(found) > HEAD_WORDS + TAIL_WORDS:
        found = [*found[:HEAD_WORDS], "\n", *found[-TAIL_WORDS:]]
    quoted = _quoted(found)
    words: list[Word] = []
    first, sentence = True, 0
    for at, token in enumerate(found):
        low = token.lower().replace("\u2019", "'")
        if token[0] in "`-" or _CODE.match(token):
            tags: Tags = _CODE_TAGS
        else:
            tags = lexicon.tags(low)
            if not first and token[0].isupper():
                tags |= _NAME_TAGS
        words.append(Word(low, tags, first, sentence, quoted[at]))
        if low in ENDS:
            first = True
            sentence += 1
        elif low != "(" and low not in _CLOSING and not (first and low.isdigit()):
            first = False
    _cover_names(words, lexicon)
    if not asking:
        _cover_questions(words)
    return words


_CODE_TAGS: Final[Tags] = frozenset({"code", "any"})
_NAME_TAGS: Final[Tags] = frozenset({"name"})


def _quoted(tokens: Sequence[str]) -> list[bool]:
    """True for each token between two quotation marks; marks that nothing closes cover nothing."""
    covered = [False] * len(tokens)
    at = 0
    while at < len(tokens):
        closing = _CLOSING.get(tokens[at])
        if closing is not None:
            # An apostrophe that opens nothing is common, so the search for its partner stays short.
            for end in range(at + 2, min(len(tokens), at + _LONGEST_QUOTE)):
                if tokens[end] == closing:
                    covered[at : end + 1] = [True] * (end + 1 - at)
                    at = end
                    break
        at += 1
    if sum(covered) * 5 > len(tokens) * 4:  # a memory that is a quotation as a whole speaks for itself
        return [False] * len(tokens)
    return covered


def _cover_names(words: list[Word], lexicon: Lexicon) -> None:
    """Words in another sense ("rule engine") carry no cue."""
    for at in range(len(words) - 1):
        if words[at].text in lexicon.heads and words[at + 1].text in lexicon.tails:
            words[at] = words[at]._replace(covered=True)
            words[at + 1] = words[at + 1]._replace(covered=True)


def _cover_questions(words: list[Word]) -> None:
    """A question states nothing: it carries no cue, from its mark back to where it starts."""
    at = len(words) - 1
    while at >= 0:
        asked = words[at].text == "?"
        sentence = words[at].sentence
        while at >= 0 and words[at].sentence == sentence:
            if asked and words[at].text == ":":
                asked = False
            if asked:
                words[at] = words[at]._replace(covered=True)
            at -= 1
