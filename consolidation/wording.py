"""Which words of a memory and of a question carry its meaning."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..domain.events import Procedure

# English function words and the words a question is made of; they stand in every second memory and tell none apart.
STOP_WORDS = frozenset(
    """
    a about after all also am an and any anything are as at be been before being both but by can could did do does
    doing done during each for from get gets got had has have having he her here hers him his how i if in into is
    it its itself just may me might mine more most must my no nor not now of off on once only or other our ours
    out over own please s same shall she should so some such t than that the their theirs them then there these
    they this those through to too under until up us very was we were what when where which while who whom whose
    why will with would you your yours
    """.split()  # noqa: SIM905 - a paragraph reads better than a column
)

# "Anna: we moved to Postgres", "Release team: freeze on Friday": up to three words, then a colon and a space.
_LABEL = re.compile(r"\s*([^\W\d_][\w.'-]*(?: [\w.'-]+){0,2}):\s+(?=\S)")
_WORD = re.compile(r"[^\W_]+")
# What programmers write as one word: snake_case, dotted.names, kebab-case, paths/with/parts, CamelCase.
_SYMBOL = re.compile(r"\w+(?:[._/:-]+\w+)+|\w*[a-z]\w*[A-Z]\w*")


def subject_of(content: str) -> str:
    """The label in front of a memory ("Anna" of "Anna: …"), folded; empty when there is none."""
    found = _LABEL.match(content)
    return found.group(1).casefold() if found else ""


def document_text(content: str) -> str:
    """What is embedded of a memory: its text without the leading label, which says who, not what."""
    found = _LABEL.match(content)
    return content[found.end() :] if found else content


def asks(content: str) -> bool:
    """Whether a memory ends as a question: it asks rather than tells."""
    return content.rstrip().endswith("?")


def length_of(text: str) -> int:
    """How many words a text has, whatever they say."""
    return len(_WORD.findall(text))


def words_of(text: str) -> list[str]:
    """The words of a text that can tell memories apart, folded, each once, in order."""
    return list(dict.fromkeys(w for w in _WORD.findall(text.casefold()) if w not in STOP_WORDS))


def symbols_of(text: str) -> list[str]:
    """The code symbols of a text, as they are written."""
    return list(dict.fromkeys(_SYMBOL.findall(text)))


def query_text(query: str, common: Collection[str] = ()) -> str:
    """What is embedded of a question: its words but those that say nothing here; all of it when none is left."""
    kept = [w for w in query.split() if "".join(_WORD.findall(w.casefold())) not in common]
    return " ".join(kept) or query


def procedure_words(goal: str, procedure: Procedure) -> str:
    """All the words that a procedure is found by: its goal, summary, steps, caveats and context, one a line."""
    context = (f"{key}: {value}" for key, value in procedure.context.items())
    return "\n".join((goal, procedure.summary, *procedure.steps, *procedure.caveats, *context))


def shelf_of(scope: str) -> str:
    """Where the procedures of a scope stand in the indexes, beside its claims; no scope can be named so."""
    return f"{scope}\0procedures"
