"""`slw kinds backfill`: runs that guess the kinds of older memories, watched on the way, and taken back."""

from __future__ import annotations

import sys
import time

import click

from .asking import ask
from .confirming import confirm
from .options import sent, shared
from .progress import progress
from .terminal import Data, Refused, Terminal

POLL_SECONDS = 0.2
MOVING = ("queued", "running", "reverting")


@click.group("backfill")
def backfill_group() -> None:
    """Guess kinds of older memories in a run.

    Every run can be paused, resumed, cancelled, and taken back.
    """


@backfill_group.command("start")
@click.option("--mode", type=click.Choice(["untyped", "refresh"]), help="refresh: also those that were guessed before.")
@click.option("--yes", is_flag=True, help="Send text off this device, if the hosted backend is chosen.")
@click.option("--wait/--no-wait", default=None, help="Wait until it is done; the default on a terminal.")
@shared
def start_command(terminal: Terminal, mode: str | None, yes: bool, wait: bool | None) -> None:
    """Start a run over memories without a kind.

    The owner works on it; leaving this command does not stop it.
    """
    body = sent(mode=mode)
    try:
        run = ask(terminal, "kinds/backfill/start", {**body, "confirm_data_leaves_device": True} if yes else body)
    except Refused as refused:
        if refused.envelope["error"]["code"] != "needs_confirmation" or not sys.stdin.isatty():
            raise
        confirm(f"{refused.envelope['error']['message']}. Send them?", yes=False)
        run = ask(terminal, "kinds/backfill/start", {**body, "confirm_data_leaves_device": True})
    terminal.answer(watched(terminal, run, wait), told)


@backfill_group.command("status")
@click.argument("run_id", metavar="[RUN_ID]", required=False)
@shared
def run_status_command(terminal: Terminal, run_id: str | None) -> None:
    """Tell how a run comes along: progress, pace, and locks."""
    terminal.answer(ask(terminal, "kinds/backfill/status", sent(run_id=run_id)), runs_told)


def runs_told(terminal: Terminal, data: Data) -> None:
    """The run that goes on or went last, and the ones before."""
    if not data["run"]:
        terminal.note("no run yet; slw kinds backfill start begins one")
        return
    told(terminal, data["run"])
    terminal.table(
        ("run", "state", "mode", "backend", "began"),
        [(r["run_id"], r["state"], r["mode"], r["backend"], r["started_at"][:16]) for r in data["runs"]],
    )


@backfill_group.command("pause")
@click.argument("run_id", metavar="RUN_ID")
@shared
def pause_command(terminal: Terminal, run_id: str) -> None:
    """Let a run rest."""
    terminal.answer(ask(terminal, "kinds/backfill/pause", {"run_id": run_id}), told)


@backfill_group.command("resume")
@click.argument("run_id", metavar="RUN_ID")
@click.option("--wait/--no-wait", default=None, help="Wait until it is done; the default on a terminal.")
@shared
def resume_command(terminal: Terminal, run_id: str, wait: bool | None) -> None:
    """Go on with a run that rests or failed."""
    run = ask(terminal, "kinds/backfill/resume", {"run_id": run_id})
    terminal.answer(watched(terminal, run, wait), told)


@backfill_group.command("cancel")
@click.argument("run_id", metavar="RUN_ID")
@shared
def cancel_command(terminal: Terminal, run_id: str) -> None:
    """Stop a run for good; what it typed stays."""
    terminal.answer(ask(terminal, "kinds/backfill/cancel", {"run_id": run_id}), told)


@backfill_group.command("revert")
@click.argument("run_id", metavar="RUN_ID")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--wait/--no-wait", default=None, help="Wait until it is done; the default on a terminal.")
@shared
def revert_command(terminal: Terminal, run_id: str, dry_run: bool, wait: bool | None) -> None:
    """Take back exactly what a run did."""
    data = ask(terminal, "kinds/backfill/revert", {"run_id": run_id, "dry_run": dry_run})
    if dry_run:
        terminal.answer(data, would_revert)
    else:
        terminal.answer(watched(terminal, data, wait), told)


def would_revert(terminal: Terminal, data: Data) -> None:
    """What a revert would come to."""
    terminal.pairs(
        (("would lose the run's kind", data["would_revert"]), ("would keep what they show", data["would_keep"]))
    )
    kept(terminal, data)


def watched(terminal: Terminal, run: Data, wait: bool | None) -> Data:
    """The run when it is done, with a bar on the way; at once when nobody wants to wait."""
    if wait is None:
        wait = sys.stderr.isatty() and not terminal.as_json
    if not wait:
        return run
    with progress(terminal, "taking back" if run["state"] == "reverting" else "typing", "memories") as moved:
        while run["state"] in MOVING:
            done = (run["reverted"], run["changed"]) if "reverted" in run else (run["processed"], run["total"])
            moved(*done)
            time.sleep(POLL_SECONDS)
            run = ask(terminal, "kinds/backfill/status", {"run_id": run["run_id"]})["run"]
    return run


def told(terminal: Terminal, run: Data) -> None:
    """One run."""
    held = run["lock_held_ms"]
    eta = run.get("eta_seconds")
    terminal.pairs(
        (
            ("run", run["run_id"]),
            ("state", f"{run['state']}: {run['reason']}" if run.get("reason") else run["state"]),
            ("mode", f"{run['mode']}, by {run['backend']}"),
            ("processed", f"{run['processed']} of {run['total']}"),
            ("changed", run["changed"]),
            ("skipped", run["skipped"]),
            ("errors", run["errors"] or ""),
            ("taken back", f"{run['reverted']} of {run['changed']}" if "reverted" in run else ""),
            ("rate", f"{run['rate_per_second']} a second"),
            ("time left", f"{eta:.0f} s" if eta is not None else ""),
            ("log held", f"last {held['last']} ms, median {held['median']} ms, most {held['max']} ms"),
        )
    )
    kept(terminal, run)


def kept(terminal: Terminal, data: Data) -> None:
    """The memories whose kind something else decides."""
    for memory_id in data.get("kept_because_changed", []):
        terminal.say(f"kept: {memory_id}")


def in_short(run: Data) -> str:
    """One run in a line."""
    return f"{run['run_id']} {run['state']}, {run['processed']} of {run['total']}"
