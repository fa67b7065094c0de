"""How well and how fast kinds are told: `python tests/bench/kinds.py --data FILE [--errors]`.

FILE holds lines {"text", "kind"}. Without --data the held-out sentences of the tests are used. Prints accuracy,
macro F1, precision where a cue fired, the confusion of both the rules and rules + local model, and CPU times.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
from slw.consolidation.kind_model import KindModel, exemplars
from slw.consolidation.kinds import Suggestion, combine, suggest
from slw.domain.vocabulary import KINDS

HELD_OUT = Path(__file__).parents[1] / "consolidation" / "kinds_heldout.jsonl"


def embed(texts: list[str]) -> np.ndarray:
    from slw.adapters.embeddings import Embedder  # half a second, only when asked for

    return Embedder().embed(texts)


def figures(name: str, guesses: list[Suggestion], kinds: list[str]) -> None:
    right = [guess.kind == kind for guess, kind in zip(guesses, kinds, strict=True)]
    confusion = Counter((kind, guess.kind) for guess, kind in zip(guesses, kinds, strict=True))
    scores: list[float] = []
    for kind in sorted(set(kinds)):
        told = sum(confusion[other, kind] for other in KINDS)
        there = kinds.count(kind)
        scores.append(2 * confusion[kind, kind] / (told + there))
    print(f"{name}: accuracy {sum(right) / len(right):.3f} of {len(right)}, macro F1 {sum(scores) / len(scores):.3f}")
    for label, some in (("cue fired", [g.cue != "" for g in guesses]), ("strong cue", [g.strong for g in guesses])):
        fired = [ok for ok, there in zip(right, some, strict=True) if there]
        if fired:
            print(f"  {label}: precision {sum(fired) / len(fired):.3f} of {len(fired)}")
    print("  said/right:", end="")
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        here = [
            (guess.confidence, ok)
            for guess, ok in zip(guesses, right, strict=True)
            if low <= guess.confidence < low + 0.2 + (low == 0.8) * 0.01
        ]
        if here:
            said = sum(c for c, _ in here) / len(here)
            print(f"  {said:.2f}/{sum(ok for _, ok in here) / len(here):.2f} ({len(here)})", end="")
    print()
    print("  " + " " * 12 + " ".join(kind[:5].rjust(5) for kind in KINDS))
    for kind in KINDS:
        print("  " + kind.ljust(12) + " ".join(str(confusion[kind, guess] or ".").rjust(5) for guess in KINDS))


def awkward() -> dict[str, str]:
    """Inputs that would hurt a careless matcher, by name; all of the greatest length."""
    units = {
        "commas": ",",
        "quotes": '"',
        "ticks": "`",
        "apostrophes": "'a ",
        "decided": "we have decided ",
        "isn't": "isn't ",
        "not but": "not a a a a ",
        "to x": "to a a a a a, ",
        "if": "if when first to ",
        "dashes": "-a-b-c",
        "letters": "a",
        "dots": "a.b.",
        "slashes": "/a",
        "paths": "x/y_z=1 ",
        "question": "what did we decide? ",
        "colons": "a: run b; ",
        "commands": "run the test, then use it, and open a b. ",
        "numbers": "12 of 13 ",
        "accents": "é́ ",
        "wide": "記憶",
        "spaces": " ",
        "lines": "\n",
        "must": "must never always is are in by <i> ",
        "the good": "the very too quite rather more ",
        "combining": "a\u0301",
    }
    return {name: (unit * 8192)[:8192] for name, unit in units.items()}


def times(texts: list[str]) -> None:
    suggest("warm up")
    taken = sorted(cpu(text) for text in texts for _ in range(3))
    print(f"CPU ms: p50 {taken[len(taken) // 2]:.3f}, p99 {taken[int(len(taken) * 0.99)]:.3f}, worst {taken[-1]:.3f}")
    worst = {
        size: max((min(cpu(text[:size]) for _ in range(5)), name) for name, text in awkward().items())
        for size in (800, 8192)
    }
    mixed = (" ".join(texts) + " ").ljust(8192, "x")
    for size, (took, name) in worst.items():
        own = max(min(cpu(mixed[at : at + size]) for _ in range(5)) for at in range(0, min(4000, len(mixed)), 397))
        print(f"CPU ms at {size} characters: awkward {took:.3f} ({name}), these texts joined {own:.3f}")


def cpu(text: str) -> float:
    start = time.process_time_ns()
    suggest(text)
    return (time.process_time_ns() - start) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HELD_OUT)
    parser.add_argument("--errors", action="store_true", help="list what was told wrong")
    parser.add_argument("--rules-only", action="store_true", help="leave the model out")
    asked = parser.parse_args()
    rows = [json.loads(line) for line in asked.data.read_text("utf-8").splitlines() if line.strip()]
    texts, kinds = [row["text"] for row in rows], [row["kind"] for row in rows]
    rules = [suggest(text) for text in texts]
    figures("rules", rules, kinds)
    told = rules
    if not asked.rules_only:
        known = exemplars()
        model = KindModel(embed([text for text, _ in known]), [kind for _, kind in known])
        print(f"exemplars {len(known)}, left-out accuracy {model.left_out_accuracy:.3f}, {model.recipe}")
        guessed = model.suggest_many(embed(texts))
        figures("model alone", guessed, kinds)
        told = [combine(rule, guess) for rule, guess in zip(rules, guessed, strict=True)]
        figures("auto", told, kinds)
    times(texts)
    if asked.errors:
        for text, kind, rule, guess in zip(texts, kinds, rules, told, strict=True):
            if guess.kind != kind:
                print(f"{kind} told as {guess.kind} (rules {rule.kind}, {rule.cue!r}): {text}")


if __name__ == "__main__":
    main()
