"""Recall: the read side. A cue, a scope and a time in; a small, ordered set of memories and procedures out."""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Protocol

import numpy as np

from ..consolidation.dates import asks_when, date_named
from ..consolidation.kinds import question_kind
from ..consolidation.policy import FoldPolicy, ReadPolicy
from ..consolidation.procedures import Method, ranked
from ..consolidation.procedures import Ranked as RankedMethod
from ..consolidation.ranking import Candidates, Scores, answerable, scored
from ..consolidation.salience import strengths_at
from ..consolidation.wording import shelf_of
from ..domain.vocabulary import MAX_PAGE, Kind, Pathway, Verb
from .heard import Heard
from .kind_view import KindView, favoured
from .places import Scope
from .procedures import ProcedureRow
from .salience import Strength
from .schemas import Schema
from .vectors import Vectors
from .words import Words

# So many candidates come from each channel before they are fused.
FROM_EACH = 150
PROCEDURES_FROM_EACH = 30
NO_ROWS = np.empty(0, np.int64)
NO_COSINES = np.empty(0, np.float64)
# The words in "why" are few, so that it stays one short phrase.
WORDS_NAMED = 3
# From here on "why" speaks of meaning, and of what feedback taught.
CLOSE_IN_MEANING = 0.4
TAUGHT = 0.01
# A floor is looked for among the best this many; what ranks below them is not shown before they are.
LOOKED_AT = 100

Associations = Callable[[np.ndarray, Sequence[str]], Mapping[str, float]]
Beside = Callable[["Sequence[Hit]", str, datetime, Callable[[Schema], bool]], "list[Hit]"]


class Rows(Protocol):
    """What recall reads of the tables."""

    @property
    def schemas(self) -> Mapping[str, Schema]: ...

    @property
    def salience(self) -> Mapping[str, Strength]: ...

    @property
    def procedures(self) -> Mapping[str, ProcedureRow]: ...

    @property
    def position(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Hit:
    """One target that answers the cue: its score, how it was reached, the parts of the score, and why in a phrase."""

    target_id: str
    score: float
    pathway: Pathway = "direct"
    parts: dict[str, float] = field(default_factory=dict[str, float])
    why: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to, best first. `hidden_by_kind` counts likely answers that a kind filter kept out."""

    memories: list[Hit]
    procedures: list[Hit]
    relevant_total: int
    hidden_by_kind: int
    warnings: list[str]
    position: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates with everything that was known of them, before the floor."""

    living: int  # how many memories they are the best of
    rows: np.ndarray
    memory_ids: list[str]
    heard: Heard
    found: Candidates
    scores: Scores
    order: np.ndarray


def no_associations(_cue: np.ndarray, _memory_ids: Sequence[str]) -> Mapping[str, float]:
    """Feedback taught nothing yet."""
    return {}


def nothing_beside(hits: Sequence[Hit], _scope: str, _as_of: datetime, _wanted: Callable[[Schema], bool]) -> list[Hit]:
    """Nothing is associated with anything."""
    return list(hits)


class Elsewhere(Protocol):
    """What other scopes lend to a scope (see foreign.py), and which of its own claims stand behind that."""

    def hidden(self, scope: str) -> frozenset[str]: ...

    def hits(
        self, cue: str, vector: np.ndarray | None, scope: str, as_of: datetime, wanted: Callable[[Schema], bool]
    ) -> list[Hit]: ...


class Recall:
    """Searches one generation. Belongs to the engine's thread; reads and writes nothing."""

    def __init__(
        self,
        rows: Rows,
        words: Words,
        vectors: Vectors,
        policy: ReadPolicy,
        *,
        fold_policy: FoldPolicy | None = None,
        associations: Associations = no_associations,
        kind_view: Callable[[], KindView] = KindView,
        beside: Beside = nothing_beside,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._rows, self._words, self._vectors = rows, words, vectors
        self._policy, self._fold_policy = policy, fold_policy or FoldPolicy()
        self._associations = associations
        self._kind_view = kind_view
        self._beside, self._elsewhere = beside, elsewhere
        self._methods: dict[str, Method] = {}

    def search(
        self,
        cue: str,
        vector: np.ndarray | None,
        scope: str,
        *,
        as_of: datetime,
        kind: Kind | None = None,
        limit: int = 100,
        verb: Verb = "recall",  # noqa: ARG002 - both verbs rank alike; the log says which it was
        kind_view: KindView | None = None,
        cue_vector: np.ndarray | None = None,
    ) -> Found:
        """The memories and procedures of a scope that answer the cue, at most `limit` memories.

        `vector` is the cue's (384,), or None where only words are searched; `as_of` decides how far salience has
        faded. Ties go to what was told first. `kind_view` is how kinds are looked at, else as the settings say.
        `cue_vector` is that of the whole cue, for what feedback taught, where `vector` leaves words of it out.
        """
        view = kind_view or self._kind_view()
        whole = vector if cue_vector is None else cue_vector
        memories, hidden = self._memories(cue, vector, whole, scope, as_of, kind, view)
        twins = self._elsewhere.hidden(scope) if self._elsewhere else frozenset[str]()

        def wanted(held: Schema) -> bool:
            return held.memory_id not in twins and (kind is None or view.kind(held) == kind)

        if twins:
            memories = [hit for hit in memories if hit.target_id not in twins]
        if self._elsewhere and (lent := self._elsewhere.hits(cue, vector, scope, as_of, wanted)):
            memories = list(heapq.merge(memories, lent, key=lambda hit: -hit.score))
        memories = self._beside(memories, scope, as_of, wanted)
        return Found(
            memories=memories[:limit],
            procedures=self._procedures(cue, vector, scope),
            relevant_total=len(memories),
            hidden_by_kind=hidden,
            warnings=[],
            position=self._rows.position,
        )

    # -- memories

    def _memories(
        self,
        cue: str,
        vector: np.ndarray | None,
        whole: np.ndarray | None,
        scope_name: str,
        as_of: datetime,
        kind: Kind | None,
        view: KindView,
    ) -> tuple[list[Hit], int]:
        scope = self._words.scope(scope_name)
        if scope is None:
            return [], 0
        heard = self._words.heard(scope, cue)
        everything = self._hits(self._ranked(cue, heard, vector, whole, scope_name, scope, as_of, None, view))
        if kind is None:
            asked = question_kind(cue) if view.aware else None
            if asked is None:
                return everything, 0
            words = self._words.contents([hit.target_id for hit in everything])
            return favoured(everything, asked, cue, view, self._rows.schemas, words), 0
        within = self._hits(self._ranked(cue, heard, vector, whole, scope_name, scope, as_of, kind, view))
        hidden = sum(view.kind(self._rows.schemas[hit.target_id]) != kind for hit in everything[:10])
        return within, hidden

    def _ranked(
        self,
        cue: str,
        heard: Heard,
        vector: np.ndarray | None,
        whole: np.ndarray | None,
        scope_name: str,
        scope: Scope,
        as_of: datetime,
        kind: Kind | None,
        view: KindView,
    ) -> Ranked:
        limit = FROM_EACH if kind is None else 4 * FROM_EACH
        near = NO_ROWS, NO_COSINES
        if vector is not None:
            # What is not live any more still lies in the index; it must not crowd out what is.
            gone = min(len(scope.docs) - scope.living, limit)
            near = self._vectors.nearest(scope_name, vector, limit + gone)
        rows = np.union1d(heard.best(limit, self._policy.around_weight), near[0])
        rows = rows[scope.at(scope.live, rows) != 0]
        if kind is not None:
            rows = self._of_kind(scope, rows, kind, view)
            if len(rows) < FROM_EACH:
                # The best of everything are of other kinds; those of this one are found among all.
                rows = self._of_kind(scope, scope.rows(), kind, view)
        memory_ids = [scope.docs[row].memory_id for row in rows.tolist()]
        found = Candidates(
            own=heard.own[rows],
            around=heard.around[rows],
            length=scope.at(scope.length, rows),
            **self._meaning(scope, scope_name, rows, vector, near),
            named=self._named(cue, scope, rows),
            **self._dialogue(cue, scope, rows),
            salience=self._salience(memory_ids, as_of),
            association=self._association(whole, memory_ids),
        )
        scores = scored(found, self._policy)
        return Ranked(scope.living, rows, memory_ids, heard, found, scores, np.lexsort((rows, -scores.total)))

    def _of_kind(self, scope: Scope, rows: np.ndarray, kind: Kind, view: KindView) -> np.ndarray:
        """Those of the rows whose memory shows that kind."""
        schemas = (self._rows.schemas[scope.docs[row].memory_id] for row in rows.tolist())
        shown = (schema.kind == kind and view.kind(schema) == kind for schema in schemas)
        return rows[np.fromiter(shown, np.bool_, len(rows))]

    def _meaning(
        self,
        scope: Scope,
        scope_name: str,
        rows: np.ndarray,
        vector: np.ndarray | None,
        nearest: tuple[np.ndarray, np.ndarray],
    ) -> dict[str, np.ndarray]:
        """Cosines of the candidates and of the live memory on either side, and which session each is of."""
        beside = np.stack([scope.at(scope.before, rows), scope.at(scope.after, rows)], axis=1).astype(np.int64)
        near = {"session": scope.at(scope.session, rows), "follows": places_of(rows, beside[:, 0])}
        if vector is None or not len(rows):
            return {"cosine": np.full(len(rows), np.nan), "beside": np.full((len(rows), 2), np.nan), **near}
        wanted = np.unique(np.concatenate([rows, beside[beside >= 0]]))
        cosines = self._cosines(scope_name, vector, wanted, nearest)
        places = np.searchsorted(wanted, np.maximum(beside, 0)).clip(0, len(wanted) - 1)
        return {
            "cosine": cosines[np.searchsorted(wanted, rows)],
            "beside": np.where(beside >= 0, cosines[places], np.nan),
            **near,
        }

    def _cosines(
        self, scope_name: str, vector: np.ndarray, rows: np.ndarray, nearest: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """The cosine of each row; those of the nearest are known."""
        order = np.argsort(nearest[0])
        known, cosines = nearest[0][order], np.full(len(rows), np.nan)
        places = np.searchsorted(known, rows).clip(0, max(len(known) - 1, 0))
        there = known[places] == rows if len(known) else np.zeros(len(rows), np.bool_)
        cosines[there] = nearest[1][order][places[there]]
        cosines[~there] = self._vectors.cosines(scope_name, vector, rows[~there])
        return cosines

    @staticmethod
    def _named(cue: str, scope: Scope, rows: np.ndarray) -> np.ndarray:
        number = scope.named_in(cue)
        return scope.at(scope.subject, rows) == number if number >= 0 else np.zeros(len(rows), np.bool_)

    @staticmethod
    def _dialogue(cue: str, scope: Scope, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Which candidates ask, which say a time that the cue asks for, and which are of a date that it names."""
        none, named = np.zeros(len(rows), np.bool_), date_named(cue)
        days = scope.at(scope.day, rows).tolist() if named else ()
        return {
            "asks": scope.at(scope.asks, rows) != 0,
            "timely": scope.at(scope.tells_when, rows) != 0 if asks_when(cue) else none,
            "dated": np.array([named.fits(date.fromordinal(day)) for day in days], np.bool_) if named else none,
        }

    def _salience(self, memory_ids: Sequence[str], as_of: datetime) -> np.ndarray:
        """How firmly each is held, from -1 (least) over 0 (as told) to 1 (most)."""
        policy, table = self._fold_policy, self._rows.salience
        held = [table[memory_id] for memory_id in memory_ids]
        values = np.array([strength.value for strength in held], np.float64)
        ages = np.array([(as_of - strength.since) / policy.salience_half_life for strength in held], np.float64)
        above = strengths_at(values, ages, policy) - policy.salience_start
        return np.where(
            above > 0,
            above / (policy.salience_most - policy.salience_start),
            above / (policy.salience_start - policy.salience_least),
        )

    def _association(self, vector: np.ndarray | None, memory_ids: Sequence[str]) -> np.ndarray:
        taught = {} if vector is None else self._associations(vector, memory_ids)
        return np.array([taught.get(memory_id, 0.0) for memory_id in memory_ids], np.float64)

    def _hits(self, ranked: Ranked) -> list[Hit]:
        """What passes the floor, best first; nothing where even the best neither mean nor say enough of the cue.

        The parts of the score and the reason stand in the hits of the first page at its largest.
        """
        best, policy = ranked.order[:LOOKED_AT], self._policy
        said = ranked.heard.said(ranked.rows[best])
        shares = ranked.heard.share(said)
        cosines = np.nan_to_num(ranked.found.cosine[best])
        named = bool(ranked.found.named[best].any())
        if not answerable(cosines, shares, ranked.living, policy, known=named):
            return []
        evidence = cosines + shares
        hits: list[Hit] = []
        for place in np.flatnonzero(evidence >= policy.floor_memory).tolist():
            i = int(best[place])
            pathway: Pathway = "direct" if evidence[place] >= policy.floor_direct else "associated"
            if len(hits) < MAX_PAGE:
                hits.append(self._hit(ranked, i, said[place], float(shares[place]), pathway))
            else:
                hits.append(Hit(ranked.memory_ids[i], round(float(ranked.scores.total[i]), 6), pathway))
        return hits

    def _hit(self, ranked: Ranked, i: int, said: np.ndarray, share: float, pathway: Pathway) -> Hit:
        scores, found = ranked.scores, ranked.found
        parts = {
            "words": scores.words[i],
            "meaning": scores.meaning[i],
            "named": scores.named[i],
            "session": scores.session[i],
            "time": scores.time[i],
            "dialogue": scores.dialogue[i],
            "association": scores.association[i],
            "salience": found.salience[i],
            "said_share": share,
            "cosine": 0.0 if np.isnan(found.cosine[i]) else found.cosine[i],
        }
        parts = {name: round(float(value), 4) for name, value in parts.items()}
        memory_id = ranked.memory_ids[i]
        held = self._rows.salience.get(memory_id)
        why = reason(parts, ranked.heard.spoken(said), held.used if held else 0)
        return Hit(memory_id, round(float(scores.total[i]), 6), pathway, parts, why)

    # -- procedures

    def _procedures(self, cue: str, vector: np.ndarray | None, scope_name: str) -> list[Hit]:
        shelf_name = shelf_of(scope_name)
        shelf = self._words.scope(shelf_name)
        if shelf is None:
            return []
        matched = self._words.heard(shelf, cue).best(PROCEDURES_FROM_EACH)
        nearest = NO_ROWS if vector is None else self._vectors.nearest(shelf_name, vector, PROCEDURES_FROM_EACH)[0]
        rows = [row for row in np.union1d(matched, nearest).tolist() if shelf.docs[row].live]
        held = [self._rows.procedures[shelf.docs[row].memory_id] for row in rows]
        vectors = self._vectors.vectors(shelf_name, np.array(rows, np.int64)) if vector is not None else []
        found = ranked(
            cue,
            [self._method(row) for row in held],
            self._policy,
            vector=vector,
            vectors={row.procedure_id: v for row, v in zip(held, vectors, strict=False) if v is not None},
        )
        return [self._procedure_hit(one) for one in found]

    def _method(self, row: ProcedureRow) -> Method:
        """The procedure as it is scored; its words are taken apart once."""
        kept = self._methods.get(row.procedure_id)
        if kept is None:
            kept = self._methods[row.procedure_id] = Method.of(
                procedure_id=row.procedure_id,
                position=row.position,
                goal=row.goal,
                summary=row.summary,
                steps=row.steps,
                caveats=row.caveats,
                context=json.loads(row.context),
                outcome=row.outcome,
            )
        return replace(kept, helped=row.helped, harmed=row.harmed)

    def _procedure_hit(self, one: RankedMethod) -> Hit:
        helped = self._rows.procedures[one.procedure_id].helped
        said = ["fits in words" if one.parts["words"] > 0 else "close in meaning"]
        if helped:
            said.append(f"helped {helped}x")
        if one.contradicted:
            said.append(f"but its {', '.join(one.contradicted)} differs")
        parts = {name: round(float(value), 4) for name, value in one.parts.items()}
        return Hit(one.procedure_id, round(float(one.score), 6), "direct", parts, "; ".join(said))


def places_of(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted row stands among the sorted rows; -1 where it does not."""
    if not len(rows):
        return np.empty(0, np.int64)
    places = np.searchsorted(rows, wanted).clip(0, len(rows) - 1)
    return np.where(rows[places] == wanted, places, -1)


def reason(parts: Mapping[str, float], terms: Sequence[str], used: int) -> str:
    """Why a target is shown, in one short phrase."""
    said: list[str] = []
    if terms:
        said.append("says " + ", ".join(f"'{t}'" for t in terms[:WORDS_NAMED]))
    if parts.get("cosine", 0.0) >= CLOSE_IN_MEANING or (not terms and parts.get("meaning", 0.0) > 0):
        said.append("close in meaning")
    if not terms and parts.get("words", 0.0) > 0:
        said.append("stands beside a match")
    if parts.get("named", 0.0) > 0:
        said.append("is about who was named")
    if parts.get("association", 0.0) > TAUGHT:
        said.append("helped with a question like this")
    if used:
        said.append(f"used {used}x")
    return "; ".join(said) or "near in its session"
