"""What verdicts on one half of a conversation's questions do to the other half, through the verbs and the read side.

    PYTHONPATH=tests/bench:BENCH python tests/bench/feedback.py --path BENCH/data/locomo10.json --skip conv-26,conv-30

BENCH is the folder of retrieval.py. Each conversation's questions of categories 1 to 4 are halved by a seed. The first
half is asked in rounds, each question in a session of its own; of the ten memories shown, gold is judged `used` and the
rest `irrelevant`, and a share of the verdicts is turned round on purpose. After each round everything is asked without
a trace: `shared` are questions of the other half with a gold memory of the first half, `unshared` those without (the
guard), `again` is the first half itself. Three columns: before any verdict; after them with associations off (what is
left is salience); after them as shipped. The interval is the 95 % bootstrap over questions of shipped minus before.
SLW_BENCH_EMBEDDINGS keeps vectors from run to run (see adapter.py).
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import retrieval
from adapter import DEPTH, Slw, scoped
from slw.consolidation.policy import ReadPolicy

MEASURES = ("R@5", "R@10", "MRR")
GROUPS = ("shared", "unshared", "again")
JUDGED = 10

Scores = dict[tuple[str, int], list[list[float]]]  # (group, round) -> a row a question: before, off, on by measure


def halves(scope: str, questions: Sequence[Mapping[str, Any]], seed: int) -> tuple[list[Any], list[Any]]:
    """The first half, which is judged, and the other, which is asked."""
    told = [q for q in questions if q["gold"] and q["cat"] != "adversarial"]
    random.Random(f"{scope} {seed}").shuffle(told)
    return told[: len(told) // 2], told[len(told) // 2 :]


def judge(slw: Slw, scope: str, question: Mapping[str, Any], wrong: float, chance: random.Random) -> None:
    """Ask one question in a session of its own, and say of everything on the page whether it is gold."""
    session = slw.ask("activate", task="answer a question", initial_goal="an answer", scope=scoped(scope))
    shown = slw.ask(
        "recall",
        session_id=session["session_id"],
        scope=scoped(scope),
        query=question["q"],
        page_size=JUDGED,
    )
    verdicts = []
    for memory in shown["memories"]:
        gold = any(turn in question["gold"] for turn in slw.ids[memory["memory_id"]])
        if chance.random() < wrong:
            gold = not gold
        verdicts.append({"memory_id": memory["memory_id"], "assessment": "used" if gold else "irrelevant"})
    if verdicts:
        slw.ask("feedback", retrieval_id=shown["retrieval_id"], memory_feedback=verdicts)


def asked(slw: Slw, scope: str, questions: Sequence[Mapping[str, Any]], policy: ReadPolicy) -> list[list[float]]:
    slw.use(policy)
    found = (retrieval.score(slw.query(q["q"], DEPTH, scope), q["gold"]) for q in questions)
    return [[score[measure] for measure in MEASURES] for score in found]


def one(
    scope: str, memories: Sequence[Any], questions: Sequence[Any], wrong: float, seed: int, rounds: int, on: ReadPolicy
) -> Iterator[tuple[str, int, list[float]]]:
    """(group, round, before + off + on) for each question of a conversation after each round."""
    first, other = halves(scope, questions, seed)
    known = {turn for question in first for turn in question["gold"]}
    everything = [*other, *first]
    groups = ["shared" if question["gold"] & known else "unshared" for question in other] + ["again"] * len(first)
    off = replace(on, association_weight=0.0)
    slw = Slw(on)
    try:
        slw.ingest(memories)
        before = asked(slw, scope, everything, on)
        chance = random.Random(f"{scope} {seed} {wrong}")
        for number in range(1, rounds + 1):
            slw.use(on)
            for question in first:
                judge(slw, scope, question, wrong, chance)
            if not slw.store.settle(None):
                raise RuntimeError("the read models did not come to the end of the log")
            rows = (asked(slw, scope, everything, policy) for policy in (off, on))
            for group, *row in zip(groups, before, *rows, strict=True):
                yield group, number, [value for part in row for value in part]
    finally:
        slw.close()


def interval(values: np.ndarray) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean, over questions."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (1_000, len(values)))].mean(1)
    return float(np.percentile(means, 2.5)), float(np.percentile(means, 97.5))


def report(scores: Scores, wrong: float) -> None:
    for (group, number), rows in sorted(scores.items(), key=lambda item: (item[0][1], GROUPS.index(item[0][0]))):
        told = np.array(rows) * 100
        line = f"{wrong:5.0%} {number:5d} {group:9}{len(told):5d}"
        for n in range(len(MEASURES)):
            before, off, on = (told[:, n + part * len(MEASURES)] for part in range(3))
            low, high = interval(on - before)
            line += f"  {before.mean():6.1f}{off.mean() - before.mean():+6.1f}{on.mean() - before.mean():+6.1f}"
            line += f" [{low:+5.1f},{high:+5.1f}]"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", required=True)
    parser.add_argument("--only", default="", help="conversations, separated by commas")
    parser.add_argument("--skip", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wrong", default="0,0.1,0.3", help="shares of verdicts turned round")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policy", nargs="*", default=[], metavar="NAME=VALUE", help="other weights than shipped")
    told = parser.parse_args()
    changed = (pair.partition("=") for pair in told.policy)
    on = replace(ReadPolicy(), **{name: float(value) for name, _, value in changed})
    only, skip = set(filter(None, told.only.split(","))), set(filter(None, told.skip.split(",")))
    conversations = [c for c in retrieval.load_locomo(told.path) if (not only or c[0] in only) and c[0] not in skip]
    print("wrong round group        n" + "".join(f"  {m:>6}   off    on    interval    " for m in MEASURES))
    for wrong in map(float, told.wrong.split(",")):
        scores: Scores = defaultdict(list)
        for scope, memories, questions in conversations:
            for group, number, row in one(scope, memories, questions, wrong, told.seed, told.rounds, on):
                scores[group, number].append(row)
        report(scores, wrong)


if __name__ == "__main__":
    main()
