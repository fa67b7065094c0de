"""Episodes: what a task session leaves behind, one for each claim told in it and one for how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ..domain.events import ClaimRemembered, SessionExpired, TaskCommitted

EpisodeOf = Literal["claim", "outcome"]


@dataclass(frozen=True, slots=True)
class Told:
    """A claim that was told; it waits for its session to close."""

    position: int
    memory_id: str
    session_id: str
    scope: str
    told_at: datetime


@dataclass(frozen=True, slots=True)
class Episode:
    """What was lived through: a claim that was told, or how a task ended.

    `no` is the log position of what it is of, so it is unique, the same in every rebuild, and in the order of telling.
    `salience` is what an episode begins with; how firmly a claim is held later is its memory's salience.
    """

    no: int
    episode_id: str
    of: EpisodeOf
    memory_id: str
    session_id: str
    scope: str
    told_at: datetime
    formed_at: datetime
    salience: float


def told(position: int, fact: ClaimRemembered) -> Told:
    """The claim of a fact."""
    return Told(position, fact.originator_id, fact.session_id, fact.scope, fact.recorded_at)


def formed(
    waiting: Sequence[Told], closing: TaskCommitted | SessionExpired, position: int, salience: float
) -> list[Episode]:
    """The episodes that form when a session closes, in the order of telling, how it ended last.

    `waiting` are its claims without an episode: none are left when an expired session is committed after all, so
    nothing forms twice.
    """
    found = [of_claim(claim, closing.recorded_at, salience) for claim in waiting]
    if isinstance(closing, TaskCommitted):
        found.append(of_outcome(position, closing, salience))
    return found


def of_claim(claim: Told, formed_at: datetime, salience: float) -> Episode:
    """The episode of one claim; what a person tells outside of a session forms at once."""
    return Episode(
        no=claim.position,
        episode_id=f"ep_{claim.memory_id}",
        of="claim",
        memory_id=claim.memory_id,
        session_id=claim.session_id,
        scope=claim.scope,
        told_at=claim.told_at,
        formed_at=formed_at,
        salience=salience,
    )


def of_outcome(position: int, closing: TaskCommitted, salience: float) -> Episode:
    """The episode of how a task ended."""
    return Episode(
        no=position,
        episode_id=f"ep_{closing.originator_id}",
        of="outcome",
        memory_id="",
        session_id=closing.originator_id,
        scope=closing.scope,
        told_at=closing.recorded_at,
        formed_at=closing.recorded_at,
        salience=salience,
    )


def outcome_text(closing: TaskCommitted) -> str:
    """What is embedded of a task's end: what it was after, and what came of it."""
    return "\n".join(filter(None, (closing.final_goal, closing.outcome_summary)))
