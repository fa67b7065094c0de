"""The layers beneath the memories that verbs show: episodes, the prototypes they group into, and what ties them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from ..consolidation.associations import Edge, strength_at, ways_of
from ..domain.errors import NotFound
from ..projections.columns import micros, moment
from ..projections.topics import COARSE, FINE, PREFIX
from .operations import Answer
from .phrasing import NOTICE, neutral, told
from .showing import procedure_view

if TYPE_CHECKING:
    from .store import Store

Layer = Literal["episodes", "prototypes", "schemas", "procedures"]

_EPISODE: Final = """
SELECT e.no, e.of, e.memory_id, e.session_id, s.scope, e.told_at, e.formed_at, e.salience, e.coarse, e.fine
FROM episodes e JOIN scopes s ON s.no = e.scope WHERE e.formed_at IS NOT NULL"""
_PROTOTYPE: Final = """
SELECT p.level, p.no, s.scope, p.parent, p.members, p.founded_at, p.last_at, e.memory_id, e.session_id
FROM prototypes p JOIN scopes s ON s.no = p.scope JOIN episodes e ON e.no = p.no"""
_ENDINGS: Final = "select session_id, final_goal, outcome_summary from sessions where list_contains($ids, session_id)"
MEMBERS_SHOWN: Final = 20


def list_layer(store: Store, layer: Layer, scope: str | None, limit: int) -> Answer:
    """One layer of a scope, or of all, newest first."""
    match layer:
        case "episodes":
            where, bound = ("", []) if scope is None else (" AND s.scope = ?", [scope])
            rows = store.consolidated.rows(f"{_EPISODE}{where} ORDER BY e.no DESC LIMIT ?", [*bound, limit])
            shown = episode_views(store, rows)
            total = _count(store, f"SELECT count(*) AS n FROM ({_EPISODE}{where})", bound)
        case "prototypes":
            where, bound = (" WHERE level = 0", []) if scope is None else (" WHERE level = 0 AND s.scope = ?", [scope])
            rows = store.consolidated.rows(
                f"{_PROTOTYPE}{where} ORDER BY p.members DESC, p.no DESC LIMIT ?", [*bound, limit]
            )
            shown = prototype_views(store, rows)
            total = _count(store, f"SELECT count(*) AS n FROM ({_PROTOTYPE}{where})", bound)
        case _:
            held = [row for row in reversed(store.tables.procedures.values()) if scope in (None, row.scope)]
            shown = [procedure_view(row, "", whole=True) for row in held[:limit]]
            total = len(held)
    return {"layer": layer, layer: shown, "total": total, "notice": NOTICE}


def episode_views(store: Store, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Episodes with their words: those of the claim, or the goal of the task and what came of it."""
    words = store.contents([row["memory_id"] for row in rows if row["memory_id"]])
    endings = _endings(store, [row["session_id"] for row in rows if row["of"] == "outcome"])
    topics = _names(store, [row[level] for row in rows for level in ("coarse", "fine")])
    return [
        {
            "episode_id": f"ep_{row['memory_id'] or row['session_id']}",
            "of": row["of"],
            "content": neutral(words.get(row["memory_id"], "") or endings.get(row["session_id"], "")),
            **{name: row[name] for name in ("memory_id", "session_id") if row[name]},
            "scope": row["scope"],
            "told_at": told(moment(row["told_at"])),
            "formed_at": told(moment(row["formed_at"])),
            "salience": row["salience"],
            "prototypes": [
                f"{PREFIX[level]}{topics[row[name]]}"
                for level, name in ((COARSE, "coarse"), (FINE, "fine"))
                if row[name] is not None
            ],
        }
        for row in rows
    ]


def prototype_views(store: Store, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Prototypes with the words of the episode that founded each."""
    words = store.contents([row["memory_id"] for row in rows if row["memory_id"]])
    endings = _endings(store, [row["session_id"] for row in rows if not row["memory_id"]])
    return [
        {
            "prototype_id": f"{PREFIX[row['level']]}{row['memory_id'] or row['session_id']}",
            "scope": row["scope"],
            "episodes": row["members"],
            "founded_by": f"ep_{row['memory_id'] or row['session_id']}",
            "content": neutral(words.get(row["memory_id"], "") or endings.get(row["session_id"], "")),
            "founded_at": told(moment(row["founded_at"])),
            "last_at": told(moment(row["last_at"])),
        }
        for row in rows
    ]


def show_episode(store: Store, episode_id: str) -> Answer:
    """One episode, and for a claim's what is associated with it."""
    rows = store.consolidated.rows(f"{_EPISODE} AND e.no = ?", [_number(store, episode_id.removeprefix("ep_"))])
    if not rows:
        raise NotFound(f"{episode_id!r} has not formed", hint="an episode forms when its session commits or expires")
    [view], [row] = episode_views(store, rows), rows
    tied = associated(store, row["no"]) if row["of"] == "claim" else []
    return {**view, **({"associated": tied} if tied else {}), "notice": NOTICE}


def show_prototype(store: Store, prototype_id: str) -> Answer:
    """One prototype: its last episodes, and the topics that are associated with it."""
    level = COARSE if prototype_id.startswith(PREFIX[COARSE]) else FINE
    no = _number(store, prototype_id.removeprefix(PREFIX[level]))
    rows = store.consolidated.rows(f"{_PROTOTYPE} WHERE p.level = ? AND p.no = ?", [level, no])
    if not rows:
        raise NotFound(f"{prototype_id!r} is no prototype", hint="slw list --layer prototypes shows ids")
    [view] = prototype_views(store, rows)
    name = "coarse" if level == COARSE else "fine"
    members = store.consolidated.rows(f"{_EPISODE} AND e.{name} = ? ORDER BY e.no DESC LIMIT ?", [no, MEMBERS_SHOWN])
    view["last_episodes"] = [
        {"episode_id": held["episode_id"], "content": held["content"]} for held in episode_views(store, members)
    ]
    if level == COARSE:
        edges = store.consolidated.edges_of_prototype(no)
        names = _names(store, [edge.to for edge in edges])
        view["associated"] = [
            {"prototype_id": f"{PREFIX[COARSE]}{names[edge.to]}", **_tie(store, edge)} for edge in edges
        ]
    return {**view, "notice": NOTICE}


def associated(store: Store, position: int) -> list[dict[str, Any]]:
    """The memories that are tied to the one told at a position, the strongest first, and how strongly they are now."""
    edges = store.consolidated.edges_of(position)
    names = _names(store, [edge.to for edge in edges])
    found = [{"memory_id": names[edge.to], **_tie(store, edge)} for edge in edges]
    return sorted(found, key=lambda tie: (-tie["strength"], tie["memory_id"]))


def consolidation_status(store: Store) -> dict[str, Any]:
    """How much sessions turned into, what still waits for its session to close, and when something last formed."""
    [held] = store.consolidated.rows(
        "SELECT count(formed_at) AS episodes, count(*) - count(formed_at) AS waiting, max(formed_at) AS last "
        "FROM episodes"
    )
    memories, prototypes = store.consolidated.associations()
    last = held["last"]
    return {
        "episodes": held["episodes"],
        "prototypes": _count(store, "SELECT count(*) AS n FROM prototypes WHERE level = 0", []),
        "associations": {"memories": memories, "prototypes": prototypes},
        "claims_waiting": held["waiting"],
        **({"last": told(moment(last))} if last is not None else {}),
    }


def _tie(store: Store, edge: Edge) -> dict[str, Any]:
    strength = strength_at(edge, micros(store.now()), store.tables.policy)
    return {"ways": ways_of(edge), "strength": round(strength, 4), "since": told(moment(edge.since))}


def _number(store: Store, name: str) -> int:
    """The number of the episode of a memory or of a session's end; -1 when there is none."""
    column = "memory_id" if name.startswith("mem_") else "of = 'outcome' AND session_id"
    rows = store.consolidated.rows(f"SELECT no FROM episodes WHERE {column} = ?", [name])
    return rows[0]["no"] if rows else -1


def _names(store: Store, numbers: Sequence[int | None]) -> dict[int, str]:
    """What each episode is of: a memory, or a session."""
    wanted = list(dict.fromkeys(no for no in numbers if no is not None))
    marks = ", ".join("?" * len(wanted))
    rows = store.consolidated.rows(f"SELECT no, memory_id, session_id FROM episodes WHERE no IN ({marks})", wanted)
    return {row["no"]: row["memory_id"] or row["session_id"] for row in rows}


def _endings(store: Store, session_ids: Sequence[str]) -> dict[str, str]:
    if not session_ids:
        return {}
    rows = store.tables.query(_ENDINGS, {"ids": list(session_ids)})
    return {row["session_id"]: "\n".join(filter(None, (row["final_goal"], row["outcome_summary"]))) for row in rows}


def _count(store: Store, sql: str, values: Sequence[Any]) -> int:
    [row] = store.consolidated.rows(sql, values)
    return row["n"]
