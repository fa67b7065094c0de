"""Twins: whether two claims, told in different scopes, say the same."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..domain.identity import normalised
from .wording import words_of

SKETCH_BITS: Final = 64
# Two vectors at a cosine of .95 differ in 6.5 of 64 bits on average, with a deviation of 2.4; unrelated ones in 32.
SKETCH_APART: Final = 17
LOOKED_AT: Final = 32
# One of two twins may say so many words more.
MORE_WORDS: Final = 2
# Words of one root begin alike for so many letters.
ROOT: Final = 5
_NOT: Final = re.compile(r"\b(?:not|no|never|without|cannot|nothing|nobody|none|stop|avoid)\b|n't\b")


def text_key(content: str) -> bytes:
    """Equal for claims of equal words, but for case and white space; 16 bytes."""
    return hashlib.blake2b(normalised(content).encode(), digest_size=16).digest()


def marks(content: str) -> str:
    """What twins of other words must have in common: how often one says no, and the words that tell claims apart."""
    folded = normalised(content)
    return " ".join((str(len(_NOT.findall(folded))), *words_of(folded)))


def agree(one: str, other: str) -> bool:
    """Whether the marks of two claims allow that they say the same.

    Near vectors do not tell 5432 from 5433, always from never, or "tabs over spaces" from "spaces over tabs". So no
    word may stand in the place of another: all but a few words of the longer claim are those of the shorter, in
    their order, and both say no equally often.
    """
    (no, *these), (other_no, *those) = one.split(" "), other.split(" ")
    shorter, longer = sorted((these, those), key=len)
    more = list(longer)
    place = 0
    for word in shorter:
        place = next((i + 1 for i in range(place, len(longer)) if _same(word, longer[i])), 0)
        if not place:
            return False
        more.remove(longer[place - 1])
    return no == other_no and len(more) <= MORE_WORDS and not any(any(c.isdigit() for c in word) for word in more)


def _same(word: str, other: str) -> bool:
    """Equal words, or two of one root."""
    return word == other or (len(word) >= ROOT and word.isalpha() and other.isalpha() and word[:ROOT] == other[:ROOT])


# -- vectors in little room


def packed(vector: NDArray[np.floating]) -> bytes:
    """A vector as one byte a number: a cosine of two such is off by less than .001."""
    row = np.asarray(vector, np.float64)
    most = float(np.abs(row).max(initial=0.0))
    return np.round(row * (127 / most if most > 0 else 0.0)).astype(np.int8).tobytes()


def cosine(one: bytes, other: bytes) -> float:
    """The cosine of two packed vectors, the same on every machine: their products are whole numbers."""
    a, b = (np.frombuffer(data, np.int8).astype(np.int64) for data in (one, other))
    size = float(a @ a) * float(b @ b)
    return float(a @ b) / size**0.5 if size > 0 else 0.0


def sketch(data: bytes) -> int:
    """Which side of 64 fixed planes a packed vector lies on, as the bits of a number: alike vectors, alike bits."""
    row = np.frombuffer(data, np.int8).astype(np.int64)
    sides = _planes(len(row)) @ row > 0
    return int(np.packbits(sides, bitorder="little").view("<i8")[0])


@cache
def _planes(dim: int) -> NDArray[np.int64]:
    """64 planes of +1 and -1, from a hash so that they are the same everywhere."""
    bits = np.frombuffer(hashlib.shake_256(b"slw twins").digest(SKETCH_BITS * dim // 8), np.uint8)
    return np.unpackbits(bits).reshape(SKETCH_BITS, dim).astype(np.int64) * 2 - 1


def near(sketches: NDArray[np.int64], wanted: int, most: int = LOOKED_AT) -> NDArray[np.int64]:
    """The places of the sketches that may belong to twins of the wanted one, in order; the cosine decides among them.

    At most so many, the most alike (of equals the first): where hundreds are alike and none is a twin, looking
    further would cost every new claim the more, the more of them there are.
    """
    apart = np.bitwise_count((sketches ^ np.int64(wanted)).view(np.uint64))
    found = np.flatnonzero(apart <= SKETCH_APART)
    return found if len(found) <= most else np.sort(found[np.argsort(apart[found], kind="stable")[:most]])
