"""Memory: one claim, from the telling to whatever ends it; nothing that was told is ever rewritten."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .aggregate import Aggregate
from .errors import Conflict
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
    ContentErased,
    CorrectionApplied,
    CorrectionOpened,
    CorrectionRejected,
    CorrectionReopened,
    CorrectionRolledBack,
    Fact,
    KindConfirmed,
    KindReinstated,
    KindSuggested,
    KindWithdrawn,
)
from .identity import claim_key
from .kinds import KindFact, declared_kind, standing_kind
from .vocabulary import (
    KIND_AUTHORITY,
    CorrectionAction,
    CorrectionState,
    Kind,
    KindSource,
    MemoryType,
    Stage,
    StaleReason,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a caller wants remembered, already trimmed and within its limits."""

    content: str
    type: MemoryType = "fact"
    kind: Kind | None = None
    occurred_at: datetime | None = None
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class KindGuess:
    """A kind that rules or a model suggest, how sure they are (0-1), which cue they saw, and by which recipe."""

    kind: Kind
    source: KindSource
    confidence: float
    cue: str = ""
    recipe: str = ""


@dataclass(frozen=True, slots=True)
class Retirement:
    """Why the claim holds no more, and which fact said so."""

    version: int
    reason: StaleReason
    replaced_by: str = ""
    retrieval_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class CorrectionCase:
    """A case about this claim: another one is held to stand in its place. `retired_at`: the retirement it brought."""

    case_id: str
    replacement_id: str
    reason: StaleReason
    state: CorrectionState
    version: int = 1
    retired_at: int = 0


class NotLive(Conflict):
    """The claim was retired before."""


class Memory(Aggregate):
    """One claim. `live` until it is retired; hidden while a person suppresses it."""

    PREFIX = "mem"

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.scope = ""
        self.session_id = ""
        self.content = ""
        self.type: MemoryType = "fact"
        self.kind_facts: dict[int, KindFact] = {}
        self.retirements: dict[int, Retirement] = {}
        self.suppressed_at = 0
        self.cases: dict[str, CorrectionCase] = {}
        self.erased = False
        self.promoted: Stage = "scoped"
        self.pinned: Stage | None = None

    # -- what holds

    @property
    def retirement(self) -> Retirement | None:
        """The latest retirement that was not taken back."""
        return max(self.retirements.values(), key=lambda r: r.version, default=None)

    @property
    def live(self) -> bool:
        return not self.retirements and not self.erased

    @property
    def key(self) -> str:
        """The key that the claim holds while it is live."""
        return claim_key(self.scope, self.content)

    @property
    def kind(self) -> KindFact | None:
        return standing_kind(self.kind_facts.values())

    # -- commands

    def happened(self, fact_class: type[Fact], **members: Any) -> None:
        """Add a fact, with the session in which the call is made."""
        if self.work is not None and self.work.session_id:
            members.setdefault("session_id", self.work.session_id)
        super().happened(fact_class, **members)

    def remember(self, claim: Claim, scope: str, session_id: str) -> None:
        """Tell a new claim; a kind that the caller declared is confirmed by it."""
        self.happened(
            ClaimRemembered,
            session_id=session_id,
            scope=scope,
            content=claim.content,
            type=claim.type,
            kind=declared_kind(claim.kind, claim.type),
            occurred_at=claim.occurred_at,
            replaces=claim.replaces,
        )

    def restate(self, claim: Claim, session_id: str) -> None:
        """The same words again: recorded, and a first kind declaration is taken; a later one changes nothing."""
        wanted = declared_kind(claim.kind, claim.type)
        self.happened(ClaimRestated, session_id=session_id, kind=wanted)
        if wanted and not (self.kind and self.kind.confirmed):
            self.happened(KindConfirmed, kind=wanted, source=self._declaring_source)

    def retire(
        self,
        reason: StaleReason,
        explanation: str,
        *,
        replaced_by: str = "",
        session_id: str = "",
        retrieval_id: str = "",
    ) -> None:
        """End the claim: it holds no more, or `replaced_by` holds in its place."""
        if not self.live:
            raise NotLive(f"{self.id} is not live any more", hint=f"slw show {self.id} prints when and why")
        self.happened(
            ClaimRetired,
            reason=reason,
            explanation=explanation,
            replaced_by=replaced_by,
            session_id=session_id,
            retrieval_id=retrieval_id,
        )

    def reinstate(self, version: int) -> None:
        """Take back the retirement that stands at `version` of this stream."""
        if version not in self.retirements:
            raise Conflict(
                f"{self.id} has no retirement at version {version}",
                hint=f"slw show {self.id} prints what stands now",
            )
        self.happened(ClaimReinstated, compensates=Compensated(stream=self.id, version=version))

    def propose_correction(self, case_id: str, replacement_id: str, reason: StaleReason, explanation: str) -> None:
        """Open a case instead of retiring: a person confirmed this claim's kind, so a person decides."""
        self.happened(
            CorrectionOpened,
            case_id=case_id,
            replacement_id=replacement_id,
            reason=reason,
            explanation=explanation,
        )

    def record_replacement(self, case_id: str, replacement_id: str) -> None:
        """Open a case that is already applied: the saving agent named what it replaces."""
        self.happened(
            CorrectionOpened, case_id=case_id, replacement_id=replacement_id, reason="superseded", applied=True
        )

    def settle_correction(self, case_id: str, action: CorrectionAction, expected_version: int) -> None:
        """Apply or reject a proposed case, or roll an applied one back; each step raises its version by one."""
        case = self.cases[case_id]
        if case.version != expected_version:
            raise Conflict(
                f"{case_id} is at version {case.version}, not {expected_version}",
                hint="look at the case again, then send its present version",
            )
        needed: CorrectionState = "applied" if action == "rollback" else "proposed"
        if case.state != needed:
            raise Conflict(f"{case_id} is {case.state}; {action} needs it {needed}", hint="nothing is left to do")
        if action == "reject":
            self.happened(CorrectionRejected, case_id=case_id)
            return
        if action == "apply":
            if not self.live:
                raise NotLive(f"{self.id} is retired already", hint="reject the case; there is nothing left to correct")
            self.happened(CorrectionApplied, case_id=case_id)
            self.retire(case.reason, f"correction {case_id} applied", replaced_by=case.replacement_id)
            return
        self.happened(CorrectionRolledBack, case_id=case_id)
        # Only what this case brought is taken back: the claim may have been retired for another reason since.
        if case.retired_at in self.retirements:
            self.reinstate(case.retired_at)

    def suggest_kind(self, guess: KindGuess, run_id: str = "") -> bool:
        """Take a guess unless something of higher authority stands; True when the log gained a fact."""
        held = self.kind
        if held is not None:
            same = (held.kind, held.source, held.confidence, held.recipe) == (
                guess.kind,
                guess.source,
                guess.confidence,
                guess.recipe,
            )
            if held.confirmed or KIND_AUTHORITY[held.source] > KIND_AUTHORITY[guess.source] or same:
                return False
        self.happened(
            KindSuggested,
            kind=guess.kind,
            source=guess.source,
            confidence=guess.confidence,
            cue=guess.cue,
            recipe=guess.recipe,
            run_id=run_id,
        )
        return True

    def confirm_kind(self, kind: Kind | None) -> bool:
        """Say the kind, or with None accept the suggestion that stands; True when the log gained a fact."""
        held, source = self.kind, self._declaring_source
        if kind is None and held is None:
            raise Conflict(f"{self.id} has no suggested kind to accept", hint="name the kind: ID=KIND")
        wanted = kind or (held.kind if held else "semantic")
        if held is not None and held.confirmed:
            if held.kind == wanted and KIND_AUTHORITY[held.source] >= KIND_AUTHORITY[source]:
                return False
            if KIND_AUTHORITY[held.source] > KIND_AUTHORITY[source]:
                raise Conflict(
                    f"a person confirmed that {self.id} is {held.kind}; an agent cannot change it",
                    hint=f"a person can: slw kinds set {self.id} {wanted}",
                )
        self.happened(KindConfirmed, kind=wanted, source=source)
        return True

    def withdraw_kind(self, version: int, run_id: str) -> None:
        """Take one kind fact back by its identity, whatever covers it now."""
        if version not in self.kind_facts:
            raise Conflict(f"{self.id} has no kind fact at version {version}", hint="it was withdrawn before")
        self.happened(KindWithdrawn, compensates=Compensated(stream=self.id, version=version), run_id=run_id)

    def suppress(self, reason: str) -> None:
        """Hide the claim from every verb; nothing is deleted."""
        if self.suppressed_at:
            raise Conflict(f"{self.id} is suppressed already", hint=f"slw unsuppress {self.id} shows it again")
        self.happened(ClaimSuppressed, reason=reason)

    def unsuppress(self, reason: str) -> None:
        """Show the claim again."""
        if not self.suppressed_at:
            raise Conflict(f"{self.id} is not suppressed", hint=f"slw suppress {self.id} hides it")
        self.happened(ClaimUnsuppressed, reason=reason)

    def promote(self, stage: Stage) -> None:
        """Widen the claim to a stage, from which evidence may go on, up or down; `scoped` takes that back."""
        if self.promoted == stage:
            raise Conflict(
                f"{self.id} is promoted to {stage} already", hint=f"slw pin {self.id} {stage} holds it there"
            )
        self.happened(ClaimPromoted, stage=stage)

    def pin(self, stage: Stage | None) -> None:
        """Hold the claim at a stage whatever evidence comes; with None evidence decides again."""
        if self.pinned == stage:
            raise Conflict(
                f"{self.id} is pinned to {stage} already" if stage else f"{self.id} is not pinned",
                hint=f"slw why {self.id} tells what its stage rests on",
            )
        self.happened(ClaimPinned, stage=stage)

    @property
    def _declaring_source(self) -> KindSource:
        return "person" if self.work and self.work.actor.kind == "person" else "caller"

    # -- facts

    def when(self, fact: Fact) -> None:
        match fact:
            case ClaimRemembered():
                self.scope, self.session_id = fact.scope, fact.session_id
                self.content, self.type = fact.content, fact.type
                if fact.kind:
                    source: KindSource = "person" if fact.actor.kind == "person" else "caller"
                    self.kind_facts[fact.originator_version] = KindFact(fact.originator_version, fact.kind, source)
            case ClaimRetired():
                version = fact.restores or fact.originator_version
                self.retirements[version] = Retirement(
                    version, fact.reason, fact.replaced_by, fact.retrieval_id, fact.run_id
                )
            case ClaimReinstated():
                self.retirements.pop(fact.compensates.version, None)
            case ClaimSuppressed():
                self.suppressed_at = fact.originator_version
            case ClaimUnsuppressed():
                self.suppressed_at = 0
            case ClaimPromoted():
                self.promoted = fact.stage
            case ClaimPinned():
                self.pinned = fact.stage
            case ContentErased():
                self.erased, self.content = True, ""
            case KindSuggested():
                self.kind_facts[fact.originator_version] = KindFact(
                    fact.originator_version, fact.kind, fact.source, fact.confidence, fact.recipe, fact.run_id
                )
            case KindConfirmed():
                self.kind_facts[fact.originator_version] = KindFact(fact.originator_version, fact.kind, fact.source)
            case KindWithdrawn():
                self.kind_facts.pop(fact.compensates.version, None)
            case KindReinstated():
                version = fact.compensates.version
                self.kind_facts[version] = KindFact(
                    version, fact.kind, fact.source, fact.confidence, fact.recipe, fact.typed_by
                )
            case CorrectionOpened():
                state: CorrectionState = "applied" if fact.applied else "proposed"
                # A replacement retires first and then tells of the case; an applied case the other way round.
                retired_at = fact.originator_version - 1 if fact.applied else 0
                self.cases[fact.case_id] = CorrectionCase(
                    fact.case_id, fact.replacement_id, fact.reason, state, retired_at=retired_at
                )
            case CorrectionApplied():
                self._case_moves(fact.case_id, "applied", retired_at=fact.originator_version + 1)
            case CorrectionRejected():
                self._case_moves(fact.case_id, "rejected")
            case CorrectionRolledBack():
                self._case_moves(fact.case_id, "rolled_back")
            case CorrectionReopened():
                self._case_moves(fact.case_id, "applied" if fact.applied else "proposed")
            case _:
                pass

    def _case_moves(self, case_id: str, state: CorrectionState, retired_at: int = 0) -> None:
        held = self.cases[case_id]
        self.cases[case_id] = CorrectionCase(
            case_id, held.replacement_id, held.reason, state, held.version + 1, retired_at or held.retired_at
        )
