"""Activate and recall: what a session is shown, and the record of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..domain.errors import InvalidInput
from ..domain.events import Exposure
from ..domain.results import Activated, Exposed
from ..domain.session import Cursor, Shown
from ..domain.vocabulary import MAX_FROZEN, Verb
from .commands import Activate, Recall
from .operations import Answer, Asked, settled
from .phrasing import COLD_START, NOTICE
from .showing import Line, evidence, memory_views, procedure_views, warned
from .standing import standing_of, standing_view

if TYPE_CHECKING:
    from ..projections.recall import Found, Hit
    from .store import Store

# A page brings few procedures: each is long, and each wants feedback before commit.
PROCEDURES_SHOWN = 3


# ---------------------------------------------------------------- activate


def activate(store: Store, command: Activate, asked: Asked) -> Answer:
    """Open a task: what is remembered for it, and a session to go on in."""
    if command.continuity_id:
        store.memories.require_continuity(command.continuity_id, command.scope)
    store.catch_up()
    cold = not store.remembers(command.scope)
    cue, as_of = activation_cue(command), store.now()
    standing = standing_of(store, command.scope)
    found = without(
        store.recall.search(
            cue,
            asked.vector,
            command.scope,
            as_of=as_of,
            limit=MAX_FROZEN,
            verb="activate",
            cue_vector=asked.cue_vector,
        ),
        standing.memory_ids,
    )
    shown = as_shown(store, found, "activate", cue, as_of, command.page_size, asked, standing=standing.memory_ids)
    twin = store.twin_of(command.scope) if cold else ""

    memories = memory_views(store, lines_of(found.memories[: command.page_size]))
    procedures = procedure_views(store, found.procedures[:PROCEDURES_SHOWN], whole=False)
    rules = standing_view(store, standing)

    def build(done: Activated) -> Answer:
        answer: Answer = {
            "session_id": done.session_id,
            "retrieval_id": done.retrieval_id,
            "memory_state": "cold_start" if cold else "available",
            "standing": rules,
            "memories": memories,
            "procedures": procedures,
            "warnings": warned(shown.warnings, twin),
            "continuity_id": done.continuity_id,
            "continuity_state": "continued" if done.continued else "started",
            **more(found, done.retrieval_id, command.page_size),
        }
        return {**answer, "guidance": COLD_START} if cold else {**answer, "notice": NOTICE}

    return build(
        store.memories.activate(
            task=command.task,
            initial_goal=command.initial_goal,
            scope=command.scope,
            continuity_id=command.continuity_id or "",
            shown=shown,
            call=asked.call,
            phrase=settled(build),
        )
    )


def without(found: Found, memory_ids: Collection[str]) -> Found:
    """What was found apart from memories that are told anyway."""
    kept = [hit for hit in found.memories if hit.target_id not in memory_ids]
    return replace(found, memories=kept, relevant_total=found.relevant_total - len(found.memories) + len(kept))


def activation_cue(command: Activate) -> str:
    """What is looked for when a task begins."""
    if command.initial_goal.casefold() in command.task.casefold():
        return command.task
    return f"{command.task}\n{command.initial_goal}"


def as_shown(
    store: Store, found: Found, verb: Verb, cue: str, as_of: datetime, page_size: int, asked: Asked, **rest: Any
) -> Shown:
    """What a search found, as the log keeps it."""
    return Shown(
        verb=verb,
        cue=cue,
        page_size=page_size,
        as_of=as_of,
        read_position=found.position,
        policy=store.policy.digest,
        memories=exposures(found.memories[:page_size]),
        procedures=exposures(found.procedures[:PROCEDURES_SHOWN]),
        candidates=tuple(hit.target_id for hit in found.memories[:MAX_FROZEN]),
        hidden_by_kind=found.hidden_by_kind,
        warnings=tuple(dict.fromkeys((*asked.warnings, *found.warnings))),
        **rest,
    )


def lines_of(hits: Sequence[Hit]) -> list[Line]:
    return [Line.of(hit) for hit in hits]


def exposures(hits: Sequence[Hit | Line], first_rank: int = 1) -> tuple[Exposure, ...]:
    return tuple(
        Exposure(target_id=hit.target_id, rank=rank, pathway=hit.pathway, score=hit.score, parts=hit.parts)
        for rank, hit in enumerate(hits, first_rank)
    )


def more(found: Found, retrieval_id: str, shown: int) -> Answer:
    """Whether there is a further page, and where it begins."""
    available = len(found.memories) > shown
    answer: Answer = {"relevant_total": found.relevant_total, "more_available": available}
    return {**answer, "continue_from": Cursor(retrieval_id, shown).token()} if available else answer


# ---------------------------------------------------------------- recall


def recall(store: Store, command: Recall, asked: Asked) -> Answer:
    """Look something up, or show the next page of what was found."""
    session_id = the_session(command.session_id, asked)
    store.catch_up()
    if session_id:
        require_open(store, session_id, command.scope)
    if command.continue_from is not None:
        return next_page(store, command, session_id, asked)
    cue, as_of = command.query or "", store.now()
    found = store.recall.search(
        cue,
        asked.vector,
        command.scope,
        as_of=as_of,
        kind=command.kind,
        limit=MAX_FROZEN,
        verb="recall",
        cue_vector=asked.cue_vector,
    )
    shown = as_shown(store, found, "recall", cue, as_of, command.page_size, asked, kind=command.kind)

    lines = lines_of(found.memories[: command.page_size])
    answer: Answer = {
        "memories": memory_views(store, lines),
        "procedures": procedure_views(store, found.procedures[:PROCEDURES_SHOWN], whole=True),
        "evidence": evidence(store, lines, command.evidence or "references"),
        "hidden_by_kind": found.hidden_by_kind,
        "warnings": warned(shown.warnings),
        "notice": NOTICE,
    }

    def build(done: Exposed | None) -> Answer:
        if done is None:
            available = len(found.memories) > command.page_size
            return {**answer, "relevant_total": found.relevant_total, "more_available": available}
        return {"retrieval_id": done.retrieval_id, **answer, **more(found, done.retrieval_id, command.page_size)}

    if not session_id:
        return build(None)
    return build(store.memories.expose(session_id=session_id, shown=shown, call=asked.call, phrase=settled(build)))


def require_open(store: Store, session_id: str, scope: str) -> None:
    """See from memory that the session is open in this scope; where that is not so, the log says what is wrong."""
    held = store.tables.sessions.get(session_id)
    if held is None or held.state != "open" or held.scope != scope:
        session = store.memories.session(session_id)
        session.require_scope(scope)
        session.require_open("recall")


def next_page(store: Store, command: Recall, session_id: str, asked: Asked) -> Answer:
    """Go on through the frozen candidates, past those that are no longer live."""
    if not session_id:
        raise InvalidInput.at("session_id", "is required", "a cursor belongs to the session that got it")
    cursor = Cursor.parse(command.continue_from or "")
    frozen = store.memories.session(session_id).source_of(cursor).candidates
    ids: list[str] = []
    offset = cursor.offset
    while offset < len(frozen) and len(ids) < command.page_size:
        if store.live(frozen[offset]):
            ids.append(frozen[offset])
        offset += 1
    left = any(store.live(memory_id) for memory_id in frozen[offset:])
    lines = [Line(memory_id, why=f"of the {len(frozen)} found for the first page") for memory_id in ids]
    answer: Answer = {
        "memories": memory_views(store, lines),
        "procedures": [],
        "evidence": evidence(store, lines, command.evidence or "references"),
        "hidden_by_kind": 0,
        "warnings": warned(asked.warnings),
        "notice": NOTICE,
        "relevant_total": len(frozen),
        "more_available": left,
    }
    if left:
        answer["continue_from"] = Cursor(cursor.retrieval_id, offset).token()

    def build(done: Exposed) -> Answer:
        return {"retrieval_id": done.retrieval_id, **answer}

    return build(
        store.memories.show_page(
            session_id=session_id,
            cursor=cursor,
            next_offset=offset,
            memories=exposures(lines, cursor.offset + 1),
            call=asked.call,
            phrase=settled(build),
        )
    )


def the_session(session_id: str | None, asked: Asked) -> str:
    """The session named; only a person may do without one."""
    if session_id is None and not asked.by_person:
        raise InvalidInput.at("session_id", "is required", "send the session_id that slowave_activate answered")
    return session_id or ""
