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
from collections.abc import Iterator
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
        self.version = self.position = 0

    def add(self, cls: type[Fact], *, stream: str = "", **members: object) -> None:
        self.version += not stream
        fact = cls(
            originator_id=stream or self.session,
            originator_version=1 if stream else self.version,
            recorded_at=self.at,
            actor=ACTOR,
            **members,
        )
        self.position += 1
        self.page.append(Positioned(self.position, fact))

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
            read_position=self.position,
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


def pages(sessions: int, size: int) -> Iterator[list[Positioned]]:
    """The same facts in pages, of which only one is in memory at a time."""
    story = Story()
    for number in range(sessions):
        story.tell(number)
        if len(story.page) >= size or number == sessions - 1:
            yield story.page
            story.page = []


def resident() -> int:
    """What the process holds now, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 2**20


def measured(sessions: int, flush_every: int) -> str:
    """CPU microseconds a fact for folding and for writing; seconds of CPU to open the result; MB held."""
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "model.duckdb"
        tables = Tables(path, FoldPolicy())
        folding = writing = 0.0
        told = 0
        for page in pages(sessions, flush_every):
            begun = time.process_time()
            tables.apply(page)
            folded = time.process_time()
            tables.flush()
            folding += folded - begun
            writing += time.process_time() - folded
            told += len(page)
        rows = tables.query("select sum(estimated_size) as n from duckdb_tables()")[0]["n"]
        memories = len(tables.schemas)
        tables.close()
        del tables
        size = path.stat().st_size
        before, begun = resident(), time.process_time()
        opened = Tables(path, FoldPolicy())
        opening, held = time.process_time() - begun, resident() - before
        opened.close()
    return (
        f"flush every {flush_every}: {told} facts, {memories} memories, {rows} rows; "
        f"fold {folding / told * 1e6:.1f} us/fact, write {writing / told * 1e6:.1f} us/fact "
        f"({rows / (folding + writing):,.0f} rows/CPU-s), open {opening:.2f} s, "
        f"{held} MB held more once opened, {size / memories:.0f} bytes of disk a memory"
    )


if __name__ == "__main__":
    for every in (500, 20_000):
        print(measured(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000, every))
