"""Procedures: which methods fit a task, in which order, and what their record may change about it."""

from __future__ import annotations

import json
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

Vector = NDArray[np.float32]


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
    """What is embedded of a procedure: what it is for and where.

    The steps are left to words: among them the goal is lost (cosine of a task with its own methods .73 without, .64
    with them; with methods of other tasks the same .46; tests/bench/procedures.py). A goal that is missing is
    told by the steps.
    """
    told = [goal, *([] if summary == goal else [summary]), *(f"{key}: {value}" for key, value in context.items())]
    return ". ".join(text.rstrip(". ") for text in (told if goal or summary else [*told, *steps]) if text)


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

    The capped reports, plus the rate of success over all reports, which begins as if there had been one of each.
    """
    most = policy.procedure_reports
    reports = policy.procedure_helped * min(helped, most) - policy.procedure_harmed * min(harmed, most)
    rate = (helped + 1) / (helped + policy.procedure_harm_weight * harmed + 2)
    up, down = policy.procedure_record
    told = reports + policy.procedure_rate * (rate - 0.5)
    return up * (1 - math.exp(-told / policy.procedure_soon)) if told > 0 else max(-down, told)


def fitness(relevance: float, policy: ReadPolicy) -> float:
    """Relevance as it counts: rising to 1 where a method is clearly for this task, and hardly any further."""
    least, full = policy.procedure_relevant
    clear = min(1.0, max(0.0, (relevance - least) / (full - least)))
    return clear + policy.procedure_more * max(0.0, relevance - full) / (1 - full)


def outcome_share(outcome: str, policy: ReadPolicy) -> float:
    """What the outcome of the task that a method comes from takes away."""
    return {"failure": policy.procedure_failed, "partial": policy.procedure_partial}.get(outcome, 0.0)


# -- the same method again


def method_key(method: Method) -> tuple[str, ...]:
    """What is equal for a procedure that is committed again: where it holds, its summary and its steps."""
    # The same steps in another context are another method: what works in one may harm in the other.
    where = json.dumps(method.context, sort_keys=True, default=str)
    return (where, normalised(method.summary), *(normalised(step) for step in method.steps))


def families(methods: Sequence[Method], vectors: Mapping[str, Vector], policy: ReadPolicy) -> list[list[Method]]:
    """Methods grouped where a later one is an earlier one written down again, oldest first."""
    found: list[list[Method]] = []
    for method in sorted(methods, key=lambda m: m.position):
        family = next((f for f in found if same_method(f[0], method, vectors, policy)), None)
        if family:
            family.append(method)
        else:
            found.append([method])
    return found


def same_method(one: Method, other: Method, vectors: Mapping[str, Vector], policy: ReadPolicy) -> bool:
    """Whether two procedures are one: equal words for the same sort of goal, or one goal by nearly the same steps.

    Vectors, where there are any, tell what the goals are; they do not hold the steps.
    """
    first, second = vectors.get(one.procedure_id), vectors.get(other.procedure_id)
    cosine = None if first is None or second is None else float(first @ second)
    if method_key(one) == method_key(other):
        return cosine is None or cosine >= policy.procedure_same_words
    if cosine is None or cosine < policy.procedure_same or one.context != other.context:
        return False
    these, those = ({root(word) for step in m.steps for word in words_of(step)} for m in (one, other))
    return len(these & those) >= policy.procedure_same_steps * len(these | those)


# -- ranking


def ranked(
    cue: str,
    methods: Sequence[Method],
    policy: ReadPolicy,
    *,
    vector: Vector | None = None,
    vectors: Mapping[str, Vector] | None = None,
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
            # Words confirm the meaning; a task in other words must not fall behind one in the same.
            relevance = parts["meaning"] + policy.procedure_words * parts["words"] * (1 - parts["meaning"])
        against = tuple(contradictions(cue, method.context, known))
        relevance *= policy.procedure_contradicted ** len(against)
        if relevance >= policy.procedure_threshold:
            relevant[method.procedure_id] = method, relevance, parts, against
    best = max((relevance for _, relevance, *_ in relevant.values()), default=0.0)
    found: list[Ranked] = []
    for family in families([method for method, *_ in relevant.values()], vectors, policy):
        # The words of the latest stand for all; the best relevance of any of them counts.
        latest = family[-1]
        _, relevance, parts, against = max((relevant[m.procedure_id] for m in family), key=lambda held: held[1])
        told = record(sum(m.helped for m in family), sum(m.harmed for m in family), policy)
        if told > 0:
            # Help decides among methods that are about equally relevant; it never makes up for being less so.
            told *= max(0.0, 1 - (best - relevance) / policy.procedure_near)
        parts = {**parts, "relevance": relevance, "record": told, "outcome": -outcome_share(latest.outcome, policy)}
        score = fitness(relevance, policy) * (1 + parts["record"] + parts["outcome"])
        found.append(Ranked(latest.procedure_id, score, parts, against))
    places = {method.procedure_id: method.position for method in methods}
    return sorted(found, key=lambda r: (-r.score, -places[r.procedure_id]))
