"""What concerns the store as a whole: which settings it runs under, noticed as facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from pydantic import JsonValue

from .aggregate import Aggregate
from .events import Fact, SettingsChanged
from .writing import Call, Decision, Work, Writing

STORE = "store"


class StoreStream(Aggregate):
    """The one stream of the store; `settings` are the values that were last noticed."""

    PREFIX = STORE

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.settings: dict[str, JsonValue] = {}

    def notice_settings(self, settings: Mapping[str, JsonValue]) -> bool:
        """Take down what differs from what was noticed last; True when anything does."""
        changed = {name: value for name, value in settings.items() if self._differs(name, value)}
        if changed:
            self.happened(SettingsChanged, settings=changed)
        return bool(changed)

    def _differs(self, name: str, value: JsonValue) -> bool:
        # true and 1 are equal to Python and not to us.
        held = self.settings.get(name)
        return name not in self.settings or held != value or isinstance(held, bool) != isinstance(value, bool)

    def when(self, fact: Fact) -> None:
        if isinstance(fact, SettingsChanged):
            self.settings.update(fact.settings)


class Keeping(Writing):
    """The part of the write side that keeps the store's own record."""

    def noticed_settings(self) -> dict[str, JsonValue]:
        """The settings as the log last told them."""
        return dict(self._store().settings)

    def notice_settings(self, settings: Mapping[str, JsonValue], call: Call) -> bool:
        """Record the settings that are other than the log knows; True when there were any."""

        def decide(work: Work) -> Decision[bool]:
            changed = self._enlist(self._store(), work).notice_settings(settings)
            return Decision(lambda _: changed)

        return self._carry_out(call, None, decide)

    def _store(self) -> StoreStream:
        return StoreStream.replay(STORE, cast("Iterable[Fact]", self.events.get(STORE)))
