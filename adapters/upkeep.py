"""What a person asks of the owner to look after the store: copies, publishing, growing anew, taking back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..domain.errors import InvalidInput
from ..domain.undoing import Selector, UndoReport
from .copying import copied, copy_live
from .fields import Command, Id, Moment, absent
from .operations import Answer, Asked, Operation
from .people import Nothing

if TYPE_CHECKING:
    from .store import Store


class Copy(Command):
    """A folder that is there and empty, and which views are wanted; none named: all of them."""

    into: str
    views: list[str] = []


class Undo(Command):
    """Whose doings: exactly one of the three."""

    session: Annotated[Id | None, absent] = None
    run: Annotated[Id | None, absent] = None
    client: Annotated[Id | None, absent] = None
    since: Moment = None
    dry_run: bool = False


class Rebuild(Command):
    """Which views to grow anew; none named: all of them."""

    projections: list[str] = []
    back: bool = False


def copy(store: Store, command: Copy, _: Asked) -> Answer:
    """A copy of the whole generation at one position."""
    place, position = copy_live(store, Path(command.into), command.views)
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


def rebuild(store: Store, command: Rebuild, _: Asked) -> Answer:
    """Begin to grow read models beside the live ones, or go back to those before."""
    if command.back:
        return {"state": "done", "generation": store.growth.go_back()}
    wrong = [name for name in command.projections if name not in store.generation.views]
    if wrong:
        known = ", ".join(store.generation.views)
        raise InvalidInput.at("projections", f"there is no {wrong[0]}", f"there are {known}, and keys")
    store.growth.rebuild(lambda folder: keep_the_others(store, command.projections, folder))
    return {"state": "running", "generation": ""}


def keep_the_others(store: Store, grown: list[str], folder: Path) -> None:
    """Put the files of the views that are not to be grown anew into a new generation's folder."""
    kept = [kind for kind in store.growth.succession.kinds if grown and kind.name not in grown]
    for kind in kept:
        store.generation.views[kind.name].come_to_rest()
    source = store.generation.directory
    copied({source / name: folder / name for kind in kept for name in kind.files if (source / name).exists()})


def rebuild_state(store: Store, _: Nothing, __: Asked) -> Answer:
    """How far a rebuild is."""
    growth = store.growth
    state = "running" if growth.rebuilding else "failed" if growth.rebuilt.startswith("failed") else "done"
    return {
        "state": state,
        "percent": growth.percent,
        "generation": store.generation.directory.name,
        "why": growth.rebuilt if state == "failed" else "",
    }


UPKEEP: tuple[Operation, ...] = (
    Operation("copy", Copy, copy, "manage"),
    Operation("rebuild", Rebuild, rebuild, "manage"),
    Operation("rebuild_state", Nothing, rebuild_state),
    Operation("undo", Undo, undo, "manage"),
)
