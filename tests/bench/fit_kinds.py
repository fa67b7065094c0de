"""Fits the weights of the cue rules to the exemplars: `python tests/bench/fit_kinds.py [--write]`.

The cues and their first weights are written by hand; here each is moved a little towards what our own sentences
say (a log-linear model with the hand weights as its prior). Every fifth sentence is judged by weights fitted to the
others, and that gives the sharpness of the confidence and the figures printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from slw.consolidation.kinds import Rules, patterns, repeated
from slw.domain.vocabulary import KINDS

DATA = Path(__file__).parents[2] / "consolidation"
# Hand weights are about log odds, somewhat too bold; cues are pulled to them harder than shapes are to nothing
# much, because a cue has a handful of examples and a shape has hundreds. Chosen by the cross-validation below.
BOLDNESS, HOLD_CUES, HOLD_SHAPES, FOLDS, STEPS = 0.7, 2.0, 3.0, 5, 400
HAND_SHAPES: dict[str, dict[str, float]] = {
    "always": {"semantic": 2.0},
    "command to conduct": {"rule": 2.0},
    "command to work": {"prospective": 2.0},
    "command to operate": {"procedure": 1.5},
    "command in general": {"rule": 1.2},
    "further command": {"procedure": 2.0},
    "command in a later clause": {"procedure": 1.5},
    "past": {"episodic": 2.3},
    "past at the start": {"episodic": 2.3},
    "was done": {"episodic": 2.3},
    "was": {"episodic": 1.0},
    "has happened": {"status": 1.5},
    "is done": {"semantic": 0.5},
}


class Sentences:
    """Labelled sentences as numbers: which cues fired, which shapes there are."""

    def __init__(self, rules: Rules, labelled: list[tuple[str, str]], cues: list[str], shapes: list[str]) -> None:
        self.cues = np.zeros((len(labelled), len(cues)))
        self.shapes = np.zeros((len(labelled), len(shapes)))
        self.kinds = np.array([KINDS.index(kind) for _, kind in labelled])
        place = {name: at for at, name in enumerate(cues)}
        for row, (text, _) in enumerate(labelled):
            fired, found = rules.fired(text)
            for name in fired:
                self.cues[row, place[name]] = 1
            for at, name in enumerate(shapes):
                if name == "always":
                    self.shapes[row, at] = 1
                elif name in found:
                    self.shapes[row, at] = repeated(found[name])


def fit(
    cues: np.ndarray, shapes: np.ndarray, kinds: np.ndarray, speaks: np.ndarray, first: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The weights of cues (never below zero) and shapes, by Adam on the penalised likelihood."""
    prior = [part * BOLDNESS for part in first]
    now = [part.copy() for part in prior]
    mean = [np.zeros_like(part) for part in now]
    spread = [np.zeros_like(part) for part in now]
    truth = np.eye(len(KINDS))[kinds]
    for step in range(1, STEPS + 1):
        wrong = chances(cues, shapes, now, speaks) - truth
        slopes = (
            (cues * (wrong @ speaks.T)).sum(0) + HOLD_CUES * (now[0] - prior[0]),
            shapes.T @ wrong + HOLD_SHAPES * (now[1] - prior[1]),
        )
        for at, slope in enumerate(slopes):
            mean[at] = 0.9 * mean[at] + 0.1 * slope
            spread[at] = 0.99 * spread[at] + 0.01 * slope**2
            now[at] -= 0.03 * (mean[at] / (1 - 0.9**step)) / (np.sqrt(spread[at] / (1 - 0.99**step)) + 1e-8)
        now[0] = np.maximum(now[0], 0)
    return now[0], now[1]


def chances(
    cues: np.ndarray, shapes: np.ndarray, weights: Any, speaks: np.ndarray, sharpness: float = 1.0
) -> np.ndarray:
    scores = ((cues * weights[0]) @ speaks + shapes @ weights[1]) * sharpness
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write consolidation/kind_weights.json")
    write = parser.parse_args().write
    folder = files("slw.consolidation")
    table = json.loads((folder / "kind_cues.json").read_text("utf-8"))
    exemplars: dict[str, list[str]] = json.loads((folder / "kind_exemplars.json").read_text("utf-8"))
    labelled = [(text, kind) for kind, texts in exemplars.items() for text in texts]
    rules = Rules(table, {"recipe": "", "cues": {}, "shapes": {"always": {}}, "sharpness": 1})
    all_cues = patterns(table["cues"])
    names = [pattern.name for pattern in all_cues]
    if len(set(names)) != len(names):
        raise SystemExit(f"twice: {sorted({name for name in names if names.count(name) > 1})}")
    seen = {name for text, _ in labelled for name in rules.fired(text)[1]}
    shape_names = ["always", *sorted(seen | set(HAND_SHAPES) - {"always"})]
    data = Sentences(rules, labelled, names, shape_names)
    speaks = np.eye(len(KINDS))[[KINDS.index(pattern.kind) for pattern in all_cues]]
    hand = np.array([[HAND_SHAPES.get(name, {}).get(kind, 0.0) for kind in KINDS] for name in shape_names])
    first = (np.array([pattern.weight for pattern in all_cues]), hand)

    fold = np.arange(len(labelled)) % FOLDS
    judged = np.zeros((len(labelled), len(KINDS)))
    for part in range(FOLDS):
        kept, out = fold != part, fold == part
        weights = fit(data.cues[kept], data.shapes[kept], data.kinds[kept], speaks, first)
        judged[out] = np.log(chances(data.cues[out], data.shapes[out], weights, speaks))
    # Never sharper than 1.25: the cues were written beside these sentences, so other people's will be less clear.
    sharpness = min(np.arange(0.5, 1.3, 0.05), key=lambda sharp: loss(judged * sharp, data.kinds))
    report(judged * sharpness, data.kinds, sharpness)

    weights = fit(data.cues, data.shapes, data.kinds, speaks, first)
    out = {
        "cues": {name: round(float(weight), 2) for name, weight in zip(names, weights[0], strict=True)},
        "shapes": {
            name: {kind: round(float(w), 2) for kind, w in zip(KINDS, row, strict=True) if abs(w) >= 0.05}
            for name, row in zip(shape_names, weights[1], strict=True)
        },
        "sharpness": round(float(sharpness), 2),
    }
    digest = hashlib.sha256(json.dumps([table, out], sort_keys=True).encode()).hexdigest()[:8]
    if write:
        text = json.dumps({"recipe": f"rules-en-{digest}", **out}, indent=1, ensure_ascii=False) + "\n"
        (DATA / "kind_weights.json").write_text(text, "utf-8")


def loss(logs: np.ndarray, kinds: np.ndarray) -> float:
    powers = np.exp(logs)
    return float(-np.log(powers[np.arange(len(kinds)), kinds] / powers.sum(1)).mean())


def report(logs: np.ndarray, kinds: np.ndarray, sharpness: float) -> None:
    powers = np.exp(logs)
    shares = powers / powers.sum(1, keepdims=True)
    guess, sure = shares.argmax(1), shares.max(1)
    right = guess == kinds
    print(f"sharpness {sharpness:.2f}; every fifth left out: accuracy {right.mean():.3f} of {len(kinds)}")
    for low in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        here = (sure >= low) & (sure < low + 0.1 + (low == 0) * 0.1)
        if here.any():
            print(f"  said {sure[here].mean():.2f}, right {right[here].mean():.2f}, n {here.sum()}")
    for least in (0.0, 0.4, 0.5, 0.6):
        named = (guess != 0) & (sure >= least)
        print(f"  cue with confidence >= {least}: precision {right[named].mean():.3f}, share {named.mean():.2f}")


if __name__ == "__main__":
    main()
