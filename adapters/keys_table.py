"""The keys of the log as its facts give and take them: compared with the table, or written anew into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from ..domain.events import ClaimReinstated, ClaimRemembered, ClaimRetired, ContentErased, Fact
from ..domain.identity import claim_key
from ..domain.keys import key_changes
from .log import fact_of


class KeysFolded:
    """Which stream holds which key, and since which position. `erased` maps blanked positions to who blanked them."""

    def __init__(self, erased: Mapping[int, str]) -> None:
        self.held: dict[tuple[str, str], tuple[str, int]] = {}
        self.clashes: list[tuple[int, str]] = []
        self._of_stream: dict[tuple[str, str], list[str]] = {}
        self._claims: dict[str, str] = {}
        self._retired: dict[str, set[int]] = {}
        # The words behind their claim keys are gone, and such a claim holds no key at the end.
        self._erased = set(erased.values())

    def fold(self, position: int, fact: Fact) -> None:
        """Carry out what the fact does to the keys; a reinstated claim that was never told is found elsewhere."""
        if isinstance(fact, ClaimRemembered):
            self._claims[fact.originator_id] = claim_key(fact.scope, fact.content)
        if isinstance(fact, ClaimRetired):
            self._retired.setdefault(fact.originator_id, set()).add(fact.restores or fact.originator_version)
        elif isinstance(fact, ClaimReinstated):
            self._retired.get(fact.originator_id, set()).discard(fact.compensates.version)
        for change in key_changes(fact, self._key_of_live):
            if change.kind == "claim" and change.stream in self._erased:
                continue
            if change.change == "give_up":
                for key in self._of_stream.pop((change.stream, change.kind), ()):
                    self.held.pop((change.kind, key), None)
                continue
            holder = self.held.get((change.kind, change.key))
            if holder is None:
                self.held[change.kind, change.key] = change.stream, position
                self._of_stream.setdefault((change.stream, change.kind), []).append(change.key)
            elif change.change == "take" and holder[0] != change.stream:
                self.clashes.append((position, f"{change.stream} takes a {change.kind} key that {holder[0]} holds"))

    def _key_of_live(self, memory_id: str) -> str:
        return "" if self._retired.get(memory_id) else self._claims.get(memory_id, "")

    def differences(self, db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
        """Where the table differs from the log: (position, what)."""
        yield from self.clashes
        stored = {(kind, key): (stream, seq) for kind, key, stream, seq in db.execute("SELECT * FROM keys")}
        for kind, key in sorted(self.held.keys() - stored.keys()):
            stream, position = self.held[kind, key]
            yield position, f"the {kind} key of {stream} is missing in the table of keys"
        for kind, key in sorted(stored.keys() - self.held.keys()):
            yield stored[kind, key][1], f"the table of keys has a {kind} key of {stored[kind, key][0]} too many"
        for both in sorted(stored.keys() & self.held.keys()):
            if stored[both][0] != self.held[both][0]:
                yield stored[both][1], f"the {both[0]} key of {self.held[both][0]} points at {stored[both][0]}"


def erased_positions(db: sqlite3.Connection) -> dict[int, str]:
    """Which positions were blanked, and by which stream's erasure. Raises MapperDeserialisationError."""
    found: dict[int, str] = {}
    for stream, version, state in db.execute(
        "SELECT originator_id, originator_version, state FROM stored_events WHERE topic=? ORDER BY seq",
        (ContentErased.TOPIC,),
    ):
        fact = fact_of(stream, version, ContentErased.TOPIC, state)
        if isinstance(fact, ContentErased):
            found.update((position, str(stream)) for position in fact.positions)
    return found


def grow_back(path: Path) -> int:
    """Write the table of keys anew from the log, in one transaction that keeps writers waiting; returns how many keys.

    Raises sqlite3.OperationalError when the log is held by another program for longer than 30 s.
    """
    with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        keys = KeysFolded(erased_positions(db))
        for seq, stream, version, topic, state in db.execute(
            "SELECT seq, originator_id, originator_version, topic, state FROM stored_events ORDER BY seq"
        ):
            keys.fold(seq, fact_of(stream, version, topic, state))
        db.execute("DELETE FROM keys")
        db.executemany(
            "INSERT INTO keys VALUES (?,?,?,?)",
            [(kind, key, stream, seq) for (kind, key), (stream, seq) in keys.held.items()],
        )
        db.execute("COMMIT")
        return len(keys.held)
