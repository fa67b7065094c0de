"""`/api`: every operation as a person's command asks it, one POST each, on the owner's socket."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..domain.errors import InvalidInput, NotFound
from ..domain.events import Actor
from .operations import Answer, Operation, answered
from .tools import MAX_BODY

if TYPE_CHECKING:
    from .store import Store

STATUS: Final[Mapping[str, int]] = {
    "invalid_input": 400,
    "not_found": 404,
    "session_closed": 409,
    "scope_mismatch": 409,
    "conflict": 409,
    "incomplete_feedback": 409,
    "needs_confirmation": 409,
    "store_busy": 503,
    "unavailable": 503,
    "internal": 500,
}


def person(request: Request) -> Actor:
    """Whoever may use the socket is the person whose memory this is."""
    name, _, version = request.headers.get("x-slw-client", "").partition("/")
    return Actor(kind="person", name=unquote(name)[:100], version=unquote(version)[:100])


def respond(envelope: Answer) -> JSONResponse:
    """An envelope with the status that goes with it."""
    return JSONResponse(envelope, status_code=200 if envelope["ok"] else STATUS[envelope["error"]["code"]])


async def arguments_of(request: Request) -> Any:
    """The JSON body; InvalidInput when it is none or too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise InvalidInput(f"the body is longer than {MAX_BODY} bytes", hint="send less at once")
    try:
        return json.loads(body or b"{}")
    except ValueError as fault:
        raise InvalidInput(f"the body is not JSON: {fault}", hint="send a JSON object") from fault


def api_routes(store: Store, operations: Sequence[Operation]) -> list[Route]:
    """One route that serves every operation by its name."""
    by_name = {operation.name: operation for operation in operations}

    async def ask(request: Request) -> JSONResponse:
        name = request.path_params["operation"]
        operation = by_name.get(name)
        if operation is None:
            return respond(
                NotFound(f"there is no operation {name!r}", hint=f"there are {', '.join(by_name)}").envelope()
            )
        try:
            arguments = await arguments_of(request)
        except InvalidInput as refused:
            return respond(refused.envelope())
        request_id = request.headers.get("x-slw-request-id", "")[:200]
        return respond(
            await anyio.to_thread.run_sync(answered, store, operation, arguments, person(request), request_id)
        )

    return [Route("/api/{operation:path}", ask, methods=["POST"])]
