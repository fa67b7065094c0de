"""What analysts see: stable views in schema v1 over the tables of a published snapshot, each column explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import duckdb

from .columns import Columns, declared

SCHEMA: Final = "v1"
TABLES: Final = "model"
EVENTS: Final = "events"
EVENT_COLUMNS: Final[Columns] = {
    "position": "int",
    "stream": "text",
    "version": "int",
    "topic": "text",
    "recorded_at": "time",
    "actor_kind": "text",
    "actor": "text",
    "actor_version": "text",
    "session_id": "text?",
    "run_id": "text?",
    "request_id": "text?",
    "fact": "text",
}
LIST: Final = "from_json({0}, '[\"VARCHAR\"]')"


@dataclass(frozen=True, slots=True)
class AnalystView:
    """One view: what a row is, where it comes from, and each column as (expression, what it means)."""

    name: str
    about: str
    source: str
    columns: Mapping[str, tuple[str, str]]

    def select(self) -> str:
        """The query behind the view."""
        chosen = ", ".join(f"{expression} as {name}" for name, (expression, _) in self.columns.items())
        return f"select {chosen} from {self.source}"


VIEWS: Final = (
    AnalystView(
        "memories",
        "Every claim that was ever remembered, one row each, as it stands now.",
        f"{TABLES}.schemas s left join {TABLES}.salience h on h.memory_id = s.memory_id",
        {
            "memory_id": ("s.memory_id", "Its id."),
            "position": ("s.position", "Where in the log it was told."),
            "scope": ("s.scope", "Where it belongs, as kind:id."),
            "session_id": ("nullif(s.session_id, '')", "The session that told it; null for a person's."),
            "client": ("s.client", "Name and version of the client that told it."),
            "told_by": ("s.actor_kind", "client, person or system."),
            "recorded_at": ("s.recorded_at", "When it was told (UTC)."),
            "occurred_at": ("s.occurred_at", "When what it says happened (UTC), if said."),
            "type": ("s.type", "fact, preference, decision, constraint, instruction, lesson, warning, …"),
            "content": ("s.content", "Its words; empty once erased."),
            "state": ("s.state", "active, needs_review, stale or suppressed."),
            "live": ("s.state in ('active', 'needs_review')", "Whether a verb may show it."),
            "stale_reason": ("s.stale_reason", "Why it holds no more."),
            "replaced_by": ("nullif(s.replaced_by, '')", "The memory in its place."),
            "replaces": ("nullif(s.replaces, '')", "The memory whose place it took."),
            "kind": ("s.kind", "Which of the nine kinds it is held to be."),
            "kind_source": ("s.kind_source", "Who said so: person, caller, llm, hosted, local, rules or legacy."),
            "kind_confidence": ("s.kind_confidence", "How sure, 0 to 1."),
            "stage": ("s.stage", "Where a person held it; slw show tells what others made of it."),
            "restatements": ("s.restatements", "How often it was told again."),
            "salience": ("h.value", "How firmly it is held at `salience_since`; it decays from there."),
            "salience_since": ("h.since", "Its last reinforcement (UTC)."),
            "used": ("h.used", "Retrievals that found it useful."),
            "irrelevant": ("h.irrelevant", "Retrievals that found it beside the point."),
            "last_position": ("s.last_position", "The last event about it."),
        },
    ),
    AnalystView(
        "kinds",
        "Every statement about a memory's kind that was not withdrawn.",
        f"{TABLES}.kinds",
        {
            "memory_id": ("memory_id", "The memory."),
            "position": ("position", "Where in the log it was said."),
            "kind": ("kind", "Which kind."),
            "source": ("source", "Who said so."),
            "confidence": ("confidence", "How sure, 0 to 1."),
            "cue": ("nullif(cue, '')", "The words that told it."),
            "recipe": ("nullif(recipe, '')", "By which rules or model."),
            "run_id": ("nullif(run_id, '')", "In which run."),
            "said_at": ("said_at", "When (UTC)."),
        },
    ),
    AnalystView(
        "procedures",
        "Every reusable method that a task left behind.",
        f"{TABLES}.procedures",
        {
            "procedure_id": ("procedure_id", "Its id, proc_ and the session's."),
            "position": ("position", "Where in the log it was committed."),
            "session_id": ("session_id", "The session that carried it out."),
            "scope": ("scope", "Where it belongs."),
            "client": ("client", "Name and version of the client."),
            "committed_at": ("committed_at", "When (UTC)."),
            "goal": ("goal", "What the task was for."),
            "summary": ("summary", "The method in short."),
            "steps": (LIST.format("steps"), "Its steps, in order."),
            "caveats": (LIST.format("caveats"), "What to mind."),
            "outcome": ("outcome", "success, partial or failure."),
            "verification": ("verification", "verified, partially_verified or unverified."),
            "withdrawn": ("withdrawn", "Whether an undo took it back."),
            "helped": ("helped", "Retrievals in which it helped."),
            "no_effect": ("no_effect", "Retrievals in which it was used without effect."),
            "harmed": ("harmed", "Retrievals in which it did harm."),
            "unknown": ("unknown", "Retrievals in which its effect stayed unknown."),
            "not_used": ("not_used", "Retrievals in which it was not used."),
        },
    ),
    AnalystView(
        "sessions",
        "Every task session.",
        f"{TABLES}.sessions",
        {
            "session_id": ("session_id", "Its id."),
            "position": ("position", "Where in the log it was opened."),
            "scope": ("scope", "Where it belongs."),
            "client": ("client", "Name and version of the client."),
            "task": ("task", "What the agent set out to do."),
            "initial_goal": ("initial_goal", "What for."),
            "continuity_id": ("continuity_id", "Shared by the sessions of one conversation."),
            "continued": ("continued", "Whether it went on with an earlier conversation."),
            "state": ("state", "open, committed or expired."),
            "opened_at": ("opened_at", "When it was opened (UTC)."),
            "last_at": ("last_at", "When it was last named while open (UTC)."),
            "closed_at": ("closed_at", "When it was committed (UTC)."),
            "expired_at": ("expired_at", "When it expired (UTC)."),
            "outcome": ("outcome", "success, partial or failure."),
            "outcome_summary": ("outcome_summary", "The outcome in the agent's words."),
            "final_goal": ("final_goal", "What it had become."),
            "verification": ("verification", "verified, partially_verified or unverified."),
            "procedure_id": ("nullif(procedure_id, '')", "The procedure it left behind."),
        },
    ),
    AnalystView(
        "retrievals",
        "Every page that was shown, under its own retrieval id.",
        f"{TABLES}.retrievals r left join {TABLES}.sessions s on s.session_id = r.session_id",
        {
            "retrieval_id": ("r.retrieval_id", "Its id."),
            "position": ("r.position", "Where in the log it was shown."),
            "session_id": ("r.session_id", "The session that asked."),
            "scope": ("s.scope", "Where it asked."),
            "verb": ("r.verb", "activate, recall or page (a further page)."),
            "cue": ("r.cue", "What was asked."),
            "kind": ("r.kind", "Only of this kind, if said."),
            "memories": ("r.memories", "How many memories it showed."),
            "procedures": ("r.procedures", "How many procedures it showed."),
            "standing": ("r.standing", "How many standing rules and decisions it showed."),
            "candidates": ("r.candidates", "How many were found and kept for further pages."),
            "hidden_by_kind": ("r.hidden_by_kind", "How many the kind filter left out."),
            "continues": ("r.continues", "The retrieval that a further page continues."),
            "policy": ("nullif(r.policy, '')", "Digest of the weights it was ranked by."),
            "recorded_at": ("r.recorded_at", "When (UTC)."),
        },
    ),
    AnalystView(
        "exposures",
        "Every memory and procedure as it was shown, with its rank and score.",
        f"{TABLES}.exposures",
        {
            "retrieval_id": ("retrieval_id", "The page."),
            "position": ("position", "Where in the log."),
            "session_id": ("session_id", "The session that saw it."),
            "target_id": ("target_id", "The memory or procedure."),
            "place": ("place", "memories, procedures or standing."),
            "rank": ("rank", "From 1."),
            "pathway": ("pathway", "direct or associated."),
            "score": ("score", "What it was ranked by."),
            "parts": ("parts", "What the score was made of (JSON)."),
            "shown_at": ("shown_at", "When (UTC)."),
        },
    ),
    AnalystView(
        "feedback",
        "Every verdict that was ever given; of several in one retrieval the last that stands counts.",
        f"{TABLES}.feedback",
        {
            "position": ("position", "Where in the log."),
            "session_id": ("session_id", "The session that gave it."),
            "retrieval_id": ("retrieval_id", "The retrieval it is about."),
            "target_id": ("target_id", "The memory or procedure."),
            "target": ("target", "memory or procedure."),
            "assessment": ("assessment", "used, irrelevant, stale, not_used, already_known or unassessable."),
            "effect": ("effect", "Of a used procedure: helped, no_effect, harmed or unknown."),
            "stale_reason": ("stale_reason", "Why it is stale."),
            "replacement_memory_id": ("replacement_memory_id", "The memory that holds in its place."),
            "reason": ("reason", "In the agent's words."),
            "coverage": ("coverage", "partial or complete, as declared."),
            "given_at": ("given_at", "When (UTC)."),
            "withdrawn": ("withdrawn_by > 0", "Whether an undo took it back."),
        },
    ),
    AnalystView(
        "runs",
        "Every run that typed memories.",
        f"{TABLES}.runs",
        {
            "run_id": ("run_id", "Its id."),
            "position": ("position", "Where in the log it was started."),
            "mode": ("mode", "untyped or refresh."),
            "backend": ("backend", "Who guessed."),
            "state": ("state", "queued, running, paused, completed, cancelled, failed, reverting or reverted."),
            "total": ("total", "How many memories it set out for."),
            "processed": ("processed", "How many it judged."),
            "changed": ("changed", "How many it typed."),
            "skipped": ("skipped", "How many it left alone."),
            "errors": ("errors", "How many failed."),
            "reverted": ("reverted", "How many lost its kind again."),
            "kept": ("kept", "How many of those still show a kind."),
            "started_at": ("started_at", "When it was started (UTC)."),
            "active_seconds": ("active_seconds", "How long it was worked on."),
        },
    ),
    AnalystView(
        "events",
        "The log itself: every event, whole.",
        f"{TABLES}.{EVENTS}",
        {
            "position": ("position", "Its place in the log, from 1."),
            "stream": ("stream", "The memory, session, run or store it is about."),
            "version": ("version", "Its place in that stream, from 1."),
            "topic": ("topic", "What happened."),
            "recorded_at": ("recorded_at", "When (UTC)."),
            "actor_kind": ("actor_kind", "client, person or system."),
            "actor": ("actor", "Name of the client."),
            "actor_version": ("actor_version", "Version of the client."),
            "session_id": ("session_id", "In which session."),
            "run_id": ("run_id", "In which run."),
            "request_id": ("request_id", "Which request caused it."),
            "fact": ("fact", "Everything it says (JSON)."),
        },
    ),
)


def create_views(db: duckdb.DuckDBPyConnection, database: str) -> None:
    """Make or remake every view, with its comments, in a database that has the tables."""
    db.execute(f"create schema if not exists {database}.{SCHEMA}")
    for view in VIEWS:
        place = f"{database}.{SCHEMA}.{view.name}"
        db.execute(f"create or replace view {place} as {view.select()}")
        db.execute(f"comment on view {place} is {quoted(view.about)}")
        for name, (_, meaning) in view.columns.items():
            db.execute(f"comment on column {place}.{name} is {quoted(meaning)}")


def quoted(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def create_empty(db: duckdb.DuckDBPyConnection, database: str, tables: Mapping[str, Columns]) -> None:
    """The tables behind the views, without rows: what is needed to tell the views' types."""
    db.execute(f"create schema if not exists {database}.{TABLES}")
    for name, columns in {**tables, EVENTS: EVENT_COLUMNS}.items():
        db.execute(f"create table {database}.{TABLES}.{name} ({declared(columns)})")


def described(tables: Mapping[str, Columns]) -> dict[str, list[tuple[str, str, str]]]:
    """Every view with its columns: name, type and meaning. `tables` are the read models' columns by table."""
    with duckdb.connect() as db:
        create_empty(db, "memory", tables)
        create_views(db, "memory")
        found: dict[str, list[tuple[str, str, str]]] = {}
        for view in VIEWS:
            rows = db.execute(f"describe memory.{SCHEMA}.{view.name}").fetchall()
            found[view.name] = [(row[0], row[1], view.columns[row[0]][1]) for row in rows]
        return found
