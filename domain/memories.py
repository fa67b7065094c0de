"""Memories: the write side. One method per thing a caller may ask; each is one transaction on the log, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from .curation import Curating
from .errors import Conflict, InvalidInput, NotFound, ScopeMismatch, SlwError
from .events import Exposure, MemoryVerdict, ProcedureVerdict
from .identity import claim_key
from .kinds import declared_kind
from .memory import Claim, Memory
from .results import Activated, Committed, Exposed, FeedbackTaken, Remembered
from .session import Cursor, Ending, Session, Shown
from .undoing import Undoing
from .verdicts import Rejection
from .vocabulary import Coverage, Kind
from .writing import Call, Decision, Positions, Work


class Memories(Curating, Undoing):
    """The five verbs of an agent, and (inherited) what people, policies and runs do to memories."""

    # -- the five verbs

    def activate(
        self,
        *,
        task: str,
        initial_goal: str,
        scope: str,
        continuity_id: str,
        shown: Shown,
        call: Call,
        phrase: Callable[[Activated], str] | None = None,
    ) -> Activated:
        """Open a task and record what it was shown, in one transaction."""

        def decide(work: Work) -> Decision[Activated]:
            if continuity_id:
                self.require_continuity(continuity_id, scope)
            session = Session(self._ids(Session.PREFIX, work.at))
            session.work = work
            token = continuity_id or self._ids("cont", work.at)
            retrieval_id = self._ids("ret", work.at)
            session.activate(task, initial_goal, scope, token, continued=bool(continuity_id))
            session.expose(retrieval_id, shown)
            return Decision(
                lambda at: Activated(
                    session.id, retrieval_id, token, bool(continuity_id), at(session.id, session.version)
                )
            )

        return self._carry_out(call, phrase, decide)

    def remember(
        self,
        *,
        session_id: str,
        scope: str,
        claims: Sequence[Claim],
        call: Call,
        phrase: Callable[[list[Remembered | SlwError]], str] | None = None,
    ) -> list[Remembered | SlwError]:
        """Tell claims, each for itself: the list holds what became of every one, in their order.

        Without a session (an empty id) the claims are a person's.
        """

        def decide(work: Work) -> Decision[list[Remembered | SlwError]]:
            if session_id:
                session = self.session(session_id)
                session.require_scope(scope)
                session.require_open("remember")
                work.session_id = session_id
            told = [self._tell(claim, scope, session_id, work) for claim in claims]
            return Decision(lambda at: [t if isinstance(t, SlwError) else t(at) for t in told])

        return self._carry_out(call, phrase, decide)

    def expose(
        self,
        *,
        session_id: str,
        shown: Shown,
        call: Call,
        phrase: Callable[[Exposed], str] | None = None,
    ) -> Exposed:
        """Record what a recall showed."""

        def decide(work: Work) -> Decision[Exposed]:
            session = self._enlist(self.session(session_id), work)
            retrieval_id = self._ids("ret", work.at)
            session.expose(retrieval_id, shown)
            return Decision(lambda at: Exposed(session.id, retrieval_id, at(session.id, session.version)))

        return self._carry_out(call, phrase, decide)

    def show_page(
        self,
        *,
        session_id: str,
        cursor: Cursor,
        next_offset: int,
        memories: tuple[Exposure, ...],
        call: Call,
        phrase: Callable[[Exposed], str] | None = None,
    ) -> Exposed:
        """Record a further page of an earlier retrieval."""

        def decide(work: Work) -> Decision[Exposed]:
            session = self._enlist(self.session(session_id), work)
            retrieval_id = self._ids("ret", work.at)
            session.show_page(retrieval_id, cursor, next_offset, memories)
            return Decision(lambda at: Exposed(session.id, retrieval_id, at(session.id, session.version)))

        return self._carry_out(call, phrase, decide)

    def feedback(
        self,
        *,
        retrieval_id: str,
        memories: Sequence[MemoryVerdict],
        procedures: Sequence[ProcedureVerdict],
        coverage: Coverage,
        call: Call,
        phrase: Callable[[FeedbackTaken], str] | None = None,
    ) -> FeedbackTaken:
        """Take verdicts on what one retrieval showed; what a verdict implies happens in the same transaction."""

        def decide(work: Work) -> Decision[FeedbackTaken]:
            session = self._enlist(self.session_of(retrieval_id), work)
            work.session_id = session.id
            verdicts = session.judge(
                retrieval_id,
                memories,
                procedures,
                coverage,
                lambda verdict: self._replacement_rejection(verdict, session.scope),
            )
            applied = [
                *((v.memory_id, self._apply_verdict(v, session, retrieval_id, work)) for v in verdicts.memories),
                *((v.procedure_id, v.effect or "noted") for v in verdicts.procedures),
            ]
            waiting = session.outstanding(retrieval_id)
            last = work.facts[-1] if work.facts else None
            return Decision(
                lambda at: FeedbackTaken(
                    session_id=session.id,
                    retrieval_id=retrieval_id,
                    accepted=tuple(dict.fromkeys(target for target, _ in applied)),
                    rejected=tuple(verdicts.rejected),
                    coverage="partial" if waiting else "complete",
                    outstanding_memories=tuple(waiting[0]["memory_ids"]) if waiting else (),
                    outstanding_procedures=tuple(waiting[0]["procedure_ids"]) if waiting else (),
                    applied=tuple(applied),
                    position=at(last.originator_id, last.originator_version) if last else self.position(),
                )
            )

        return self._carry_out(call, phrase, decide)

    def commit(
        self,
        *,
        session_id: str,
        ending: Ending,
        call: Call,
        phrase: Callable[[Committed], str] | None = None,
    ) -> Committed:
        """Close a task. The same commit again gives the same answer; another one is refused."""

        def decide(work: Work) -> Decision[Committed]:
            session = self._enlist(self.session(session_id), work)
            session.commit(ending)
            return Decision(
                lambda at: Committed(
                    session.id, ending.outcome, session.procedure_id, at(session.id, session.committed_version)
                )
            )

        return self._carry_out(call, phrase, decide)

    # -- rules that need more than one stream

    def require_continuity(self, token: str, scope: str) -> None:
        """The token must be one that this store issued for this scope."""
        first = self.ledger.lookup("continuity", token)
        if first is None or self.session(first).scope != scope:
            raise InvalidInput.at(
                "continuity_id",
                "was not issued by this store for this scope",
                "leave continuity_id out; the answer brings a fresh one",
            )

    def _tell(
        self, claim: Claim, scope: str, session_id: str, work: Work
    ) -> Callable[[Positions], Remembered] | SlwError:
        try:
            replaced = self._replaceable(claim.replaces, scope, work) if claim.replaces else None
            held_by = self._holder(claim_key(scope, claim.content), work)
            if held_by is not None and replaced is held_by:
                raise InvalidInput.at(
                    "replaces", "names the memory that says just this", "leave replaces out, or change the content"
                )
        except SlwError as refusal:
            return refusal
        conflict: tuple[Kind, Kind] | None = None
        if held_by is None:
            memory = Memory(self._ids(Memory.PREFIX, work.at))
            self._enlist(memory, work).remember(claim, scope, session_id)
            told = memory.version
            guess = None if memory.kind else self._suggest_kind(claim.content)
            if guess is not None:
                memory.suggest_kind(guess)
        else:
            memory = held_by
            wanted = declared_kind(claim.kind, claim.type)
            if memory.kind and memory.kind.confirmed and wanted and wanted != memory.kind.kind:
                conflict = (memory.kind.kind, wanted)
            self._enlist(memory, work).restate(claim, session_id)
            told = memory.version
        case_id = ""
        if replaced is not None:
            replaced.retire("superseded", f"replaced by {memory.id}", replaced_by=memory.id, session_id=session_id)
            case_id = self._ids("case", work.at)
            replaced.record_replacement(case_id, memory.id)
        disposition: Literal["created", "matched"] = "created" if held_by is None else "matched"
        kind, recorded_at = memory.kind, work.at
        return lambda at: Remembered(
            memory_id=memory.id,
            disposition=disposition,
            type=memory.type,
            kind=kind,
            recorded_at=recorded_at,
            occurred_at=claim.occurred_at,
            position=at(memory.id, told),
            replaced=claim.replaces,
            case_id=case_id,
            kind_conflict=conflict,
            suppressed=bool(memory.suppressed_at),
        )

    def _replaceable(self, memory_id: str, scope: str, work: Work) -> Memory:
        """The live memory of this scope that a new claim may replace."""
        memory = self._memory_in(memory_id, work)
        if memory.scope != scope:
            raise ScopeMismatch(
                f"{memory_id} belongs to scope {memory.scope!r}", hint="replace memories of your own scope only"
            )
        if not memory.live:
            raise Conflict(
                f"{memory_id} is retired already", hint="leave replaces out, or name the memory that holds now"
            )
        return self._enlist(memory, work)

    def _holder(self, key: str, work: Work) -> Memory | None:
        """The live memory that holds a claim key, this call's own changes included."""
        for held in work.touched.values():
            if isinstance(held, Memory) and held.live and held.key == key:
                return held
        stream = self.ledger.lookup("claim", key)
        if stream is None or stream in work.touched:
            return None
        return self.memory(stream)

    def _replacement_rejection(self, verdict: MemoryVerdict, scope: str) -> Rejection | None:
        """Why the replacement that a verdict names cannot stand in a memory's place."""
        named = verdict.replacement_memory_id
        if verdict.stale_reason != "superseded":
            return None
        try:
            replacement = self.memory(named)
        except NotFound:
            why = "was never issued"
        else:
            if replacement.scope == scope and replacement.live and not replacement.suppressed_at:
                return None
            why = "is of another scope" if replacement.scope != scope else "is not live"
        return Rejection(
            verdict.memory_id,
            f"the replacement {named} {why}",
            "replacement_memory_id",
            "remember the claim that holds now, then name its memory_id",
        )

    def _apply_verdict(self, verdict: MemoryVerdict, session: Session, retrieval_id: str, work: Work) -> str:
        """What a verdict does to its memory, in one word for the answer."""
        memory = self._memory_in(verdict.memory_id, work)
        retired = memory.retirement
        if verdict.assessment != "stale" or verdict.stale_reason is None:
            if retired is not None and retired.retrieval_id == retrieval_id:
                # The last assessment of a target counts: this one takes the earlier "stale" back.
                self._enlist(memory, work).reinstate(retired.version)
                return "reinstated"
            return {"used": "strengthened", "irrelevant": "weakened"}.get(verdict.assessment, "noted")
        if retired is not None:
            return "retired_before"
        if memory.scope != session.scope:
            return "noted"  # evidence against its wider stage; only its own scope may retire it
        if verdict.stale_reason in ("superseded", "contradicted") and memory.kind and memory.kind.source == "person":
            if any(c.state == "proposed" for c in memory.cases.values()):
                return "review_proposed"
            self._enlist(memory, work).propose_correction(
                self._ids("case", work.at),
                verdict.replacement_memory_id,
                verdict.stale_reason,
                verdict.reason,
            )
            return "review_proposed"
        self._enlist(memory, work).retire(
            verdict.stale_reason,
            verdict.reason,
            replaced_by=verdict.replacement_memory_id,
            session_id=session.id,
            retrieval_id=retrieval_id,
        )
        return "retired"
