"""What takes a fact back: for each fact the compensating one, if it still stands and nothing of others builds on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .events import (
    ClaimPinned,
    ClaimPromoted,
    ClaimReinstated,
    ClaimRemembered,
    ClaimRestated,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    Compensated,
    CorrectionApplied,
    CorrectionOpened,
    CorrectionRejected,
    CorrectionReopened,
    CorrectionRolledBack,
    Fact,
    FeedbackGiven,
    FeedbackWithdrawn,
    KindConfirmed,
    KindReinstated,
    KindSuggested,
    KindWithdrawn,
    ProcedureReinstated,
    ProcedureWithdrawn,
    RestatementReinstated,
    RestatementWithdrawn,
    TaskCommitted,
)
from .kinds import KindFact
from .memory import Memory
from .session import Session
from .vocabulary import CorrectionState

Facts = Mapping[int, Fact]  # the facts of one stream by version
CaseMove = CorrectionOpened | CorrectionApplied | CorrectionRejected | CorrectionRolledBack | CorrectionReopened


def compensate_memory(memory: Memory, fact: Fact, facts: Facts, run_id: str) -> str:
    """Take one fact of a memory back; what became of it in one word, empty when it stands no more."""
    at = Compensated(stream=memory.id, version=fact.originator_version)
    match fact:
        case ClaimRemembered():
            return _withdraw_claim(memory, run_id)
        case ClaimRestated() | RestatementReinstated() | RestatementWithdrawn():
            return _restatement(memory, fact, facts, run_id)
        case ClaimRetired():
            version = fact.restores or fact.originator_version
            if version not in memory.retirements:
                return ""
            memory.happened(ClaimReinstated, compensates=Compensated(stream=memory.id, version=version), run_id=run_id)
            return "reinstated"
        case ClaimReinstated():
            return _retire_again(memory, fact, facts, run_id)
        case ClaimSuppressed():
            if memory.suppressed_at != fact.originator_version:
                return ""
            memory.happened(ClaimUnsuppressed, reason="undone", compensates=at, run_id=run_id)
            return "shown"
        case ClaimUnsuppressed():
            return _hide_again(memory, fact, facts, run_id)
        case KindSuggested() | KindConfirmed() | KindReinstated():
            version = fact.compensates.version if isinstance(fact, KindReinstated) else fact.originator_version
            if version not in memory.kind_facts:
                return ""
            memory.happened(KindWithdrawn, compensates=Compensated(stream=memory.id, version=version), run_id=run_id)
            return "kind_withdrawn"
        case KindWithdrawn():
            return _kind_again(memory, fact, facts, run_id)
        case CorrectionOpened() | CorrectionApplied() | CorrectionRejected() | CorrectionRolledBack():
            return _case(memory, fact, facts, run_id)
        case CorrectionReopened():
            return _case(memory, fact, facts, run_id)
        case ClaimPromoted() | ClaimPinned():
            return _stage(memory, fact, facts, run_id)
        case _:
            return ""


def compensate_session(session: Session, fact: Fact, facts: Facts, run_id: str) -> str:
    """Take one fact of a session back: feedback and the procedure; what was asked, shown and decided is history."""
    match fact:
        case FeedbackGiven() | FeedbackWithdrawn():
            return _feedback(session, fact, facts, run_id)
        case TaskCommitted() | ProcedureReinstated():
            if not session.procedure_id:
                return ""
            session.happened(
                ProcedureWithdrawn,
                procedure_id=session.procedure_id,
                compensates=Compensated(stream=session.id, version=session.committed_version),
                run_id=run_id,
            )
            return "procedure_withdrawn"
        case ProcedureWithdrawn():
            if session.procedure_id:
                return ""
            session.happened(
                ProcedureReinstated, procedure_id=fact.procedure_id, compensates=fact.compensates, run_id=run_id
            )
            return "procedure_reinstated"
        case _:
            return ""


def withdrawn_by_undo(memory: Memory) -> bool:
    """Whether an undo holds the claim withdrawn."""
    return any(r.reason == "withdrawn" and r.run_id and not r.retrieval_id for r in memory.retirements.values())


def cancelled(facts: Sequence[Fact]) -> set[tuple[str, int]]:
    """Which of the facts to be undone (stream, version) took each other back already: such a pair is left alone."""
    by_place = {(f.originator_id, f.originator_version): f for f in facts}
    found: set[tuple[str, int]] = set()
    toggled: dict[str, ClaimSuppressed | ClaimUnsuppressed] = {}
    for fact in facts:
        place = fact.originator_id, fact.originator_version
        named = getattr(fact, "compensates", None)
        target = by_place.get((named.stream, named.version)) if isinstance(named, Compensated) else None
        if isinstance(fact, ClaimSuppressed | ClaimUnsuppressed):
            last = toggled.pop(fact.originator_id, None)
            if last is None or type(last) is type(fact):
                toggled[fact.originator_id] = fact
            else:
                target = last
        if target is not None:
            found |= {place, (target.originator_id, target.originator_version)}
    return found


def built_upon(memory: Memory, facts: Facts, run: frozenset[tuple[str, int]]) -> str:
    """What others did that stands on the claim, in words; empty when nothing does. `run` are the facts undone."""
    taken_back = {
        fact.compensates.version
        for fact in facts.values()
        if isinstance(fact, RestatementWithdrawn) and _restatement_out(facts, fact.compensates.version)
    }
    promoted, pinned = "scoped", None
    for version, fact in facts.items():
        if (memory.id, version) in run:
            continue
        match fact:
            case ClaimRestated() if version not in taken_back:
                return f"told again {_whose(fact)}"
            case KindConfirmed() if version in memory.kind_facts:
                return f"its kind was confirmed {_whose(fact)}"
            case ClaimPromoted():
                promoted = fact.stage
            case ClaimPinned():
                pinned = fact.stage
            case _:
                pass
    if promoted != "scoped" or pinned is not None:
        return f"a person held it {pinned or promoted}"
    return ""


def _whose(fact: Fact) -> str:
    session_id = getattr(fact, "session_id", "")
    return f"in {session_id}" if session_id else f"by {fact.actor.name or fact.actor.kind}"


def _withdraw_claim(memory: Memory, run_id: str) -> str:
    # Also where something else retired it already: were only that undone later, the claim must not come back.
    if memory.erased or withdrawn_by_undo(memory):
        return ""
    memory.happened(ClaimRetired, reason="withdrawn", explanation=f"undone by {run_id}", run_id=run_id)
    return "withdrawn"


def _restatement_out(facts: Facts, version: int) -> bool:
    """Whether the restatement at `version` counts no more: the last word on it was a withdrawal."""
    out = False
    for fact in facts.values():
        match fact:
            case RestatementWithdrawn() if fact.compensates.version == version:
                out = True
            case RestatementReinstated() if fact.compensates.version == version:
                out = False
            case _:
                pass
    return out


def _restatement(
    memory: Memory, fact: ClaimRestated | RestatementWithdrawn | RestatementReinstated, facts: Facts, run_id: str
) -> str:
    told = fact.originator_version if isinstance(fact, ClaimRestated) else fact.compensates.version
    back = isinstance(fact, RestatementWithdrawn)
    if _restatement_out(facts, told) != back:
        return ""
    memory.happened(
        RestatementReinstated if back else RestatementWithdrawn,
        compensates=Compensated(stream=memory.id, version=told),
        run_id=run_id,
    )
    return "restatement_reinstated" if back else "restatement_withdrawn"


def _retire_again(memory: Memory, fact: ClaimReinstated, facts: Facts, run_id: str) -> str:
    version = fact.compensates.version
    retired = facts.get(version)
    if version in memory.retirements or not isinstance(retired, ClaimRetired):
        return ""
    memory.happened(
        ClaimRetired,
        reason=retired.reason,
        explanation=retired.explanation,
        replaced_by=retired.replaced_by,
        session_id=retired.session_id,
        retrieval_id=retired.retrieval_id,
        # A withdrawal keeps the name of the undo that made it, so that it is known for one.
        run_id=run_id,
        restores=version,
    )
    return "retired_again"


def _hide_again(memory: Memory, fact: ClaimUnsuppressed, facts: Facts, run_id: str) -> str:
    last = max((v for v, f in facts.items() if isinstance(f, ClaimSuppressed | ClaimUnsuppressed)), default=0)
    if memory.suppressed_at or last != fact.originator_version:
        return ""
    hidden = max((v for v, f in facts.items() if isinstance(f, ClaimSuppressed)), default=0)
    reason = getattr(facts.get(hidden), "reason", "")
    memory.happened(ClaimSuppressed, reason=reason, run_id=run_id)
    return "hidden"


def _kind_again(memory: Memory, fact: KindWithdrawn, facts: Facts, run_id: str) -> str:
    version = fact.compensates.version
    if version in memory.kind_facts:
        return ""
    said = _as_kind_fact(facts.get(version))
    if said is None:
        return ""
    memory.happened(
        KindReinstated,
        compensates=Compensated(stream=memory.id, version=version),
        kind=said.kind,
        source=said.source,
        confidence=said.confidence,
        recipe=said.recipe,
        typed_by=said.run_id,
        run_id=run_id,
    )
    return "kind_reinstated"


def _as_kind_fact(fact: Fact | None) -> KindFact | None:
    match fact:
        case KindSuggested():
            return KindFact(fact.originator_version, fact.kind, fact.source, fact.confidence, fact.recipe, fact.run_id)
        case KindConfirmed():
            return KindFact(fact.originator_version, fact.kind, fact.source)
        case _:
            return None


def _case(memory: Memory, fact: CaseMove, facts: Facts, run_id: str) -> str:
    """Back to where the case stood before the fact, if it still stands where the fact brought it."""
    if memory.cases[fact.case_id].state != _brought(fact):
        return ""
    if isinstance(fact, CorrectionOpened):
        memory.happened(
            CorrectionRolledBack if fact.applied else CorrectionRejected, case_id=fact.case_id, run_id=run_id
        )
        return "case_rolled_back" if fact.applied else "case_rejected"
    earlier = [
        _brought(f)
        for f in facts.values()
        if isinstance(f, CaseMove) and f.case_id == fact.case_id and f.originator_version < fact.originator_version
    ]
    before = earlier[-1]
    match before:
        case "rejected":
            memory.happened(CorrectionRejected, case_id=fact.case_id, run_id=run_id)
        case "rolled_back":
            memory.happened(CorrectionRolledBack, case_id=fact.case_id, run_id=run_id)
        case _:
            memory.happened(CorrectionReopened, case_id=fact.case_id, applied=before == "applied", run_id=run_id)
    return f"case_{before}"


def _brought(fact: CaseMove) -> CorrectionState:
    """The state to which a fact brings its case."""
    match fact:
        case CorrectionOpened() | CorrectionReopened():
            return "applied" if fact.applied else "proposed"
        case CorrectionApplied():
            return "applied"
        case CorrectionRejected():
            return "rejected"
        case CorrectionRolledBack():
            return "rolled_back"


def _stage(memory: Memory, fact: ClaimPromoted | ClaimPinned, facts: Facts, run_id: str) -> str:
    """Back to the stage before, if no later word was said on it."""
    same = [f for f in facts.values() if type(f) is type(fact)]
    if same[-1] != fact:
        return ""
    before = same[-2].stage if len(same) > 1 else None
    if isinstance(fact, ClaimPromoted):
        memory.happened(ClaimPromoted, stage=before or "scoped", run_id=run_id)
    else:
        memory.happened(ClaimPinned, stage=before, run_id=run_id)
    return "stage_restored"


def _feedback(session: Session, fact: FeedbackGiven | FeedbackWithdrawn, facts: Facts, run_id: str) -> str:
    given, back = fact, False
    while isinstance(given, FeedbackWithdrawn):
        given, back = facts.get(given.compensates.version), not back
    if not isinstance(given, FeedbackGiven):
        return ""
    if back:
        found = [version for version, taken in session.withdrawn.items() if taken == given]
        version = found[0] if found else 0
    else:
        version = given.originator_version if given.originator_version in session.feedback else 0
    if not version:
        return ""
    targets = (*(v.memory_id for v in given.memories), *(v.procedure_id for v in given.procedures))
    session.happened(
        FeedbackWithdrawn,
        compensates=Compensated(stream=session.id, version=version),
        run_id=run_id,
        targets=tuple(dict.fromkeys(targets)),
    )
    return "feedback_reinstated" if back else "feedback_withdrawn"
