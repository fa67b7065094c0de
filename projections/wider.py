"""Wider: the claims that are held beyond their scope, or may be, and what that means for each scope."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..consolidation.generalization import Evidence, held, reach
from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..domain.kinds import KindFact, standing_kind
from ..domain.vocabulary import Stage

# Each claim that something may carry beyond its scope: the founders of twins, and what a person widened.
CARRIED: Final = """
SELECT founder FROM claims WHERE founder IS NOT NULL
UNION SELECT coalesce(founder, no) FROM claims WHERE promoted <> 'scoped' OR pinned IS NOT NULL ORDER BY 1"""
LIVE: Final = """
SELECT no, memory_id, scope, session, said, promoted, pinned FROM claims
WHERE (no = ? OR founder = ?) AND retirements = '' AND NOT suppressed AND NOT erased ORDER BY no"""
TWINS: Final = "SELECT no, memory_id, scope, session FROM claims WHERE no = ? OR founder = ? ORDER BY no"
SAID: Final = """
SELECT scope, session_id, retrieval_id, word FROM elsewhere WHERE no = ? AND withdrawn_by = 0
ORDER BY session_id, version"""


class Member(NamedTuple):
    """A live claim of a group of twins, with its stage; `behind` is the twin that is shown in its place, if any."""

    no: int
    memory_id: str
    scope: str
    stage: Stage
    behind: str = ""


class Wider:
    """Judges a group of twins when something about it changed and somebody asks; the rest stays as it was judged."""

    def __init__(self, db: sqlite3.Connection, policy: FoldPolicy, names: Mapping[int, str]) -> None:
        """`names` are the scopes by their numbers; they grow while claims are told."""
        self._db, self._policy, self._names = db, policy, names
        self._active = {scope: None for (scope,) in db.execute("SELECT scope FROM scopes WHERE active ORDER BY no")}
        self._groups: dict[int, list[Member]] = {}
        self._waiting: dict[int, None] = dict.fromkeys(no for (no,) in db.execute(CARRIED))
        self._changed()

    def activated(self, scope: str) -> None:
        """A scope counts from its first commit on; every share is one of other scopes then."""
        if scope not in self._active:
            self._active[scope] = None
            self._waiting.update(dict.fromkeys(self._groups))
            self._changed()

    def touched(self, root: int) -> None:
        """Something about a group of twins, or a claim by itself, is other than it was."""
        self._waiting[root] = None
        self._changed()

    def touched_if_known(self, root: int) -> None:
        """The same, where it matters only for a claim that is held, or may be, beyond its scope."""
        if root in self._groups or root in self._waiting:
            self.touched(root)

    def _changed(self) -> None:
        self._by_id: dict[str, Member] = {}
        self._in_scope: dict[str, tuple[dict[str, float], frozenset[str]]] = {}

    def members(self) -> dict[str, Member]:
        """Every claim that is held beyond its scope or stands behind a twin, by memory id."""
        if self._waiting:
            for root in self._waiting:
                members = self._judge(root)
                if len(members) > 1 or any(member.stage != "scoped" for member in members):
                    self._groups[root] = members
                else:
                    self._groups.pop(root, None)
            self._waiting.clear()
            self._changed()
        if not self._by_id:
            self._by_id = {m.memory_id: m for root in sorted(self._groups) for m in self._groups[root]}
        return self._by_id

    def _judge(self, root: int) -> list[Member]:
        """The live claims of one group of twins, each with its stage; the oldest carries what all of them earned."""
        live = self._db.execute(LIVE, (root, root)).fetchall()
        if not live:
            return []
        first, names = live[0], self._names
        kind = self._kind(first[0])
        counted = [row for row in live if row[4] == first[4] or self._kind(row[0]) == kind]
        found: list[Member] = []
        for row in live:
            no, memory_id, scope, _, _, promoted, pinned = row
            name = names[scope]
            stage = held(
                self._evidence(counted if row is first else [row]), self._active, self._policy, promoted, pinned
            )
            behind = first[1] if row is not first and row in counted and scope != first[2] else ""
            found.append(Member(no, memory_id, name, stage, behind))
        return found

    def _kind(self, no: int) -> str:
        facts = self._db.execute("SELECT version, kind, source FROM kinds WHERE no = ?", (no,))
        standing = standing_kind(KindFact(version, kind, source) for version, kind, source in facts)
        return standing.kind if standing else ""

    def _evidence(self, rows: Sequence[Any]) -> Evidence:
        """What the tellings of these claims, and the verdicts of other scopes on them, come to."""
        names = self._names
        told: dict[str, dict[str, None]] = {}
        words: dict[str, dict[str, list[str]]] = {}
        for no, memory_id, scope, session, *_ in rows:
            told.setdefault(names[scope], {})[session or memory_id] = None
            last: dict[str, tuple[int, str, str]] = {}
            for number, session_id, retrieval_id, word in self._db.execute(SAID, (no,)):
                last[retrieval_id] = number, session_id, word
            for number, session_id, word in last.values():
                words.setdefault(names[number], {}).setdefault(word, []).append(session_id)
        used: dict[str, list[str]] = {}
        against: list[str] = []
        for scope, said in words.items():
            for_it, no_use = said.get("used", []), [*said.get("irrelevant", ()), *said.get("stale", ())]
            if len(no_use) > len(for_it):
                against.append(scope)
            elif for_it:
                used[scope] = for_it
        return Evidence(names[rows[0][2]], told, used, against)

    def stage_of(self, memory_id: str) -> Stage:
        """How widely a claim is held."""
        member = self.members().get(memory_id)
        return member.stage if member else "scoped"

    def visible(self, scope: str, policy: ReadPolicy) -> tuple[dict[str, float], frozenset[str]]:
        """What a scope sees beyond and short of its own claims.

        First the claims of other scopes that may be shown in it, by memory id, each with what its score counts for;
        then the claims in whose place a twin is shown.
        """
        members = self.members()
        if scope not in self._in_scope:
            shares = {m.memory_id: reach(m.stage, m.scope, scope, policy) for m in members.values()}
            hidden = frozenset(m.memory_id for m in members.values() if shares.get(m.behind, 0.0) > 0)
            foreign = {
                m.memory_id: shares[m.memory_id]
                for m in members.values()
                if m.scope != scope and shares[m.memory_id] > 0 and m.memory_id not in hidden
            }
            self._in_scope[scope] = foreign, hidden
        return self._in_scope[scope]

    def story(self, memory_id: str) -> dict[str, Any]:
        """What a claim's stage rests on, for people who ask why."""
        row = self._db.execute(
            "SELECT coalesce(founder, no), promoted, pinned FROM claims WHERE memory_id=?", (memory_id,)
        ).fetchone()
        if row is None:
            return {}
        twins = self._db.execute(TWINS, (row[0], row[0])).fetchall()
        evidence = self._evidence(twins)
        return {
            "stage": self.stage_of(memory_id),
            "promoted": row[1],
            "pinned": row[2] or "",
            "twins": [twin[1] for twin in twins if twin[1] != memory_id],
            "told_in": sorted(evidence.told),
            "used_in": sorted(evidence.used),
            "against_in": sorted(evidence.against),
            "active_scopes": len(self._active),
        }
