"""`slw demo`: two sessions of one small story, played by a real MCP client against a temporary home."""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from .asking import stop_owner
from .log import as_json, chosen
from .options import shared
from .shown import in_short, spoken
from .story import (
    FIRST_AGENT,
    SECOND_AGENT,
    Call,
    Findings,
    first_session,
    second_session,
)
from .terminal import EXIT_FINE, EXIT_PROBLEM, Data, Terminal

# What of an answer is told in words; `--json` has all of it.
TOLD = (
    "session_id",
    "retrieval_id",
    "memory_state",
    "memory_id",
    "disposition",
    "replaced",
    "applied",
    "outcome",
    "feedback_status",
    "procedure_id",
    "warnings",
)


@click.command("demo")
@shared
def demo_command(terminal: Terminal) -> int:
    """Play two sessions of a small story through a real MCP client.

    The client starts `slw mcp` over stdio against a temporary home; nothing of yours is read or written, and nothing
    goes over the network. Shown are what was sent, what came back and which events were appended.
    """
    findings = Findings()
    with temporary_home() as home:
        player = Player(terminal, home)
        try:
            asyncio.run(player.play(findings))
        except BaseExceptionGroup as group:
            # The client's tasks wrap whatever happened within them, a broken pipe as well as a broken story.
            raise innermost(group) from None
    told = {"steps": player.steps, "promises": [{"promise": what, "kept": kept} for what, kept in findings.held]}
    terminal.answer(told, tell_promises)
    return EXIT_FINE if findings.all_kept else EXIT_PROBLEM


def innermost(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong, out of all the groups around it."""
    first = group.exceptions[0]
    return innermost(first) if isinstance(first, BaseExceptionGroup) else first


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home that is gone afterwards, and its owner with it."""
    with tempfile.TemporaryDirectory(prefix="slw-", ignore_cleanup_errors=True) as name:
        home = Path(name)
        try:
            yield home
        finally:
            stop_owner(home)


def proxy_of(home: Path) -> Any:
    """How an MCP client starts `slw mcp` for this home, whether or not `slw` is on the path."""
    from mcp import StdioServerParameters  # noqa: PLC0415

    return StdioServerParameters(
        command=sys.executable, args=["-m", "slw.cli.main", "mcp", "--home", str(home), "--tools", "core"]
    )


@dataclass(slots=True)
class Player:
    """Plays the agents, and tells every step: sent, came back, appended."""

    terminal: Terminal
    home: Path
    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    position: int = 0

    async def play(self, findings: Findings) -> None:
        """The whole story."""
        from mcp import Client, types  # noqa: PLC0415  over a second; only the demo pays it

        def on_stage(agent: str) -> Any:
            self.heading(agent)
            return Client(proxy_of(self.home), client_info=types.Implementation(name=agent, version="1.0"))

        async with on_stage(FIRST_AGENT) as client:
            outdated = await first_session(self.through(client, FIRST_AGENT), findings)
        async with on_stage(SECOND_AGENT) as client:
            await second_session(self.through(client, SECOND_AGENT), findings, outdated)

    def through(self, client: Any, agent: str) -> Call:
        """A call of one agent: sent over MCP, told, and read back from the log."""

        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            envelope: dict[str, Any] = result.structured_content
            events = [as_json(at, fact) for at, fact in chosen(self.home / "log.db", self.position)]
            self.position = max([self.position, *(event["position"] for event in events)])
            step = {"agent": agent, "tool": tool, "sent": arguments, "came_back": envelope, "appended": events}
            self.steps.append(step)
            self.tell(step)
            return envelope

        return call

    def heading(self, agent: str) -> None:
        """A line between the agents."""
        if not self.terminal.as_json:
            self.terminal.heading(f"\n{agent} starts slw mcp")

    def tell(self, step: Mapping[str, Any]) -> None:
        """One step in a few lines: what went out, what came back, what the log gained."""
        if self.terminal.as_json:
            return
        self.terminal.heading(f"\n{step['agent']}: {step['tool']}")
        lines = [
            *(in_short(f"  -> {name}: ", value) for name, value in step["sent"].items()),
            *(in_short("  <- ", line) for line in came_back(step["came_back"])),
            *(in_short("  == ", f"{at['topic']} of {at['stream']} at {at['position']}") for at in step["appended"]),
        ]
        for line in itertools.chain.from_iterable(lines):
            self.terminal.say(line)


def came_back(envelope: Mapping[str, Any]) -> Iterator[str]:
    """An answer in a few lines: what a page showed, and what else an agent goes on with."""
    if not envelope["ok"]:
        error = envelope["error"]
        yield f"refused, {error['code']}: {error['message']}"
        yield from (f"outstanding: {spoken(left)}" for left in error.get("outstanding", []))
        yield f"hint: {error['hint']}"
        return
    for name, value in envelope["data"].items():
        if name == "memories":
            yield from (f"memory {shown['memory_id']}: {shown['content']}" for shown in value)
        elif name == "procedures":
            yield from (f"procedure {shown['procedure_id']}: {shown['summary']}" for shown in value)
        elif name in TOLD and (said := spoken(value)):
            yield f"{name}: {said}"


def tell_promises(terminal: Terminal, data: Data) -> None:
    """Whether the story came true."""
    terminal.heading("\nWhat this showed")
    for promise in data["promises"]:
        terminal.say(f"  {'yes' if promise['kept'] else 'NO'}: {promise['promise']}")
