"""How the five verbs look to an agent: names, schemas without references or unions, and what each is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..domain.vocabulary import (
    ASSESSMENTS,
    COVERAGES,
    DEFAULT_PAGE,
    EFFECTS,
    KINDS,
    MAX_BATCH,
    MAX_CAVEATS,
    MAX_CONTENT,
    MAX_GOAL,
    MAX_PAGE,
    MAX_QUERY,
    MAX_REASON,
    MAX_STEPS,
    MEMORY_TYPES,
    OUTCOMES,
    PROCEDURE_USES,
    STALE_REASONS,
    VERIFICATION_STATUSES,
)
from .operations import Tool

Schema = dict[str, Any]


def text(description: str = "", limit: int = 0, **more: Any) -> Schema:
    """A string."""
    return _described({"type": "string", **({"maxLength": limit} if limit else {}), **more}, description)


def word(choices: tuple[str, ...], description: str = "", **more: Any) -> Schema:
    """One of a closed set."""
    return _described({"type": "string", "enum": list(choices), **more}, description)


def whole(least: int, most: int, default: int, description: str = "") -> Schema:
    """A whole number."""
    return _described({"type": "integer", "minimum": least, "maximum": most, "default": default}, description)


def listed(items: Schema, description: str = "", limit: int = 0) -> Schema:
    """A list."""
    return _described({"type": "array", "items": items, **({"maxItems": limit} if limit else {})}, description)


def members(properties: Mapping[str, Schema], required: tuple[str, ...], description: str = "") -> Schema:
    """An object that takes nothing else."""
    shape = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    return _described(shape, description)


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema


SESSION: Final = text("From slowave_activate.")
SCOPE: Final = text("kind:id, as in slowave_activate.")
KIND: Final = word(KINDS, "What sort of knowledge it is.")
PAGE: Final = whole(1, MAX_PAGE, DEFAULT_PAGE)

CLAIM: Final[Mapping[str, Schema]] = {
    "content": text("One claim, understandable alone.", MAX_CONTENT),
    "type": word(MEMORY_TYPES, default="fact"),
    "kind": word(KINDS),
    "occurred_at": text("When it happened, RFC 3339 with an offset.", default=""),
    "replaces": text("memory_id that this claim takes the place of.", default=""),
}
MEMORY_VERDICT: Final = members(
    {
        "memory_id": text(),
        "assessment": word(ASSESSMENTS),
        "stale_reason": word(STALE_REASONS, "Only and always with stale."),
        "reason": text("Needed with stale and unassessable.", MAX_REASON, default=""),
        "replacement_memory_id": text("Only and always with superseded.", default=""),
    },
    ("memory_id", "assessment"),
)
PROCEDURE_VERDICT: Final = members(
    {
        "procedure_id": text(),
        "use": word(PROCEDURE_USES),
        "effect": word(EFFECTS, "Needed with used."),
        "contribution": text("What it contributed; needed with used.", MAX_REASON, default=""),
    },
    ("procedure_id", "use"),
)

ACTIVATE: Final = Tool(
    name="slowave_activate",
    description=(
        "Open a task and get what is remembered for it: memories, procedures and standing rules. Call it first; every "
        "call opens a new session. The answer has the session_id for the other tools, and a continuity_id to send with "
        "the next activate of the same conversation."
    ),
    properties={
        "task": text("What you were asked to do.", MAX_GOAL),
        "initial_goal": text("What you understand the result should be.", MAX_GOAL),
        "scope": text("project:<name of the git root folder>; compared exactly."),
        "continuity_id": text("From an earlier answer in this conversation.", default=""),
        "page_size": PAGE,
    },
    required=("task", "initial_goal", "scope"),
    core=True,
)
REMEMBER: Final = Tool(
    name="slowave_remember",
    description=(
        "Store one durable claim (content) or several (memories), for whoever works here later. The same words in the "
        "same scope are stored once. In a batch each entry succeeds or fails alone."
    ),
    properties={
        "session_id": SESSION,
        "scope": SCOPE,
        **CLAIM,
        "memories": listed(members(CLAIM, ("content",)), "Several claims, instead of content.", MAX_BATCH),
    },
    required=("session_id", "scope"),
    core=True,
)
RECALL: Final = Tool(
    name="slowave_recall",
    description=(
        "Search memories and procedures of this scope. Nothing relevant gives an empty list. For the next page send "
        "continue_from in place of query. Everything shown wants feedback before commit."
    ),
    properties={
        "session_id": SESSION,
        "scope": SCOPE,
        "query": text("What you want to know, in your words.", MAX_QUERY, default=""),
        "continue_from": text("From an earlier answer of this session.", default=""),
        "kind": KIND,
        "evidence": word(
            ("references", "full"), "Ids of what stands behind each memory, or its text too.", default="references"
        ),
        "page_size": PAGE,
    },
    required=("session_id", "scope"),
    core=True,
)
FEEDBACK: Final = Tool(
    name="slowave_feedback",
    description=(
        "Say what helped of what one retrieval showed. A later verdict on the same target counts instead of the "
        "earlier one. Also possible after commit."
    ),
    properties={
        "retrieval_id": text("The retrieval that showed the targets."),
        "memory_feedback": listed(MEMORY_VERDICT),
        "procedure_feedback": listed(PROCEDURE_VERDICT),
        "coverage": word(COVERAGES, "complete: this assesses everything shown.", default="partial"),
        "items": listed({"type": "object"}, "Entries of both lists, instead of them."),
    },
    required=("retrieval_id",),
    core=True,
)
COMMIT: Final = Tool(
    name="slowave_commit",
    description=(
        "Close the task with its outcome, after feedback on everything it was shown; else the answer lists what is "
        "outstanding. The same commit again changes nothing."
    ),
    properties={
        "session_id": SESSION,
        "final_goal": text("What the task came to be about.", MAX_GOAL),
        "outcome": word(OUTCOMES),
        "outcome_summary": text("What came of it.", MAX_REASON),
        "verification": members(
            {
                "status": word(VERIFICATION_STATUSES),
                "summary": text("How it was checked.", MAX_REASON),
                "evidence_refs": listed(text(), "Tests, files or links."),
            },
            ("status", "summary"),
        ),
        "procedure": members(
            {
                "version": {"type": "integer", "enum": [2], "default": 2},
                "summary": text("What the method achieves.", MAX_REASON),
                "context": {"type": "object", "description": "When it applies."},
                "steps": listed(members({"summary": text("", MAX_REASON)}, ("summary",)), limit=MAX_STEPS),
                "caveats": listed(text("", MAX_REASON), limit=MAX_CAVEATS),
            },
            ("summary", "steps"),
            "A method worth using again, as you carried it out.",
        ),
    },
    required=("session_id", "final_goal", "outcome", "outcome_summary", "verification"),
    core=True,
    idempotent=True,
)
