"""The memories of one scope in columns: who was told beside whom, and what ranking asks of hundreds at once."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field

import numpy as np

# How many live memories on either side, in the order they were told in the same session, speak for a memory.
REACH = 2
# A scope's rows are one block of row ids, so that one store-wide index still finds a scope by a range.
BLOCK = 1 << 32
# A subject of more than this share of a scope's memories says nothing in a question's vector.
COMMON_SUBJECT_SHARE = 0.2
_NAME = re.compile(r"\w+")
# "Release team": as many words as a leading label may have, and one for what a hyphen or a dot splits.
_NAME_WORDS = 4


def name_of(text: str) -> str:
    """A name as it is compared: its words, folded, without what stands between them."""
    return " ".join(_NAME.findall(text.casefold()))


@dataclass(slots=True)
class Doc:
    """One memory's row: its place among the memories of its session, and what keeps it from being found."""

    row: int
    memory_id: str
    session: str
    place: int = 0
    retirements: tuple[int, ...] = ()
    suppressed: bool = False
    erased: bool = False

    @property
    def live(self) -> bool:
        return not (self.retirements or self.suppressed or self.erased)


def numbers() -> array[int]:
    return array("q")


def marks() -> array[int]:
    return array("b")


@dataclass(slots=True)
class Scope:
    """The rows of one scope, numbered from 0 in the order they were told."""

    no: int
    docs: list[Doc] = field(default_factory=list[Doc])
    sessions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    subjects: dict[str, int] = field(default_factory=dict[str, int])  # name -> its number
    carried: list[int] = field(default_factory=list[int])  # by number, how many memories carry the name
    # By row: the live memories told right before and after it in its session (-1: none), its session (the first row
    # there), its subject (-1: none), the day it is about, the words of its text and of the live texts around it.
    before: array[int] = field(default_factory=numbers)
    after: array[int] = field(default_factory=numbers)
    session: array[int] = field(default_factory=numbers)
    subject: array[int] = field(default_factory=numbers)
    day: array[int] = field(default_factory=numbers)
    length: array[int] = field(default_factory=numbers)
    reach: array[int] = field(default_factory=numbers)
    live: array[int] = field(default_factory=marks)
    asks: array[int] = field(default_factory=marks)
    tells_when: array[int] = field(default_factory=marks)
    # Over the live rows.
    living: int = 0
    words: int = 0
    words_around: int = 0

    def place(self, doc: Doc, subject: str, day: int, length: int, asks: bool, tells_when: bool) -> None:
        """Put a row behind the others of its scope and session. It is live once it is linked."""
        beside = self.sessions.setdefault(doc.session, [])
        doc.place = len(beside)
        beside.append(len(self.docs))
        number = -1
        if name := name_of(subject):
            number = self.subjects.setdefault(name, len(self.subjects))
            if number == len(self.carried):
                self.carried.append(0)
            self.carried[number] += 1
        self.docs.append(doc)
        for column, value in (
            (self.before, -1), (self.after, -1), (self.session, beside[0]), (self.subject, number), (self.day, day),
            (self.length, length), (self.reach, 0), (self.live, 0), (self.asks, asks), (self.tells_when, tells_when),
        ):  # fmt: skip
            column.append(value)

    def link(self, doc: Doc) -> None:
        """Bring the columns to whether the row is live now; the live rows within reach hear of it."""
        row, was = doc.row % BLOCK, self.live[doc.row % BLOCK]
        before, after = self._next_to(doc)
        self.before[row], self.after[row], self.live[row] = before, after, doc.live
        if before >= 0:
            self.after[before] = row if doc.live else after
        if after >= 0:
            self.before[after] = row if doc.live else before
        self.living += doc.live - was
        self.words += (doc.live - was) * self.length[row]
        for near in (row, *self._within(row)):
            now = self.length[near] + sum(self.length[n] for n in self._within(near)) if self.live[near] else 0
            self.words_around += now - self.reach[near]
            self.reach[near] = now

    def _next_to(self, doc: Doc) -> tuple[int, int]:
        members = self.sessions[doc.session]
        earlier = (members[n] for n in range(doc.place - 1, -1, -1))
        later = (members[n] for n in range(doc.place + 1, len(members)))
        return next((r for r in earlier if self.live[r]), -1), next((r for r in later if self.live[r]), -1)

    def _within(self, row: int) -> list[int]:
        found: list[int] = []
        for column in (self.before, self.after):
            near = row
            for _ in range(REACH):
                near = column[near]
                if near < 0:
                    break
                found.append(near)
        return found

    # -- what is asked of many rows at once

    def at(self, column: array[int], rows: np.ndarray) -> np.ndarray:
        """The values of a column at some rows (a copy: a column that is being looked at cannot grow)."""
        return np.frombuffer(column, np.dtype(column.typecode))[rows] if len(column) else np.empty(0, column.typecode)

    def rows(self) -> np.ndarray:
        """The live rows."""
        return np.flatnonzero(np.frombuffer(self.live, np.int8)) if len(self.live) else np.empty(0, np.int64)

    def beside(self, rows: np.ndarray) -> np.ndarray:
        """(n, 2 * REACH) live rows told before and after each, the nearest first on either side; -1: none."""
        columns: list[np.ndarray] = []
        for column in (self.before, self.after):
            near = rows
            for _ in range(REACH):
                near = np.where(near >= 0, self.at(column, near), -1)
                columns.append(near)
        return np.stack(columns, axis=1)

    # -- subjects

    def common(self) -> frozenset[str]:
        """Words of the subjects that stand in front of so many memories that they tell none apart."""
        most = COMMON_SUBJECT_SHARE * len(self.docs)
        return frozenset(
            word for s, number in list(self.subjects.items()) if self.carried[number] > most for word in s.split()
        )

    def named_in(self, question: str) -> int:
        """The number of the one subject that a question names; -1 when it names none or several."""
        said = _NAME.findall(question.casefold())
        spans = (" ".join(said[i : i + n]) for n in range(1, _NAME_WORDS + 1) for i in range(len(said) - n + 1))
        named = {self.subjects[span] for span in spans if span in self.subjects}
        return named.pop() if len(named) == 1 else -1
