"""What the verbs cost over real stdio, at 1,000, 10,000 and 100,000 memories in one scope.

    python tests/bench/load.py [--sizes 1000,10000,100000] [--calls 60] [--json FILE]

Each home is filled through the write side with the event mix of mix.json (vectors: seeded random ones around 200
topics, since what a search costs does not depend on what they mean). Then a proxy is started, and each verb is called
over its stdin and stdout. Printed beside the figures, from the same run: the CPU of embedding one question of 12
words, and of a bare SQLite commit with synchronous=FULL. CPU is that of owner and proxy together.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from slw.adapters.embeddings import Embedder, EmbeddingCache
from slw.adapters.log import LogReader, log_environment
from slw.adapters.reach import exchange
from slw.adapters.store import Store
from slw.domain.events import Actor, Exposure, MemoryVerdict, Verification
from slw.domain.memories import Memories
from slw.domain.memory import Claim
from slw.domain.session import Ending, Shown
from slw.domain.writing import Call
from slw.projections.cues import CueTexts
from slw.projections.vectors import embedded_texts

SCOPE = "project:bench"
TOPICS = 200
MIX = json.loads((Path(__file__).parent / "mix.json").read_text())
CALL = Call(Actor(kind="client", name="bench", version="1"))
QUESTION = "which {} does the {} use when the {} of the {} is {}"


def vocabulary(rng: random.Random, size: int = 6_000) -> list[str]:
    """Made-up words; how often one is used falls off as in a language."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "os")]
    return ["".join(rng.choices(syllables, k=rng.randint(2, 3))) for _ in range(size)]


class Sentences:
    """Sentences of 8 to 20 words, drawn with a fixed seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = vocabulary(random.Random(1))
        self.weights = list(itertools.accumulate(1 / (n + 3) for n in range(len(self.words))))

    def some(self, count: int) -> list[str]:
        return self.rng.choices(self.words, cum_weights=self.weights, k=count)

    def sentence(self) -> str:
        return " ".join(self.some(self.rng.randint(8, 20))).capitalize() + "."

    def question(self) -> str:
        return QUESTION.format(*self.some(5))


def fill(home: Path, memories: int) -> None:
    """A home with so many memories, told in the event mix."""
    Store.open(home).close()
    # The on-device model would guess the kind of every memory in the background, beside what is measured here.
    (home / "kinds.json").write_text('{"backend": "rules"}')
    sentences, clock = Sentences(7), itertools.count()
    start = datetime.now(UTC) - timedelta(days=60)
    known: list[str] = []
    with Memories(log_environment(home / "log.db"), clock=lambda: start + timedelta(seconds=next(clock))) as side:
        while len(known) < memories:
            play(side, sentences, [sentences.sentence() for _ in range(MIX["remember"])], known)
    embed_at_random(home)


def embed_at_random(home: Path) -> None:
    """A seeded random direction, near one of TOPICS, for every text of the log that the owner would embed.

    Texts of one topic have a cosine of about .6, as sentences about one thing do; of two topics about 0.
    """
    embedder = Embedder()
    cache = EmbeddingCache(home / "embeddings.db", embedder.space, embedder.dim)
    rng, reader, position = np.random.default_rng(7), LogReader(home / "log.db"), 0
    judged = CueTexts(lambda session_id: (fact for _, fact in reader.stream(session_id)))
    topics = rng.standard_normal((TOPICS, embedder.dim))
    topics /= np.linalg.norm(topics, axis=1, keepdims=True)
    while page := reader.read(position, 1_000):
        position = page[-1][0]
        texts = [text for _, fact in page for text in (*embedded_texts(fact), *judged(fact))]
        noise = rng.standard_normal((len(texts), embedder.dim))
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        vectors = 1.25 * topics[rng.integers(0, TOPICS, len(texts))] + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cache.put(texts, vectors.astype(np.float16).astype(np.float32))
    reader.close()
    cache.close()


def play(side: Memories, sentences: Sentences, texts: Sequence[str], known: list[str]) -> None:
    """One session of the mix."""

    def shown(verb: str) -> Shown:
        some = sentences.rng.sample(known, min(5, len(known)))
        return Shown(
            verb=verb,  # type: ignore[arg-type]
            cue=sentences.question(),
            page_size=5,
            as_of=datetime.now(UTC),
            read_position=0,
            policy="bench",
            memories=tuple(Exposure(target_id=m, rank=n, score=1.0) for n, m in enumerate(some, 1)),
            candidates=tuple(some),
        )

    opened = side.activate(
        task=sentences.sentence(), initial_goal="g", scope=SCOPE, continuity_id="", shown=shown("activate"), call=CALL
    )
    retrievals = [opened.retrieval_id]
    for text in texts:
        [told] = side.remember(session_id=opened.session_id, scope=SCOPE, claims=[Claim(text)], call=CALL)
        known.append(told.memory_id)
    for _ in range(MIX["recall"]):
        retrievals.append(side.expose(session_id=opened.session_id, shown=shown("recall"), call=CALL).retrieval_id)
    for retrieval in retrievals[: MIX["feedback"]]:
        seen = side.session(opened.session_id).retrievals[retrieval].memory_ids
        verdicts = [
            MemoryVerdict(memory_id=m, assessment="used" if n == 0 else "irrelevant") for n, m in enumerate(seen)
        ]
        side.feedback(retrieval_id=retrieval, memories=verdicts, procedures=(), coverage="complete", call=CALL)
    ending = Ending("g", "success", sentences.sentence(), Verification(status="verified", summary="ran"))
    side.commit(session_id=opened.session_id, ending=ending, call=CALL)


class Client:
    """A client of the proxy in the 2025 era: JSON-RPC lines on its stdin and stdout."""

    def __init__(self, home: Path) -> None:
        began = time.perf_counter()
        self.proxy = subprocess.Popen(
            [str(Path(sys.executable).parent / "slw"), "mcp", "--home", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.numbers = itertools.count(1)
        self.rpc(
            "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"}
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.rpc("tools/list")
        self.first_list = time.perf_counter() - began

    def send(self, message: dict[str, Any]) -> None:
        assert self.proxy.stdin is not None
        self.proxy.stdin.write(json.dumps(message).encode() + b"\n")
        self.proxy.stdin.flush()

    def rpc(self, method: str, **params: Any) -> dict[str, Any]:
        assert self.proxy.stdout is not None
        self.send({"jsonrpc": "2.0", "id": next(self.numbers), "method": method, "params": params})
        return json.loads(self.proxy.stdout.readline())

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.rpc("tools/call", name=f"slowave_{tool}", arguments=arguments)["result"]["structuredContent"]
        if not answer["ok"]:
            raise RuntimeError(answer)
        return answer["data"]

    def close(self) -> None:
        assert self.proxy.stdin is not None
        self.proxy.stdin.close()
        self.proxy.wait()


def cpu_ms(*pids: int) -> float:
    """CPU milliseconds that processes have used, threads that ended included: Linux's CPU clock of another process."""
    return sum(time.clock_gettime((~pid << 3) | 2) * 1e3 for pid in pids)


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no VmRSS of {pid}")


def owner_of(home: Path) -> int:
    """The process that answers for a home."""
    return json.loads(exchange(str(home), "GET", "/health")[1])["pid"]


def measured(size: int, calls: int) -> dict[str, Any]:
    """All figures of one size."""
    home = Path(tempfile.mkdtemp(prefix="slw-load-"))
    began = time.process_time()
    fill(home, size)
    print(f"# {size} memories told in {time.process_time() - began:.0f} CPU s", flush=True)
    try:
        first = Client(home)  # the read models are grown here
        wait_until_grown(first)
        subprocess.run([str(Path(sys.executable).parent / "slw"), "serve", "stop", "--home", str(home)], check=True)
        first.close()
        cold = Client(home)
        wait_until_grown(cold)
        warm = Client(home)
        cold.close()
        owner = owner_of(home)
        figures = {
            "memories": size,
            "cold_list_s": round(cold.first_list, 3),
            "warm_list_s": round(warm.first_list, 3),
            "verbs": verbs(warm, owner, calls),
            "owner_rss_mb": round(rss_mb(owner)),
            "proxy_rss_mb": round(rss_mb(warm.proxy.pid), 1),
            "embed_question_cpu_ms": round(embedding(calls), 2),
            "sqlite_full_commit_wall_ms": round(bare_commit(home), 2),
            "disk_bytes_per_memory": round(sum(f.stat().st_size for f in home.rglob("*") if f.is_file()) / size),
        }
        warm.close()
        return figures
    finally:
        subprocess.run([str(Path(sys.executable).parent / "slw"), "serve", "stop", "--home", str(home)], check=False)
        shutil.rmtree(home, ignore_errors=True)


def wait_until_grown(client: Client) -> None:
    while True:
        answer = client.rpc(
            "tools/call", name="slowave_activate", arguments={"task": "warm", "initial_goal": "g", "scope": "project:w"}
        )["result"]["structuredContent"]
        if answer["ok"]:
            return
        if not answer["error"]["retryable"]:
            raise RuntimeError(answer)
        time.sleep(0.2)


def verbs(client: Client, owner: int, calls: int) -> dict[str, dict[str, float]]:
    """p50 and p95 of wall, and the mean CPU, of each verb."""
    sentences = Sentences(99)
    taken: dict[str, list[tuple[float, float]]] = {}

    def timed(tool: str, **arguments: Any) -> dict[str, Any]:
        before, began = cpu_ms(owner, client.proxy.pid), time.perf_counter()
        data = client.call(tool, **arguments)
        taken.setdefault(tool, []).append(
            ((time.perf_counter() - began) * 1e3, cpu_ms(owner, client.proxy.pid) - before)
        )
        return data

    for n in range(calls // 3):
        question = sentences.question()
        opened = timed("activate", task=question, initial_goal="find out", scope=SCOPE)
        session = {"session_id": opened["session_id"], "scope": SCOPE}
        seen = [opened]
        for _ in range(3):
            timed("remember", **session, content=f"{sentences.sentence()} {n}")
        seen += [timed("recall", **session, query=sentences.question()) for _ in range(3)]
        for shown in seen:
            timed(
                "feedback",
                retrieval_id=shown["retrieval_id"],
                memory_feedback=[{"memory_id": m["memory_id"], "assessment": "used"} for m in shown["memories"]],
            )
        timed(
            "commit",
            session_id=opened["session_id"],
            final_goal="g",
            outcome="success",
            outcome_summary="done",
            verification={"status": "verified", "summary": "ran"},
        )
    return {
        tool: {
            "calls": len(rows),
            "wall_p50_ms": round(statistics.median(w for w, _ in rows), 1),
            "wall_p95_ms": round(float(np.percentile([w for w, _ in rows], 95)), 1),
            "cpu_mean_ms": round(statistics.fmean(c for _, c in rows), 1),
            "cpu_p50_ms": round(statistics.median(c for _, c in rows), 1),
        }
        for tool, rows in taken.items()
    }


def embedding(calls: int) -> float:
    """CPU milliseconds of embedding one question, the model loaded."""
    embedder, sentences = Embedder(), Sentences(99)
    embedder.embed([sentences.question()])
    began = time.process_time()
    for _ in range(calls):
        embedder.embed([sentences.question()])
    return (time.process_time() - began) / calls * 1e3


def bare_commit(home: Path) -> float:
    """Wall milliseconds (median) of one row and one commit that waits for the disk, on the same disk."""
    db = sqlite3.connect(home / "bare.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE t (x)")
    taken = []
    for _ in range(100):
        began = time.perf_counter()
        db.execute("INSERT INTO t VALUES (?)", ("x" * 500,))
        taken.append((time.perf_counter() - began) * 1e3)
    db.close()
    (home / "bare.db").unlink()
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = []
    for size in asked.sizes.split(","):
        figures = measured(int(size), asked.calls)
        found.append(figures)
        print(json.dumps({k: v for k, v in figures.items() if k != "verbs"}), flush=True)
        for tool, row in figures["verbs"].items():
            print(f"  {tool:9s} {row}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
