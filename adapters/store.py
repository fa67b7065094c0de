"""The composition root: one home opened, with its log, its read models, its embedder and the thread that runs them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np

from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..consolidation.wording import query_text
from ..domain.errors import NotFound
from ..domain.events import Actor, Fact
from ..domain.identity import scope_twin
from ..domain.memories import Memories
from ..domain.writing import Call
from ..projections.consolidated import Consolidated
from ..projections.cues import Cues, CueTexts
from ..projections.generation import Generation
from ..projections.projector import Positioned
from ..projections.recall import Recall
from ..projections.schemas import Schema
from ..projections.stages import Stages
from ..projections.succession import Succession
from ..projections.tables import Tables
from ..projections.vectors import Vectors, embedded_texts
from ..projections.words import Words
from .copying import anchored
from .embeddings import Embedder, EmbeddingCache
from .growing import Growth
from .home import Home
from .kind_desk import KindDesk
from .kind_policy import KindPolicy
from .kind_runner import KindRunner
from .log import LogReader, log_environment
from .meaning import Meaning
from .operations import Answer, answered
from .reach import VERSION
from .settings import Settings, read_settings
from .views import recall_over, view_kinds

log = logging.getLogger("slw")

R = TypeVar("R")
SYSTEM = Actor(kind="system", name="slw", version=VERSION)
PERSON = Actor(kind="person", name="slw", version=VERSION)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Store:
    """One open home. Everything that touches its read models runs on one thread, the engine's."""

    memories: Memories
    growth: Growth
    meaning: Meaning
    generation: Generation  # from here on: once `growth` is ready
    tables: Tables
    words: Words
    vectors: Vectors
    consolidated: Consolidated
    cues: Cues
    stages: Stages
    recall: Recall

    def __init__(self, home: Home, settings: Settings, clock: Callable[[], datetime], embedder: Embedder) -> None:
        self.home = home
        self.settings = settings
        self.policy = ReadPolicy()
        self.embedder = embedder
        self.in_flight = 0
        self.travels: Any = None  # the points of the past that are open; adapters/past.py begins with the first
        self._serving = threading.Lock()
        self._clock = clock
        self._engine = ThreadPoolExecutor(1, thread_name_prefix="slw-engine")
        self._engine_thread = self._engine.submit(threading.get_ident).result()
        try:
            self.on_engine(self._open)
        except BaseException:
            self._engine.shutdown()
            raise

    @classmethod
    def open(
        cls,
        home: Home | Path | str,
        *,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = utc_now,
        embedder: Embedder | None = None,
    ) -> Self:
        """Open a home, made if need be. The caller holds its lease, or knows that nobody else uses it."""
        place = home if isinstance(home, Home) else Home.at(home)
        return cls(place, settings or read_settings(place.settings), clock, embedder or Embedder())

    def _open(self) -> None:
        self.memories = Memories(
            log_environment(self.home.log, self.settings.lock_seconds),
            clock=self._clock,
            suggest_kind=lambda content: self.kinds.suggest(content),  # noqa: PLW0108 - the desk comes after
        )
        self._reader = LogReader(self.home.log)
        self._followed = LogReader(self.home.log)
        self.cache = EmbeddingCache(self.home.embeddings, self.embedder.space, self.embedder.dim)
        self.flushed_at = time.monotonic()
        fold = FoldPolicy()
        views = view_kinds(fold, self.embedder.space, self.cache.get)
        self.growth = Growth(
            Succession(self.home.path, views, fold.digest, self._read_page), self.memories.position, self._take_over
        )
        judged = CueTexts(lambda session_id: (fact for _, fact in self._followed.stream(session_id)))
        self.meaning = Meaning(
            self.embedder,
            self.cache,
            read=self._followed.read,
            texts_of=lambda fact: (*embedded_texts(fact), *judged(fact)),
            embedded=lambda: self._soon(self.catch_up),
            wait_seconds=self.settings.vector_wait_seconds,
        )
        self.kinds = KindDesk(
            self.home.path / "kinds.json",
            self.cache,
            space=self.embedder.space,
            noticed=self.memories.noticed_settings(),
            model_up=lambda: not self.meaning.failure,
        )
        self.kind_runner = KindRunner(self, self.kinds, SYSTEM)
        self.kind_policy = KindPolicy(self, self.kinds, SYSTEM, self.home.path / "policies.json")
        self.growth.begin()
        self.meaning.start(self.memories.position())
        self.kind_runner.start()
        self.kind_policy.start(self.memories.position())

    def _take_over(self, generation: Generation) -> None:
        """Read from this generation from here on."""
        self.on_engine(lambda: self._taken_over(generation))

    def _taken_over(self, generation: Generation) -> None:
        before: Generation | None = getattr(self, "generation", None)
        self.generation = generation
        self.tables = cast("Tables", generation.views["tables"])
        self.words = cast("Words", generation.views["words"])
        self.vectors = cast("Vectors", generation.views["vectors"])
        self.consolidated = cast("Consolidated", generation.views["consolidated"])
        self.cues = cast("Cues", generation.views["cues"])
        self.stages = cast("Stages", generation.views["stages"])
        self.recall = self.recaller()
        generation.projector.catch_up()
        self.meaning.position = min(
            self.vectors.position, self.consolidated.position, self.cues.position, self.stages.position
        )
        anchored(generation, self.home.log)
        if before is not None:
            before.retire()

    def recaller(self) -> Recall:
        """The read side over the read models that are open."""
        views = (self.tables, self.words, self.vectors, self.consolidated, self.cues, self.stages)
        return recall_over({view.name: view for view in views}, self.policy, self.kinds.view)

    def _read_page(self, after: int, limit: int) -> list[Positioned]:
        return [Positioned(position, fact) for position, fact in self._reader.read(after, limit)]

    def sought(self, cue: str, scope: str) -> str:
        """What is embedded of a cue: its words but the names that stand in front of every fifth memory of the scope."""
        held = self.words.scope(scope)
        return query_text(cue, held.common() if held else ())

    def meant(
        self, cue: str, scope: str, session_id: str = ""
    ) -> tuple[np.ndarray | None, np.ndarray | None, tuple[str, ...]]:
        """The vector to search for a cue, that of the whole cue, and warnings; None for both without a cue or model."""
        if not cue:
            return None, None, ()
        texts = list(dict.fromkeys((self.sought(cue, scope), query_text(cue))))
        vectors, warnings = self.meaning.of_all(texts, session_id)
        return (vectors[0], vectors[-1], warnings) if vectors else (None, None, warnings)

    # -- the engine

    def on_engine(self, work: Callable[[], R]) -> R:
        """Run something on the engine's thread and wait for its result."""
        if threading.get_ident() == self._engine_thread:
            return work()
        return self._engine.submit(work).result()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A call is being answered: what has no hurry gives way to it."""
        with self._serving:
            self.in_flight += 1
        try:
            yield
        finally:
            with self._serving:
                self.in_flight -= 1

    def _soon(self, work: Callable[[], None]) -> None:
        """Run something on the engine's thread when it is its turn; nobody waits for it."""
        self._engine.submit(self._logged, work)

    @staticmethod
    def _logged(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            log.exception("the engine failed at something nobody waited for")

    def ask(self, operation: str, arguments: Mapping[str, Any], actor: Actor = PERSON, request_id: str = "") -> Answer:
        """The envelope that answers one operation, exactly as MCP and /api answer it."""
        from .catalogue import named  # noqa: PLC0415 - the operations there know the store

        return answered(self, named(operation), arguments, actor, request_id)

    # -- what operations read (on the engine)

    def now(self) -> datetime:
        """The time as of which a reader looks."""
        return self._clock()

    def catch_up(self) -> None:
        """Fold what the log gained: whoever wrote before reads it now."""
        if self.growth.ready:
            self.generation.projector.catch_up()

    def schema(self, memory_id: str) -> Schema:
        """The searchable record of a memory; NotFound when the id was never issued."""
        held = self.tables.schemas.get(memory_id)
        if held is None:
            raise NotFound(f"memory {memory_id!r} was never issued", hint="slw list shows the ids there are")
        return held

    def live(self, memory_id: str) -> bool:
        """Whether a verb may show the memory now."""
        held = self.tables.schemas.get(memory_id)
        return held is not None and held.live

    def remembers(self, scope: str) -> bool:
        """Whether the scope has a memory that a verb may show."""
        return any(schema.live for schema in self.tables.claims.of_scope(scope))

    def twin_of(self, scope: str) -> str:
        """Another scope with memories that is probably this one written in another way; empty when there is none."""
        folded = scope_twin(scope)
        others = (other for other in self.tables.claims.in_scope if other != scope)
        return next((other for other in others if scope_twin(other) == folded and self.remembers(other)), "")

    def contents(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        """The words of memories, by id."""
        return self.words.contents(memory_ids)

    def events_of(self, stream: str) -> list[tuple[int, Fact]]:
        """The facts of one stream, with their positions."""
        return self._reader.stream(stream)

    # -- policies and upkeep

    @property
    def busy(self) -> bool:
        """Whether something runs that an idle owner must not leave."""
        return not self.growth.ready or self.growth.rebuilding or self.meaning.working or self.kind_runner.active

    def expire_idle(self) -> list[str]:
        """Close the sessions that nobody named for a day (a setting); returns their ids."""
        return self.on_engine(self._expire_idle) if self.growth.ready else []

    def _expire_idle(self) -> list[str]:
        self.catch_up()
        idle = [(row.session_id, row.last_at) for row in self.tables.open_sessions()]
        expired = self.memories.expire_idle(idle, self.settings.session_lifetime, Call(SYSTEM))
        self.catch_up()
        return expired

    def flush_if_due(self) -> None:
        """Write the read models behind the log, when enough was folded or enough time went by."""
        if self.growth.ready:
            self.on_engine(self._flush_if_due)

    def _flush_if_due(self) -> None:
        self.catch_up()
        waiting = self.tables.position - self.tables.flushed
        due = time.monotonic() - self.flushed_at >= self.settings.flush_seconds
        if waiting >= self.settings.flush_events or (waiting and due):
            self.flush()

    def flush(self) -> None:
        """Make every read model durable up to where it is."""
        self.generation.projector.flush()
        self.flushed_at = time.monotonic()

    def settle(self, seconds: float | None = 60.0) -> bool:
        """Wait until every read model, vectors included, is at the end of the log; False when that took too long."""
        self.growth.require()
        end = self.memories.position()
        self.meaning.told("", end)
        there = self.meaning.wait_for(end, seconds)
        self.on_engine(self.catch_up)
        return there

    def status(self) -> dict[str, Any]:
        """How everything stands."""
        positions = self.generation.projector.positions()
        end = self.memories.position()
        live = sum(schema.live for schema in self.tables.schemas.values())
        problems = [*self.settings.problems, *self.generation.mended]
        problems += [f"{view}: {why}" for view, why in self.generation.projector.failures.items()]
        if self.meaning.failure:
            problems.append(f"embeddings: {self.meaning.failure}")
        problems += self.kinds.settings().problems
        choice = self.kinds.choice()
        return {
            "home": str(self.home.path),
            "version": VERSION,
            "position": end,
            "memories": {"live": live, "all": len(self.tables.schemas)},
            "procedures": len(self.tables.procedures),
            "open_sessions": len(self.tables.open_sessions()),
            "scopes": len(self.tables.claims.in_scope),
            "generation": self.generation.directory.name,
            "views": {name: {"position": at, "behind": end - at} for name, at in positions.items()},
            "written_to": self.tables.flushed,
            "embeddings": {
                "space": self.embedder.space,
                "loaded": self.embedder.loaded,
                "vectors": self.cache.count(),
                "waiting": self.meaning.pending,
            },
            "kinds": {"backend": self.kinds.settings().backend, "using": choice.backend, "why": choice.why},
            "problems": problems,
        }

    def close(self) -> None:
        """Write everything that is folded and let go of all files."""
        self.kind_runner.close()
        self.kind_policy.close()
        self.growth.close()
        self.meaning.close()
        try:
            self.on_engine(self._close)
        finally:
            self._engine.shutdown()

    def _close(self) -> None:
        if self.travels is not None:
            self.travels.close()
        if self.growth.ready:
            self.generation.projector.flush()
            anchored(self.generation, self.home.log)
            self.generation.projector.close()
        self.memories.close()
        self._reader.close()
        self._followed.close()
        self.cache.close()
