"""Kinds over HTTP: the routes of a dashboard, each with the permission that a token for it will need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..domain.errors import InvalidInput
from .api import arguments_of, person, respond
from .catalogue import named
from .operations import Permission, answered

if TYPE_CHECKING:
    from .store import Store

NUMBERS: Final = frozenset({"limit"})


@dataclass(frozen=True, slots=True)
class Way:
    """One method and path (whose names are arguments), the operation behind it, and what a caller must be allowed."""

    method: str
    path: str
    operation: str
    permission: Permission


WAYS: Final = (
    Way("GET", "/api/memory-kinds/status", "kinds/status", "read"),
    Way("GET", "/api/memory-kinds/settings", "kinds/settings/show", "read"),
    Way("POST", "/api/memory-kinds/settings", "kinds/settings", "manage"),
    Way("GET", "/api/memory-kinds/suggestions", "kinds/review", "read"),
    Way("POST", "/api/memory-kinds/confirm", "kinds/confirm", "manage"),
    Way("PATCH", "/api/memory-kinds/fact/{memory_id}", "kinds/set", "manage"),
    Way("GET", "/api/memory-kinds/backfill", "kinds/backfill/status", "read"),
    Way("POST", "/api/memory-kinds/backfill", "kinds/backfill/start", "manage"),
    Way("POST", "/api/memory-kinds/backfill/{run_id}/pause", "kinds/backfill/pause", "manage"),
    Way("POST", "/api/memory-kinds/backfill/{run_id}/resume", "kinds/backfill/resume", "manage"),
    Way("POST", "/api/memory-kinds/backfill/{run_id}/cancel", "kinds/backfill/cancel", "manage"),
    Way("POST", "/api/memory-kinds/backfill/{run_id}/revert", "kinds/backfill/revert", "manage"),
    Way("GET", "/api/memories", "list", "read"),
    Way("GET", "/api/memories/kind-counts", "kinds/counts", "read"),
)


def kind_routes(store: Store) -> list[Route]:
    """One route for each way."""
    return [route(store, way) for way in WAYS]


def route(store: Store, way: Way) -> Route:
    operation = named(way.operation)

    async def answer(request: Request) -> JSONResponse:
        try:
            told = from_query(request.query_params) if way.method == "GET" else await arguments_of(request)
            arguments = with_path(told, request.path_params)
        except InvalidInput as refused:
            return respond(refused.envelope())
        request_id = request.headers.get("x-slw-request-id", "")[:200]
        return respond(
            await anyio.to_thread.run_sync(answered, store, operation, arguments, person(request), request_id)
        )

    return Route(way.path, answer, methods=[way.method])


def from_query(query: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of a query string, whose values are all text."""
    told: dict[str, Any] = dict(query)
    for name in NUMBERS & told.keys():
        try:
            told[name] = int(told[name])
        except ValueError:
            raise InvalidInput.at(name, "must be a whole number", f"send {name}=20, or leave it out") from None
    return told


def with_path(told: object, path: Mapping[str, str]) -> dict[str, Any]:
    """The arguments with those of the path; naming one in both places is a slip."""
    if not isinstance(told, dict):
        raise InvalidInput("the arguments must be an object", hint="send a JSON object")
    for name in path:
        if name in told:
            raise InvalidInput.at(name, "stands in the path already", f"leave {name} out of the body")
    return {**told, **path}
