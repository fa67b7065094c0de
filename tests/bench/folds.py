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
PARTS = {"words": 0.53, "neighbours": 0.31, "vector": 0.42}


def facts(sessions: int, seed: int = 1) -> list[Positioned]:
    """The facts of so many sessions of the mix, over ten scopes; every recall and activate shows five targets."""
    chance = random.Random(seed)
    at = datetime(2025, 1, 1, tzinfo=UTC)
    actor = Actor(kind="client", name="bench", version="1")
    page: list[Positioned] = []
    memories: list[str] = []
    procedures: list[str] = []

    def add(cls: type[Fact], stream: str, version: int, **members: object) -> None:
        fact = cls(originator_id=stream, originator_version=version, recorded_at=at, actor=actor, **members)
        page.append(Positioned(len(page) + 1, fact))

    for n in range(sessions):
        session, scope, version = f"sess_{n:026d}", f"project:p{n % 10}", 0
        shown: list[tuple[str, list[str], list[str]]] = []

        def recall(verb: str) -> None:
            nonlocal version
            version += 1
            found = chance.sample(memories[-500:], min(5, len(memories)))
            methods = procedures[-1:]
            retrieval = f"ret_{session[5:]}{version}"
            shown.append((retrieval, found, methods))
            add(
                RetrievalRecorded,
                session,
                version,
                retrieval_id=retrieval,
                verb=verb,
                cue="how is the cache of the build flushed before a release",
                page_size=5,
                as_of=at,
                read_position=len(page),
                policy="p",
                memories=tuple(
                    Exposure(target_id=m, rank=r, score=1 / r, parts=PARTS) for r, m in enumerate(found, 1)
                ),
                procedures=tuple(Exposure(target_id=p, rank=1, score=0.5) for p in methods),
                candidates=tuple(memories[-40:]),
            )

        at += timedelta(minutes=3)
        version += 1
        add(
            TaskActivated,
            session,
            version,
            task="release the second version of the parser",
            initial_goal="a release that builds",
            scope=scope,
            continuity_id=f"cont_{n}",
        )
        recall("activate")
        for _ in range(MIX["remember"]):
            memory = f"mem_{len(memories):026d}"
            memories.append(memory)
            add(
                ClaimRemembered,
                memory,
                1,
                session_id=session,
                scope=scope,
                content=f"claim {memory}: the build of the parser waits for two reviewers and a feature flag",
                type="fact",
            )
        for _ in range(MIX["recall"]):
            recall("recall")
        for retrieval, found, methods in shown[: MIX["feedback"]]:
            if not found:
                continue
            version += 1
            add(
                FeedbackGiven,
                session,
                version,
                retrieval_id=retrieval,
                memories=tuple(
                    MemoryVerdict(memory_id=m, assessment=chance.choice(("used", "irrelevant", "not_used")))
                    for m in found
                ),
                procedures=tuple(
                    ProcedureVerdict(procedure_id=p, use="used", effect="helped", contribution="saved an hour")
                    for p in methods
                ),
                coverage="complete",
            )
        version += 1
        add(
            TaskCommitted,
            session,
            version,
            scope=scope,
            final_goal="a release that builds",
            outcome="success",
            outcome_summary="released",
            verification=Verification(status="verified", summary="all tests pass"),
            procedure_id=f"proc_{session}",
            procedure=Procedure(summary="release", steps=("freeze", "build", "tag"), caveats=("not on Fridays",)),
        )
        procedures.append(f"proc_{session}")
    return page


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
