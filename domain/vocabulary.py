"""The closed words of slw: every kind, type, verdict, outcome and stage, in one place that everyone imports."""

from __future__ import annotations

from typing import Final, Literal, get_args

MemoryType = Literal[
    "fact",
    "preference",
    "decision",
    "constraint",
    "instruction",
    "lesson",
    "warning",
    "open_question",
    "task",
    "artifact",
]
MEMORY_TYPES: Final[tuple[str, ...]] = get_args(MemoryType)

Kind = Literal[
    "semantic",
    "episodic",
    "status",
    "opinion",
    "rule",
    "decision",
    "procedure",
    "prospective",
    "correction",
]
KINDS: Final[tuple[str, ...]] = get_args(Kind)

KIND_LABELS: Final[dict[str, str]] = {
    "semantic": "Fact",
    "episodic": "Event",
    "status": "Current state",
    "opinion": "Preference or view",
    "rule": "Standing rule",
    "decision": "Decision",
    "procedure": "How-to",
    "prospective": "Plan or to-do",
    "correction": "Correction",
}

# Other words people use for a kind, after trim, lower case and "_" to "-".
KIND_ALIASES: Final[dict[str, str]] = {
    "fact": "semantic",
    "knowledge": "semantic",
    "event": "episodic",
    "experience": "episodic",
    "state": "status",
    "progress": "status",
    "project-state": "status",
    "preference": "opinion",
    "view": "opinion",
    "instruction": "rule",
    "constraint": "rule",
    "policy": "rule",
    "convention": "rule",
    "choice": "decision",
    "how-to": "procedure",
    "howto": "procedure",
    "steps": "procedure",
    "recipe": "procedure",
    "plan": "prospective",
    "todo": "prospective",
    "to-do": "prospective",
    "task": "prospective",
    "commitment": "prospective",
    "erratum": "correction",
    "fix": "correction",
}

# A type that is itself a declaration of the saving agent. The others say nothing certain about the kind.
KIND_DECLARED_BY_TYPE: Final[dict[str, str]] = {
    "decision": "decision",
    "constraint": "rule",
    "instruction": "rule",
    "preference": "opinion",
    "task": "prospective",
}

# The nearest kind of a type, for memories that have no kind fact at all (state "legacy").
KIND_NEAREST_TYPE: Final[dict[str, str]] = {
    **KIND_DECLARED_BY_TYPE,
    "fact": "semantic",
    "lesson": "semantic",
    "warning": "rule",
    "open_question": "prospective",
    "artifact": "semantic",
}

KindSource = Literal["person", "caller", "llm", "hosted", "local", "rules", "legacy"]
# Higher wins; between equals the later fact wins. Person and caller confirm, the others suggest.
KIND_AUTHORITY: Final[dict[str, int]] = {
    "person": 6,
    "caller": 5,
    "llm": 3,
    "hosted": 3,
    "local": 3,
    "rules": 2,
    "legacy": 1,
}
CONFIRMING_SOURCES: Final = ("person", "caller")
KindState = Literal["confirmed", "suggested", "legacy", "untyped"]

Assessment = Literal["used", "irrelevant", "stale", "not_used", "already_known", "unassessable"]
ASSESSMENTS: Final[tuple[str, ...]] = get_args(Assessment)
StaleReason = Literal["contradicted", "superseded", "outdated", "unsupported", "withdrawn"]
STALE_REASONS: Final[tuple[str, ...]] = get_args(StaleReason)
ProcedureUse = Literal["used", "not_used"]
PROCEDURE_USES: Final[tuple[str, ...]] = get_args(ProcedureUse)
Effect = Literal["helped", "no_effect", "harmed", "unknown"]
EFFECTS: Final[tuple[str, ...]] = get_args(Effect)
Coverage = Literal["partial", "complete"]
COVERAGES: Final[tuple[str, ...]] = get_args(Coverage)
Outcome = Literal["success", "partial", "failure"]
OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)
VerificationStatus = Literal["verified", "partially_verified", "unverified"]
VERIFICATION_STATUSES: Final[tuple[str, ...]] = get_args(VerificationStatus)

Verb = Literal["activate", "recall"]
Pathway = Literal["direct", "associated"]
Stage = Literal["scoped", "portable", "contextual", "global"]
STAGES: Final[tuple[str, ...]] = get_args(Stage)
MemoryState = Literal["active", "needs_review", "stale", "suppressed"]
MEMORY_STATES: Final[tuple[str, ...]] = get_args(MemoryState)

ActorKind = Literal["client", "person", "system"]
BackfillMode = Literal["untyped", "refresh"]
BackfillState = Literal["queued", "running", "paused", "completed", "cancelled", "failed", "reverting", "reverted"]
CorrectionAction = Literal["apply", "reject", "rollback"]
CorrectionState = Literal["proposed", "applied", "rejected", "rolled_back"]

FAILED_PROCEDURE_CAVEAT: Final = (
    "This procedure previously failed; treat it as cautionary evidence, not recommended guidance."
)

# Lengths in characters; the edge publishes them and the domain holds them.
MAX_CONTENT: Final = 8_192
MAX_GOAL: Final = 4_096
MAX_QUERY: Final = 4_096
MAX_REASON: Final = 2_000
MAX_STEPS: Final = 64
MAX_CAVEATS: Final = 32
MAX_CONTEXT: Final = 16_384
MAX_CONTEXT_DEPTH: Final = 8
MAX_BATCH: Final = 64
MAX_PAGE: Final = 20
DEFAULT_PAGE: Final = 5
MAX_FROZEN: Final = 100
MAX_SCOPE: Final = 512


def parse_kind(word: str) -> Kind | None:
    """The kind a word names, directly or by alias; None when it names none of the nine."""
    key = word.strip().lower().replace("_", "-")
    return key if key in KIND_LABELS else KIND_ALIASES.get(key)  # pyright: ignore[reportReturnType]
