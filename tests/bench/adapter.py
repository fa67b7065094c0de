"""slw for retrieval benchmarks: memories go in through the verbs, questions through the read side, nothing beside them.

    PYTHONPATH=tests/bench python BENCH/retrieval.py --data locomo --path BENCH/data/locomo10.json --system adapter:Slw

One product session per session of the data, opened while the scope is still empty. A turn that says what an earlier
one of its scope says is matched to it, and then stands for both. SLW_BENCH_EMBEDDINGS names an embeddings.db to begin
with and to leave behind, so that a second run need not embed the same texts again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slw.adapters.store import Store
from slw.consolidation.policy import ReadPolicy
from slw.domain.vocabulary import MAX_BATCH, MAX_CONTENT

DEPTH = 50


class Slw:
    """One store in a temporary home."""

    def __init__(self, policy: ReadPolicy | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="slw-bench-"))
        self.kept = os.environ.get("SLW_BENCH_EMBEDDINGS", "")
        if self.kept and Path(self.kept).exists():
            Store.open(self.home).close()  # a home is claimed before anything else is put there
            shutil.copy(self.kept, self.home / "embeddings.db")
        self.store = Store.open(self.home)
        if policy is not None:
            self.use(policy)
        self.ids: dict[str, list[str]] = defaultdict(list)

    def use(self, policy: ReadPolicy) -> None:
        """Rank with another policy from here on."""
        self.store.policy = self.store.recall._policy = policy

    def ingest(self, items: Sequence[Mapping[str, Any]]) -> None:
        sessions: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for item in items:
            sessions[item["scope"], item["session"]].append(item)
        opened = {
            (scope, session): self.ask("activate", task="ingest", initial_goal="ingest", scope=scoped(scope))[
                "session_id"
            ]
            for scope, session in sessions
        }
        for (scope, session), turns in sessions.items():
            for batch in batched(turns, MAX_BATCH):
                told = self.ask(
                    "remember",
                    session_id=opened[scope, session],
                    scope=scoped(scope),
                    memories=[
                        {
                            "content": turn["text"].replace("\0", " ").strip()[:MAX_CONTENT],
                            "occurred_at": datetime.fromtimestamp(turn["occurred_at"], UTC).isoformat(),
                        }
                        for turn in batch
                    ],
                )
                for turn, entry in zip(batch, told["results"], strict=True):
                    self.ids[entry["data"]["memory_id"]].append(turn["id"])
        if not self.store.settle(None):
            raise RuntimeError("the read models did not come to the end of the log")

    def query(self, text: str, k: int, scope: str | None = None) -> list[str]:
        if scope is None:
            raise ValueError("slw is always asked within a scope")
        vector, whole, _ = self.store.meant(text, scoped(scope))
        found = self.store.on_engine(
            lambda: self.store.recall.search(
                text, vector, scoped(scope), as_of=self.store.now(), limit=DEPTH, cue_vector=whole
            )
        )
        ids = [i for hit in found.memories for i in self.ids[hit.target_id]]
        return ids[:k]

    def close(self) -> None:
        self.store.close()
        if self.kept:
            shutil.copy(self.home / "embeddings.db", self.kept)
        shutil.rmtree(self.home)

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        answer = self.store.ask(operation, arguments)
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return answer["data"]


def scoped(scope: str) -> str:
    """The data's scope as slw writes it."""
    return f"bench:{scope}"


def batched(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[i : i + size] for i in range(0, len(items), size)]
