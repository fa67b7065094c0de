"""Look-ups that cross streams: which fact takes or gives up which key; the table can be grown back from the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .events import (
    BackfillCancelled,
    BackfillCompleted,
    BackfillFailed,
    BackfillResumed,
    BackfillReverted,
    BackfillRevertStarted,
    BackfillStarted,
    ClaimReinstated,
    ClaimRemembered,
    ClaimRetired,
    ContentErased,
    CorrectionOpened,
    Fact,
    PageShown,
    RetrievalRecorded,
    SessionExpired,
    TaskActivated,
    TaskCommitted,
)
from .identity import claim_key

KeyKind = Literal["claim", "retrieval", "continuity", "open", "case", "run"]


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key of one stream: taken (must be free), taken if free, or given up.

    Giving up names the stream: all keys of that kind which the stream holds go.
    """

    change: Literal["take", "take_if_free", "give_up"]
    kind: KeyKind
    stream: str
    key: str = ""


def key_changes(fact: Fact, claim_key_of: Callable[[str], str]) -> list[KeyChange]:
    """What the fact does to the keys.

    `claim_key_of(memory_id)` tells the key that a reinstated claim takes again; empty while something else retires it.
    """
    stream = fact.originator_id
    match fact:
        case ClaimRemembered():
            return [KeyChange("take", "claim", stream, claim_key(fact.scope, fact.content))]
        case ClaimRetired() | ContentErased():
            return [KeyChange("give_up", "claim", stream)]
        case ClaimReinstated():
            key = claim_key_of(stream)
            return [KeyChange("take_if_free", "claim", stream, key)] if key else []
        case TaskActivated():
            opened = [KeyChange("take", "open", stream, stream)]
            if fact.continued:
                return opened
            return [*opened, KeyChange("take", "continuity", stream, fact.continuity_id)]
        case RetrievalRecorded() | PageShown():
            return [KeyChange("take", "retrieval", stream, fact.retrieval_id)]
        case TaskCommitted() | SessionExpired():
            return [KeyChange("give_up", "open", stream)]
        case CorrectionOpened():
            return [KeyChange("take", "case", stream, fact.case_id)]
        case BackfillStarted():
            return [KeyChange("take", "run", stream, "active")]
        case BackfillResumed() | BackfillRevertStarted():
            return [KeyChange("give_up", "run", stream), KeyChange("take", "run", stream, "active")]
        case BackfillCompleted() | BackfillCancelled() | BackfillFailed() | BackfillReverted():
            return [KeyChange("give_up", "run", stream)]
        case _:
            return []
