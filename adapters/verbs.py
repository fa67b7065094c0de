"""The five verbs as operations; and remember, feedback and commit, from a checked command to a worded answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..domain.errors import InvalidInput, SlwError
from ..domain.events import MemoryVerdict, Procedure, ProcedureVerdict, Verification
from ..domain.memory import Claim
from ..domain.results import Committed, FeedbackTaken, Remembered
from ..domain.session import Ending
from .commands import Activate, ClaimTold, Commit, Feedback, ProcedureTold, Recall, Remember
from .fields import parse
from .operations import Answer, Asked, Operation, settled
from .phrasing import told
from .recalling import activate, activation_cue, recall, the_session
from .showing import warned
from .signatures import ACTIVATE, COMMIT, FEEDBACK, RECALL, REMEMBER

if TYPE_CHECKING:
    from .store import Store


# ---------------------------------------------------------------- remember


def remember(store: Store, command: Remember, asked: Asked) -> Answer:
    """Store one claim, or a batch whose entries stand or fall each for itself."""
    session_id = the_session(command.session_id, asked)
    if command.memories is None:
        claims = {0: claim_of(command)}
        refused: dict[int, SlwError] = {}
    else:
        claims, refused = checked_entries(command.memories)

    def build(outcomes: list[Remembered | SlwError]) -> Answer:
        became = {**refused, **dict(zip(claims, outcomes, strict=True))}
        if command.memories is None:
            return remembered(store, outcome_or_raise(became[0]))
        entries = [batch_entry(store, index, became[index]) for index in sorted(became)]
        return {"results": entries, "stored": sum(entry["ok"] for entry in entries), "count": len(entries)}

    outcomes = store.memories.remember(
        session_id=session_id,
        scope=command.scope,
        claims=list(claims.values()),
        call=asked.call,
        phrase=settled(build),
    )
    positions = [outcome.position for outcome in outcomes if isinstance(outcome, Remembered)]
    if positions:
        store.meaning.told(session_id, max(positions))
    return build(outcomes)


def checked_entries(entries: Sequence[Any]) -> tuple[dict[int, Claim], dict[int, SlwError]]:
    """The entries of a batch that are well formed, and what is wrong with the others, by index."""
    claims: dict[int, Claim] = {}
    refused: dict[int, SlwError] = {}
    for index, entry in enumerate(entries):
        try:
            claims[index] = claim_of(parse(ClaimTold, entry, f"memories[{index}]"))
        except InvalidInput as wrong:
            refused[index] = wrong
    return claims, refused


def claim_of(told: Remember | ClaimTold) -> Claim:
    return Claim(
        content=told.content or "",
        type=told.type or "fact",
        kind=told.kind,
        occurred_at=told.occurred_at,
        replaces=told.replaces or "",
    )


def outcome_or_raise(outcome: Remembered | SlwError) -> Remembered:
    if isinstance(outcome, SlwError):
        raise outcome
    return outcome


def batch_entry(store: Store, index: int, outcome: Remembered | SlwError) -> Answer:
    """What became of one entry, in the envelope's form."""
    if isinstance(outcome, SlwError):
        return {"index": index, **outcome.envelope()}
    return {"index": index, "ok": True, "data": remembered(store, outcome)}


def remembered(store: Store, done: Remembered) -> Answer:
    """One claim as it stands in the log now."""
    answer: Answer = {
        "memory_id": done.memory_id,
        "disposition": done.disposition,
        "type": done.type,
        **store.kinds.told(done),
        "recorded_at": told(done.recorded_at),
        "position": done.position,
    }
    if done.occurred_at is not None:
        answer["occurred_at"] = told(done.occurred_at)
    if done.replaced:
        answer["replaced"] = done.replaced
        answer["case_id"] = done.case_id  # review_correction takes the replacement back by it
    if done.kind_conflict:
        kept, requested = done.kind_conflict
        answer["kind_conflict"] = {"kept": kept, "requested": requested}
    if done.suppressed:
        answer["warnings"] = warned(("suppressed",))
    return answer


# ---------------------------------------------------------------- feedback


def feedback(store: Store, command: Feedback, asked: Asked) -> Answer:
    """Take verdicts on what a retrieval showed."""

    def build(done: FeedbackTaken) -> Answer:
        return {
            "retrieval_id": done.retrieval_id,
            "accepted": list(done.accepted),
            "rejected": [
                {"target_id": r.target_id, "reason": r.reason, "field": r.field, "hint": r.hint} for r in done.rejected
            ],
            "coverage": done.coverage,
            "outstanding": {
                "memory_ids": list(done.outstanding_memories),
                "procedure_ids": list(done.outstanding_procedures),
            },
            "applied": [{"target_id": target, "change": change} for target, change in done.applied],
            "position": done.position,
        }

    done = store.memories.feedback(
        retrieval_id=command.retrieval_id,
        memories=[
            MemoryVerdict(
                memory_id=v.memory_id,
                assessment=v.assessment,
                stale_reason=v.stale_reason,
                reason=v.reason or "",
                replacement_memory_id=v.replacement_memory_id or "",
            )
            for v in command.on_memories
        ],
        procedures=[
            ProcedureVerdict(procedure_id=v.procedure_id, use=v.use, effect=v.effect, contribution=v.contribution or "")
            for v in command.on_procedures
        ],
        coverage=command.coverage,
        call=asked.call,
        phrase=settled(build),
    )
    store.meaning.told("", done.position)
    return build(done)


# ---------------------------------------------------------------- commit


def commit(store: Store, command: Commit, asked: Asked) -> Answer:
    """Close a task; what follows from it is folded after the answer."""
    session = store.memories.session(command.session_id)
    shown = any(r.memory_ids or r.procedure_ids for r in session.retrievals.values())

    def build(done: Committed) -> Answer:
        answer: Answer = {
            "committed": True,
            "session_id": done.session_id,
            "outcome": done.outcome,
            "feedback_status": "complete" if shown else "not_needed",
            "position": done.position,
        }
        return {**answer, "procedure_id": done.procedure_id} if done.procedure_id else answer

    verification = command.verification
    done = store.memories.commit(
        session_id=command.session_id,
        ending=Ending(
            final_goal=command.final_goal,
            outcome=command.outcome,
            outcome_summary=command.outcome_summary,
            verification=Verification(
                status=verification.status,
                summary=verification.summary,
                evidence_refs=tuple(verification.evidence_refs),
            ),
            procedure=procedure_of(command.procedure),
        ),
        call=asked.call,
        phrase=settled(build),
    )
    store.meaning.told("", done.position)
    return build(done)


def procedure_of(told_procedure: ProcedureTold | None) -> Procedure | None:
    if told_procedure is None:
        return None
    return Procedure(
        summary=told_procedure.summary,
        steps=tuple(step.summary for step in told_procedure.steps),
        caveats=tuple(told_procedure.caveats),
        context=told_procedure.context,
    )


VERBS: tuple[Operation, ...] = (
    Operation("activate", Activate, activate, "write", ACTIVATE, cue=activation_cue),
    Operation("remember", Remember, remember, "write", REMEMBER, reads=False),
    Operation(
        "recall",
        Recall,
        recall,
        "write",
        RECALL,
        cue=lambda command: command.query or "",
        session=lambda command: command.session_id or "",
    ),
    Operation("feedback", Feedback, feedback, "write", FEEDBACK, reads=False),
    Operation("commit", Commit, commit, "write", COMMIT, reads=False),
)
