"""Verdicts on one target, packed: which were given, which of them stand, and how to take one back exactly."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from ..domain.events import FeedbackGiven, FeedbackWithdrawn
from .columns import micros, moment

# A verdict's code is its place here; new words go to the end. Memories and procedures share the words.
WORDS: Final = (
    "used",
    "irrelevant",
    "stale",
    "not_used",
    "already_known",
    "unassessable",
    "helped",
    "no_effect",
    "harmed",
    "unknown",
)
_CODES: Final = {word: code for code, word in enumerate(WORDS)}
_ENTRY: Final = struct.Struct("<qIQQIIB")  # 37 bytes: a memory that was judged a thousand times takes 37 kB


class Verdict(NamedTuple):
    """One verdict: when and where in the log, in which retrieval and by which event of which session (by hash).

    `withdrawn_by` is the version of the session's event that took it back; 0 when it stands.
    """

    us: int
    position: int
    retrieval: int
    session: int
    version: int
    withdrawn_by: int
    code: int

    @property
    def word(self) -> str:
        return WORDS[self.code]

    @property
    def at(self) -> datetime:
        return moment(self.us)


def key_of(name: str) -> int:
    """An id as 64 bits, to tell a target's few thousand verdicts apart in little room."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def given(history: bytes, position: int, fact: FeedbackGiven, word: str) -> bytes:
    """The history with one more verdict."""
    retrieval, session = key_of(fact.retrieval_id), key_of(fact.originator_id)
    us = micros(fact.recorded_at)
    return history + _ENTRY.pack(us, position, retrieval, session, fact.originator_version, 0, _CODES[word])


def withdrawn(history: bytes, fact: FeedbackWithdrawn) -> bytes:
    """The history after one event of a session was taken back.

    Taking back a verdict leaves it without effect; taking back such a withdrawal gives the verdict its effect again.
    """
    session, compensated, by = key_of(fact.compensates.stream), fact.compensates.version, fact.originator_version
    return b"".join(
        _ENTRY.pack(*_after_withdrawal(entry, compensated, by) if entry.session == session else entry)
        for entry in entries(history)
    )


def _after_withdrawal(entry: Verdict, compensated: int, by: int) -> Verdict:
    if entry.version == compensated and not entry.withdrawn_by:
        return entry._replace(withdrawn_by=by)
    if entry.withdrawn_by == compensated:
        return entry._replace(withdrawn_by=0)
    return entry


def entries(history: bytes) -> Iterator[Verdict]:
    """Every verdict ever given, in log order."""
    return (Verdict(*entry) for entry in _ENTRY.iter_unpack(history))


def standing(history: bytes) -> list[Verdict]:
    """The verdicts that count, in log order: of each retrieval the last one that was not taken back."""
    last: dict[int, Verdict] = {}
    for entry in entries(history):
        if not entry.withdrawn_by:
            last.pop(entry.retrieval, None)  # the later one stands where it was given, not where the earlier one was
            last[entry.retrieval] = entry
    return list(last.values())


def judged_before(history: bytes, retrieval_id: str) -> bool:
    """Whether this retrieval may hold a verdict already; False is certain."""
    return key_of(retrieval_id).to_bytes(8, "little") in history
