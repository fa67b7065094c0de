"""When a verdict can be taken: it must be about something the retrieval exposed, and say all it has to."""

from __future__ import annotations

from dataclasses import dataclass

from .events import MemoryVerdict, ProcedureVerdict
from .vocabulary import Kind


@dataclass(slots=True)
class Retrieval:
    """One page that was shown. `candidates` is the frozen list that further pages go through."""

    retrieval_id: str
    memory_ids: tuple[str, ...]
    procedure_ids: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    page_size: int = 5
    kind: Kind | None = None
    continues: str = ""

    @property
    def assessable_memories(self) -> frozenset[str]:
        return frozenset(self.memory_ids) | frozenset(self.standing)


@dataclass(frozen=True, slots=True)
class Rejection:
    """One verdict that was not taken, and why."""

    target_id: str
    reason: str
    field: str
    hint: str


def memory_rejection(verdict: MemoryVerdict, exposed: Retrieval) -> Rejection | None:
    """Why a verdict on a memory cannot be taken; None when it can."""
    target = verdict.memory_id
    if target not in exposed.assessable_memories:
        return Rejection(
            target,
            f"{exposed.retrieval_id} did not show this memory",
            "memory_id",
            "assess it under the retrieval_id that showed it",
        )
    if verdict.assessment == "stale" and verdict.stale_reason is None:
        return Rejection(
            target,
            "stale needs a stale_reason",
            "stale_reason",
            "one of contradicted, superseded, outdated, unsupported, withdrawn",
        )
    if verdict.assessment != "stale" and verdict.stale_reason is not None:
        return Rejection(
            target, "stale_reason goes with assessment stale only", "stale_reason", "leave stale_reason out"
        )
    if verdict.assessment in ("stale", "unassessable") and not verdict.reason:
        return Rejection(target, f"{verdict.assessment} needs a reason", "reason", "say in a sentence why")
    if verdict.stale_reason == "superseded" and verdict.replacement_memory_id in ("", target):
        return Rejection(
            target,
            "superseded needs another memory in its place",
            "replacement_memory_id",
            "remember the new claim first and name its memory_id, or use contradicted or outdated",
        )
    if verdict.stale_reason != "superseded" and verdict.replacement_memory_id:
        return Rejection(
            target,
            "replacement_memory_id goes with superseded only",
            "replacement_memory_id",
            "leave it out, or give stale_reason superseded",
        )
    return None


def procedure_rejection(verdict: ProcedureVerdict, exposed: Retrieval) -> Rejection | None:
    """Why a verdict on a procedure cannot be taken; None when it can."""
    target = verdict.procedure_id
    if target not in exposed.procedure_ids:
        return Rejection(
            target,
            f"{exposed.retrieval_id} did not show this procedure",
            "procedure_id",
            "assess it under the retrieval_id that showed it",
        )
    if verdict.use == "used" and verdict.effect is None:
        return Rejection(target, "used needs an effect", "effect", "one of helped, no_effect, harmed, unknown")
    if verdict.use == "used" and not verdict.contribution:
        return Rejection(target, "used needs a contribution", "contribution", "say in a sentence what it contributed")
    if verdict.use == "not_used" and verdict.effect is not None:
        return Rejection(target, "effect goes with use used only", "effect", "leave effect out")
    return None
