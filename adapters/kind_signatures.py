"""How the tools about kinds look to an agent: flat, and in few words, since every session pays for them."""

from __future__ import annotations

from typing import Any, Final

from ..domain.vocabulary import KINDS, MAX_QUERY
from .operations import Tool
from .signatures import SCOPE, listed, text, whole, word

MAX_ITEMS: Final = 200
MAX_LISTED: Final = 100
LISTED: Final = 20

_MEMORY: Final = text("From an answer.")
_KIND: Final = word(KINDS)
_LIMIT: Final = whole(1, MAX_LISTED, LISTED)

SET: Final = Tool(
    name="set_memory_kind",
    description="Say what sort of knowledge a memory is, and confirm it. What a person confirmed stays as it is.",
    properties={"memory_id": _MEMORY, "kind": _KIND},
    required=("memory_id", "kind"),
    idempotent=True,
)
STATUS: Final = Tool(
    name="memory_kinds_status",
    description="How many memories there are of each kind, who guesses kinds now, and whether a run is going on.",
    properties={},
    reads_only=True,
    idempotent=True,
)
REVIEW: Final = Tool(
    name="review_memory_kinds",
    description="Guessed kinds that wait for confirmation, and corrections that wait for a decision.",
    properties={"scope": SCOPE, "kind": _KIND, "limit": _LIMIT},
    required=("scope",),
    reads_only=True,
    idempotent=True,
)
_ITEM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"memory_id": text(), "kind": _KIND},
    "required": ["memory_id"],
}
CONFIRM: Final = Tool(
    name="confirm_memory_kinds",
    description="Confirm kinds: as guessed, or another where kind is given. Each item succeeds or fails alone.",
    properties={"items": listed(_ITEM, "", MAX_ITEMS)},
    required=("items",),
    idempotent=True,
)
CORRECTION: Final = Tool(
    name="review_correction",
    description="Settle a correction case: apply or reject a proposed one, or roll an applied one back.",
    properties={
        "case_id": text(),
        "action": word(("apply", "reject", "rollback")),
        "expected_version": {"type": "integer", "minimum": 1, "description": "The version you looked at."},
    },
    required=("case_id", "action", "expected_version"),
)
RECENT: Final = Tool(
    name="list_recent",
    description="The newest memories of a scope. Records nothing; needs no feedback.",
    properties={"scope": SCOPE, "limit": _LIMIT, "kind": _KIND},
    required=("scope",),
    reads_only=True,
    idempotent=True,
)
SEARCH: Final = Tool(
    name="search",
    description="Search memories without a session. Records nothing; needs no feedback.",
    properties={"scope": SCOPE, "query": text("", MAX_QUERY), "limit": _LIMIT, "kind": _KIND},
    required=("scope", "query"),
    reads_only=True,
    idempotent=True,
)
