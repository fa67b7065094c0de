"""What a run costs whoever recalls meanwhile: `python tests/bench/kind_runs.py [--size 10000] [--recalls 400]`.

Fills a fresh home with memories that have no kind, then measures recalls alone, recalls while a run by the rules types
everything at its set pace, how long each batch held the log, the pace without a cap, and a revert, checked by digest.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time

from slw.adapters.store import Store

SCOPE = "project:bench"
SUBJECTS = (
    "ledger",
    "gateway",
    "billing",
    "search",
    "importer",
    "scheduler",
    "mailer",
    "catalogue",
    "session",
    "payment",
)
SAYINGS = (
    "The {0} service keeps shard {1} on host {2}.",
    "We decided to move {0} table {1} to cluster {2}.",
    "Never restart {0} worker {1} while job {2} is running.",
    "The {0} deploy number {1} failed on Tuesday at minute {2}.",
    "To rotate the {0} key {1}, run task {2} twice.",
    "The {0} rewrite {1} is planned for sprint {2}.",
    "Anna prefers the {0} layout {1} over layout {2}.",
    "{0} release {1} is at present in stage {2}.",
)


def asked(store: Store, operation: str, **arguments: object) -> dict:
    envelope = store.ask(operation, arguments)
    assert envelope["ok"], envelope
    return envelope["data"]


def fill(store: Store, size: int) -> None:
    asked(store, "kinds/settings", backend="off")
    texts = [
        SAYINGS[n % len(SAYINGS)].format(SUBJECTS[n // len(SAYINGS) % len(SUBJECTS)], n, n * 7 % 1_000)
        for n in range(size)
    ]
    for start in range(0, size, 64):
        asked(store, "remember", scope=SCOPE, memories=[{"content": text} for text in texts[start : start + 64]])
    store.settle(3_600)


def recalls(store: Store, until: threading.Event | None, count: int) -> list[float]:
    """Times of recalls, one after the other with a pause between as an agent makes, in milliseconds."""
    session = asked(store, "activate", task="t", initial_goal="g", scope=SCOPE)["session_id"]
    took: list[float] = []
    while len(took) < count and not (until and until.is_set()):
        query = f"{SUBJECTS[len(took) % len(SUBJECTS)]} shard cluster {len(took)}"
        began = time.perf_counter()
        asked(store, "recall", session_id=session, scope=SCOPE, query=query)
        took.append(1_000 * (time.perf_counter() - began))
        time.sleep(0.02)
    return took


def told(name: str, took: list[float]) -> float:
    cut = statistics.quantiles(took, n=20)
    print(
        f"{name}: {len(took)} recalls, p50 {statistics.median(took):.1f} ms, p95 {cut[-1]:.1f} ms, max {max(took):.1f}"
    )
    return cut[-1]


def wait(store: Store, *states: str) -> dict:
    while (run := asked(store, "kinds/backfill/status")["run"])["state"] not in states:
        time.sleep(0.2)
    return run


def digest(store: Store) -> str:
    return store.on_engine(lambda: (store.catch_up(), store.generation.projector.digests()["kinds"])[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--recalls", type=int, default=400)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slw-bench-") as home:
        store = Store.open(home)
        began = time.monotonic()
        fill(store, chosen.size)
        print(f"{chosen.size} memories with their vectors in {time.monotonic() - began:.0f} s")
        recalls(store, None, 50)
        alone = told("alone", recalls(store, None, chosen.recalls))
        before = digest(store)

        asked(store, "kinds/settings", backend="rules")
        done = threading.Event()
        run = asked(store, "kinds/backfill/start")
        began = time.monotonic()
        took: list[float] = []
        other = threading.Thread(target=lambda: took.extend(recalls(store, done, 100_000)))
        other.start()
        while (now := asked(store, "kinds/backfill/status")["run"])["state"] != "completed":
            time.sleep(0.2)
        seconds = time.monotonic() - began
        done.set()
        other.join()
        pace = now["changed"] / seconds
        print(f"run: {now['changed']} typed in {seconds:.1f} s, {pace:.0f} a second; log held: {now['lock_held_ms']}")
        print(f"recall p95 with the run is {told('with the run', took) / alone:.2f} times that without")

        began = time.monotonic()
        asked(store, "kinds/backfill/revert", run_id=run["run_id"])
        wait(store, "reverted")
        print(f"revert: {time.monotonic() - began:.1f} s, digest {'equal' if digest(store) == before else 'DIFFERENT'}")

        asked(store, "kinds/settings", rate_per_second=100_000)
        began = time.monotonic()
        asked(store, "kinds/backfill/start")
        run = wait(store, "completed")
        print(f"uncapped: {run['changed'] / (time.monotonic() - began):.0f} a second; log held: {run['lock_held_ms']}")
        store.close()


if __name__ == "__main__":
    main()
