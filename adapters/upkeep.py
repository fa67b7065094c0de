"""What a person asks of the owner to look after the store: copies, publishing, growing anew, taking back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..domain.undoing import Selector, UndoReport
from .commands import Command, Id, Moment, absent
from .copying import copy_live
from .operations import Answer, Asked, Operation

if TYPE_CHECKING:
    from .store import Store


class Copy(Command):
    """A folder that is there and empty."""

    into: str


class Undo(Command):
    """Whose doings: exactly one of the three."""

    session: Annotated[Id | None, absent] = None
    run: Annotated[Id | None, absent] = None
    client: Annotated[Id | None, absent] = None
    since: Moment = None
    dry_run: bool = False


def copy(store: Store, command: Copy, _: Asked) -> Answer:
    """A copy of the whole generation at one position."""
    place, position = copy_live(store, Path(command.into))
    problems = [f"{view}: {why}" for view, why in store.generation.projector.failures.items()]
    return {"copy": str(place), "position": position, "problems": [*store.generation.mended, *problems]}


def undo(store: Store, command: Undo, asked: Asked) -> Answer:
    """Take back what a session, a run or a client did."""
    selector = Selector(command.session or "", command.run or "", command.client or "", command.since)
    report = store.memories.undo(selector, asked.call, dry_run=command.dry_run)
    store.catch_up()
    return undone(report, selector, dry_run=command.dry_run)


def undone(report: UndoReport, selector: Selector, *, dry_run: bool) -> Answer:
    """The report by id."""
    undone_facts: list[dict[str, Any]] = [
        {"id": fact.stream, "version": fact.version, "topic": fact.topic, "became": fact.became}
        for fact in report.undone
    ]
    return {
        "run_id": "" if dry_run or not report.position else report.run_id,
        "selector": selector.told(),
        "dry_run": dry_run,
        "undone": undone_facts,
        "kept": [{"id": memory_id, "why": why} for memory_id, why in sorted(report.kept.items())],
        "position": report.position,
    }


UPKEEP: tuple[Operation, ...] = (
    Operation("copy", Copy, copy, "manage"),
    Operation("undo", Undo, undo, "manage"),
)
