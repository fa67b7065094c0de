"""Kinds as everyone asks about them: say one, confirm guesses, settle corrections, count, and change the settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..domain.errors import InvalidInput, SlwError
from ..domain.results import CorrectionMoved, KindChanged
from ..domain.vocabulary import KIND_LABELS, Kind
from ..projections.kind_view import KindView
from .fields import Command, parse
from .kind_commands import (
    ChangeSettings,
    Confirm,
    Confirmed,
    Counts,
    Recent,
    Review,
    ReviewCorrection,
    SetKind,
    Suggest,
)
from .kind_runs import RUNS, latest_run, run_view
from .kind_signatures import CONFIRM, CORRECTION, RECENT, REVIEW, SET, STATUS
from .kind_trace import TRACE
from .operations import Answer, Asked, Operation, settled
from .people import Nothing, newest_first
from .phrasing import NOTICE, cut, neutral, told
from .showing import Line, memory_views

if TYPE_CHECKING:
    from ..projections.schemas import Schema
    from .store import Store

SHOWN_OF_A_TEXT: Final = 400
CUES: Final = """
select memory_id, arg_max(cue, position) as cue from kinds
where memory_id in (select unnest($ids)) and cue <> '' group by memory_id"""


# ---------------------------------------------------------------- saying


def set_kind(store: Store, command: SetKind, asked: Asked) -> Answer:
    """Say and confirm one memory's kind."""

    def build(outcomes: Sequence[KindChanged | SlwError]) -> Answer:
        return changed(store, raised(outcomes[0]))

    return build(store.memories.confirm_kinds([(command.memory_id, command.kind)], asked.call, settled(build)))


def confirm(store: Store, command: Confirm, asked: Asked) -> Answer:
    """Confirm up to 200 kinds in one transaction; an item that is wrong fails alone."""
    items: dict[int, tuple[str, Kind | None]] = {}
    refused: dict[int, SlwError] = {}
    for index, item in enumerate(command.items):
        try:
            checked = parse(Confirmed, item, f"items[{index}]")
            items[index] = (checked.memory_id, checked.kind)
        except InvalidInput as wrong:
            refused[index] = wrong

    def build(outcomes: Sequence[KindChanged | SlwError]) -> Answer:
        became = {**refused, **dict(zip(items, outcomes, strict=True))}
        results = [entry(store, index, became[index]) for index in sorted(became)]
        return {"results": results, "confirmed": sum(e["ok"] for e in results), "count": len(results)}

    return build(store.memories.confirm_kinds(list(items.values()), asked.call, settled(build)))


def entry(store: Store, index: int, outcome: KindChanged | SlwError) -> Answer:
    if isinstance(outcome, SlwError):
        return {"index": index, **outcome.envelope()}
    return {"index": index, "ok": True, "data": changed(store, outcome)}


def changed(store: Store, done: KindChanged) -> Answer:
    """One memory's kind as it stands now."""
    return {
        "memory_id": done.memory_id,
        **store.kinds.told(done),
        "changed": done.changed,
        "position": done.position,
    }


def raised(outcome: KindChanged | SlwError) -> KindChanged:
    if isinstance(outcome, SlwError):
        raise outcome
    return outcome


def settle_correction(store: Store, command: ReviewCorrection, asked: Asked) -> Answer:
    """Apply, reject or roll back a correction."""

    def build(done: CorrectionMoved) -> Answer:
        return {
            "case_id": done.case_id,
            "state": done.state,
            "version": done.version,
            "memory_id": done.memory_id,
            "replacement_id": done.replacement_id,
            "position": done.position,
        }

    return build(
        store.memories.settle_correction(
            command.case_id, command.action, command.expected_version, asked.call, settled(build)
        )
    )


# ---------------------------------------------------------------- looking


def review(store: Store, command: Review, asked: Asked) -> Answer:
    """Guesses that wait for confirmation, newest first, and corrections that wait for a decision."""
    if command.scope is None and not asked.by_person:
        raise InvalidInput.at("scope", "is required", "send the scope of your session")
    store.catch_up()
    view = store.kinds.view()
    in_scope = list(newest_first(store, command.scope))
    waiting = [s for s in in_scope if s.live and guessed(s, view) and command.kind in (None, view.kind(s))]
    shown = waiting[: command.limit]
    words, cues = store.contents([s.memory_id for s in shown]), cues_of(store, shown)
    cases = [store.memories.memory(s.memory_id) for s in in_scope if s.live and s.cases][: command.limit]
    return {
        "suggestions": [
            {
                "memory_id": schema.memory_id,
                "content": cut(neutral(words.get(schema.memory_id, "")), SHOWN_OF_A_TEXT),
                "type": schema.type,
                **view.fields(schema),
                "cue": neutral(cues.get(schema.memory_id, "")),
                "scope": schema.scope,
                "recorded_at": told(schema.recorded_at),
            }
            for schema in shown
        ],
        "total": len(waiting),
        "corrections": [
            {
                "case_id": case.case_id,
                "memory_id": memory.id,
                "content": cut(neutral(memory.content), SHOWN_OF_A_TEXT),
                "replacement_id": case.replacement_id,
                "reason": case.reason,
                "state": case.state,
                "version": case.version,
            }
            for memory in cases
            for case in memory.cases.values()
            if case.state == "proposed"
        ],
        "notice": NOTICE,
    }


def guessed(schema: Schema, view: KindView) -> bool:
    return view.fields(schema)["memory_kind_state"] == "suggested"


def cues_of(store: Store, schemas: Sequence[Schema]) -> dict[str, str]:
    """What each guess heard, by memory."""
    if not schemas:
        return {}
    rows = store.tables.query(CUES, {"ids": [schema.memory_id for schema in schemas]})
    return {row["memory_id"]: row["cue"] for row in rows}


def recent(store: Store, command: Recent, _: Asked) -> Answer:
    """The newest memories of a scope, without a trace."""
    store.catch_up()
    view = store.kinds.view()
    found = [s for s in newest_first(store, command.scope) if s.live and command.kind in (None, view.kind(s))]
    lines = [Line(schema.memory_id) for schema in found[: command.limit]]
    return {"memories": memory_views(store, lines), "total": len(found), "notice": NOTICE}


def counted(schemas: Iterable[Schema], view: KindView) -> dict[str, Any]:
    """How many live memories show each kind, and in which state; exact."""
    groups: Counter[tuple[str | None, str | None, bool, str]] = Counter()
    example: dict[tuple[str | None, str | None, bool, str], Schema] = {}
    for schema in schemas:
        if schema.live:
            sure = (schema.kind_confidence or 0.0) >= view.min_confidence
            group = (schema.kind, schema.kind_source, sure, schema.type)
            groups[group] += 1
            example.setdefault(group, schema)
    kinds: dict[str, dict[str, int]] = {kind: {"confirmed": 0, "suggested": 0, "legacy": 0} for kind in KIND_LABELS}
    untyped = 0
    for group, count in groups.items():
        fields = view.fields(example[group])
        if fields["memory_kind"]:
            kinds[str(fields["memory_kind"])][str(fields["memory_kind_state"])] += count
        else:
            untyped += count
    return {
        "kinds": {
            kind: {"label": KIND_LABELS[kind], "count": sum(states.values()), **states}
            for kind, states in kinds.items()
        },
        "untyped": untyped,
        "total": groups.total(),
    }


def counts(store: Store, command: Counts, _: Asked) -> Answer:
    """Exact counts at any size."""
    store.catch_up()
    return counted(newest_first(store, command.scope), store.kinds.view())


def status(store: Store, _: Command, __: Asked) -> Answer:
    """How kinds stand: counts, who guesses, settings and their problems, and the run there is."""
    store.catch_up()
    run = latest_run(store)
    return {
        **counted(store.tables.schemas.values(), store.kinds.view()),
        **guessing(store),
        "run": run_view(store, run) if run else {},
    }


def guessing(store: Store) -> dict[str, Any]:
    """Who guesses, why it is not someone else, and what went wrong last."""
    settings, choice = store.kinds.settings(), store.kinds.choice()
    return {
        "enabled": settings.enabled,
        "backend": settings.backend,
        "using": choice.backend,
        "why": choice.why,
        "last_failure": store.kinds.failure,
        "model": store.kinds.taught,
        "suggested_up_to": store.kind_policy.position,
        "problems": list(settings.problems),
    }


def settings(store: Store, command: Command, asked: Asked) -> Answer:
    """Change the settings that are named; what is written is noticed in the log as this person's doing."""
    changes = {name: getattr(command, name) for name in sorted(command.model_fields_set)}
    if changes:
        store.kinds.change(changes)
        unnoticed = store.kinds.unnoticed(store.memories.noticed_settings())
        if unnoticed:
            store.memories.notice_settings(unnoticed, asked.call)
        store.kind_runner.wake()
    return {**settings_told(store), "changed": sorted(changes)}


def show_settings(store: Store, _: Nothing, __: Asked) -> Answer:
    """The settings as they are."""
    return settings_told(store)


def settings_told(store: Store) -> dict[str, Any]:
    held, choice = store.kinds.settings(), store.kinds.choice()
    return {
        "settings": held.values(),
        "using": choice.backend,
        "why": choice.why,
        "problems": list(held.problems),
    }


def suggest(store: Store, command: Suggest, _: Asked) -> Answer:
    """Guess kinds of texts by whoever guesses now, but never by sending them anywhere; nothing is stored."""
    return {
        "suggestions": [
            {
                "kind": guess.kind,
                "label": KIND_LABELS[guess.kind],
                "source": guess.source,
                "confidence": guess.confidence,
                "cue": guess.cue,
                "recipe": guess.recipe,
            }
            for guess in store.kinds.guessed_here(command.texts, store.embedder.embed)
        ]
    }


KIND_OPERATIONS: tuple[Operation, ...] = (
    Operation("kinds/set", SetKind, set_kind, "manage", SET),
    Operation("kinds/status", Nothing, status, tool=STATUS),
    Operation("kinds/review", Review, review, tool=REVIEW),
    Operation("kinds/confirm", Confirm, confirm, "manage", CONFIRM),
    Operation("kinds/correction", ReviewCorrection, settle_correction, "manage", CORRECTION),
    Operation("kinds/counts", Counts, counts),
    Operation("kinds/settings", ChangeSettings, settings, "manage"),
    Operation("kinds/settings/show", Nothing, show_settings),
    Operation("kinds/suggest", Suggest, suggest, beside=True),
    Operation("recent", Recent, recent, tool=RECENT),
    *RUNS,
    TRACE,
)
