"""What can be refused: each error has a code for the machine, a message, and a hint that names the next call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that is wrong: where (`memories[2].content`) and why."""

    path: str
    message: str


class SlwError(Exception):
    """The root of everything slw refuses or fails at."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "", field_errors: Sequence[FieldError] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field_errors = tuple(field_errors)

    def details(self) -> Mapping[str, Any]:
        """Members that only this error has, as they stand in the envelope."""
        return {}

    def envelope(self) -> dict[str, Any]:
        """The failure as every surface answers it."""
        error: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            "hint": self.hint,
            **self.details(),
        }
        if self.field_errors:
            error["field_errors"] = [{"path": f.path, "message": f.message} for f in self.field_errors]
        return {"ok": False, "error": error}


class InvalidInput(SlwError):
    """A field is missing, blank, too long, of the wrong type, not in its enum, or unknown."""

    code = "invalid_input"

    @classmethod
    def at(cls, path: str, message: str, hint: str = "") -> InvalidInput:
        """The usual case: one field is wrong."""
        return cls(f"{path}: {message}", hint=hint, field_errors=[FieldError(path, message)])


class NotFound(SlwError):
    """An id that was never issued."""

    code = "not_found"


class SessionClosed(SlwError):
    """The session is committed or expired."""

    code = "session_closed"


class ScopeMismatch(SlwError):
    """The scope is not the session's."""

    code = "scope_mismatch"


class Conflict(SlwError):
    """The state has moved on."""

    code = "conflict"


class IncompleteFeedback(SlwError):
    """Commit before every exposed target was assessed."""

    code = "incomplete_feedback"
    retryable = True

    def __init__(self, outstanding: Sequence[Mapping[str, Any]]) -> None:
        count = sum(len(o["memory_ids"]) + len(o["procedure_ids"]) for o in outstanding)
        super().__init__(
            f"{count} retrieved target(s) have no assessment yet",
            hint="call slowave_feedback for each target in outstanding, then send this commit again",
        )
        self.outstanding = list(outstanding)

    def details(self) -> Mapping[str, Any]:
        return {"outstanding": self.outstanding}


class NeedsConfirmation(SlwError):
    """The action would send text off the device or destroy something, and was not confirmed."""

    code = "needs_confirmation"

    def __init__(self, message: str, *, hint: str = "", facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, hint=hint)
        self.facts = dict(facts or {})

    def details(self) -> Mapping[str, Any]:
        return self.facts


class StoreBusy(SlwError):
    """Another program holds the log for too long."""

    code = "store_busy"
    retryable = True


class Unavailable(SlwError):
    """The store cannot answer just now."""

    code = "unavailable"
    retryable = True


class Internal(SlwError):
    """A fault of ours; the same error id stands in slw.log."""

    code = "internal"
