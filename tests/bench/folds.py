"""What folding costs: CPU per fact for the tables alone, and with DuckDB, on the mix of mix.json.

python tests/bench/folds.py [SESSIONS]
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slw.consolidation.policy import FoldPolicy
from slw.domain.events import (
    Actor,
    ClaimRemembered,
    Exposure,
    Fact,
    FeedbackGiven,
    MemoryVerdict,
    Procedure,
    ProcedureVerdict,
    RetrievalRecorded,
    TaskActivated,
    TaskCommitted,
    Verification,
)
from slw.projections.projector import Positioned
from slw.projections.tables import Tables

MIX = json.loads((Path(__file__).parent / "mix.json").read_text())
ACTOR = Actor(kind="client", name="bench", version="1")
PARTS = {"words": 0.53, "neighbours": 0.31, "vector": 0.42}


class Story:
    """Sessions of the mix over ten scopes; every recall and activate shows five memories and a procedure."""

    def __init__(self, seed: int = 1) -> None:
        self.chance = random.Random(seed)
        self.at = datetime(2025, 1, 1, tzinfo=UTC)
        self.page: list[Positioned] = []
        self.memories: list[str] = []
        self.procedures: list[str] = []
        self.shown: list[tuple[str, list[str], list[str]]] = []
        self.session = ""
        self.version = 0

    def add(self, cls: type[Fact], *, stream: str = "", **members: object) -> None:
        self.version += not stream
        fact = cls(
            originator_id=stream or self.session,
            originator_version=1 if stream else self.version,
            recorded_at=self.at,
            actor=ACTOR,
            **members,
        )
        self.page.append(Positioned(len(self.page) + 1, fact))

    def recall(self, verb: str) -> None:
        found = self.chance.sample(self.memories[-500:], min(5, len(self.memories)))
        methods = self.procedures[-1:]
        retrieval = f"ret_{self.session[5:]}{self.version}"
        self.shown.append((retrieval, found, methods))
        self.add(
            RetrievalRecorded,
            retrieval_id=retrieval,
            verb=verb,
            cue="how is the cache of the build flushed before a release",
            page_size=5,
            as_of=self.at,
            read_position=len(self.page),
            policy="p",
            memories=tuple(Exposure(target_id=m, rank=r, score=1 / r, parts=PARTS) for r, m in enumerate(found, 1)),
            procedures=tuple(Exposure(target_id=p, rank=1, score=0.5) for p in methods),
            candidates=tuple(self.memories[-40:]),
        )

    def remember(self, scope: str) -> None:
        memory = f"mem_{len(self.memories):026d}"
        self.memories.append(memory)
        self.add(
            ClaimRemembered,
            stream=memory,
            session_id=self.session,
            scope=scope,
            content=f"claim {memory}: the build of the parser waits for two reviewers and a feature flag",
            type="fact",
        )

    def judge(self, retrieval: str, found: list[str], methods: list[str]) -> None:
        words = ("used", "irrelevant", "not_used")
        self.add(
            FeedbackGiven,
            retrieval_id=retrieval,
            memories=tuple(MemoryVerdict(memory_id=m, assessment=self.chance.choice(words)) for m in found),
            procedures=tuple(
                ProcedureVerdict(procedure_id=p, use="used", effect="helped", contribution="saved an hour")
                for p in methods
            ),
            coverage="complete",
        )

    def commit(self, scope: str) -> None:
        procedure = f"proc_{self.session}"
        self.add(
            TaskCommitted,
            scope=scope,
            final_goal="a release that builds",
            outcome="success",
            outcome_summary="released",
            verification=Verification(status="verified", summary="all tests pass"),
            procedure_id=procedure,
            procedure=Procedure(summary="release", steps=("freeze", "build", "tag"), caveats=("not on Fridays",)),
        )
        self.procedures.append(procedure)

    def tell(self, number: int) -> None:
        """One session."""
        self.session, self.version, self.shown = f"sess_{number:026d}", 0, []
        self.at += timedelta(minutes=3)
        scope = f"project:p{number % 10}"
        self.add(
            TaskActivated,
            task="release the second version of the parser",
            initial_goal="a release that builds",
            scope=scope,
            continuity_id=f"cont_{number}",
        )
        self.recall("activate")
        for _ in range(MIX["remember"]):
            self.remember(scope)
        for _ in range(MIX["recall"]):
            self.recall("recall")
        for retrieval, found, methods in self.shown[: MIX["feedback"]]:
            if found:
                self.judge(retrieval, found, methods)
        self.commit(scope)


def facts(sessions: int, seed: int = 1) -> list[Positioned]:
    """The facts of so many sessions."""
    story = Story(seed)
    for number in range(sessions):
        story.tell(number)
    return story.page


def measured(page: list[Positioned], flush_every: int) -> tuple[float, float, float]:
    """CPU microseconds per fact: folding, writing; and seconds to open the result."""
    with tempfile.TemporaryDirectory() as home:
        tables = Tables(Path(home) / "model.duckdb", FoldPolicy())
        folding = writing = 0.0
        for start in range(0, len(page), flush_every):
            begun = time.process_time()
            tables.apply(page[start : start + flush_every])
            folded = time.process_time()
            tables.flush()
            folding += folded - begun
            writing += time.process_time() - folded
        tables.close()
        begun = time.process_time()
        Tables(Path(home) / "model.duckdb", FoldPolicy()).close()
        opening = time.process_time() - begun
    return folding / len(page) * 1e6, writing / len(page) * 1e6, opening


if __name__ == "__main__":
    page = facts(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
    print(f"{len(page)} facts")
    for flush_every in (500, 20_000):
        folding, writing, opening = measured(page, flush_every)
        print(
            f"flush every {flush_every}: fold {folding:.1f} us/fact, write {writing:.1f} us/fact, open {opening:.2f} s"
        )
    print(f"peak RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
