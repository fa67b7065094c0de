"""Whether anything of one scope is ever shown in another that has not earned it: names and texts made to be mixed up.

    python tests/bench/scopes.py [--scopes 60]

Scopes whose names are alike (a case, a hyphen, a blank, a Unicode twin, a prefix apart) hold the same claims, nearly
the same ones, and a secret each. Sessions of half of them are committed, so that twins do earn wider stages there. Then
every scope is asked for everything. A leak is a memory of another scope that is held as `scoped`, or a secret of
another scope whatever it is held as; what was lent by its stage is counted beside. The baseline lends nothing: the
same read side without stages.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

from slw.adapters.store import Store
from slw.projections.recall import Recall

NAMES = (
    *("app", "app-2", "App", "app_2", "app 2", "app.git", "app-20", "ap", "application"),
    *("\u00e4pp", "a\u0308pp", "\u0430pp"),  # one letter in two ways, and a Cyrillic one that looks like a Latin one
)
KINDS = ("project", "team", "Project")
COMMON = (
    "The staging database is reset every night at two.",
    "Deploys go out on Tuesdays after the morning meeting.",
    "Timestamps in the public API are UTC with milliseconds.",
)
ASKED = (
    "when is the staging database reset",
    "when do deploys go out",
    "time zone of API timestamps",
    "the vault code",
)


def names(count: int) -> list[str]:
    found = [f"{kind}:{name}" for name in NAMES for kind in KINDS]
    return [*found, *(f"project:app-{n}" for n in range(100, 100 + count))][:count]


def ask(store: Store, operation: str, **arguments: Any) -> Any:
    answer = store.ask(operation, arguments)
    if not answer["ok"]:
        raise RuntimeError(answer["error"])
    return answer["data"]


def tell(store: Store, scope: str, chance: random.Random, *, commit: bool) -> None:
    opened = ask(store, "activate", task="work", initial_goal="work", scope=scope)
    shown = [{"memory_id": m["memory_id"], "assessment": "not_used"} for m in opened["memories"]]
    if shown:
        ask(store, "feedback", retrieval_id=opened["retrieval_id"], memory_feedback=shown)
    secret = f"The vault code is {chance.randrange(10**8):08d}."
    claims = [*chance.sample(COMMON, 2), f"{chance.choice(COMMON)} ({scope})", secret]
    memories = [{"content": claim} for claim in claims]
    ask(store, "remember", session_id=opened["session_id"], scope=scope, memories=memories)
    if commit:
        ending = {"final_goal": "done", "outcome": "success", "outcome_summary": f"done in {scope}"}
        proof = {"status": "verified", "summary": "seen"}
        ask(store, "commit", session_id=opened["session_id"], **ending, verification=proof)


def looked(store: Store, scopes: list[str]) -> dict[str, int]:
    counts = {"answers": 0, "leaks": 0, "lent": 0}
    for scope in scopes:
        for query in ASKED:
            for memory in ask(store, "search", query=query, scope=scope, limit=20)["memories"]:
                counts["answers"] += 1
                if memory["scope"] != scope:
                    secret = memory["content"].startswith("The vault code")
                    counts["leaks" if secret or memory["stage"] == "scoped" else "lent"] += 1
    return counts


def measured(count: int, seed: int) -> dict[str, dict[str, int]]:
    """Answers, leaks and what was lent: as shipped, and without stages."""
    chance = random.Random(seed)
    scopes = names(count)
    with tempfile.TemporaryDirectory() as home:
        store = Store.open(Path(home) / "home")
        for number, scope in enumerate(scopes):
            tell(store, scope, chance, commit=number % 2 == 0)
        if not store.settle(None):
            raise RuntimeError("the read models did not come to the end of the log")
        found = {"slw": looked(store, scopes)}
        store.recall = Recall(store.tables, store.words, store.vectors, store.policy, kind_view=store.kinds.view)
        found["without stages"] = looked(store, scopes)
        store.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(f"{chosen.scopes} scopes, {len(ASKED)} questions in each")
    for name, counts in measured(chosen.scopes, chosen.seed).items():
        print(f"{name:16s}", "  ".join(f"{what} {count}" for what, count in counts.items()))


if __name__ == "__main__":
    main()
