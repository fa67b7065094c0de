"""Contexts: where a method was carried out, and whether a question says that it is somewhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, cast

_WORD: Final = re.compile(r"[^\W_]+(?:\.[^\W_]+)*")
_NUMBER: Final = re.compile(r"v?\d[\d.]*x?")
_BETWEEN: Final = frozenset(("is", "version", "v", "to", "on", "the"))
_SMALL: Final = frozenset(("in", "on", "at", "to", "for", "the", "from", "with"))
_NOT: Final = frozenset(("not", "no", "without", "never"))

# Words of which a task usually means one: naming another one of the row says that this one is not meant.
ALTERNATIVES: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(row.split())
    for row in (
        "production staging development sandbox preview",
        "linux windows macos android ios",
        "debian ubuntu fedora alpine arch",
        "npm yarn pnpm bun",
        "pip poetry conda uv",
        "postgres mysql sqlite mongodb",
        "aws azure gcp",
        "github gitlab bitbucket",
        "docker podman",
        "amd64 arm64",
        "debug release",
        "http grpc",
    )
)
_SYNONYMS: Final[dict[str, str]] = {
    "prod": "production",
    "live": "production",
    "dev": "development",
    "stage": "staging",
    "postgresql": "postgres",
    "psql": "postgres",
    "mac": "macos",
    "osx": "macos",
    "darwin": "macos",
    "win": "windows",
    "mongo": "mongodb",
}


def folded(text: str) -> list[str]:
    """The words of a text as contexts compare them; numbers with dots stay one word."""
    words: list[str] = _WORD.findall(text.casefold())
    return [_SYNONYMS.get(word, word) for word in words]


def settings_of(context: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """A context, flattened: the last key in words, and every value that would do, in words."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for key, value in context.items():
        if isinstance(value, Mapping):
            found += settings_of(cast("Mapping[str, Any]", value))
            continue
        several = cast("list[Any]", value) if isinstance(value, list) else [value]
        plain = [v for v in several if isinstance(v, (str, int, float)) and not isinstance(v, bool)]
        found.append((" ".join(folded(key)), tuple(words for v in plain if (words := " ".join(folded(str(v)))))))
    return [(key, values) for key, values in found if values]


def vocabulary(contexts: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Every value that is known for a key, in the order of its first use."""
    known: dict[str, dict[str, None]] = {}
    for context in contexts:
        for key, values in settings_of(context):
            known.setdefault(key, {}).update(dict.fromkeys(values))
    return {key: list(values) for key, values in known.items()}


def contradictions(cue: str, context: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> list[str]:
    """The keys for which the question names another value than the context, each in words.

    It does so where it names a value that other methods have for the key, another word of the same row of
    alternatives, or the key with another number; or where it says "not" of the value. A question that names the
    value as well contradicts nothing, and one that says nothing of the key neither.
    """
    words = folded(cue)
    return [key for key, values in settings_of(context) if _contradicted(words, key, values, known.get(key, ()))]


def _contradicted(words: list[str], key: str, values: Sequence[str], known: Sequence[str]) -> bool:
    said = [_places(words, value) for value in values]
    if any(places for places in said):
        return all(_denied(words, place) for places in said for place in places)
    own = {word for value in values for word in value.split()}
    if any(other not in values and not set(other.split()) <= own and _places(words, other) for other in known):
        return True
    if any(row & own and row & set(words) for row in ALTERNATIVES):
        return True
    return all(_NUMBER.fullmatch(value) for value in values) and _other_number(words, key, values)


def _denied(words: list[str], place: int) -> bool:
    """Whether "not" stands before a place, with a small word between at most: not production, not in Frankfurt."""
    if place and words[place - 1] in _NOT:
        return True
    return place > 1 and words[place - 1] in _SMALL and words[place - 2] in _NOT


def _places(words: list[str], value: str) -> list[int]:
    """Where a value's words stand in the question, one after the other."""
    wanted = value.split()
    if not wanted:
        return []
    return [at for at in range(len(words) - len(wanted) + 1) if words[at : at + len(wanted)] == wanted]


def _other_number(words: list[str], key: str, values: Sequence[str]) -> bool:
    """Whether the key is named with a number that is none of the values, nor a shorter way to write one."""
    named = key.split()[-1:]
    without = [word for word in words if word not in _BETWEEN]
    return any(
        first in named
        and _NUMBER.fullmatch(second)
        and not any(f"{value}.".startswith(f"{second.rstrip('.x')}.") for value in values)
        for first, second in pairwise(without)
    )
