"""The shapes of a sentence that speak for a kind without any cue word: mood, tense and order of clauses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .kind_words import Word

MARKS = {";": "semicolon", ":": "colon", ",": "comma", ".": "stop"}
BREAKS = frozenset({",", ";", ".", ":", "and", "but", "while", "whereas"})
_STANCE = frozenset({"negverb", "was", "only", "have"})
_SEQUEL = frozenset({"further command", "command in a later clause", "code"})
OPENERS = frozenset({",", ";", ":", "then", "and", "."})


def shapes(words: Sequence[Word]) -> dict[str, int]:
    """Which shapes a text has, and how often; names are keys of `shapes` in the data."""
    found: dict[str, int] = {}

    def add(name: str) -> None:
        found[name] = found.get(name, 0) + 1

    _opening(words, add)
    for at, word in enumerate(words):
        if word.covered:
            if word.text == "?":
                add("question")
            continue
        tags = word.tags
        before = words[at - 1] if at else None
        if "base" in tags and (word.first or (before is not None and before.text in OPENERS)):
            if imperative(words, at):
                if word.first and not found.get("command"):
                    add("command")
                    for manner in ("conduct", "work", "operate"):
                        if manner in tags:
                            add(f"command to {manner}")
                    if generic(words, at + 1):
                        add("command in general")
                elif found.get("command") or word.first:
                    add("further command")
                else:
                    add("command in a later clause")
        elif "past" in tags and "decided" not in tags:
            add(_past(words, at))
        elif "was" in tags:
            add("was")
        elif "is" in tags:
            add("is")
        elif "code" in tags:
            add("code")
        elif "negverb" in tags:
            add("not")
        elif tags & {"modal"}:
            add("modal")
        elif word.text in MARKS:
            add(MARKS[word.text])
        elif tags & {"weekday", "month", "unit"}:
            add("time")
        elif "num" in tags:
            add("number")
        elif "good" in tags:
            add("judgement")
    if found.get("command") == 1 and not found.keys() & _SEQUEL:
        add("single command")
    if _contrast(words):
        add("contrast")
    return found


def _contrast(words: Sequence[Word]) -> bool:
    """Whether one clause denies, limits or dates what another clause states: the frame of most corrections."""
    clauses: list[set[str]] = [set()]
    for word in words:
        if word.text in BREAKS:
            clauses.append(set())
        elif not word.covered:
            clauses[-1] |= word.tags & _STANCE or ({"stated"} if "any" in word.tags else set[str]())
    told = [clause for clause in clauses if clause]
    for mark in ("negverb", "was", "only", "have"):
        if any(mark in clause for clause in told) and any(mark not in clause for clause in told):
            return True
    return False


def _opening(words: Sequence[Word], add: Callable[[str], None]) -> None:
    """Who or what the first clause is about."""
    if not words or words[0].covered:
        return
    first = words[0]
    tags = first.tags
    second = words[1].tags if len(words) > 1 else frozenset[str]()
    if "i" in tags:
        add("about us")
    elif "the" in tags:
        add("about the thing")
    elif first.text in {"a", "an"}:
        add("about any thing")
    elif "quant" in tags:
        add("about all")
    elif "role" in tags:
        add("about a person")
    elif "num" in tags:
        add("about a count")
    elif "ing" in tags:
        add("about doing")
    elif first.text in {"it", "that", "this", "there"}:
        add("about it")
    elif tags & {"prep"} or first.text in {"when", "if", "once"}:
        add("circumstance first")
    elif "base" not in tags and first.text.endswith("s") and not second & {"is", "was"}:
        add("about things doing")
    elif "base" not in tags and first.text.endswith("s"):
        add("about things being")
    else:
        add("about a name")


def imperative(words: Sequence[Word], at: int) -> bool:
    """Whether the base verb at `at` gives a command rather than naming a thing ("Release 3 is out")."""
    if at + 1 >= len(words) or words[at + 1].sentence != words[at].sentence:
        return False
    following = words[at + 1]
    if following.text == "of" or not following.tags or following.tags & {"finite", "modal", "past"}:
        return False
    if following.tags & {"det", "my", "quant", "prep", "code"}:
        return True
    for ahead in range(at + 1, min(at + 4, len(words))):
        if words[ahead].text in {",", ".", ":"} or words[ahead].tags & {"det", "prep"}:
            return True
        if words[ahead].tags & {"finite", "modal"}:
            return False
    return True


def generic(words: Sequence[Word], at: int) -> bool:
    """Whether the thing after a command is any thing of its sort: "each test", "secrets", "new tables"."""
    for word in words[at : at + 3]:
        if word.tags & {"quant"} or word.text == "new":
            return True
        if word.tags & {"det", "my", "name", "code"} or not word.tags:
            return False
        if word.text.endswith("s") and not word.text.endswith("ss"):
            return True
    return False


def _past(words: Sequence[Word], at: int) -> str:
    """A past tense, a passive, a perfect or a mere attribute, told by the word ahead."""
    for back in range(at - 1, max(-1, at - 4), -1):
        tags = words[back].tags
        if "was" in tags:
            return "was done"
        if "have" in tags:
            return "has happened"
        if "is" in tags or words[back].text in {"be", "been"}:
            return "is done"
        if tags & {"det", "prep"}:
            return "attribute" if back == at - 1 else "past"
        if words[back].text in {",", ".", "and"}:
            break
    return "past at the start" if words[at].first else "past"
