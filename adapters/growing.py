"""The read models that answer, or those that are on their way: grown from the log beside everything else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from ..domain.errors import Unavailable
from ..projections.generation import Generation
from ..projections.succession import Succession

log = logging.getLogger("slw")

# Fewer facts than this are folded before the first answer: it takes less than a second.
NEAR: Final = 3_000
READ_WAIT_SECONDS: Final = 5.0
# Vectors may be far behind for a good reason (no model); they are no reason to keep words waiting.
UNHURRIED: Final = ("vectors",)


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

    @property
    def percent(self) -> int:
        """How much of the log is folded."""
        return 100 if self._ready.is_set() else 100 * self._reached // max(1, self._end())

    @property
    def ready(self) -> bool:
        return self._ready.is_set()

    def close(self) -> None:
        """Stop growing; an unfinished generation is removed by the next owner."""
        self._closing = True
        if self._thread is not None:
            self._thread.join()

    def _grow(self, generation: Generation) -> None:
        def note(reached: int, _: int) -> None:
            self._reached = reached

        try:
            while self._end() - hurried(generation) > NEAR:
                before = hurried(generation)
                generation.grow(self._end(), note, lambda: not self._closing)
                if self._closing:
                    generation.retire()
                    return
                if hurried(generation) == before:
                    raise RuntimeError(str(generation.projector.failures))
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
