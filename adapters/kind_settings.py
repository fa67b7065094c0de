"""What kinds.json in the home says: who may guess kinds, whether text may leave the device, and what kinds change."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ..domain.errors import FieldError, InvalidInput, Unavailable
from ..domain.kinds import DISPLAY_MIN_CONFIDENCE

Backend = Literal["auto", "rules", "local", "llm", "hosted", "off"]
BACKENDS: Final[tuple[str, ...]] = get_args(Backend)
BACKEND_ALIASES: Final = {"laya": "local", "jev": "hosted"}
MAX_FILE: Final = 64 * 1024
MAX_TEXT: Final = 2_000
MAX_BATCH: Final = 1_000
PREFIX: Final = "kinds."  # how these settings are named in the log


@dataclass(frozen=True, slots=True)
class KindSettings:
    """One reading of the file. `problems` say which of its values could not be used, and what holds instead."""

    enabled: bool = True
    backend: Backend = "auto"
    hosted_consent: bool = False
    display_min_confidence: float = DISPLAY_MIN_CONFIDENCE
    standing_rules_in_session: bool = True
    kind_aware: bool = True
    # Of runs; 0 means the backend's own pace.
    rate_per_second: float = 0.0
    batch_size: int = 0
    # Endpoints that speak the OpenAI chat protocol: their base URL (ending in /v1), and the model to ask for.
    llm_url: str = "http://127.0.0.1:11434/v1"
    llm_model: str = ""
    hosted_url: str = ""
    hosted_model: str = ""
    # The key itself never stands in a file of ours: this names the environment variable that holds it.
    hosted_key_env: str = "SLW_HOSTED_KEY"
    problems: tuple[str, ...] = field(default=(), compare=False)

    def values(self) -> dict[str, Any]:
        """The settings by name, without the problems."""
        told = asdict(self)
        del told["problems"]
        return told


DEFAULTS: Final = KindSettings().values()


def a_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004 - one sort of refusal for every check
    return value


def a_backend(value: Any) -> str:
    word = BACKEND_ALIASES.get(value, value) if isinstance(value, str) else ""
    if word not in BACKENDS:
        raise ValueError(f"must be one of {', '.join(BACKENDS)}")
    return word


def a_number(least: float, most: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ValueError(f"must be a number from {least:g} to {most:g}")
        return float(value)

    return check


def a_size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_BATCH:
        raise ValueError("must be a whole number from 0 to 1000")
    return value


def a_text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT or "\0" in value:
        raise ValueError("must be a text")
    return value.strip()


CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "enabled": a_boolean,
    "backend": a_backend,
    "hosted_consent": a_boolean,
    "display_min_confidence": a_number(0.0, 1.0),
    "standing_rules_in_session": a_boolean,
    "kind_aware": a_boolean,
    "rate_per_second": a_number(0.0, 100_000.0),
    "batch_size": a_size,
    "llm_url": a_text,
    "llm_model": a_text,
    "hosted_url": a_text,
    "hosted_model": a_text,
    "hosted_key_env": a_text,
}


class KindSettingsFile:
    """kinds.json, read again whenever it changed.

    A damaged file means safe defaults and no consent; only standing rules keep the last good value, because a
    session that suddenly hears rules which someone had switched off (or misses those it relies on) is no safe default.
    `last_good` is the value that the log noticed last, from before this process began.
    """

    def __init__(self, path: Path, *, last_good: bool = True) -> None:
        self.path = path
        self._standing = last_good
        self._seen: tuple[int, int, int] | None = None
        self._held = KindSettings()
        self._read_once = False

    def read(self) -> KindSettings:
        """The settings as the file says now; costs one `stat` while it stays the same."""
        try:
            told = self.path.stat()
            seen: tuple[int, int, int] | None = (told.st_mtime_ns, told.st_size, told.st_ino)
        except FileNotFoundError:
            seen = None
        except OSError as fault:
            return self._damaged(f"cannot be read ({fault.strerror})")
        if not self._read_once or seen != self._seen:
            self._held = KindSettings() if seen is None else self._parsed()
            self._standing = self._held.standing_rules_in_session
            self._seen, self._read_once = seen, True
        return self._held

    def change(self, changes: Mapping[str, Any]) -> KindSettings:
        """Write changed values and nothing else; InvalidInput names each that is wrong, and then none is written."""
        good: dict[str, Any] = {}
        wrong: list[FieldError] = []
        for name, value in changes.items():
            try:
                good[name] = checked(name, value)
            except ValueError as fault:
                wrong.append(FieldError(name, str(fault)))
        if wrong:
            raise InvalidInput(
                f"{wrong[0].path}: {wrong[0].message}",
                hint="correct the fields named in field_errors; no setting was changed",
                field_errors=wrong,
            )
        held = self.read()
        told = self._raw() if self._seen is not None and not held.problems else None
        # What could not be used is written anew as what holds, so that a damaged file is whole again afterwards.
        kept = told if told is not None else {n: v for n, v in held.values().items() if v != DEFAULTS[n]}
        self._write({**kept, **good})
        return self.read()

    def _parsed(self) -> KindSettings:
        try:
            told = self._raw()
        except (OSError, ValueError, RecursionError) as fault:
            return self._damaged(f"is damaged ({type(fault).__name__}: {fault})")
        good: dict[str, Any] = {}
        problems: list[str] = []
        for name, value in told.items():
            try:
                good[name] = checked(name, value)
            except ValueError as fault:
                if name == "standing_rules_in_session":
                    good[name] = self._standing
                holds = "" if name not in DEFAULTS else f"; {good.get(name, DEFAULTS[name])!r} holds"
                problems.append(f"{self.path.name}: {name} {fault}{holds}")
        return replace(KindSettings(**good), problems=tuple(problems))

    def _raw(self) -> dict[str, Any]:
        with self.path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ValueError("it is too long")
        told = json.loads(data)
        if not isinstance(told, dict):
            raise ValueError("it is no JSON object")  # noqa: TRY004 - for the reader, one more way of being damaged
        return told

    def _damaged(self, what: str) -> KindSettings:
        holds = "on" if self._standing else "off"
        return KindSettings(
            standing_rules_in_session=self._standing,
            problems=(f"{self.path.name} {what}; defaults hold, no consent, standing rules stay {holds}",),
        )

    def _write(self, values: Mapping[str, Any]) -> None:
        beside = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(values, file, indent=2, ensure_ascii=False)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        except OSError as fault:
            with suppress(OSError):
                beside.unlink()
            raise Unavailable(
                f"{self.path.name} cannot be written: {fault.strerror}",
                hint="check the home's permissions, and whether its disk is full",
            ) from fault


def checked(name: str, value: Any) -> Any:
    """The value as it is used; ValueError says what is wrong with it."""
    check = CHECKS.get(name)
    if check is None:
        raise ValueError(f"is no setting; known are {', '.join(CHECKS)}")
    return check(value)


def to_notice(settings: KindSettings, noticed: Mapping[str, Any]) -> dict[str, Any]:
    """What the log does not know yet; a setting that it never heard of has its default there."""
    told = settings.values()
    held = {name: noticed.get(PREFIX + name, default) for name, default in DEFAULTS.items()}
    return {PREFIX + name: value for name, value in told.items() if value != held[name]}
