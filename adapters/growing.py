"""The read models that answer, or those that are on their way: grown from the log beside everything else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..domain.errors import Conflict, Unavailable
from ..projections.generation import Generation
from ..projections.succession import Succession

log = logging.getLogger("slw")

# Fewer facts than this are folded before the first answer: it takes less than a second.
NEAR: Final = 3_000
READ_WAIT_SECONDS: Final = 5.0
# Vectors may be far behind for a good reason (no model); they are no reason to keep words waiting.
UNHURRIED: Final = ("vectors", "consolidated", "cues", "stages")


class Growth:
    """Finds or grows the generation to read. `end()` tells how far the log goes, `live(generation)` takes it over."""

    def __init__(self, succession: Succession, end: Callable[[], int], live: Callable[[Generation], None]) -> None:
        self.succession = succession
        self.why = ""
        self.failure = ""
        self._end = end
        self._live = live
        self._reached = 0
        self._ready = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        self._rebuilding = threading.Lock()
        self.rebuilt = ""  # how the last rebuild ended

    def begin(self) -> None:
        """Take the current generation, or one that is grown at once, or let a thread grow it."""
        self.succession.clean()
        generation, self.why = self.succession.open_current(self._end())
        if generation is None:
            generation = self.succession.create()
        for mended in generation.mended:
            log.warning("mending %s", mended)
        if self._end() - hurried(generation) <= NEAR:
            self._finish(generation)
            return
        log.info("growing %s: %s", generation.directory.name, self.why or "it is far behind the log")
        self._thread = threading.Thread(target=self._grow, args=(generation,), name="slw-grow", daemon=True)
        self._thread.start()

    def require(self) -> None:
        """Wait a little for the read models; raises Unavailable with how far they are."""
        if self._ready.wait(READ_WAIT_SECONDS):
            return
        if self.failure:
            raise Unavailable(
                f"the read models cannot be grown: {self.failure}", hint="slw doctor; slw.log has the cause"
            )
        raise Unavailable(
            f"the read models are being grown from the log, {self.percent} % done",
            hint="send the call again in a moment",
        )

    def wait(self) -> None:
        """Wait as long as it takes; raises Unavailable when the read models cannot be grown."""
        while not (self._ready.wait(0.05) or self.failure):
            pass
        self.require()

    @property
    def percent(self) -> int:
        """How much of the log is folded."""
        growing = self.rebuilding or not self._ready.is_set()
        return min(100, 100 * self._reached // max(1, self._end())) if growing else 100

    @property
    def rebuilding(self) -> bool:
        """Whether a new generation is being grown beside the live one."""
        return self._rebuilding.locked()

    def rebuild(self, prepare: Callable[[Path], None]) -> None:
        """Begin to grow a new generation beside the live one, which answers until the new one stands.

        `prepare(folder)` may put files of single views there first; those are not grown. Raises Conflict while
        another rebuild is under way.
        """
        self.require()
        if not self._rebuilding.acquire(blocking=False):
            raise Conflict("a rebuild is under way", hint="wait until it is done; slw status tells how far it is")
        try:
            self._reached, self.rebuilt = 0, ""
            generation = self.succession.create(prepare)
            self._thread = threading.Thread(target=self._rebuild, args=(generation,), name="slw-rebuild", daemon=True)
            self._thread.start()
        except BaseException:
            self._rebuilding.release()
            raise

    def _rebuild(self, generation: Generation) -> None:
        try:
            self._grow_near(generation)
            if self._closing:
                return
            self._finish(generation)
            self.rebuilt = generation.directory.name
        except Exception as fault:
            self.rebuilt = f"failed: {type(fault).__name__}: {fault}"
            generation.retire()
            log.exception("rebuilding %s failed", generation.directory.name)
        finally:
            self._rebuilding.release()

    def go_back(self) -> str:
        """Read from the generation before the live one again; returns its name. Conflict when none can be read."""
        self.require()
        if self.rebuilding:
            raise Conflict("a rebuild is under way", hint="wait until it is done; slw status tells how far it is")
        generation, why = self.succession.back(self._end())
        if generation is None:
            raise Conflict(why, hint="slw rebuild grows a new one from the log")
        self._live(generation)
        return generation.directory.name

    @property
    def ready(self) -> bool:
        return self._ready.is_set()

    def close(self) -> None:
        """Stop growing; an unfinished generation is removed by the next owner."""
        self._closing = True
        if self._thread is not None:
            self._thread.join()

    def _grow_near(self, generation: Generation) -> None:
        """Grow it until little is left to fold; retired where the owner leaves meanwhile."""

        def note(reached: int, _: int) -> None:
            self._reached = reached

        while self._end() - hurried(generation) > NEAR:
            before = hurried(generation)
            generation.grow(self._end(), note, lambda: not self._closing)
            if self._closing:
                generation.retire()
                return
            if hurried(generation) == before:
                raise RuntimeError(str(generation.projector.failures))

    def _grow(self, generation: Generation) -> None:
        try:
            self._grow_near(generation)
            if not self._closing:
                self._finish(generation)
        except Exception as fault:
            self.failure = f"{type(fault).__name__}: {fault}"
            log.exception("growing %s failed", generation.directory.name)

    def _finish(self, generation: Generation) -> None:
        if not generation.complete:
            generation.projector.catch_up()
            self.succession.adopt(generation)
        self._live(generation)
        self._ready.set()


def hurried(generation: Generation) -> int:
    """How far the read models are that an answer cannot do without."""
    positions = generation.projector.positions()
    return min(position for name, position in positions.items() if name not in UNHURRIED)
