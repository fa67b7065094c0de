"""Undo on the write side: what a session, run or client did is taken back by facts; nothing is deleted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from .aggregate import Aggregate
from .backfill import BackfillRun
from .backfilling import Backfilling
from .compensation import Facts, built_upon, cancelled, compensate_memory, compensate_session
from .errors import Conflict, InvalidInput, NotFound
from .events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimReinstated,
    ClaimRemembered,
    ClaimRetired,
    ContentErased,
    CorrectionOpened,
    Fact,
    KindConfirmed,
    KindSuggested,
    MemoryFact,
    SessionFact,
    UndoCompleted,
    UndoStarted,
)
from .keeping import Keeping
from .memory import Memory
from .session import Session
from .writing import Call, Decision, Work

REVERT_BATCH = 500


@dataclass(frozen=True, slots=True)
class Selector:
    """Whose doings are to be undone: of one session, of one run, or of one client since a time."""

    session_id: str = ""
    run_id: str = ""
    client: str = ""
    since: datetime | None = None

    def told(self) -> dict[str, str]:
        """The selector as the log keeps it."""
        since = {"since": self.since.isoformat()} if self.since else {}
        named = {"session": self.session_id, "run": self.run_id, "client": self.client}
        return {name: value for name, value in named.items() if value} | since

    def word(self) -> str:
        """What every fact that may be meant holds in its stored form."""
        if self.client in ("person", "system"):
            return f'"kind":"{self.client}"'
        return self.session_id or self.run_id or json.dumps(self.client, ensure_ascii=False)

    def means(self, fact: Fact) -> bool:
        """Whether the fact is one of those."""
        if not isinstance(fact, MemoryFact | SessionFact):
            return False
        run_id = getattr(fact, "run_id", "")
        if self.run_id or run_id:  # what a run did is undone by its run alone
            return run_id == self.run_id
        if self.session_id:
            return self.session_id in (fact.originator_id, getattr(fact, "session_id", ""))
        late_enough = self.since is None or fact.recorded_at >= self.since
        return late_enough and self.client in (fact.actor.name, fact.actor.kind)


@dataclass(frozen=True, slots=True)
class Undone:
    """One thing that was taken back: the fact at (stream, version), and in a word what became of it."""

    stream: str
    version: int
    topic: str
    became: str


@dataclass(slots=True)
class UndoReport:
    """What an undo came to. `kept` are ids that others build on, each with the reason. `position` is 0 when dry."""

    run_id: str
    undone: list[Undone] = field(default_factory=list[Undone])
    kept: dict[str, str] = field(default_factory=dict[str, str])
    position: int = 0


class Undoing(Backfilling, Keeping):
    """The part of the write side that takes back."""

    def undo(self, selector: Selector, call: Call, *, dry_run: bool = False) -> UndoReport:
        """Take back what the selector means, in one transaction under one run id, which can itself be undone.

        NotFound when it means nothing that ever happened; Conflict for a run that types and was reverted before.
        """
        if sum(map(bool, (selector.session_id, selector.run_id, selector.client))) != 1:
            raise InvalidInput("undo needs exactly one of session, run and client", hint="slw undo --session ID")
        if selector.run_id and self.ledger.position_of(selector.run_id, 1):
            return self._revert(selector.run_id, call, dry_run=dry_run)
        if dry_run:
            work = Work(at=self._now(), actor=call.actor)
            report, _ = self._decide_undo(selector, work)
            return report

        def decide(work: Work) -> Decision[UndoReport]:
            report, last = self._decide_undo(selector, work)

            def result(at: object) -> UndoReport:
                del at
                return report

            if last is None:
                return Decision(result)
            store, version = last
            return Decision(lambda at: _placed(report, at(store, version)))

        return self._carry_out(call, None, decide)

    def _decide_undo(self, selector: Selector, work: Work) -> tuple[UndoReport, tuple[str, int] | None]:
        facts = [fact for fact in self.ledger.naming(selector.word()) if selector.means(fact)]
        if not facts:
            raise NotFound(
                f"nothing in the log is of {' '.join(selector.told().values())}",
                hint="slw sessions lists sessions, slw log shows runs and clients",
            )
        report = UndoReport(self._ids(BackfillRun.PREFIX, work.at))
        store = self._enlist(self._store(), work)
        store.happened(UndoStarted, run_id=report.run_id, selector=selector.told())
        _Undo(self, facts, report, work).carry_out()
        if not report.undone:
            work.facts.clear()
            return report, None
        store.happened(
            UndoCompleted, run_id=report.run_id, compensated=len(report.undone), kept=tuple(sorted(report.kept))
        )
        return report, (store.id, store.version)

    def _revert(self, run_id: str, call: Call, *, dry_run: bool) -> UndoReport:
        """A run that types memories is taken back by its own rules, batch by batch."""
        report = UndoReport(run_id)
        run = self.run(run_id)
        if run.state == "reverted":
            raise Conflict(f"{run_id} was reverted before", hint=f"slw log --stream {run_id} shows when")
        going, kept = self.revert_preview(run_id)
        report.kept.update(dict.fromkeys(kept, "something else decides the kind it shows"))
        report.undone += [Undone(memory_id, 0, KindSuggested.TOPIC, "kind_withdrawn") for memory_id in going]
        if not dry_run:
            if run.state != "reverting":
                run = self.act_on_run(run_id, "revert", call)
            while run.state == "reverting":
                run = self.revert_batch(run_id, REVERT_BATCH, call)
            report.position = self.ledger.position_of(run_id, run.version)
        return report

    def history(self, stream: str) -> dict[int, Fact]:
        """The facts of one stream by their version."""
        return {fact.originator_version: fact for fact in cast("Iterable[Fact]", self.events.get(stream))}

    def enlisted(self, aggregate: Aggregate, work: Work) -> None:
        """Let an aggregate take part in the work."""
        self._enlist(aggregate, work)


def _placed(report: UndoReport, position: int) -> UndoReport:
    report.position = position
    return report


class _Undo:
    """One undo under way: goes through the facts, latest first, and collects what became of each."""

    def __init__(self, writing: Undoing, facts: list[Fact], report: UndoReport, work: Work) -> None:
        self.writing = writing
        self.facts = facts
        self.report = report
        self.work = work
        self.run = frozenset((f.originator_id, f.originator_version) for f in facts)
        self.told = {f.originator_id for f in facts if isinstance(f, ClaimRemembered)}
        self.held: dict[str, tuple[Memory | Session, dict[int, Fact]]] = {}

    def carry_out(self) -> None:
        self._keep_what_others_build_on()
        settled = cancelled(self.facts)
        for fact in reversed(self.facts):
            if (fact.originator_id, fact.originator_version) not in settled:
                self._take_back(fact)

    def _keep_what_others_build_on(self) -> None:
        retired = [f for f in self.writing.ledger.naming('"replaced_by"') if isinstance(f, ClaimRetired)]
        named = {f.replaced_by for f in retired if self._stands_outside(f)}
        for memory_id in sorted(self.told):
            memory, facts = self._of(memory_id)
            if not isinstance(memory, Memory):
                continue
            why = built_upon(memory, facts, self.run)
            if not why and memory_id in named:
                why = "another memory was retired in its favour since"
            if why:
                self.report.kept[memory_id] = why

    def _stands_outside(self, fact: ClaimRetired) -> bool:
        """Whether others made this retirement, in favour of what is to be undone, and it stands."""
        if fact.replaced_by not in self.told or (fact.originator_id, fact.originator_version) in self.run:
            return False
        memory, _ = self._of(fact.originator_id)
        return isinstance(memory, Memory) and (fact.restores or fact.originator_version) in memory.retirements

    def _take_back(self, fact: Fact) -> None:
        stream = fact.originator_id
        held, facts = self._of(stream)
        if isinstance(held, Memory):
            if not self._may_take_back(held, fact, facts):
                return
            # To the stage before the run, not to the run's own stage before.
            seen = {v: f for v, f in facts.items() if f is fact or not self._earlier_stage_of_the_run(f, fact)}
            became = compensate_memory(held, fact, seen, self.report.run_id)
        else:
            became = compensate_session(held, fact, facts, self.report.run_id)
        if became:
            facts[held.version] = self.work.facts[-1]
            self.report.undone.append(Undone(stream, fact.originator_version, fact.TOPIC, became))

    def _earlier_stage_of_the_run(self, fact: Fact, than: Fact) -> bool:
        return (
            isinstance(fact, ClaimPromoted | ClaimPinned)
            and type(fact) is type(than)
            and fact.originator_version < than.originator_version
            and (fact.originator_id, fact.originator_version) in self.run
        )

    def _may_take_back(self, memory: Memory, fact: Fact, facts: Facts) -> bool:
        if isinstance(fact, ContentErased):
            self.report.kept[memory.id] = "erased words do not come back"
            return False
        if memory.id in self.told and memory.id not in self.report.kept:
            return isinstance(fact, ClaimRemembered)  # what else was said of it goes with the claim
        if memory.id in self.report.kept:
            return not isinstance(fact, ClaimRemembered | KindSuggested | KindConfirmed)
        replacement = _replacement(fact, facts)
        if replacement and replacement in self.told and replacement in self.report.kept:
            self.report.kept[memory.id] = f"{replacement}, which holds in its place, is kept"
            return False
        if isinstance(fact, ClaimRetired):
            return self._words_are_free(memory)
        return True

    def _words_are_free(self, memory: Memory) -> bool:
        holder = self.writing.ledger.lookup("claim", memory.key)
        going = holder in self.told and holder not in self.report.kept
        if holder in (None, memory.id) or going:
            return True
        self.report.kept[memory.id] = f"{holder} says the same now"
        return False

    def _of(self, stream: str) -> tuple[Memory | Session, dict[int, Fact]]:
        found = self.held.get(stream)
        if found is None:
            facts = self.writing.history(stream)
            kind = Memory if stream.startswith(f"{Memory.PREFIX}_") else Session
            found = self.held[stream] = (kind.replay(stream, facts.values()), facts)
            self.writing.enlisted(found[0], self.work)
        return found


def _replacement(fact: Fact, facts: Facts) -> str:
    """Which memory a retirement, or the case about it, put in this one's place."""
    match fact:
        case ClaimRetired():
            return fact.replaced_by
        case CorrectionOpened():
            return fact.replacement_id
        case ClaimReinstated():
            retired = facts.get(fact.compensates.version)
            return retired.replaced_by if isinstance(retired, ClaimRetired) else ""
        case _:
            return ""
