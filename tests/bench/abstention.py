"""Whether slw keeps silent: questions of another conversation asked in this one, through the product's read side.

    PYTHONPATH=tests/bench:BENCH python tests/bench/abstention.py BENCH/data/locomo10.json --skip conv-26,conv-30

BENCH is the folder of retrieval.py. Each scope is asked its own questions of categories 1-4 and as many, drawn by a
fixed seed, of the others. AUROC is over the evidence that the floor looks at (best cosine + best share of the question
said, and .1 where it names somebody known here); the refusals are the shipped floor's. Category 5, whose answers are
absent although its words are here, stands beside it without a bar.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace

import numpy as np
import retrieval
from adapter import Slw, scoped
from slw.consolidation.policy import ReadPolicy
from slw.projections.recall import Found

SHIPPED = ReadPolicy()
OPEN = replace(SHIPPED, floor=-9.0, floor_cosine=-9.0, floor_words=-9.0, floor_memory=-9.0)
SEED = 7
DRAWS = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    asked = parser.parse_args()
    only, skip = set(filter(None, asked.only.split(","))), set(filter(None, asked.skip.split(",")))
    groups = [
        (scope, memories, [q for q in questions if q["gold"]])
        for scope, memories, questions in retrieval.load_locomo(asked.path)
        if scope not in skip and (not only or scope in only)
    ]
    chance = random.Random(SEED)
    evidence: dict[str, list[float]] = {"own": [], "another's": [], "category 5": []}
    refused: dict[str, list[bool]] = {name: [] for name in evidence}
    for scope, memories, questions in groups:
        own = [q["q"] for q in questions if q["cat"] != "adversarial"]
        others = [q["q"] for s, _, qs in groups if s != scope for q in qs if q["cat"] != "adversarial"]
        batches = {
            "own": own,
            "another's": chance.sample(others, min(len(own), len(others))),
            "category 5": [q["q"] for q in questions if q["cat"] == "adversarial"],
        }
        slw = Slw()
        slw.ingest(memories)
        for name, cues in batches.items():
            for cue in cues:
                slw.use(OPEN)
                evidence[name].append(weight(searched(slw, cue, scope)))
                slw.use(SHIPPED)
                refused[name].append(not searched(slw, cue, scope).memories)
        slw.close()
    for name, silent in refused.items():
        print(f"{name:12} n={len(silent):5d}  refused {np.mean(silent):.3f}")
    for name in ("another's", "category 5"):
        value, low, high = auroc(np.array(evidence["own"]), np.array(evidence[name]))
        print(f"AUROC own against {name}: {value:.3f} [{low:.3f}, {high:.3f}]")


def searched(slw: Slw, cue: str, scope: str) -> Found:
    store, where = slw.store, scoped(scope)
    vector, _ = store.meaning.of(store.sought(cue, where))
    return store.on_engine(lambda: store.recall.search(cue, vector, where, as_of=store.now(), limit=20))


def weight(found: Found) -> float:
    parts = [hit.parts for hit in found.memories]
    named = SHIPPED.floor_named if any(p.get("named", 0.0) > 0 for p in parts) else 0.0
    best = (max((p.get(part, 0.0) for p in parts), default=0.0) for part in ("cosine", "said_share"))
    return sum(best) + named


def auroc(own: np.ndarray, other: np.ndarray) -> tuple[float, float, float]:
    """The share of pairs in which the question that belongs here has more evidence, ties half; its 95 % interval."""
    higher = (own[:, None] > other[None, :]) + 0.5 * (own[:, None] == other[None, :])
    draw = np.random.default_rng(SEED)
    draws = []
    for _ in range(DRAWS):
        rows, columns = draw.integers(0, len(own), len(own)), draw.integers(0, len(other), len(other))
        draws.append(higher[rows].mean(axis=0)[columns].mean())
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(higher.mean()), float(low), float(high)


if __name__ == "__main__":
    main()
