"""The policy that lets a model guess kinds after memories were saved, and that notices settings changed by hand."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..domain.errors import SlwError
from ..domain.events import Actor, ClaimRemembered, Fact
from ..domain.memory import KindGuess
from ..domain.writing import Call
from .kind_backends import SAVE_BUDGET, Choice, ModelFailed
from .kind_desk import KindDesk
from .kind_settings import PREFIX, KindSettings
from .log import LogReader

if TYPE_CHECKING:
    from .store import Store

log = logging.getLogger("slw")

TICK_SECONDS: Final = 1.0  # how soon an edit of kinds.json is noticed, and how long a suggestion may take to begin
PAGE: Final = 200
BATCH: Final = 8


class KindPolicy:
    """One thread with a position of its own in the log; what it appends is the same however often it is done."""

    name = "kind_suggestions"

    def __init__(self, store: Store, desk: KindDesk, actor: Actor, place: Path) -> None:
        self._store = store
        self._desk = desk
        self._call = Call(actor)
        self._place = place
        self._closing = threading.Event()
        self._noticed: KindSettings | None = None  # the reading of the file that the log knows about
        self.position = 0
        self._backend = ""  # who guessed up to `position`
        self._thread = threading.Thread(target=self._work, name="slw-kind-policy", daemon=True)

    def start(self, end: int) -> None:
        """Begin where the last owner stopped; a store that never had a policy begins at its end.

        What is older is for a run, which asks first: it may send text to a model.
        """
        held, self._backend = self._stored()
        if held is None:
            self._backend = self._desk.choice().backend
        self.position = end if held is None else min(held, end)
        if held != self.position:
            self._keep()
        self._thread.start()

    def close(self) -> None:
        """Finish the batch at hand and stop."""
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    # -- the thread

    def _work(self) -> None:
        reader = LogReader(self._store.home.log)
        while not self._closing.wait(TICK_SECONDS):
            if not self._store.growth.ready:
                continue
            try:
                settings = self._desk.settings()
                if settings is not self._noticed:
                    self._store.on_engine(self._notice)
                    self._noticed = settings
                self._suggest(reader)
            except SlwError as refused:
                log.warning("kind suggestions wait: %s", refused.message)
            except Exception:
                if not self._closing.is_set():
                    log.exception("kind suggestions failed at position %d", self.position)
        reader.close()

    def _notice(self) -> None:
        """Take down what someone changed in the file by hand."""
        changed = self._desk.unnoticed(self._store.memories.noticed_settings())
        if changed:
            self._store.memories.notice_settings(changed, self._call)
            log.info("settings were changed by hand: %s", ", ".join(name.removeprefix(PREFIX) for name in changed))

    def _suggest(self, reader: LogReader) -> None:
        choice = self._desk.choice()
        end = self._store.memories.position()
        if choice.backend != self._backend:
            # What was told under another backend was not told for this one, least of all for one that sends it away.
            self._backend = choice.backend
            self._advance(end)
        if choice.backend in ("off", "rules"):
            self._advance(end)
            return
        if choice.backend == "local":
            end = min(end, self._store.meaning.position)
            if end > self.position:
                self._teach()
        while self.position < end and not self._closing.is_set():
            page = reader.read(self.position, PAGE, end)
            for start in range(0, len(page), BATCH):
                some = page[start : start + BATCH]
                self._guess([fact for _, fact in some], choice)
                self._advance(some[-1][0])
                if self._closing.is_set():
                    return

    def _guess(self, facts: Sequence[Fact], choice: Choice) -> None:
        told = [(f.originator_id, f.content) for f in facts if isinstance(f, ClaimRemembered) and not f.kind]
        if not told:
            return
        try:
            guesses = self._desk.guesses([content for _, content in told], choice, SAVE_BUDGET)
        except ModelFailed as failed:
            self._desk.failure = str(failed)
            log.warning("the rules' guesses hold: %s", failed)
            return
        self._desk.failure = ""
        made = list(zip((memory_id for memory_id, _ in told), guesses, strict=True))
        self._store.on_engine(lambda: self._append(made))

    def _append(self, made: list[tuple[str, KindGuess]]) -> None:
        self._store.memories.suggest_kinds(made, self._call)
        self._store.catch_up()

    def _teach(self) -> None:
        """Let the on-device model learn from what people confirmed since."""
        store = self._store

        def confirmed() -> list[tuple[str, str]]:
            held = [s for s in store.tables.schemas.values() if s.live and s.kind_source == "person" and s.kind]
            words = store.contents([schema.memory_id for schema in held])
            return [(words[s.memory_id], s.kind) for s in held if s.memory_id in words and s.kind]

        self._desk.teach(store.on_engine(confirmed), store.embedder.embed)

    # -- its position

    def _advance(self, position: int) -> None:
        if position > self.position:
            self.position = position
            self._keep()

    def _keep(self) -> None:
        beside = self._place.with_suffix(".new")
        try:
            beside.write_text(json.dumps({self.name: {"position": self.position, "backend": self._backend}}))
            beside.replace(self._place)
        except OSError as fault:
            log.warning("%s cannot be written: %s", self._place.name, fault)

    def _stored(self) -> tuple[int | None, str]:
        with suppress(OSError, ValueError, TypeError, LookupError):
            held = json.loads(self._place.read_text())[self.name]
            return int(held["position"]), str(held["backend"])
        return None, ""
