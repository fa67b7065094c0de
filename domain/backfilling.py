"""Runs over many memories, on the write side: type a batch and take it back, each batch one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from .backfill import ALLOWED, BackfillRun, BatchCounts, RunAction
from .errors import Conflict
from .memory import KindGuess
from .vocabulary import BackfillMode
from .writing import Call, Decision, Work, Writing

RunStep = Callable[[BackfillRun, Work], None]


class Backfilling(Writing):
    """The part of the write side that types memories in runs."""

    # The run of the last step, as this step left it: a run of many batches is not replayed for each of them.
    _stepped: BackfillRun | None = None

    def run(self, run_id: str) -> BackfillRun:
        """The run; NotFound when the id was never issued."""
        return self._load(BackfillRun, run_id, "run", "slw kinds backfill status lists the runs")

    def active_run(self) -> BackfillRun | None:
        """The store's one active run: queued, running, paused or reverting."""
        stream = self.ledger.lookup("run", "active")
        return self.run(stream) if stream else None

    def start_backfill(self, mode: BackfillMode, backend: str, total: int, call: Call) -> BackfillRun:
        """Queue a run; Conflict while another one is active."""

        def decide(work: Work) -> Decision[BackfillRun]:
            self._require_no_other_run("")
            run = self._enlist(BackfillRun(self._ids(BackfillRun.PREFIX, work.at)), work)
            run.start(mode, backend, total)
            return Decision(lambda _: run)

        return self._carry_out(call, None, decide)

    def act_on_run(self, run_id: str, action: RunAction, call: Call) -> BackfillRun:
        """Pause, resume, cancel, or begin to revert a run."""

        def step(run: BackfillRun, _: Work) -> None:
            if run.state in ALLOWED[action] and action in ("resume", "revert"):
                self._require_no_other_run(run_id)
            run.act(action)

        return self._step(run_id, call, step)

    def take_up_run(self, run_id: str, call: Call) -> BackfillRun:
        """The owner begins with a queued run."""
        return self._step(run_id, call, lambda run, _: run.take_up())

    def complete_run(self, run_id: str, call: Call) -> BackfillRun:
        """Nothing was left to type."""
        return self._step(run_id, call, lambda run, _: run.complete())

    def fail_run(self, run_id: str, reason: str, call: Call) -> BackfillRun:
        """Too many errors in a row."""
        return self._step(run_id, call, lambda run, _: run.fail(reason))

    def type_batch(
        self, run_id: str, guesses: Sequence[tuple[str, KindGuess]], counts: BatchCounts, call: Call
    ) -> BackfillRun:
        """Give kinds to the memories of one batch and move the run's cursor, in one transaction.

        A memory that was confirmed, retired or suppressed since it was picked is left alone, and so is one that got
        a kind meanwhile when the run is for untyped ones.
        """

        def step(run: BackfillRun, work: Work) -> None:
            typed: list[str] = []
            for memory_id, guess in guesses:
                memory = self._memory_in(memory_id, work)
                if not memory.live or memory.suppressed_at or (run.mode == "untyped" and memory.kind is not None):
                    continue
                if self._enlist(memory, work).suggest_kind(guess, run_id):
                    typed.append(memory_id)
            run.batch_typed(counts, tuple(typed))

        return self._step(run_id, call, step)

    def revert_batch(self, run_id: str, limit: int, call: Call) -> BackfillRun:
        """Withdraw the run's kind facts from its next `limit` memories; the run is reverted when none is left.

        A memory whose shown kind the run does not decide keeps what it shows, and is reported.
        """

        def step(run: BackfillRun, work: Work) -> None:
            waiting = list(islice(run.typed, run.reverted, run.reverted + limit))
            kept: list[str] = []
            for memory_id in waiting:
                memory = self._enlist(self.memory(memory_id), work)
                if memory.kind is not None and memory.kind.run_id != run_id:
                    kept.append(memory_id)
                for fact in [f for f in memory.kind_facts.values() if f.run_id == run_id]:
                    memory.withdraw_kind(fact.version, run_id)
            if waiting:
                run.batch_reverted(tuple(waiting), tuple(kept))
            if run.reverted == len(run.typed):
                run.revert_done()

        return self._step(run_id, call, step)

    def revert_preview(self, run_id: str) -> tuple[list[str], list[str]]:
        """What a revert would come to: ids whose shown kind goes, and ids that keep what they show."""
        run = self.run(run_id)
        going: list[str] = []
        kept: list[str] = []
        for memory_id in run.typed:
            held = self.memory(memory_id).kind
            (going if held is None or held.run_id == run_id else kept).append(memory_id)
        return going, kept

    def _require_no_other_run(self, run_id: str) -> None:
        active = self.active_run()
        if active is not None and active.id != run_id:
            raise Conflict(
                f"{active.id} is {active.state}; one run at a time",
                hint=f"slw kinds backfill cancel {active.id}, or wait until it is done",
            )

    def _step(self, run_id: str, call: Call, move: RunStep) -> BackfillRun:
        def decide(work: Work) -> Decision[BackfillRun]:
            run = self._enlist(self._current(run_id), work)
            move(run, work)
            return Decision(lambda _: run)

        self._stepped = self._carry_out(call, None, decide)
        return self._stepped

    def _current(self, run_id: str) -> BackfillRun:
        """The run as the last step left it, unless another writer has moved it on; a step that fails forgets it."""
        held, self._stepped = self._stepped, None
        if held is not None and held.id == run_id and not self.ledger.position_of(run_id, held.version + 1):
            return held
        return self.run(run_id)
