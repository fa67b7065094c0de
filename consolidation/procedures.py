"""Procedures: which methods fit a task, in which order, and what their record may change about it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..domain.identity import normalised
from ..domain.vocabulary import FAILED_PROCEDURE_CAVEAT
from .contexts import contradictions, vocabulary
from .policy import ReadPolicy
from .wording import words_of

# What a word of the question is worth where it stands: the goal and the summary say what a method is for, the steps
# how it goes, the caveats only when not.
FIELD_WEIGHTS: Final = {"goal": 1.0, "summary": 1.0, "context": 0.9, "steps": 0.8, "caveats": 0.5}
_ENDING: Final = re.compile(r"(?:ies|ing|ed|es|s|e)$")
_ROOT: Final = 4


@dataclass(frozen=True, slots=True)
class Method:
    """A procedure as it is scored; `words` holds the root of each of its words and what it is worth."""

    procedure_id: str
    position: int
    goal: str
    summary: str
    steps: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outcome: str = "success"
    helped: int = 0
    harmed: int = 0
    words: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def of(cls, **members: Any) -> Method:
        """A method with its words; keep it, since taking a text apart costs more than scoring it."""
        method = cls(**members)
        return replace(method, words=weighed(method))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A method that fits: its score, what it is made of, and the keys of its context that the task contradicts."""

    procedure_id: str
    score: float
    parts: dict[str, float]
    contradicted: tuple[str, ...] = ()


def procedure_text(goal: str, summary: str, steps: Sequence[str], context: Mapping[str, Any]) -> str:
    """What is embedded of a procedure: what it is for first, since a model reads only so far."""
    told = [goal, *([] if summary == goal else [summary]), *steps, *(f"{k}: {v}" for k, v in context.items())]
    return ". ".join(text.rstrip(". ") for text in told if text)


def caveats_shown(caveats: Sequence[str], outcome: str) -> tuple[str, ...]:
    """The caveats of a procedure, with the fixed caution behind those of one that failed."""
    if outcome != "failure" or FAILED_PROCEDURE_CAVEAT in caveats:
        return tuple(caveats)
    return (*caveats, FAILED_PROCEDURE_CAVEAT)


# -- relevance


def root(word: str) -> str:
    """A word without its commonest endings, where enough of it is left: deploys, deployed, deploying."""
    cut = _ENDING.sub("", word)
    return cut if len(cut) >= _ROOT else word


def weighed(method: Method) -> dict[str, float]:
    """The roots of a method's words, each with the weight of the best field it stands in."""
    texts = {
        "goal": method.goal,
        "summary": method.summary,
        "context": " ".join(f"{key} {value}" for key, value in method.context.items()),
        "steps": " ".join(method.steps),
        "caveats": " ".join(method.caveats),
    }
    found: dict[str, float] = {}
    for name, text in texts.items():
        for word in words_of(text):
            found[root(word)] = max(found.get(root(word), 0.0), FIELD_WEIGHTS[name])
    return found


def overlap(cue_words: Sequence[str], method: Method, rarity: Mapping[str, float]) -> float:
    """The share of the question's weight in rare words that the method holds, 0 to 1."""
    whole = sum(rarity[word] for word in cue_words)
    return sum(rarity[word] * method.words.get(word, 0.0) for word in cue_words) / whole if whole else 0.0


def rarities(cue_words: Iterable[str], methods: Sequence[Method]) -> dict[str, float]:
    """How much each word of a question says among these methods: ln(1 + (n - df + .5) / (df + .5)), as in bm25."""
    found: dict[str, float] = {}
    for word in cue_words:
        holding = sum(word in method.words for method in methods)
        found[word] = math.log1p((len(methods) - holding + 0.5) / (holding + 0.5))
    return found


# -- record


def record(helped: int, harmed: int, policy: ReadPolicy) -> float:
    """What reports change, as a share of the relevance: one harm outweighs two helps, and all of it is bounded.

    The capped reports, plus the rate of success over all reports (its prior is one of each, so that a single
    failure of a method that helped ten times costs it little).
    """
    most = policy.procedure_reports
    reports = policy.procedure_helped * min(helped, most) - policy.procedure_harmed * min(harmed, most)
    rate = (helped + 1) / (helped + policy.procedure_harm_weight * harmed + 2)
    return reports + policy.procedure_rate * (rate - 0.5)


def outcome_share(outcome: str, policy: ReadPolicy) -> float:
    """What the outcome of the task that a method comes from takes away."""
    return {"failure": policy.procedure_failed, "partial": policy.procedure_partial}.get(outcome, 0.0)


# -- the same method again


def same_words(one: Method, other: Method) -> bool:
    """Whether two procedures say the same: summary and steps, but for case and space."""
    return method_key(one) == method_key(other)


def method_key(method: Method) -> tuple[str, ...]:
    """What is equal for a procedure that is committed again."""
    return (normalised(method.summary), *(normalised(step) for step in method.steps))


def families(methods: Sequence[Method], vectors: Mapping[str, NDArray[np.float32]], least: float) -> list[list[Method]]:
    """Methods grouped where a later one is an earlier one written down again, by its words or its vector."""
    found: list[list[Method]] = []
    by_key: dict[tuple[tuple[str, ...], str], list[Method]] = {}
    for method in sorted(methods, key=lambda m: m.position):
        # The same steps in another context are another method: what works in one may harm in the other.
        where = repr(sorted((str(key), str(value)) for key, value in method.context.items()))
        family = by_key.get((method_key(method), where)) or next(
            (f for f in found if _alike(f[0], method, vectors, least)), None
        )
        if family:
            family.append(method)
        else:
            family = [method]
            found.append(family)
        by_key[method_key(method), where] = family
    return found


def _alike(one: Method, other: Method, vectors: Mapping[str, NDArray[np.float32]], least: float) -> bool:
    first, second = vectors.get(one.procedure_id), vectors.get(other.procedure_id)
    if first is None or second is None or one.context != other.context:
        return False
    return float(first @ second) >= least and abs(len(one.steps) - len(other.steps)) <= 1


# -- ranking


def ranked(
    cue: str,
    methods: Sequence[Method],
    policy: ReadPolicy,
    *,
    vector: NDArray[np.float32] | None = None,
    vectors: Mapping[str, NDArray[np.float32]] | None = None,
) -> list[Ranked]:
    """The methods that fit a task, best first; of one that was written down several times the latest, with all reports.

    Relevance first, and over a threshold; a contradicted context lowers the relevance itself. Then the record and
    the outcome move what is relevant by a bounded share. `vectors` are by procedure id, of `procedure_text`.
    """
    cue_words = list(dict.fromkeys(root(word) for word in words_of(cue)))
    rarity = rarities(cue_words, methods)
    known = vocabulary(method.context for method in methods)
    vectors = vectors or {}
    relevant: dict[str, tuple[Method, float, dict[str, float], tuple[str, ...]]] = {}
    for method in methods:
        parts = {"words": overlap(cue_words, method, rarity)}
        relevance = parts["words"]
        held = vectors.get(method.procedure_id)
        if vector is not None and held is not None:
            parts["meaning"] = max(0.0, float(vector @ held))
            relevance += policy.procedure_meaning * (parts["meaning"] - relevance)
        against = tuple(contradictions(cue, method.context, known))
        relevance *= policy.procedure_contradicted ** len(against)
        if relevance >= policy.procedure_threshold:
            relevant[method.procedure_id] = method, relevance, parts, against
    found: list[Ranked] = []
    for family in families([method for method, *_ in relevant.values()], vectors, policy.procedure_same):
        # The words of the latest stand for all; the best relevance of any of them counts.
        latest = family[-1]
        _, relevance, parts, against = max((relevant[m.procedure_id] for m in family), key=lambda held: held[1])
        parts = {
            **parts,
            "relevance": relevance,
            "record": record(sum(m.helped for m in family), sum(m.harmed for m in family), policy),
            "outcome": -outcome_share(latest.outcome, policy),
        }
        most = policy.procedure_evidence_most
        score = relevance * (1 + min(most, max(-most, parts["record"] + parts["outcome"])))
        found.append(Ranked(latest.procedure_id, score, parts, against))
    places = {method.procedure_id: method.position for method in methods}
    return sorted(found, key=lambda r: (-r.score, -places[r.procedure_id]))
