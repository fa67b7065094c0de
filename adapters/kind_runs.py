"""Runs as a person asks for them: start, look, pause, resume, cancel, and take back."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from ..domain.backfill import RunAction
from ..domain.errors import Conflict, NeedsConfirmation, NotFound
from ..projections.runs import seconds_left
from .kind_commands import BackfillAct, BackfillRevert, BackfillStart, BackfillStatus
from .kind_runner import WORKED_ON, eligible
from .operations import Answer, Asked, Operation
from .phrasing import told

if TYPE_CHECKING:
    from ..projections.runs import RunRow
    from .store import Store

RUNS_LISTED: Final = 10
IDS_TOLD: Final = 1_000


def start(store: Store, command: BackfillStart, asked: Asked) -> Answer:
    """Queue a run; one that would send text away is refused until that is confirmed by the literal true."""
    store.catch_up()
    choice = store.kinds.choice()
    if choice.backend == "off":
        raise Conflict(
            f"nobody may guess kinds: {choice.why or 'the backend is off'}", hint="slw kinds settings --enable"
        )
    total = sum(eligible(schema, command.mode) for schema in store.tables.schemas.values())
    if choice.backend == "hosted" and command.confirm_data_leaves_device is not True:
        _, size = store.kinds.pace("hosted")
        raise NeedsConfirmation(
            f"this run would send the text of {total} memories to {store.kinds.settings().hosted_url}",
            hint="slw kinds backfill start --yes, or confirm_data_leaves_device: true",
            facts={"facts": total, "requests": -(-total // size), "leaves_device": True},
        )
    run = store.memories.start_backfill(command.mode, choice.backend, total, asked.call)
    store.catch_up()
    store.kind_runner.wake()
    return run_view(store, store.tables.runs[run.id])


def status(store: Store, command: BackfillStatus, _: Asked) -> Answer:
    """One run in full, and the last ones in short."""
    store.catch_up()
    run = latest_run(store) if command.run_id is None else row_of(store, command.run_id)
    newest: list[RunRow] = list(reversed(store.tables.runs.values()))[:RUNS_LISTED]
    return {
        "run": run_view(store, run) if run else {},
        "runs": [
            {
                "run_id": r.run_id,
                "state": r.state,
                "mode": r.mode,
                "backend": r.backend,
                "started_at": told(r.started_at),
            }
            for r in newest
        ],
    }


def act(action: RunAction) -> Any:
    """The operation that does this to a run."""

    def run(store: Store, command: BackfillAct, asked: Asked) -> Answer:
        store.memories.act_on_run(command.run_id, action, asked.call)
        store.catch_up()
        store.kind_runner.wake()
        return run_view(store, row_of(store, command.run_id))

    return run


def revert(store: Store, command: BackfillRevert, asked: Asked) -> Answer:
    """Begin to take a run back; with dry_run, only count. Looks through the log beside the engine."""
    if not command.dry_run:
        return store.on_engine(lambda: act("revert")(store, command, asked))
    going, kept = store.memories.revert_preview(command.run_id)
    return {
        "run_id": command.run_id,
        "dry_run": True,
        "would_revert": len(going),
        "would_keep": len(kept),
        "kept_because_changed": kept[:IDS_TOLD],
    }


def latest_run(store: Store) -> RunRow | None:
    """The run that goes on, else the last one."""
    rows = list(store.tables.runs.values())
    going = [row for row in rows if row.state in (*WORKED_ON, "paused")]
    return (going or rows or [None])[-1]


def row_of(store: Store, run_id: str) -> RunRow:
    row = store.tables.runs.get(run_id)
    if row is None:
        raise NotFound(f"run {run_id!r} was never issued", hint="slw kinds backfill status lists the runs")
    return row


def run_view(store: Store, row: RunRow) -> dict[str, Any]:
    """One run as every surface shows it."""
    of, held_ms = store.kind_runner.held
    last = [held_ms] if of == row.run_id and held_ms else []
    left = seconds_left(row) if row.state in ("queued", "running", "paused") else None
    view: dict[str, Any] = {
        "run_id": row.run_id,
        "state": row.state,
        "mode": row.mode,
        "backend": row.backend,
        "total": row.total,
        "processed": row.processed,
        "changed": row.changed,
        "skipped": row.skipped,
        "errors": row.errors,
        "rate_per_second": round(row.processed / row.active_seconds, 1) if row.active_seconds else 0.0,
        "lock_held_ms": figures([*row.held_ms, *last]),
        "started_at": told(row.started_at),
        "last_at": told(row.last_at),
    }
    if left is not None:
        view["eta_seconds"] = round(left, 1)
    if row.reason:
        view["reason"] = row.reason
    if row.state in ("reverting", "reverted"):
        view["reverted"] = row.reverted
        view["kept_because_changed"] = list(store.memories.run(row.run_id).kept)[:IDS_TOLD] if row.kept else []
        view["kept"] = row.kept
    return view


def figures(held: Sequence[float]) -> dict[str, float]:
    """How long batches held the log: the last one, the middle, and the longest, in milliseconds."""
    if not held:
        return {"last": 0.0, "median": 0.0, "max": 0.0}
    return {"last": round(held[-1], 2), "median": round(median(held), 2), "max": round(max(held), 2)}


RUNS: Final[tuple[Operation, ...]] = (
    Operation("kinds/backfill/start", BackfillStart, start, "manage"),
    Operation("kinds/backfill/status", BackfillStatus, status),
    Operation("kinds/backfill/pause", BackfillAct, act("pause"), "manage"),
    Operation("kinds/backfill/resume", BackfillAct, act("resume"), "manage"),
    Operation("kinds/backfill/cancel", BackfillAct, act("cancel"), "manage"),
    Operation("kinds/backfill/revert", BackfillRevert, revert, "manage", beside=True),
)
