"""The types that fields of a request have, strict and bounded, and how a wrong one is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from ..domain.errors import FieldError, InvalidInput
from ..domain.vocabulary import (
    KIND_LABELS,
    MAX_CONTENT,
    MAX_CONTEXT,
    MAX_CONTEXT_DEPTH,
    MAX_GOAL,
    MAX_PAGE,
    MAX_QUERY,
    MAX_REASON,
    MAX_SCOPE,
    Kind,
    parse_kind,
)

MAX_ID = 200


def wrong(message: str, path: str = "") -> PydanticCustomError:
    """A refusal in our own words; `path` names the field when the whole call is looked at."""
    return PydanticCustomError("slw", "{said}", {"said": message, "path": path})


def clean(text: str) -> str:
    """Any Unicode but what no text needs and much software chokes on."""
    if "\0" in text:
        raise wrong("holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise wrong("holds a lone surrogate, which is no Unicode text") from None
    return text


def scope_parts(scope: str) -> str:
    """`kind:id`, both parts nonblank; the first colon splits, and nothing is folded."""
    kind, colon, name = scope.partition(":")
    if not (colon and kind.strip() and name.strip()):
        raise wrong("must be kind:id with both parts, such as project:checkout")
    return scope


def moment(value: Any) -> Any:
    """RFC 3339 with an offset; "" is left out."""
    if not isinstance(value, str):
        raise wrong("must be a string such as 2026-05-01T09:30:00+02:00")
    if value == "":
        return None
    text = value.strip().upper()
    try:
        if len(text) < len("2026-05-01T09:30:00Z") or text[10] not in "T ":
            raise ValueError
        at = datetime.fromisoformat(text)
    except ValueError:
        raise wrong("must be a time of RFC 3339 such as 2026-05-01T09:30:00+02:00") from None
    if at.tzinfo is None:
        raise wrong("needs an offset from UTC, such as Z or +02:00")
    try:
        at.astimezone(tz=None)
    except (OverflowError, ValueError, OSError):
        raise wrong("is too far from today to be a time") from None
    return at


def kind_word(value: Any) -> Any:
    """One of the nine kinds, or another word for one; "" is left out."""
    if not isinstance(value, str):
        raise wrong(f"must be one of {', '.join(KIND_LABELS)}")
    if value == "":
        return None
    kind = parse_kind(value)
    if kind is None:
        raise wrong(f"must be one of {', '.join(KIND_LABELS)}")
    return kind


def empty_is_absent(value: Any) -> Any:
    """An optional word that is sent as "" was left out; null is not a word."""
    if value is None:
        raise wrong("must not be null; leave it out instead")
    return None if value == "" else value


def bounded_context(context: dict[str, Any]) -> dict[str, Any]:
    """JSON of bounded size and depth, with text that is text."""
    pending: list[tuple[Any, int]] = [(context, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str):
            clean(value)
        elif isinstance(value, dict | list):
            if depth > MAX_CONTEXT_DEPTH:
                raise wrong(f"is nested deeper than {MAX_CONTEXT_DEPTH}")
            if isinstance(value, dict):
                pending.extend((key, depth) for key in value)
            pending.extend((part, depth + 1) for part in (value.values() if isinstance(value, dict) else value))
    try:
        size = len(json.dumps(context, ensure_ascii=False, allow_nan=False))
    except ValueError:
        raise wrong("holds a number that JSON does not know (NaN or Infinity)") from None
    if size > MAX_CONTEXT:
        raise wrong(f"is longer than {MAX_CONTEXT} characters of JSON")
    return context


trimmed = StringConstraints(strip_whitespace=True, min_length=1)
text = AfterValidator(clean)

Content = Annotated[str, trimmed, Field(max_length=MAX_CONTENT), text]
Goal = Annotated[str, trimmed, Field(max_length=MAX_GOAL), text]
Query = Annotated[str, trimmed, Field(max_length=MAX_QUERY), text]
Reason = Annotated[str, trimmed, Field(max_length=MAX_REASON), text]
Id = Annotated[str, trimmed, Field(max_length=MAX_ID), text]
Scope = Annotated[str, trimmed, Field(max_length=MAX_SCOPE), text, AfterValidator(scope_parts)]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE)]
Limit = Annotated[int, Field(ge=1, le=1000)]
KindWord = Annotated[Kind | None, BeforeValidator(kind_word)]
Moment = Annotated[datetime | None, BeforeValidator(moment)]
absent = BeforeValidator(empty_is_absent)


class Command(BaseModel):
    """One request, checked. Types are exact: no "5" for 5, no 1 for true, no null for nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def refuse_null(data: Any, name: str) -> Any:
    """An optional object or list that is not there is left out, not null."""
    if isinstance(data, dict) and name in data and data[name] is None:
        raise wrong("must not be null; leave it out instead", name)
    return data


C = TypeVar("C", bound=Command)

# Fields of an older form of the verbs, and where their content belongs now.
OLD_FIELDS = {
    "retrieval_context": "is no longer taken: put what it held into context",
    "preconditions": "is no longer taken: put them into context, or into caveats",
}


def parse(command: type[C], arguments: Mapping[str, Any], prefix: str = "") -> C:
    """The checked command; InvalidInput names every field that is wrong (`memories[2].content`)."""
    try:
        return command.model_validate(arguments)
    except ValidationError as refused:
        errors = [field_error(dict(e), prefix) for e in refused.errors(include_url=False)]
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    where = f"{first.path}: " if first.path else ""
    raise InvalidInput(
        f"{where}{first.message}{more}",
        hint="correct the fields named in field_errors and send the call again",
        field_errors=errors,
    )


def field_error(error: dict[str, Any], prefix: str) -> FieldError:
    """One of pydantic's errors as we say it."""
    named = (error.get("ctx") or {}).get("path", "")
    return FieldError(path_of((*error["loc"], *([named] if named else [])), prefix), said_of(error))


def path_of(location: tuple[int | str, ...], prefix: str = "") -> str:
    """`verification.evidence_refs[0]` from pydantic's steps."""
    path = prefix
    for step in location:
        if str(step).startswith("<"):
            continue  # which sort of item it is stands in the item itself
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return path


def said_of(error: dict[str, Any]) -> str:
    """What is wrong with one field, in plain words."""
    context = error.get("ctx") or {}
    if error.get("input", 0) is None:
        return "must not be null; leave it out instead"
    match error["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return OLD_FIELDS.get(str(error["loc"][-1]), "is not a field of this call")
        case "string_too_short":
            return "must not be blank"
        case "string_too_long":
            return f"is longer than {context['max_length']} characters"
        case "string_unicode":
            return "holds a lone surrogate, which is no Unicode text"
        case "literal_error":
            expected = context["expected"].replace(" or ", ", ").replace("'", "")
            return f"must be one of {expected}"
        case "too_long":
            return f"holds more than {context['max_length']} entries"
        case "too_short":
            return f"needs at least {context['min_length']} entry"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "must be an object"
        case "list_type":
            return "must be a list"
        case "string_type":
            return "must be a string"
        case "int_type":
            return "must be a whole number"
        case "slw":
            return error["msg"]
        case _:
            return error["msg"][:1].lower() + error["msg"][1:]
