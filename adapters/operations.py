"""What can be asked, and how every question is answered: one table entry serves MCP and /api alike."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..domain.errors import Internal, InvalidInput, SlwError
from ..domain.events import Actor
from ..domain.writing import Call
from .fields import Command, parse

if TYPE_CHECKING:
    import numpy as np

    from .store import Store

log = logging.getLogger("slw")

Answer = dict[str, Any]
Permission = Literal["read", "write", "manage"]


@dataclass(frozen=True, slots=True)
class Tool:
    """How an operation looks to an MCP client: a flat schema, and hints that are true."""

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...] = ()
    core: bool = False  # one of the five verbs
    reads_only: bool = False
    idempotent: bool = False
    destructive: bool = False

    def schema(self) -> dict[str, Any]:
        """The input schema as it is published."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """One question on its way: who asks under which request id, and the meaning of its cue, if there is a model.

    `vector` is what is searched, `cue_vector` the cue with all its words, which feedback speaks of.
    """

    call: Call
    vector: np.ndarray | None = None
    warnings: tuple[str, ...] = ()
    cue_vector: np.ndarray | None = None

    @property
    def by_person(self) -> bool:
        return self.call.actor.kind == "person"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked.

    `run(store, command, asked)` answers with the data of the envelope, on the engine thread. `cue(command)` is the
    text whose meaning `run` needs; it is embedded before, beside the engine. `session(command)` names the session
    whose fresh claims the cue should find.
    """

    name: str
    command: type[Any]
    run: Callable[[Store, Any, Asked], Answer]
    permission: Permission = "read"
    tool: Tool | None = None
    reads: bool = True  # needs the read models; waits for them when they are still being grown
    cue: Callable[[Any], str] = field(default=lambda _: "")
    session: Callable[[Any], str] = field(default=lambda _: "")
    beside: bool = False  # answered on the caller's thread, for what takes long and needs no read model


def answered(
    store: Store, operation: Operation, arguments: Mapping[str, Any], actor: Actor, request_id: str = ""
) -> Answer:
    """The envelope that answers one question; whatever goes wrong is in it, and never a traceback."""
    try:
        with store.serving():
            return {"ok": True, "data": _ask(store, operation, arguments, actor, request_id)}
    except SlwError as refused:
        return refused.envelope()
    except Exception:
        error_id = f"err_{secrets.token_hex(6)}"
        log.exception("%s: %s failed", error_id, operation.name)
        return Internal(
            f"slw failed at {operation.name}; error id {error_id}",
            hint="slw.log in the home has the cause beside this id",
        ).envelope()


def _ask(store: Store, operation: Operation, arguments: Mapping[str, Any], actor: Actor, request_id: str) -> Answer:
    if not isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON may be anything
        raise InvalidInput("the arguments must be an object", hint="send a JSON object")
    command: Command = parse(operation.command, arguments)
    call = Call(actor, request_id, fingerprint(operation.name, arguments))
    if operation.beside:
        return operation.run(store, command, Asked(call))
    if operation.reads:
        store.growth.require()
    cue = operation.cue(command)
    vector, whole, warnings = store.meant(cue, getattr(command, "scope", ""), operation.session(command))
    return store.on_engine(lambda: _run_once(store, operation, command, Asked(call, vector, warnings, whole)))


def _run_once(store: Store, operation: Operation, command: Command, asked: Asked) -> Answer:
    """The stored answer of a request that was answered before, else the operation's."""
    held = store.memories.answered(asked.call)
    return operation.run(store, command, asked) if held is None else json.loads(held)


def fingerprint(name: str, arguments: Mapping[str, Any]) -> str:
    """What tells one request's arguments from another's."""
    told = json.dumps([name, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


def settled(build: Callable[[Any], Answer]) -> Callable[[Any], str]:
    """The answer as the log keeps it for a request that comes again."""
    return lambda result: json.dumps(build(result), ensure_ascii=False)
