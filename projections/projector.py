"""The projector: feeds pages of the log to every view, each from where it stands, and never skips a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from ..domain.events import Fact

PAGE = 1_000


class Positioned(NamedTuple):
    """A fact and its place in the log: dense, from 1."""

    position: int
    fact: Fact


ReadPage = Callable[[int, int], Sequence[Positioned]]  # (after, limit) -> the facts behind `after`, in order


class Damaged(Exception):
    """A view's files are missing in part, unreadable or of another shape; the view can be grown anew from the log."""


class View(Protocol):
    """One way of looking at the log. It folds facts and nothing else, never another view."""

    name: str

    @property
    def position(self) -> int:
        """Everything up to here is folded (in memory); 0 when nothing is."""
        ...

    def apply(self, page: Sequence[Positioned]) -> None:
        """Fold a page; facts at or below `position` are ignored, so that twice is once.

        A view may stop early where something it needs is not there yet; `position` then says how far it came.
        When a fold raises, what came before that fact stays folded and `position` stands before it.
        """
        ...

    def flush(self) -> None:
        """Make it durable up to `position`: rows and position in one transaction."""
        ...

    def digest(self) -> dict[str, str]:
        """Table or index name to sha256 (hex) over its durable rows in id order; no decayed value, no file byte."""
        ...

    def counts(self) -> dict[str, int]:
        """How many durable rows stand behind each digest."""
        ...

    def come_to_rest(self) -> None:
        """Bring everything folded into the view's own files, so that a copy of them is whole."""
        ...

    def close(self) -> None:
        """Let go of files; what was not flushed is folded again from the log next time."""
        ...


@dataclass(frozen=True, slots=True)
class ViewKind:
    """How to open one view in a directory, and which files there are its own; adding a view is adding one of these.

    `version` changes with anything that makes the same facts come to other rows. `open` makes what is missing, and
    raises Damaged when what is there cannot be read; the files are then set aside and the view is grown anew.
    """

    name: str
    version: str
    files: tuple[str, ...]
    open: Callable[[Path], View]


class Projector:
    """Keeps views at the end of the log.

    A view that raises stops where it stands and `failures` says why; the others go on. It is fed again after
    `retry()`, or when the store is opened anew.
    """

    def __init__(self, read_page: ReadPage, views: Iterable[View]) -> None:
        self._read_page = read_page
        self.views = {view.name: view for view in views}
        self.failures: dict[str, str] = {}
        self._stopped: dict[str, bool] = {}
        # The page at which a view came to rest, so that it can look again without reading the log anew.
        self._resting: dict[str, Sequence[Positioned]] = {}

    def catch_up(self, to: int | None = None) -> None:
        """Feed every view up to position `to`, or as far as the log goes now."""
        waiting = [view for name, view in self.views.items() if name not in self._stopped and self._woke(view, to)]
        while waiting := [view for view in waiting if to is None or view.position < to]:
            start = min(view.position for view in waiting)
            page = self._read_page(start, PAGE if to is None else min(PAGE, to - start))
            if not page:
                return
            end = page[-1].position
            waiting = [view for view in waiting if view.position >= end or self._feed(view, page)]
            if to is None and len(page) < PAGE:
                return

    def _feed(self, view: View, page: Sequence[Positioned]) -> bool:
        """Give the page to the view; False when it is not to be fed further for now."""
        try:
            view.apply(page)
        except Exception as fault:  # noqa: BLE001 - whatever a fold raises, the view stops, says so, and the others go on
            self._stopped[view.name] = True
            self.failures[view.name] = f"stopped at {view.position}: {type(fault).__name__}: {fault}"
            return False
        if view.position < page[-1].position:
            self._resting[view.name] = page
            return False
        return True

    def _woke(self, view: View, to: int | None) -> bool:
        """Whether a view that came to rest can go on; asking costs no reading of the log."""
        page = self._resting.pop(view.name, None)
        if page is None:
            return True
        if to is not None and page[-1].position > to:
            page = [at for at in page if at.position <= to]
        return not page or page[-1].position <= view.position or self._feed(view, page)

    def retry(self) -> None:
        """Let views that stopped try again at the next catch_up."""
        self._stopped.clear()
        self.failures.clear()

    def flush(self) -> None:
        """Make every view durable up to its position.

        One that cannot be written (a full disk) says so in `failures`, keeps what it folded, goes on folding, and is
        written by a later flush.
        """
        for name, view in self.views.items():
            try:
                view.flush()
            except Exception as fault:  # noqa: BLE001 - one view's disk trouble must not keep the others from being written
                self.failures[name] = f"not written at {view.position}: {type(fault).__name__}: {fault}"
            else:
                if name not in self._stopped:
                    self.failures.pop(name, None)

    def positions(self) -> dict[str, int]:
        """How far each view has folded."""
        return {name: view.position for name, view in self.views.items()}

    def digests(self) -> dict[str, str]:
        """Every table's and index's digest, after writing all of them."""
        self.flush()
        return {name: digest for view in self.views.values() for name, digest in view.digest().items()}

    def close(self) -> None:
        """Write what is folded and let go of all files."""
        self.flush()
        for view in self.views.values():
            view.close()
