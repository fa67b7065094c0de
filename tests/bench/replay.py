"""How fast a log folds into all read models, vectors cached, beside a bare read of the same log in the same run.

OMP_NUM_THREADS=1 python tests/bench/replay.py [EVENTS ...]     (default 20000 100000)
"""

from __future__ import annotations

import hashlib
import resource
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from folds import Story
from slw.adapters.embeddings import EmbeddingCache, bundled_space
from slw.adapters.log import FactMapper, LogDatastore, LogRecorder
from slw.adapters.replaying import replayed
from slw.consolidation.wording import query_text
from slw.domain.events import ClaimRemembered, Fact, RetrievalRecorded
from slw.domain.keys import key_changes
from slw.projections.vectors import embedded_texts

BATCH = 2_000
TOPICS = 300


SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]


class Varied(Story):
    """The same sessions, with claims of a dozen words each, some words common and most rare, as in real projects."""

    def __init__(self) -> None:
        super().__init__()
        self.words = ["".join(self.chance.choices(SYLLABLES, k=self.chance.choice((2, 3)))) for _ in range(5_000)]
        self.weights = [1 / rank for rank in range(1, len(self.words) + 1)]

    def remember(self, scope: str) -> None:
        memory = f"mem_{len(self.memories):026d}"
        self.memories.append(memory)
        content = " ".join(self.chance.choices(self.words, self.weights, k=12))
        self.add(ClaimRemembered, stream=memory, session_id=self.session, scope=scope, content=content, type="fact")


def written(home: Path, events: int) -> int:
    """A log of the mix, and a vector for everything in it; returns how many events it came to."""
    recorder = LogRecorder(LogDatastore(str(home / "log.db")))
    recorder.create_table()
    space = bundled_space()
    cache = EmbeddingCache(home / "embeddings.db", space.id, space.dim)
    mapper, story, number, told = FactMapper(transcoder=None), Varied(), 0, 0
    chance = np.random.default_rng(1)
    topics = chance.standard_normal((TOPICS, space.dim)) / np.sqrt(space.dim)
    while told < events:
        while len(story.page) < BATCH:
            story.tell(number)
            number += 1
        facts = [at.fact for at in story.page]
        recorder.insert_events(
            [mapper.to_stored_event(fact) for fact in facts],
            keys=[change for fact in facts for change in key_changes(fact, lambda _: "")],
        )
        texts = sorted({text for fact in facts for text in (*embedded_texts(fact), *cue_of(fact))})
        # What is said of one topic lies together (cosine about .73), as sentences of one project do.
        spread = chance.standard_normal((len(texts), space.dim)) / np.sqrt(space.dim)
        vectors = topics[chance.integers(TOPICS, size=len(texts))] + 0.6 * spread
        cache.put(texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        told += len(facts)
        story.page = []
    cache.close()
    recorder.datastore.close()
    return told


def cue_of(fact: Fact) -> list[str]:
    """What a retrieval asked, as it is embedded."""
    return [query_text(fact.cue)] if isinstance(fact, RetrievalRecorded) else []


def bare_read(log: Path) -> float:
    """CPU seconds to read every row of the log and sum its bytes, with sqlite3 alone."""
    began = time.process_time()
    digest = hashlib.sha256()
    with sqlite3.connect(log) as db:
        for row in db.execute(
            "SELECT seq, originator_id, originator_version, topic, state FROM stored_events ORDER BY seq"
        ):
            digest.update(row[4])
    db.close()
    return time.process_time() - began


def measured(events: int) -> str:
    """One line of figures for a log of that size."""
    with tempfile.TemporaryDirectory(prefix="slw-") as name:
        home = Path(name)
        told = written(home, events)
        bare = bare_read(home / "log.db")
        with replayed(home / "log.db", home / "embeddings.db", told) as (_, came_to):
            assert set(came_to.views.values()) == {told}
            rate = told / came_to.cpu_seconds
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        size = (home / "log.db").stat().st_size
    return (
        f"{told:>9,} events ({size / 1e6:.0f} MB): replay {rate:,.0f} events/CPU-s ({came_to.cpu_seconds:.1f} CPU-s, "
        f"{came_to.seconds:.1f} s); bare sqlite3 read {told / bare:,.0f} events/CPU-s; at most {held} MB"
    )


if __name__ == "__main__":
    for size in map(int, sys.argv[1:] or ("20000", "100000")):
        print(measured(size), flush=True)
