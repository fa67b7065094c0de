"""Dates that a question names, held against the day of a memory; and words that tell when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

MONTHS: Final = (
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_MONTH: Final = "|".join(m if m == "may" else f"{m}|{m[:3]}" for m in MONTHS)
_NAMED: Final = re.compile(
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?\b({_MONTH})\b\.?(?:\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?"
    r"(?:,?\s+(\d{4})\b)?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_WHEN: Final = re.compile(r"\s*(?:when|since when|how long|what (?:day|date|week|month|year|time))\b", re.IGNORECASE)
_TIME: Final = re.compile(
    rf"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|morning|weekend|week|month|year|"
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day|{'|'.join(m for m in MONTHS if m != 'may')}|20\d\d)\b",
    re.IGNORECASE,
)
# What happened on a day is told on it or in the week after.
TOLD_WITHIN_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Named:
    """A date as far as a question names it; 0 for the day or the year that it leaves open."""

    month: int
    day: int = 0
    year: int = 0

    def fits(self, when: date) -> bool:
        """Whether something of that date would be told on that day."""
        if self.day and self.year:
            try:
                named = date(self.year, self.month, self.day)
            except ValueError:
                return False
            return 0 <= (when - named).days <= TOLD_WITHIN_DAYS
        return when.month == self.month and self.year in (0, when.year)


def date_named(question: str) -> Named | None:
    """The first date that a question names: "7 May 2023", "June 3rd", "in March", "2024-02-29"."""
    iso = _ISO.search(question)
    if iso and 1 <= int(iso[2]) <= len(MONTHS):
        return Named(int(iso[2]), int(iso[3] or 0), int(iso[1]))
    for found in _NAMED.finditer(question):
        before, month, after, year = found.groups()
        # "may" and "march" are months only with a capital, a day or a year.
        if month.islower() and not (before or after or year):
            continue
        number = next(i for i, name in enumerate(MONTHS, 1) if name.startswith(month.casefold()[:3]))
        return Named(number, int(before or after or 0), int(year or 0))
    return None


def asks_when(question: str) -> bool:
    """Whether a question wants a time for an answer."""
    return _WHEN.match(question) is not None


def tells_when(content: str) -> bool:
    """Whether a memory says a time in words."""
    return _TIME.search(content) is not None
