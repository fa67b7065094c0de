"""What can be asked about kinds, field by field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..domain.vocabulary import BackfillMode, CorrectionAction, Kind
from .fields import Command, Content, Id, KindWord, Limit, Query, Scope, absent, kind_word, wrong
from .kind_signatures import LISTED, MAX_ITEMS, MAX_LISTED

MAX_TEXTS = 64


def named_kind(value: Any) -> Any:
    """A kind that must be named."""
    if value == "":
        raise wrong("must not be blank")
    return kind_word(value)


NamedKind = Annotated[Kind, BeforeValidator(named_kind)]
Listed = Annotated[int, Field(ge=1, le=MAX_LISTED)]


class SetKind(Command):
    """One memory's kind."""

    memory_id: Id
    kind: NamedKind


class Confirmed(Command):
    """One item of a confirmation: a bare id takes the guess."""

    memory_id: Id
    kind: KindWord = None


class Confirm(Command):
    """Up to 200 items, each checked for itself."""

    items: Annotated[list[Any], Field(min_length=1, max_length=MAX_ITEMS)]


class Review(Command):
    """Guesses that wait; only a person may look across scopes."""

    kind: KindWord = None
    scope: Annotated[Scope | None, absent] = None
    limit: Limit = LISTED


class ReviewCorrection(Command):
    """What to do with a case that is still at the version looked at."""

    case_id: Id
    action: CorrectionAction
    expected_version: Annotated[int, Field(ge=1)]


class Recent(Command):
    """The newest memories of a scope."""

    scope: Scope
    limit: Listed = LISTED
    kind: KindWord = None


class Counts(Command):
    """How many of each kind, of a scope or of all."""

    scope: Annotated[Scope | None, absent] = None


class Suggest(Command):
    """Texts to guess the kinds of, without storing anything."""

    texts: Annotated[list[Content], Field(min_length=1, max_length=MAX_TEXTS)]


class BackfillStart(Command):
    """A run; where it would send text away, only the literal true lets it."""

    mode: BackfillMode = "untyped"
    confirm_data_leaves_device: Any = False


class BackfillStatus(Command):
    """One run, or the one that goes on or went last."""

    run_id: Annotated[Id | None, absent] = None


class BackfillAct(Command):
    """One step of a run, or a revert."""

    run_id: Id


class BackfillRevert(BackfillAct):
    """A revert, or only what it would come to."""

    dry_run: bool = False


class Trace(Command):
    """A question whose answers are told with every part of their scores."""

    query: Query
    scope: Scope
    kind: KindWord = None
    limit: Listed = 10


class ChangeSettings(Command):
    """Settings by name; none to look. The values are checked where the file is read, by the same rules."""

    enabled: Any = None
    backend: Any = None
    hosted_consent: Any = None
    display_min_confidence: Any = None
    standing_rules_in_session: Any = None
    kind_aware: Any = None
    rate_per_second: Any = None
    batch_size: Any = None
    llm_url: Any = None
    llm_model: Any = None
    hosted_url: Any = None
    hosted_model: Any = None
    hosted_key_env: Any = None
