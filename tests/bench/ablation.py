"""What each part of the ranking is worth: the same questions with one of them off, through the product's read side.

    PYTHONPATH=tests/bench:BENCH python tests/bench/ablation.py BENCH/data/locomo10.json --skip conv-26,conv-30,conv-41

BENCH is the folder of retrieval.py. Without --skip or --only it asks all conversations. Every row is the shipped policy
with one change; the first is the policy itself. SLW_BENCH_EMBEDDINGS keeps vectors from run to run (see adapter.py).
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from dataclasses import replace

import retrieval
from adapter import DEPTH, Slw
from slw.consolidation.policy import ReadPolicy

SHIPPED = ReadPolicy()
OFF = {
    "as shipped": SHIPPED,
    "no words of neighbours": replace(SHIPPED, around_weight=0.0),
    "no words at all": replace(SHIPPED, words_weight=0.0),
    "no meaning": replace(SHIPPED, meaning_weight=0.0),
    "meaning not smoothed": replace(SHIPPED, own_share=1.0),
    "no subject": replace(SHIPPED, named_bonus=0.0),
    "no session": replace(SHIPPED, session_weight=0.0),
    "no dialogue": replace(SHIPPED, asking_penalty=0.0, answer_share=0.0),
    "no time told": replace(SHIPPED, timely_bonus=0.0),
    "no dates": replace(SHIPPED, dated_bonus=0.0),
    "no floor": replace(SHIPPED, floor=-1.0, floor_words=-1.0, floor_memory=-1.0),
}
MEASURES = ("R@5", "R@10", "R@20", "MRR")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    asked = parser.parse_args()
    only, skip = set(filter(None, asked.only.split(","))), set(filter(None, asked.skip.split(",")))
    scores: dict[str, list[dict[str, float]]] = defaultdict(list)
    for scope, memories, questions in retrieval.load_locomo(asked.path):
        if (only and scope not in only) or scope in skip:
            continue
        slw = Slw()
        slw.ingest(memories)
        for name, policy in OFF.items():
            slw.use(policy)
            for question in questions:
                if question["gold"] and question["cat"] != "adversarial":
                    scores[name].append(retrieval.score(slw.query(question["q"], DEPTH, scope), question["gold"]))
        slw.close()
    print(f"{'':26}{'n':>6}" + "".join(f"{measure:>8}" for measure in MEASURES))
    for name, rows in scores.items():
        means = (statistics.fmean(row[measure] for row in rows) for measure in MEASURES)
        print(f"{name:26}{len(rows):6d}" + "".join(f"{mean:8.3f}" for mean in means))


if __name__ == "__main__":
    main()
