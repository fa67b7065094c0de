"""The thread that works on a run: batch after batch at its pace, giving way to whoever asks, and taking it up again."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from ..domain.backfill import BackfillRun, BatchCounts
from ..domain.errors import Conflict, SlwError
from ..domain.events import Actor
from ..domain.memory import KindGuess
from ..domain.vocabulary import CONFIRMING_SOURCES, BackfillMode
from ..domain.writing import Call
from .kind_backends import RUN_BUDGET, Choice, ModelFailed, missing_for_llm
from .kind_desk import KindDesk

if TYPE_CHECKING:
    from ..projections.runs import RunRow
    from ..projections.schemas import Schema
    from .store import Store

log = logging.getLogger("slw")

WORKED_ON: Final = ("queued", "running", "reverting")
HOLD_MS: Final = 50.0  # a batch holds the log about this long at most
# Whoever asks waits for the engine as a whole, not for the log alone. A batch that nobody waits for may take it as
# long as the log; while calls come in, only so long that a recall (some ten to twenty milliseconds) hardly feels it.
ALONE_MS: Final = 50.0
AMONG_CALLS_MS: Final = 10.0
CALLS_LATELY: Final = 1.0  # seconds since the last call for which more are expected
FIRST_BATCH: Final = 8
REVERT_BATCH: Final = 200
ERRORS_IN_A_ROW: Final = 5
FIRST_PAUSE: Final = 0.2  # after an error; doubled with each further one
GIVE_WAY: Final = 0.25  # a batch lets calls go first for so long, and then has its turn
SCANNED: Final = 2_000  # memories looked through in one slice


class BatchSize:
    """How many memories the next batch takes: it starts small, grows while there is room, and halves when over."""

    def __init__(self, most: int, first: int = FIRST_BATCH) -> None:
        self.most = most
        self.size = min(first, most)
        self._last: deque[float] = deque(maxlen=3)

    def took(self, share: float) -> None:
        """Learn from a batch, which took this share of the time that it may take."""
        self._last.append(share)
        middle = median(self._last)
        if len(self._last) == self._last.maxlen and middle > 1:
            self.size = max(1, self.size // 2)
            self._last.clear()
        elif middle < 1 / 2:
            self.size = min(self.most, self.size + max(1, self.size // 2))


@dataclass(frozen=True, slots=True)
class Picked:
    """What a run looks at next: ids and contents, and the position up to which everything is judged then."""

    run: RunRow
    memory_ids: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    cursor: int = 0
    done: bool = False


class KindRunner:
    """Works on the store's active run, if there is one; `wake()` says that there may be."""

    def __init__(self, store: Store, desk: KindDesk, actor: Actor) -> None:
        self._store = store
        self._desk = desk
        self._call = Call(actor)
        self._changed = threading.Condition()
        self._woken = True
        self._closing = False
        self._errors = 0
        self._unsaid = 0  # errors that no batch has told of yet
        self.held: tuple[str, float] = ("", 0.0)  # the last batch: of which run, and how long it held the log (ms)
        self._size: BatchSize | None = None
        self._called = -CALLS_LATELY  # when a call was last in flight
        self._looked = ("", 0)  # of the run: up to where there was nothing to type
        self._thread = threading.Thread(target=self._work, name="slw-kind-run", daemon=True)

    def start(self) -> None:
        """Begin; a run that an earlier owner left is taken up again."""
        self._thread.start()

    def wake(self) -> None:
        """Look again: a run was started, resumed, or is to be taken back."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """Finish the batch at hand and stop; the next owner goes on at the cursor."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def active(self) -> bool:
        """Whether there is a run to work on."""
        return self._store.growth.ready and active_row(self._store) is not None

    # -- the thread

    def _work(self) -> None:
        while not self._store.growth.ready and not self._closing:
            self._rest(0.1)
        while not self._closing:
            began = time.monotonic()
            try:
                judged, pace = self._turn()
            except Exception as fault:  # noqa: BLE001 - whatever a batch raises, the run says so and tries again
                if self._closing:
                    return
                judged, pace = 0, self._failed(fault)
            if pace is None:
                self._rest(None)
            else:
                self._rest(began + judged * pace - time.monotonic())

    def _turn(self) -> tuple[int, float | None]:
        """One batch; returns how many it judged and the seconds each may take (None: there is no run)."""
        picked = self._store.on_engine(self._pick)
        if picked is None:
            self._size, self._errors = None, 0
            return 0, None
        if picked.run.state == "reverting":
            self._give_way()
            self._store.on_engine(lambda: self._revert(picked.run.run_id))
            return 0, 0.0
        if picked.done:
            self._store.on_engine(lambda: self._complete(picked.run.run_id))
            return 0, 0.0
        if not picked.memory_ids:
            return 0, 0.0  # nothing to type in this slice; the next one begins behind it
        guesses = self._desk.guesses(picked.contents, self._choice(picked.run), RUN_BUDGET)
        self._give_way()
        self._store.on_engine(lambda: self._type(picked, guesses))
        self._errors = 0
        rate, _ = self._desk.pace(picked.run.backend)
        return len(picked.memory_ids), 1 / rate

    def _choice(self, run: RunRow) -> Choice:
        """The backend of the run, as far as the settings still allow it."""
        match run.backend:
            case "hosted":
                now = self._desk.choice()
                return now if now.backend == "hosted" else Choice("rules", now.why)
            case "llm":
                missing = missing_for_llm(self._desk.settings())
                return Choice("rules", missing) if missing else Choice("llm")
            case backend:
                return Choice(backend)

    def _failed(self, fault: Exception) -> float | None:
        """Count an error: pause, or give the run up after five in a row; returns the pace as `_turn` does."""
        if isinstance(fault, Conflict):
            return 0.0  # a person paused or cancelled it between two steps: look again
        self._errors += 1
        self._unsaid += 1
        said = fault.message if isinstance(fault, SlwError) else str(fault) or type(fault).__name__
        if isinstance(fault, (ModelFailed, SlwError)):
            log.warning("a batch of a run failed (%d in a row): %s", self._errors, said)
        else:
            log.error("a batch of a run failed (%d in a row)", self._errors, exc_info=fault)
        if self._errors < ERRORS_IN_A_ROW:
            self._rest(FIRST_PAUSE * 2 ** (self._errors - 1))
            return 0.0
        try:
            self._store.on_engine(lambda: self._give_up(f"{self._errors} errors in a row, the last: {said}"))
        except SlwError as refused:
            log.warning("the run cannot be marked as failed: %s", refused.message)
            self._rest(FIRST_PAUSE * 2**ERRORS_IN_A_ROW)
        return 0.0

    def _rest(self, seconds: float | None) -> None:
        """Sleep for so long, or (None) until woken; whoever closes the store ends it at once."""
        with self._changed:
            if seconds is None:
                self._changed.wait_for(lambda: self._woken or self._closing)
                self._woken = False
            elif seconds > 0:
                self._changed.wait_for(lambda: self._closing, seconds)

    def _give_way(self) -> None:
        """Let calls in flight go first, for a while."""
        until = time.monotonic() + GIVE_WAY
        while self._store.in_flight and time.monotonic() < until and not self._closing:
            self._called = time.monotonic()
            time.sleep(0.001)

    # -- on the engine

    def _pick(self) -> Picked | None:
        store = self._store
        store.catch_up()
        run = active_row(store)
        if run is None:
            return None
        if run.state == "queued":
            store.memories.take_up_run(run.run_id, self._call)
            store.catch_up()
            run = store.tables.runs[run.run_id]
        if run.state != "running":
            return Picked(run)
        _, most = self._desk.pace(run.backend)
        if self._size is None or self._size.most != most:
            self._size = BatchSize(most)
        looked = self._looked[1] if self._looked[0] == run.run_id else 0
        found, scanned, last = candidates(store, run, max(looked, run.cursor), self._size.size)
        if not found:
            self._looked = (run.run_id, scanned)
            return Picked(run, done=last)
        ids = tuple(schema.memory_id for schema in found)
        words = store.contents(ids)
        contents = tuple(words.get(i) or store.memories.memory(i).content for i in ids)
        return Picked(run, ids, contents, found[-1].position)

    def _type(self, picked: Picked, guesses: Sequence[KindGuess]) -> None:
        before = self.held[1] if self.held[0] == picked.run.run_id else 0.0
        counts = BatchCounts(picked.cursor, len(picked.memory_ids), self._unsaid, round(before, 3))
        self._measured(
            lambda: self._store.memories.type_batch(
                picked.run.run_id, list(zip(picked.memory_ids, guesses, strict=True)), counts, self._call
            )
        )
        self._unsaid = 0

    def _revert(self, run_id: str) -> None:
        if self._size is None or self._size.most != REVERT_BATCH:
            self._size = BatchSize(REVERT_BATCH)
        size = self._size.size
        self._measured(lambda: self._store.memories.revert_batch(run_id, size, self._call))

    def _measured(self, step: Callable[[], BackfillRun]) -> None:
        began = time.perf_counter()
        run = step()
        held_ms = self._store.memories.ledger.held_ms
        self._store.catch_up()
        slice_ms = 1_000 * (time.perf_counter() - began)
        self.held = (run.id, held_ms)
        alone = time.monotonic() - self._called > CALLS_LATELY
        if self._size is not None:
            self._size.took(max(held_ms / HOLD_MS, slice_ms / (ALONE_MS if alone else AMONG_CALLS_MS)))

    def _complete(self, run_id: str) -> None:
        self._store.memories.complete_run(run_id, self._call)
        self._store.catch_up()

    def _give_up(self, reason: str) -> None:
        self._errors = 0
        run = active_row(self._store)
        if run is not None and run.state == "running":
            self._store.memories.fail_run(run.run_id, reason, self._call)
            self._store.catch_up()


def active_row(store: Store) -> RunRow | None:
    """The run that wants work, if there is one."""
    rows = list(store.tables.runs.values())  # at once, for whoever asks from another thread
    return next((row for row in reversed(rows) if row.state in WORKED_ON), None)


def eligible(schema: Schema, mode: BackfillMode | str) -> bool:
    """Whether a run of this mode may type the memory."""
    if not schema.live or schema.kind_source in CONFIRMING_SOURCES:
        return False
    return mode == "refresh" or schema.kind is None


def candidates(store: Store, run: RunRow, after: int, count: int) -> tuple[list[Schema], int, bool]:
    """The next memories for a run: at most `count` of those told behind `after` and before the run began.

    Also the position up to which was looked, and whether that was the last.
    """
    found: list[Schema] = []
    scanned = after
    for looked, schema in enumerate(store.tables.claims.after(after), 1):
        if schema.position > run.position:
            return found, run.position, True
        scanned = schema.position
        if eligible(schema, run.mode):
            found.append(schema)
        if len(found) == count or looked == SCANNED:
            return found, scanned, False
    return found, max(scanned, run.position), True
