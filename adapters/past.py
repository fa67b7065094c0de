"""The past: a store as it was at one position of the log, asked in the very ways in which the live one is asked."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from ..consolidation.policy import FoldPolicy
from ..domain.errors import InvalidInput, NotFound, Unavailable
from ..domain.events import Fact
from ..domain.memory import Memory
from ..domain.session import Session
from ..projections.consolidated import Consolidated
from ..projections.cues import Cues
from ..projections.generation import Generation, Manifest
from ..projections.projector import Damaged, Positioned
from ..projections.stages import Stages
from ..projections.succession import Succession
from ..projections.tables import Tables
from ..projections.vectors import Vectors
from ..projections.words import Words
from .fields import Command, parse
from .log import LogReader
from .operations import Answer, Asked, Operation
from .replaying import last_not_later
from .store import Store
from .views import view_kinds

FOLDER: Final = "as-of"
# Two points of time at once are what a comparison needs; each holds its rows in the owner's memory.
KEPT: Final = 2
READ_ONLY: Final = ("list", "search", "recall", "show", "why", "sessions", "status")


class PastMemories:
    """What the write side knew at a position: streams, cut off there."""

    def __init__(self, events_of: Callable[[str], list[tuple[int, Fact]]], position: int) -> None:
        self._events_of = events_of
        self._position = position

    def position(self) -> int:
        """The position at which this past ends."""
        return self._position

    def memory(self, memory_id: str) -> Memory:
        return Memory.replay(memory_id, self._facts(memory_id))

    def session(self, session_id: str) -> Session:
        return Session.replay(session_id, self._facts(session_id))

    def _facts(self, stream: str) -> list[Fact]:
        facts = [fact for _, fact in self._events_of(stream)]
        if not facts:
            raise NotFound(f"{stream!r} was not there at position {self._position}", hint="leave --as-of out")
        return facts


class Past(Store):
    """The store at a position. It shares the live one's thread, model and settings, and never writes."""

    def __init__(self, live: Store, generation: Generation, position: int, at: datetime) -> None:
        self.__dict__.update(live.__dict__)
        self._position = position
        self._at = at
        self.generation = generation
        self.tables = cast("Tables", generation.views["tables"])
        self.words = cast("Words", generation.views["words"])
        self.vectors = cast("Vectors", generation.views["vectors"])
        self.consolidated = cast("Consolidated", generation.views["consolidated"])
        self.cues = cast("Cues", generation.views["cues"])
        self.stages = cast("Stages", generation.views["stages"])
        self.recall = self.recaller()
        self.memories: Any = PastMemories(self.events_of, position)

    def now(self) -> datetime:
        """Decay is taken at the time of the last event there was."""
        return self._at

    def catch_up(self) -> None:
        """The past does not move."""

    def events_of(self, stream: str) -> list[tuple[int, Fact]]:
        return [(at, fact) for at, fact in self._reader.stream(stream) if at <= self._position]


class Travels:
    """The points of time that are open, and the one that is being replayed for the first question about it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._place = store.home.path / FOLDER
        self._open: dict[int, Past] = {}
        self._lock = threading.Lock()
        self._building = 0
        self._reached = 0
        self._failure = ""

    def at(self, position: int) -> Past:
        """The store at that position. Unavailable, with how far it is, while it is being replayed."""
        with self._lock:
            if position in self._open:
                past = self._open.pop(position)
                self._open[position] = past  # the latest asked for goes last
                return past
            if self._failure:
                failure, self._failure = self._failure, ""
                raise Unavailable(f"the past cannot be replayed: {failure}", hint="slw replay --strict")
            if not self._building:
                self._building, self._reached = position, 0
                threading.Thread(target=self._build, args=(position,), name="slw-past", daemon=True).start()
            percent = 100 * self._reached // max(1, self._building)
            raise Unavailable(
                f"position {self._building} is being replayed, {percent} % done", hint="send the call again in a moment"
            )

    def _build(self, position: int) -> None:
        try:
            reader = LogReader(self._store.home.log)
            [(_, last)] = reader.read(position - 1, 1)

            def read(after: int, limit: int) -> list[Positioned]:
                return [Positioned(at, fact) for at, fact in reader.read(after, limit, position)]

            def note(reached: int, _: int) -> None:
                self._reached = reached

            generation = self._generation(position, read)
            while generation.position < position:
                before = generation.position
                generation.grow(position, note)
                if generation.position == before:
                    break  # vectors that are not kept: words go on without them
            generation.completed()
            past = Past(self._store, generation, position, last.recorded_at)
            self._store.on_engine(lambda: self._opened(position, past))
        except Exception as fault:  # noqa: BLE001 - told to whoever asks next
            self._failure = f"{type(fault).__name__}: {fault}"
        finally:
            self._building = 0

    def _generation(self, position: int, read: Callable[[int, int], list[Positioned]]) -> Generation:
        """The one that was replayed before, if this build can read it, else an empty one."""
        folder = self._place / str(position)
        kinds = view_kinds(FoldPolicy(), self._store.embedder.space, self._store.cache.get)
        succession = Succession(folder, kinds, FoldPolicy().digest, read)
        for found in sorted(folder.glob("gen-*")) if folder.exists() else []:
            try:
                manifest = Manifest.read(found)
                if manifest.schema == succession.schema and manifest.state == "complete":
                    return Generation.open(found, manifest, kinds, read)
            except Damaged:
                pass
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700, parents=True)
        return succession.create()

    def _opened(self, position: int, past: Past) -> None:
        """On the engine's thread: take it in, and let the oldest go."""
        with self._lock:
            self._open[position] = past
            while len(self._open) > KEPT:
                oldest = next(iter(self._open))
                self._open.pop(oldest).generation.retire()
                shutil.rmtree(self._place / str(oldest), ignore_errors=True)
            known = {str(held) for held in self._open}
        others = [path for path in self._place.iterdir() if path.name not in known]
        for path in others[KEPT - len(known) :] if len(known) < KEPT else others:
            shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Let go of everything; what is on disk opens faster the next time."""
        with self._lock:
            for past in self._open.values():
                past.generation.retire()
            self._open.clear()


class AsOf(Command):
    """Which point (a position or a time, as text), and what is asked there."""

    point: str
    operation: str
    arguments: dict[str, Any] = {}


def as_of(store: Store, command: AsOf, asked: Asked) -> Answer:
    """What an operation that only reads would have answered then."""
    from .catalogue import named  # noqa: PLC0415 - the catalogue holds this operation, too

    if command.operation not in READ_ONLY or "session_id" in command.arguments:
        raise InvalidInput.at("operation", "does not only read", f"one of {', '.join(READ_ONLY)}, without a session")
    operation = named(command.operation)
    store.growth.require()
    past = travels_of(store).at(position_at(store.home.log, command.point))
    inner: Command = parse(operation.command, command.arguments)
    cue = operation.cue(inner)
    vector, whole, warnings = past.meant(cue, getattr(inner, "scope", "") or "")
    told = store.on_engine(lambda: operation.run(past, inner, Asked(asked.call, vector, warnings, whole)))
    return {**told, "as_of": {"position": past.memories.position(), "at": past.now().isoformat()}}


def travels_of(store: Store) -> Travels:
    """The store's travels; begun with the first."""
    if store.travels is None:
        store.travels = Travels(store)
    return store.travels


def position_at(log: Path, point: str) -> int:
    """The position that a point names; NotFound where the log has nothing yet, or does not go there."""
    reader = LogReader(log)
    try:
        end = reader.position()
        if point.isdigit():
            position = int(point)
        else:
            try:
                position = last_not_later(reader, end, datetime.fromisoformat(point))
            except (ValueError, TypeError) as fault:
                raise InvalidInput.at("point", "is neither a position nor a time with an offset") from fault
        if not 1 <= position <= end:
            raise NotFound(f"the log has nothing at {point}", hint=f"it goes from 1 to {end}")
        return position
    finally:
        reader.close()


PAST: tuple[Operation, ...] = (Operation("as_of", AsOf, as_of, beside=True),)
