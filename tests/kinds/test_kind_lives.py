"""Random lives of kinds, runs and reverts, with kills among the steps, beside a plain model of what must hold."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule
from kinds_support import guess, opened, told
from slw.adapters.log import LogReader, log_environment
from slw.consolidation.policy import FoldPolicy
from slw.domain.backfill import ALLOWED, BatchCounts
from slw.domain.errors import Conflict, SlwError
from slw.domain.memories import Memories
from slw.projections.projector import Positioned
from slw.projections.tables import Tables
from tests_support import Clock, agent, person

AUTHORITY = {"person": 6, "caller": 5, "llm": 3, "hosted": 3, "local": 3, "rules": 2, "legacy": 1}
kinds = st.sampled_from(["semantic", "rule", "decision", "status"])
guessing = st.sampled_from(["llm", "local", "rules", "legacy"])
sure = st.sampled_from([0.1, 0.5, 0.9])
recipes = st.sampled_from(["r1", "r2"])


@dataclass
class Said:
    kind: str
    source: str
    confidence: float = 1.0
    recipe: str = ""
    run: str = ""

    @property
    def confirmed(self):
        return self.source in ("person", "caller")


@dataclass
class Claim:
    """The model of one memory: what was said of its kind and not withdrawn, in order."""

    said: list[Said] = field(default_factory=list)
    live: bool = True
    suppressed: bool = False

    @property
    def standing(self):
        best = None
        for one in self.said:
            if best is None or AUTHORITY[one.source] >= AUTHORITY[best.source]:
                best = one
        return best

    def takes(self, made: Said):
        held = self.standing
        if held is None:
            return True
        same = (held.kind, held.source, held.confidence, held.recipe) == (
            made.kind,
            made.source,
            made.confidence,
            made.recipe,
        )
        return not held.confirmed and AUTHORITY[held.source] <= AUTHORITY[made.source] and not same


@dataclass
class Run:
    mode: str
    state: str = "queued"
    waiting: list[str] = field(default_factory=list)  # not judged yet, in log order
    typed: list[str] = field(default_factory=list)
    reverted: int = 0
    kept: list[str] = field(default_factory=list)


class Lives(RuleBasedStateMachine):
    memory = Bundle("memory")
    run = Bundle("run")

    @initialize()
    def begins(self):
        self.folder = tempfile.TemporaryDirectory(prefix="slw-lives-")
        self.home = Path(self.folder.name)
        self.clock = Clock()
        self.claims: dict[str, Claim] = {}
        self.runs: dict[str, Run] = {}
        self.counter = 0
        self.open()

    def open(self):
        self.memories = Memories(log_environment(self.home / "log.db"), clock=self.clock)
        self.session = opened(self.memories)
        self.tables = Tables(self.home / "model.duckdb", FoldPolicy())
        self.reader = LogReader(self.home / "log.db")

    def shut(self):
        self.tables.close()  # unflushed folds are lost, as after a kill
        self.reader.close()
        self.memories.close()

    def teardown(self):
        if hasattr(self, "folder"):
            self.shut()
            self.folder.cleanup()

    def look(self):
        while page := self.reader.read(self.tables.position, 50):
            self.tables.apply([Positioned(*row) for row in page])

    # -- memories

    @rule(target=memory, kind=st.none() | kinds, by_agent=st.booleans())
    def remember(self, kind, by_agent):
        self.counter += 1
        made = told(
            self.memories, f"claim {self.counter}", session_id=self.session if by_agent else "", kind=kind
        ).memory_id
        self.claims[made] = Claim([Said(kind, "caller" if by_agent else "person")] if kind else [])
        return made

    @rule(memory=memory, kind=st.none() | kinds)
    def restate(self, memory, kind):
        claim = self.claims[memory]
        if not claim.live:
            return
        content = self.memories.memory(memory).content
        told(self.memories, content.upper(), session_id=self.session, kind=kind)
        if kind and not (claim.standing and claim.standing.confirmed):
            claim.said.append(Said(kind, "caller"))

    @rule(memory=memory, kind=kinds, source=guessing, confidence=sure, recipe=recipes)
    def suggest(self, memory, kind, source, confidence, recipe):
        made = Said(kind, source, confidence, recipe)
        changed = self.memories.suggest_kinds([(memory, guess(kind, source, confidence, recipe))], agent())
        claim = self.claims[memory]
        assert bool(changed) == (claim.live and claim.takes(made))
        if changed:
            claim.said.append(made)

    @rule(memory=memory, kind=st.none() | kinds, by_person=st.booleans())
    def confirm(self, memory, kind, by_person):
        claim = self.claims[memory]
        held = claim.standing
        source = "person" if by_person else "caller"
        [outcome] = self.memories.confirm_kinds([(memory, kind)], person() if by_person else agent())
        wanted = kind or (held.kind if held else None)
        if wanted is None or (held and held.source == "person" and not by_person and held.kind != wanted):
            assert isinstance(outcome, Conflict)
        elif held and held.confirmed and held.kind == wanted and AUTHORITY[held.source] >= AUTHORITY[source]:
            assert not outcome.changed
        else:
            assert outcome.changed
            claim.said.append(Said(wanted, source))

    @rule(memory=memory)
    def suppress_or_show(self, memory):
        claim = self.claims[memory]
        change = self.memories.unsuppress if claim.suppressed else self.memories.suppress
        change(memory, "", person())
        claim.suppressed = not claim.suppressed

    @rule(target=memory, memory=memory)
    def replace(self, memory):
        claim = self.claims[memory]
        self.counter += 1
        if not claim.live:
            return memory
        made = told(self.memories, f"claim {self.counter}", replaces=memory).memory_id
        claim.live = False
        self.claims[made] = Claim()
        return made

    # -- runs

    def active(self):
        return next((i for i, r in self.runs.items() if r.state in ("queued", "running", "paused", "reverting")), None)

    @rule(target=run, mode=st.sampled_from(["untyped", "refresh"]))
    def start(self, mode):
        active = self.active()
        if active:
            with pytest.raises(Conflict):
                self.memories.start_backfill(mode, "rules", 0, person())
            return active
        run_id = self.memories.start_backfill(mode, "rules", len(self.claims), person()).id
        self.runs[run_id] = Run(mode, waiting=list(self.claims))
        return run_id

    @rule(run=run, action=st.sampled_from(["pause", "resume", "cancel", "revert"]))
    def act(self, run, action):
        held = self.runs[run]
        allowed = held.state in ALLOWED[action]
        if action in ("resume", "revert") and self.active() not in (None, run):
            allowed = False
        try:
            self.memories.act_on_run(run, action, person())
        except Conflict:
            assert not allowed
            return
        assert allowed
        held.state = {"pause": "paused", "resume": "running", "cancel": "cancelled", "revert": "reverting"}[action]

    @rule(count=st.integers(1, 4), kind=kinds, source=guessing, confidence=sure, recipe=recipes)
    @precondition(lambda self: self.active() and self.runs[self.active()].state in ("queued", "running"))
    def type_a_batch(self, count, kind, source, confidence, recipe):
        run_id = self.active()
        held = self.runs[run_id]
        if held.state == "queued":
            self.memories.take_up_run(run_id, agent())
            held.state = "running"
        batch, held.waiting = held.waiting[:count], held.waiting[count:]
        if not batch:
            self.memories.complete_run(run_id, agent())
            held.state = "completed"
            return
        made = guess(kind, source, confidence, recipe)
        done = self.memories.type_batch(run_id, [(m, made) for m in batch], BatchCounts(1, len(batch)), agent())
        for memory_id in batch:
            claim = self.claims[memory_id]
            statement = Said(kind, source, confidence, recipe, run_id)
            free = claim.live and not claim.suppressed and (held.mode == "refresh" or claim.standing is None)
            if free and claim.takes(statement):
                claim.said.append(statement)
                held.typed.append(memory_id)
        assert list(done.typed) == held.typed

    @rule()
    @precondition(lambda self: self.active() and self.runs[self.active()].state == "running")
    def fail(self):
        self.memories.fail_run(self.active(), "five errors in a row", agent())
        self.runs[self.active()].state = "failed"

    @rule(count=st.integers(1, 5))
    @precondition(lambda self: self.active() and self.runs[self.active()].state == "reverting")
    def revert_a_batch(self, count):
        run_id = self.active()
        held = self.runs[run_id]
        done = self.memories.revert_batch(run_id, count, agent())
        for memory_id in held.typed[held.reverted : held.reverted + count]:
            claim = self.claims[memory_id]
            if claim.standing and claim.standing.run != run_id:
                held.kept.append(memory_id)
            claim.said = [one for one in claim.said if one.run != run_id]
        held.reverted = min(len(held.typed), held.reverted + count)
        if held.reverted == len(held.typed):
            held.state = "reverted"
        assert (done.state, list(done.kept)) == (held.state, held.kept)

    # -- time and trouble

    @rule(flushed=st.booleans())
    def kill(self, flushed):
        self.look()
        if flushed:
            self.tables.flush()
        self.shut()
        self.open()

    @rule(seconds=st.integers(1, 100))
    def time_passes(self, seconds):
        self.clock.passes(seconds=seconds)

    # -- what must hold

    @invariant()
    def every_memory_is_held_to_be_what_the_model_says(self):
        if not hasattr(self, "claims"):
            return
        self.look()
        for memory_id, claim in self.claims.items():
            standing, schema = claim.standing, self.tables.schemas[memory_id]
            told_of = (standing.kind, standing.source, standing.confidence) if standing else (None, None, None)
            assert (schema.kind, schema.kind_source, schema.kind_confidence) == told_of
        for run_id, held in self.runs.items():
            row = self.tables.runs[run_id]
            assert (row.state, row.changed, row.reverted, row.kept) == (
                held.state,
                len(held.typed),
                held.reverted,
                len(held.kept),
            )

    @rule()
    def the_table_of_kinds_holds_every_statement_that_stands_and_no_other(self):
        self.look()
        rows = self.tables.query(
            "select memory_id, kind, source, confidence, recipe, run_id from kinds order by position"
        )
        found: dict[str, list[tuple]] = {}
        for memory_id, *said in (tuple(row.values()) for row in rows):
            found.setdefault(memory_id, []).append(tuple(said))
        wanted = {
            memory_id: [(s.kind, s.source, s.confidence, s.recipe, s.run) for s in claim.said]
            for memory_id, claim in self.claims.items()
            if claim.said
        }
        assert found == wanted

    @rule(memory=memory)
    def the_stream_tells_the_same(self, memory):
        held, claim = self.memories.memory(memory).kind, self.claims[memory]
        assert (held.kind, held.source) == (claim.standing.kind, claim.standing.source) if held else not claim.standing

    @rule()
    def nobody_else_is_typed(self):
        with pytest.raises(SlwError):
            self.memories.revert_preview("run_unknown")


Lives.TestCase.settings = settings(
    max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLives = Lives.TestCase


@pytest.mark.long
def test_many_lives():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=150, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
