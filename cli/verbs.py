"""The five verbs by hand: what an agent does, typed by a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..domain.vocabulary import (
    ASSESSMENTS,
    COVERAGES,
    EFFECTS,
    MEMORY_TYPES,
    OUTCOMES,
    PROCEDURE_USES,
    STALE_REASONS,
    VERIFICATION_STATUSES,
)
from .asking import ask
from .options import kind_option, page_option, scope_option, scope_or_default, sent, session_option, shared
from .past import Point, as_of_option, ask_then
from .shown import accepted, activated, committed, recalled, remembered
from .terminal import EXIT_FINE, EXIT_REFUSED, Terminal


@click.command("activate")
@click.argument("task")
@click.option("--initial-goal", "--goal", "initial_goal", help="What the task should reach; default the task itself.")
@scope_option
@click.option("--continuity-id", metavar="TOKEN", help="The token of an earlier session of this conversation.")
@page_option
@shared
def activate_command(
    terminal: Terminal,
    task: str,
    initial_goal: str | None,
    scope: str | None,
    continuity_id: str | None,
    page_size: int | None,
) -> None:
    """Open a task and get what is remembered for it.

    The session id goes to --session (or SLW_SESSION) of the other verbs.
    """
    body = sent(
        task=task,
        initial_goal=initial_goal or task,
        scope=scope_or_default(scope),
        continuity_id=continuity_id,
        page_size=page_size,
    )
    terminal.answer(ask(terminal, "activate", body), activated)


@click.command("remember")
@click.argument("text")
@scope_option
@session_option
@click.option("--type", "type_", type=click.Choice(MEMORY_TYPES), help="What sort of claim it is; default fact.")
@kind_option
@click.option("--replaces", metavar="ID", help="The memory that this one takes the place of.")
@click.option("--occurred-at", metavar="TIME", help="When it happened, RFC 3339 with an offset.")
@shared
def remember_command(
    terminal: Terminal,
    text: str,
    scope: str | None,
    session_id: str | None,
    type_: str | None,
    kind: str | None,
    replaces: str | None,
    occurred_at: str | None,
) -> None:
    """Store a durable claim.

    TEXT of `-` is read from standard input. Without a session it is a person's claim.
    """
    body = sent(
        session_id=session_id,
        scope=scope_or_default(scope),
        content=sys.stdin.read() if text == "-" else text,
        type=type_,
        kind=kind,
        replaces=replaces,
        occurred_at=occurred_at,
    )
    terminal.answer(ask(terminal, "remember", body), remembered)


@click.command("recall")
@click.argument("query", required=False)
@scope_option
@session_option
@kind_option
@click.option("--evidence", type=click.Choice(["references", "full"]), help="How much stands behind each memory.")
@click.option("--continue-from", metavar="CURSOR", help="The next page of an earlier answer, instead of a query.")
@page_option
@as_of_option
@shared
def recall_command(
    terminal: Terminal,
    query: str | None,
    scope: str | None,
    session_id: str | None,
    kind: str | None,
    evidence: str | None,
    continue_from: str | None,
    page_size: int | None,
    as_of: Point,
) -> None:
    """Look something up.

    In a session the answer is recorded and wants feedback; without one it only reads.
    """
    if (query is None) == (continue_from is None):
        raise click.UsageError("give a QUERY, or --continue-from CURSOR")
    if as_of is not None:
        session_id = None  # the past is only looked at
    body = sent(
        session_id=session_id,
        scope=scope_or_default(scope),
        query=query,
        continue_from=continue_from,
        kind=kind,
        evidence=evidence,
        page_size=page_size,
    )
    terminal.answer(ask_then(terminal, "recall", body, as_of), recalled)


@click.command("feedback")
@click.argument("retrieval_id")
@click.argument("verdicts", metavar="ID=ASSESSMENT...", nargs=-1, required=True)
@click.option("--coverage", type=click.Choice(COVERAGES), help="Whether that was all; default partial.")
@click.option("--stale-reason", type=click.Choice(STALE_REASONS), help="Why a stale memory no longer holds.")
@click.option("--reason", help="In words, for stale and unassessable.")
@click.option("--replacement-memory-id", metavar="ID", help="What holds instead of a superseded memory.")
@click.option("--effect", type=click.Choice(EFFECTS), help="What a used procedure did.")
@click.option("--contribution", help="How a used procedure contributed.")
@shared
def feedback_command(
    terminal: Terminal, retrieval_id: str, verdicts: tuple[str, ...], coverage: str | None, **details: str | None
) -> int:
    """Say what helped of what a retrieval brought.

    A memory is mem_...=used, irrelevant, stale, not_used, already_known or unassessable; a procedure is
    proc_...=used or not_used. The options describe every stale memory and every used procedure of the call.
    """
    memories, procedures = read_verdicts(verdicts, details)
    body = sent(retrieval_id=retrieval_id, memory_feedback=memories, procedure_feedback=procedures, coverage=coverage)
    data = ask(terminal, "feedback", body)
    terminal.answer(data, accepted)
    return EXIT_REFUSED if data.get("rejected") else EXIT_FINE


def read_verdicts(
    verdicts: Sequence[str], details: Mapping[str, str | None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Memory and procedure feedback from `ID=ASSESSMENT` words and the options beside them."""
    memories: list[dict[str, Any]] = []
    procedures: list[dict[str, Any]] = []
    for verdict in verdicts:
        target, equals, word = verdict.partition("=")
        is_procedure = target.startswith("proc_")
        choices = PROCEDURE_USES if is_procedure else ASSESSMENTS
        if not equals or word not in choices:
            raise click.UsageError(f"{verdict}: say {target}=WORD with one of {', '.join(choices)}")
        if is_procedure:
            told = ("effect", "contribution") if word == "used" else ()
            procedures.append({"procedure_id": target, "use": word, **_told(details, told)})
        else:
            told = {"stale": ("stale_reason", "reason", "replacement_memory_id"), "unassessable": ("reason",)}
            memories.append({"memory_id": target, "assessment": word, **_told(details, told.get(word, ()))})
    return memories, procedures


def _told(details: Mapping[str, str | None], names: Sequence[str]) -> dict[str, Any]:
    return sent(**{name: details[name] for name in names})


@click.command("commit")
@session_option
@click.option("--final-goal", "--goal", "final_goal", required=True, help="What the task came to be about.")
@click.option("--outcome", type=click.Choice(OUTCOMES), required=True)
@click.option("--outcome-summary", "--summary", "outcome_summary", required=True, help="What came of it.")
@click.option(
    "--verification",
    "status",
    type=click.Choice(VERIFICATION_STATUSES),
    default="unverified",
    show_default=True,
    help="How far the outcome was checked.",
)
@click.option("--verification-summary", help="How it was checked; needed unless unverified.")
@click.option("--evidence-ref", "evidence_refs", multiple=True, help="What shows it; may be given again.")
@click.option(
    "--procedure", type=click.File(), help="The procedure as JSON, as the tool takes it; - is standard input."
)
@click.option("--procedure-summary", help="A procedure in options: what it does.")
@click.option("--step", "steps", multiple=True, help="One step of it; give in order.")
@click.option("--caveat", "caveats", multiple=True, help="What to beware of; may be given again.")
@shared
def commit_command(
    terminal: Terminal,
    session_id: str | None,
    final_goal: str,
    outcome: str,
    outcome_summary: str,
    status: str,
    verification_summary: str | None,
    evidence_refs: tuple[str, ...],
    **procedure: Any,
) -> None:
    """Close a task with its outcome, and a procedure if one is worth keeping.

    Without --session it closes the last session that a person opened and that is still open. Every target that
    was shown needs feedback first; the answer lists what is missing.
    """
    if verification_summary is None and status != "unverified":
        raise click.UsageError(f"--verification {status} needs --verification-summary: how was it checked?")
    body = sent(
        session_id=session_id or last_open_session(terminal),
        final_goal=final_goal,
        outcome=outcome,
        outcome_summary=outcome_summary,
        verification={
            "status": status,
            "summary": verification_summary or "not checked",
            **sent(evidence_refs=list(evidence_refs)),
        },
        procedure=read_procedure(**procedure),
    )
    terminal.answer(ask(terminal, "commit", body), committed)


def read_procedure(
    procedure: Any, procedure_summary: str | None, steps: tuple[str, ...], caveats: tuple[str, ...]
) -> dict[str, Any] | None:
    """The procedure from a file of JSON or from the options; None when there is none."""
    if procedure is not None:
        if procedure_summary or steps or caveats:
            raise click.UsageError("give --procedure, or --procedure-summary with --step and --caveat, not both")
        try:
            return json.load(procedure)
        except json.JSONDecodeError as error:
            raise click.UsageError(f"--procedure is not JSON: {error}") from error
    if not procedure_summary:
        if steps or caveats:
            raise click.UsageError("--step and --caveat belong to a --procedure-summary")
        return None
    return {
        "summary": procedure_summary,
        "steps": [{"summary": step} for step in steps],
        **sent(caveats=list(caveats)),
    }


def last_open_session(terminal: Terminal) -> str:
    """The newest session that a person opened and that is still open."""
    sessions = ask(terminal, "sessions", {"state": "open", "limit": 50})["sessions"]
    mine = [session["session_id"] for session in sessions if session["actor_kind"] == "person"]
    if not mine:
        raise click.UsageError("no session that a person opened is open: name one with --session")
    return mine[0]
