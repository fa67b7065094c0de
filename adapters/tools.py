"""The MCP surface: which tools there are and how they look, served by the official SDK, answered by the operations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request

from ..domain.errors import InvalidInput
from ..domain.events import Actor
from .operations import Answer, Operation, answered
from .reach import VERSION
from .stdio import INSTRUCTIONS

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from .store import Store

# 64 claims of 8,192 characters, each written as two six-byte escapes, and what stands around them.
MAX_BODY = 16 * 1024 * 1024
REQUEST_ID_META = "slw/request-id"
CLIENT_META = "io.modelcontextprotocol/clientInfo"


def published(operation: Operation) -> types.Tool:
    """An operation as tools/list shows it."""
    tool = operation.tool
    assert tool is not None  # noqa: S101 - callers choose those that have one
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def chosen(operations: Sequence[Operation], tools: str) -> list[Operation]:
    """The operations of a tool set: the five verbs (`core`), or all (`full`)."""
    return [o for o in operations if o.tool is not None and (tools != "core" or o.tool.core)]


def as_result(envelope: Answer) -> types.CallToolResult:
    """One envelope as structured content, as text, and as the error flag."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=json.dumps(envelope, ensure_ascii=False))],
        structured_content=envelope,
        is_error=not envelope["ok"],
    )


def actor_of(request: Request | None, meta: Mapping[str, Any]) -> Actor:
    """Who calls over MCP: a client, by the name it gives itself; never a person."""
    info = meta.get(CLIENT_META)
    if isinstance(info, Mapping):
        return Actor(kind="client", name=str(info.get("name", ""))[:100], version=str(info.get("version", ""))[:100])
    name, _, version = (request.headers.get("x-slw-client", "") if request else "").partition("/")
    return Actor(kind="client", name=unquote(name)[:100], version=unquote(version)[:100])


def request_id_of(request: Request | None, meta: Mapping[str, Any], actor: Actor) -> str:
    """What makes the same call sent again happen once: the client's own id, else the proxy's."""
    own = meta.get(REQUEST_ID_META)
    if isinstance(own, str) and own:
        return f"{actor.name[:100]}:{own[:200]}"
    return request.headers.get("x-slw-request-id", "")[:200] if request else ""


def mcp_server(store: Store, operations: Sequence[Operation]) -> Server[Any]:
    """The SDK's server over these operations."""
    by_name = {o.tool.name: o for o in operations if o.tool is not None}

    def tools_of(ctx: Any) -> str:
        return ctx.request.query_params.get("tools", "full") if ctx.request else "full"

    async def list_tools(ctx: Any, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        store.meaning.warm()
        return types.ListToolsResult(tools=[published(o) for o in chosen(operations, tools_of(ctx))])

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        operation = by_name.get(params.name)
        if operation is None or operation not in chosen(operations, tools_of(ctx)):
            known = ", ".join(o.tool.name for o in chosen(operations, tools_of(ctx)) if o.tool)
            refused = InvalidInput(f"there is no tool {params.name[:100]!r}", hint=f"the tools are {known}")
            return as_result(refused.envelope())
        meta: Mapping[str, Any] = ctx.meta or {}
        actor = actor_of(ctx.request, meta)
        request_id = request_id_of(ctx.request, meta, actor)
        return as_result(
            await anyio.to_thread.run_sync(answered, store, operation, params.arguments or {}, actor, request_id)
        )

    return Server(
        "slw",
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def mcp_app(server: Server[Any]) -> Starlette:
    """The server as streamable HTTP at /mcp: stateless, so that a restarted owner can go on, and plain JSON."""
    return server.streamable_http_app(
        streamable_http_path="/mcp",
        stateless_http=True,
        json_response=True,
        max_request_body_size=MAX_BODY,
        # The socket's permissions are the guard; there is no host name to check.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
