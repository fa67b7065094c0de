"""Generalisation: how widely a claim is held, from what other scopes said and did, never from what it was shown in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..domain.vocabulary import STAGES, Stage
from .policy import FoldPolicy, ReadPolicy

Sessions = Mapping[str, Collection[str]]  # scope -> its sessions
_RANK: Final = {stage: rank for rank, stage in enumerate(STAGES)}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What there is on one claim: where it or a twin was told, where else it was of use, and where it was not.

    `told` includes its own scope; what a person tells outside of a session counts as a session of its own. `against`
    are the scopes where it was found irrelevant or stale more often than it was of use.
    """

    scope: str
    told: Sessions
    used: Sessions = field(default_factory=dict[str, Collection[str]])
    against: Collection[str] = ()


def scope_kind(scope: str) -> str:
    """What sort of scope it is: `project` of `project:app`."""
    return scope.partition(":")[0]


def earned(evidence: Evidence, active: Collection[str], policy: FoldPolicy, *, vouched: bool = False) -> Stage:
    """The widest stage whose conditions the evidence meets, among the active scopes (those with a commit).

    The first step needs an independent telling elsewhere; from there on being of use elsewhere is evidence as well.
    `vouched`: a person took the first step. A scope that speaks against it takes one away that speaks for it.
    """
    told = {scope: sessions for scope, sessions in evidence.told.items() if scope in active}
    if not vouched and not _told_apart({s: told[s] for s in told if s not in evidence.against}, policy):
        return "scoped"
    support: dict[str, set[str]] = {scope: set(sessions) for scope, sessions in told.items()}
    for scope, sessions in evidence.used.items():
        if scope in active:
            support.setdefault(scope, set()).update(sessions)
    for stage, needs in _steps(policy):
        if _meets(support, evidence, active, needs):
            return stage
    return "scoped"


def _steps(policy: FoldPolicy) -> list[tuple[Stage, tuple[int, int, float]]]:
    """Each stage beyond the first with its scopes, sessions and share, the widest first."""
    return [("global", policy.everywhere), ("contextual", policy.contextual), ("portable", policy.portable)]


def _told_apart(told: Sessions, policy: FoldPolicy) -> bool:
    """Whether it was told independently in as many scopes and sessions as the first step needs."""
    scopes, sessions, _ = policy.portable
    return len(told) >= scopes and len({session for said in told.values() for session in said}) >= sessions


def _meets(support: Sessions, evidence: Evidence, active: Collection[str], needs: tuple[int, int, float]) -> bool:
    scopes, sessions, share = needs
    kind = scope_kind(evidence.scope)
    against = [scope for scope in evidence.against if scope in active]
    for_it = [scope for scope in support if scope not in against]
    alike = sum(scope_kind(scope) == kind for scope in active)
    here = sum(scope_kind(scope) == kind for scope in for_it) - sum(scope_kind(scope) == kind for scope in against)
    return (
        len(for_it) - len(against) >= scopes
        and len({session for scope in for_it for session in support[scope]}) >= sessions
        and here >= share * alike
    )


def vouching(promoted: Stage, evidence: Evidence) -> Stage:
    """A person's promotion, as long as no more scopes speak against the claim than for it."""
    for_it = {*evidence.told, *evidence.used, evidence.scope} - set(evidence.against)
    return promoted if len(evidence.against) <= len(for_it) else "scoped"


def held(
    evidence: Evidence,
    active: Collection[str],
    policy: FoldPolicy,
    promoted: Stage = "scoped",
    pinned: Stage | None = None,
) -> Stage:
    """The stage of a claim: where a person pinned it, else the wider of what a person and the evidence say."""
    if pinned is not None:
        return pinned
    by_person = vouching(promoted, evidence)
    by_evidence = earned(evidence, active, policy, vouched=by_person != "scoped")
    return max(by_person, by_evidence, key=_RANK.__getitem__)


def reach(stage: Stage, origin: str, scope: str, policy: ReadPolicy) -> float:
    """What a claim's score counts for in a scope: 1 at home and where its stage carries it, 0 where it is not shown."""
    if scope == origin:
        return 1.0
    if stage == "scoped":
        return 0.0
    if stage == "global" or scope_kind(scope) == scope_kind(origin):
        return 1.0
    return policy.contextual_factor if stage == "contextual" else 0.0
