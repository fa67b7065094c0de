"""What a person asks beside the verbs: lists, searches, one thing in full and why, hiding a memory, and status."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..domain.errors import NotFound
from ..domain.results import Changed
from ..domain.vocabulary import MemoryState, Stage
from .fields import Command, Id, KindWord, Limit, Query, Reason, Scope, absent
from .kind_signatures import SEARCH
from .layers import Layer, associated, consolidation_status, list_layer, show_episode, show_prototype
from .operations import Answer, Asked, Operation, settled
from .phrasing import NOTICE, neutral, told
from .showing import Line, event_view, memory_views, procedure_view, record_view, warned

if TYPE_CHECKING:
    from ..projections.kind_view import KindView
    from ..projections.schemas import Schema
    from .store import Store

DEFAULT_LIMIT = 20
EVERY_SESSION = """
select session_id, state, scope, task, initial_goal, client, actor_kind, opened_at as activated_at, last_at,
       closed_at, outcome, outcome_summary, procedure_id
from sessions where ($scope = '' or scope = $scope) and ($state = '' or state = $state)
order by position desc limit $limit"""
SHOWN_IN = """
select retrieval_id, session_id, place, rank, pathway, score, parts, shown_at
from exposures where target_id = ? order by position desc, number limit 50"""
SAID_OF = """
select retrieval_id, session_id, assessment, effect, stale_reason, reason, given_at, withdrawn_by > 0 as withdrawn
from feedback where target_id = ? order by position desc, number limit 50"""
PAGE_OF = "select * from retrievals where retrieval_id = ?"
ON_PAGE = "select * from exposures where retrieval_id = ? order by number"


class List(Command):
    """Memories, newest first; or one of the layers beneath them."""

    scope: Annotated[Scope | None, absent] = None
    layer: Annotated[Layer | None, absent] = None
    kind: KindWord = None
    state: Annotated[MemoryState | None, absent] = None
    limit: Limit = DEFAULT_LIMIT


class Search(Command):
    """A search that leaves no trace."""

    query: Query
    scope: Scope
    kind: KindWord = None
    limit: Limit = DEFAULT_LIMIT


class One(Command):
    """One memory, procedure, session or retrieval by its id."""

    id: Id


class Why(Command):
    """Why something is as it is; with a retrieval and a memory, why that memory was shown there."""

    id: Id
    memory_id: Annotated[Id | None, absent] = None


class Sessions(Command):
    """Task sessions, newest first."""

    scope: Annotated[Scope | None, absent] = None
    state: Annotated[Literal["open", "committed", "expired"] | None, absent] = None
    limit: Limit = DEFAULT_LIMIT


class Decide(Command):
    """A decision about one memory."""

    memory_id: Id
    reason: Annotated[Reason | None, absent] = None


class Widen(Command):
    """How far a memory may be seen from now on."""

    memory_id: Id
    stage: Stage


class Pin(Command):
    """The stage at which a memory is held; without one, evidence decides."""

    memory_id: Id
    stage: Annotated[Stage | None, absent] = None


class Nothing(Command):
    """No argument at all."""


# ---------------------------------------------------------------- looking


def list_memories(store: Store, command: List, _: Asked) -> Answer:
    """Memories of a scope, or of all; live ones, or those in one state. Or one of the layers beneath them."""
    store.catch_up()
    if command.layer not in (None, "schemas"):
        return list_layer(store, command.layer, command.scope, command.limit)
    kinds = store.kinds.view()
    matching = [s for s in newest_first(store, command.scope) if wanted(s, command, kinds)]
    words = store.contents([schema.memory_id for schema in matching[: command.limit]])
    shown = [
        record_view(s, neutral(words.get(s.memory_id, "")), kinds, store.stages.stage_of(s.memory_id))
        for s in matching[: command.limit]
    ]
    return {"memories": shown, "total": len(matching), "notice": NOTICE}


def newest_first(store: Store, scope: str | None) -> Iterable[Schema]:
    if scope is None:
        return reversed(store.tables.schemas.values())
    return reversed(list(store.tables.claims.of_scope(scope)))


def wanted(schema: Schema, command: List, kinds: KindView) -> bool:
    in_state = schema.live if command.state is None else schema.state == command.state
    return in_state and (command.kind is None or kinds.kind(schema) == command.kind)


def search(store: Store, command: Search, asked: Asked) -> Answer:
    """What a recall would find, without a session and without a trace."""
    store.catch_up()
    found = store.recall.search(
        command.query,
        asked.vector,
        command.scope,
        as_of=store.now(),
        kind=command.kind,
        limit=command.limit,
        cue_vector=asked.cue_vector,
    )
    lines = [Line.of(hit) for hit in found.memories[: command.limit]]
    return {
        "memories": memory_views(store, lines),
        "relevant_total": found.relevant_total,
        "hidden_by_kind": found.hidden_by_kind,
        "warnings": warned((*asked.warnings, *found.warnings)),
        "notice": NOTICE,
    }


def sessions(store: Store, command: Sessions, _: Asked) -> Answer:
    """Sessions, newest first."""
    store.catch_up()
    rows = store.tables.query(
        EVERY_SESSION, {"scope": command.scope or "", "state": command.state or "", "limit": command.limit}
    )
    return {"sessions": [plain(row) for row in rows]}


def show(store: Store, command: One, _: Asked) -> Answer:
    """One thing in full, as it stands now."""
    store.catch_up()
    match command.id.partition("_")[0]:
        case "mem":
            memory = store.memories.memory(command.id)
            stage = store.stages.stage_of(memory.id)
            held = record_view(store.schema(memory.id), neutral(memory.content), store.kinds.view(), stage)
            return {
                **held,
                "cases": [vars_of(case) for case in memory.cases.values()],
                "associated": associated(store, store.schema(memory.id).position),
                "notice": NOTICE,
            }
        case "ep":
            return show_episode(store, command.id)
        case "proto" | "fine":
            return show_prototype(store, command.id)
        case "proc":
            row = store.tables.procedures.get(command.id)
            if row is None:
                raise unknown(command.id)
            return procedure_view(row, "", whole=True)
        case "sess":
            store.memories.session(command.id)
            [row] = store.tables.query("select * from sessions where session_id = ?", [command.id])
            return {**plain(row), "events": len(store.events_of(command.id))}
        case "ret":
            pages = store.tables.query(PAGE_OF, [command.id])
            if not pages:
                raise unknown(command.id)
            return {**plain(pages[0]), "shown": [plain(row) for row in store.tables.query(ON_PAGE, [command.id])]}
        case _:
            raise unknown(command.id)


def why(store: Store, command: Why, _: Asked) -> Answer:
    """The chain of events behind one thing; where it was shown, and what was said of it."""
    store.catch_up()
    if command.id.startswith("ret_"):
        return why_shown(store, command.id, command.memory_id)
    events = store.events_of(command.id.removeprefix("proc_"))
    if not events:
        raise unknown(command.id)
    answer: Answer = {"id": command.id, "events": [event_view(at, fact) for at, fact in events]}
    if command.id.startswith("mem_"):
        held = store.schema(command.id)
        answer["state"] = held.state
        strength = store.tables.salience.get(command.id)
        if strength is not None:
            answer["salience"] = {
                "value": round(strength.value, 4),
                "since": told(strength.since),
                "used": strength.used,
                "irrelevant": strength.irrelevant,
            }
        answer["held"] = store.stages.story(command.id)
    answer["shown"] = [plain(row) for row in store.tables.query(SHOWN_IN, [command.id])]
    answer["feedback"] = [plain(row) for row in store.tables.query(SAID_OF, [command.id])]
    return answer


def why_shown(store: Store, retrieval_id: str, target_id: str | None) -> Answer:
    """The parts of the score with which targets were shown."""
    rows = [r for r in store.tables.query(ON_PAGE, [retrieval_id]) if target_id in (None, r["target_id"])]
    if not rows:
        raise unknown(target_id or retrieval_id)
    return {"retrieval_id": retrieval_id, "shown": [plain(row) for row in rows]}


def unknown(thing: str) -> NotFound:
    return NotFound(f"{thing!r} was never issued", hint="slw list and slw sessions show ids")


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the tables as JSON: times as text, words neutralised."""
    return {name: as_json(value) for name, value in row.items() if value is not None}


def as_json(value: Any) -> Any:
    if isinstance(value, str):
        return neutral(value)
    if hasattr(value, "isoformat"):
        return f"{value.isoformat()}Z" if value.tzinfo is None else told(value)
    return value.hex() if isinstance(value, bytes) else value


def vars_of(case: Any) -> dict[str, Any]:
    """A correction case as JSON."""
    return {name: getattr(case, name) for name in ("case_id", "replacement_id", "reason", "state", "version")}


# ---------------------------------------------------------------- deciding


def suppress(store: Store, command: Decide, asked: Asked) -> Answer:
    """Hide a memory from every verb."""
    return decided(store, command, asked, hide=True)


def unsuppress(store: Store, command: Decide, asked: Asked) -> Answer:
    """Show it again."""
    return decided(store, command, asked, hide=False)


def decided(store: Store, command: Decide, asked: Asked, *, hide: bool) -> Answer:
    def build(done: Changed) -> Answer:
        memory = store.memories.memory(done.memory_id)
        state = "suppressed" if hide else "active" if memory.live else "stale"
        return {"memory_id": done.memory_id, "state": state, "position": done.position}

    change = store.memories.suppress if hide else store.memories.unsuppress
    return build(change(command.memory_id, command.reason or "", asked.call, settled(build)))


def promote(store: Store, command: Widen, asked: Asked) -> Answer:
    """Let a memory be seen beyond its scope."""
    return widened(
        store, command, asked, lambda *given: store.memories.promote(command.memory_id, command.stage, *given)
    )


def pin(store: Store, command: Pin, asked: Asked) -> Answer:
    """Hold a memory at a stage whatever evidence comes, or let evidence decide again."""
    return widened(store, command, asked, lambda *given: store.memories.pin(command.memory_id, command.stage, *given))


def widened(store: Store, command: Widen | Pin, asked: Asked, change: Callable[..., Changed]) -> Answer:
    def build(done: Changed) -> Answer:
        held = store.memories.memory(done.memory_id)
        return {
            "memory_id": done.memory_id,
            "promoted": held.promoted,
            "pinned": held.pinned or "",
            "position": done.position,
        }

    answer = build(change(asked.call, settled(build)))
    store.catch_up()
    return {**answer, "stage": store.stages.stage_of(command.memory_id)}


def status(store: Store, _: Nothing, __: Asked) -> Answer:
    """How the store stands: what it holds, how far each read model is, and what is wrong."""
    store.catch_up()
    return {**store.status(), "consolidation": consolidation_status(store)}


PEOPLE: tuple[Operation, ...] = (
    Operation("list", List, list_memories),
    Operation("search", Search, search, tool=SEARCH, cue=lambda command: command.query),
    Operation("show", One, show),
    Operation("why", Why, why),
    Operation("sessions", Sessions, sessions),
    Operation("suppress", Decide, suppress, "manage"),
    Operation("unsuppress", Decide, unsuppress, "manage"),
    Operation("promote", Widen, promote, "manage"),
    Operation("pin", Pin, pin, "manage"),
    Operation("status", Nothing, status),
)
