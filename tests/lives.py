"""Random lives: what agents and people may do in a store, drawn from a seed, through the real write side."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

from slw.domain.backfill import BatchCounts
from slw.domain.errors import SlwError
from slw.domain.events import Exposure, MemoryVerdict, Procedure, ProcedureVerdict, Verification
from slw.domain.memories import Memories
from slw.domain.memory import Claim, KindGuess
from slw.domain.results import Remembered
from slw.domain.session import Ending
from slw.domain.vocabulary import KINDS, MEMORY_TYPES
from tests_support import Clock, agent, person, shown

SUBJECTS = ("Anna", "the build", "the parser", "checkout", "the log", "Ben", "the cache", "release 2")
DEEDS = ("uses", "needs", "rejects", "prefers", "waits for", "was moved to", "must never touch", "broke")
THINGS = ("tabs", "Postgres", "a feature flag", "blue paint", "Python 3.11", "two reviewers", "Tuesday", "the old API")
SCOPES = ("project:app", "project:web", "team:core")


class Life:
    """One store's life. Every step is a call that a caller may make; what is refused is part of life."""

    def __init__(self, memories: Memories, clock: Clock, seed: int) -> None:
        self.memories = memories
        self.clock = clock
        self.chance = random.Random(seed)
        self.open: dict[str, str] = {}
        self.sessions: list[str] = []
        self.known: dict[str, str] = {}
        self.procedures: dict[str, str] = {}
        self.retrievals: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
        self.runs: list[str] = []

    def steps(self, count: int) -> None:
        """Live for that many steps."""
        for _ in range(count):
            self.step()

    def step(self) -> None:
        """One thing happens, or is refused."""
        self.clock.passes(minutes=self.chance.choice((0, 1, 7, 90, 2_000)))
        deeds: list[tuple[int, Callable[[], object]]] = [
            (3, self.activate),
            (8, self.remember),
            (5, self.recall),
            (5, self.feedback),
            (2, self.commit),
            (1, self.hide_or_show),
            (2, self.say_kind),
            (1, self.correct),
            (1, self.run),
            (1, self.expire),
        ]
        [deed] = self.chance.choices([d for _, d in deeds], [w for w, _ in deeds])
        try:
            deed()
        except SlwError:
            return

    def words(self) -> str:
        pick = self.chance.choice
        return f"{pick(SUBJECTS)} {pick(DEEDS)} {pick(THINGS)}"

    def some(self, pool: list[str], most: int) -> list[str]:
        return self.chance.sample(pool, min(len(pool), self.chance.randint(0, most)))

    def exposures(self, ids: list[str]) -> tuple[Exposure, ...]:
        return tuple(Exposure(target_id=i, rank=n, score=1 / n, parts={"words": 0.5}) for n, i in enumerate(ids, 1))

    def activate(self) -> None:
        scope = self.chance.choice(SCOPES)
        memories = self.some([m for m, s in self.known.items() if s == scope], 3)
        procedures = self.some([p for p, s in self.procedures.items() if s == scope], 2)
        made = self.memories.activate(
            task=self.words(),
            initial_goal=self.words(),
            scope=scope,
            continuity_id="",
            shown=shown(
                memories=self.exposures(memories),
                procedures=self.exposures(procedures),
                cue=self.words(),
                as_of=self.clock.now,
            ),
            call=agent(),
        )
        self.open[made.session_id] = scope
        self.sessions.append(made.session_id)
        self.retrievals[made.retrieval_id] = (made.session_id, tuple(memories), tuple(procedures))

    def remember(self) -> None:
        by_person = self.chance.random() < 0.1
        session, scope = ("", self.chance.choice(SCOPES)) if by_person else self.joined()
        here = [m for m, s in self.known.items() if s == scope]
        claims = [
            Claim(
                self.words(),
                self.chance.choice(MEMORY_TYPES),
                self.chance.choice((None, None, *KINDS)),
                replaces=self.chance.choice(here) if here and self.chance.random() < 0.1 else "",
            )
            for _ in range(self.chance.randint(1, 3))
        ]
        caller = person() if by_person else agent()
        for made in self.memories.remember(session_id=session, scope=scope, claims=claims, call=caller):
            if isinstance(made, Remembered):
                self.known[made.memory_id] = scope

    def recall(self) -> None:
        session, scope = self.joined()
        memories = self.some([m for m, s in self.known.items() if s == scope], 5)
        made = self.memories.expose(
            session_id=session,
            shown=shown("recall", memories=self.exposures(memories), cue=self.words(), as_of=self.clock.now),
            call=agent(),
        )
        self.retrievals[made.retrieval_id] = (session, tuple(memories), ())

    def feedback(self) -> None:
        retrieval_id = self.chance.choice(sorted(self.retrievals) or ["ret_none"])
        _, memories, procedures = self.retrievals.get(retrieval_id, ("", (), ()))
        self.memories.feedback(
            retrieval_id=retrieval_id,
            memories=[self.verdict(m) for m in memories if self.chance.random() < 0.8],
            procedures=[
                ProcedureVerdict(
                    procedure_id=p, use="used", effect=self.chance.choice(("helped", "harmed")), contribution="it did"
                )
                for p in procedures
            ],
            coverage="partial",
            call=agent(),
        )

    def verdict(self, memory_id: str) -> MemoryVerdict:
        assessment = self.chance.choice(("used", "used", "used", "irrelevant", "not_used", "stale"))
        if assessment != "stale":
            return MemoryVerdict(memory_id=memory_id, assessment=assessment)
        others = [m for m, s in self.known.items() if s == self.known[memory_id] and m != memory_id]
        if others and self.chance.random() < 0.5:
            return MemoryVerdict(
                memory_id=memory_id,
                assessment="stale",
                stale_reason="superseded",
                reason="another holds",
                replacement_memory_id=self.chance.choice(others),
            )
        return MemoryVerdict(memory_id=memory_id, assessment="stale", stale_reason="outdated", reason="it moved on")

    def commit(self) -> None:
        session, scope = self.joined()
        for retrieval_id, (of, memories, procedures) in self.retrievals.items():
            if of == session and (memories or procedures):
                self.memories.feedback(
                    retrieval_id=retrieval_id,
                    memories=[MemoryVerdict(memory_id=m, assessment="used") for m in memories],
                    procedures=[ProcedureVerdict(procedure_id=p, use="not_used") for p in procedures],
                    coverage="complete",
                    call=agent(),
                )
        method = Procedure(summary=self.words(), steps=(self.words(),), caveats=("mind the gap",))
        outcome = self.chance.choice(("success", "partial", "failure"))
        made = self.memories.commit(
            session_id=session,
            ending=Ending(
                self.words(),
                outcome,
                self.words(),
                Verification(status="verified", summary="ran it"),
                method if self.chance.random() < 0.6 else None,
            ),
            call=agent(),
        )
        self.open.pop(session, None)
        if made.procedure_id:
            self.procedures[made.procedure_id] = scope

    def hide_or_show(self) -> None:
        memory_id = self.chance.choice(sorted(self.known) or ["mem_none"])
        hidden = self.memories.memory(memory_id).suppressed_at
        (self.memories.unsuppress if hidden else self.memories.suppress)(memory_id, "", person())

    def say_kind(self) -> None:
        memory_id = self.chance.choice(sorted(self.known) or ["mem_none"])
        kind = self.chance.choice(KINDS)
        if self.chance.random() < 0.5:
            self.memories.confirm_kinds([(memory_id, kind)], self.chance.choice((person(), agent())))
        else:
            self.memories.suggest_kinds([(memory_id, KindGuess(kind, "local", 0.6, recipe="r"))], agent())

    def correct(self) -> None:
        for memory_id in sorted(self.known):
            for case in self.memories.memory(memory_id).cases.values():
                action = {"proposed": self.chance.choice(("apply", "reject")), "applied": "rollback"}.get(case.state)
                if action and self.chance.random() < 0.5:
                    self.memories.settle_correction(case.case_id, action, case.version, person())
                    return

    def run(self) -> None:
        """A whole run that types memories, and sometimes its taking back."""
        if self.runs and self.chance.random() < 0.3:
            run_id = self.chance.choice(self.runs)
            self.memories.act_on_run(run_id, "revert", person())
            while self.memories.run(run_id).state == "reverting":
                self.memories.revert_batch(run_id, 3, person())
            return
        pool = self.some(sorted(self.known), 4)
        run_id = self.memories.start_backfill("untyped", "local", len(pool), person()).id
        self.memories.take_up_run(run_id, person())
        guesses = [(m, KindGuess(self.chance.choice(KINDS), "local", 0.7, recipe="run")) for m in pool]
        self.memories.type_batch(run_id, guesses, BatchCounts(self.memories.position(), len(pool)), person())
        self.memories.complete_run(run_id, person())
        self.runs.append(run_id)

    def expire(self) -> None:
        idle = [(s, self.clock.now - timedelta(hours=30)) for s in self.some(list(self.open), 1)]
        for session_id in self.memories.expire_idle(idle, timedelta(hours=24), agent()):
            self.open.pop(session_id, None)

    def joined(self) -> tuple[str, str]:
        """An open session and its scope; opens one when there is none."""
        if not self.open:
            self.activate()
        session_id = self.chance.choice(sorted(self.open))
        return session_id, self.open[session_id]
