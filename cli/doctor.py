"""`slw doctor`: tries what an agent will need, and names the next command for each thing that is wrong."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..domain.errors import SlwError
from .asking import ask
from .demo import proxy_of, temporary_home
from .options import shared
from .terminal import EXIT_FINE, EXIT_PROBLEM, Data, Refused, Terminal

OLDEST_PYTHON = (3, 11)
# A hundred thousand memories with vectors and read models, and as much again while a generation is rebuilt.
ENOUGH_DISK = 1_000_000_000
CORE_TOOLS = {f"slowave_{verb}" for verb in ("activate", "remember", "recall", "feedback", "commit")}


class Check(NamedTuple):
    """One thing that was tried: whether it is well, what was found, and what to do when it is not."""

    name: str
    well: bool
    found: str
    next: str = ""


@click.command("doctor")
@shared
def doctor_command(terminal: Terminal) -> int:
    """Try the real path, and name the next command for each thing that is wrong.

    It looks at Python, SQLite, the embedding model and your home, then starts a proxy against a temporary home,
    lists the tools, writes and recalls. Exit code 1 when something is wrong.
    """
    checks: list[Check] = []
    for name, attempt in CHECKS.items():
        terminal.note(f"trying {name} ...")
        checks.append(tried(name, attempt, terminal.home))
    terminal.answer({"well": all(check.well for check in checks), "checks": [c._asdict() for c in checks]}, told)
    return EXIT_FINE if all(check.well for check in checks) else EXIT_PROBLEM


def tried(name: str, attempt: Callable[[Path], Check], home: Path) -> Check:
    """The check's result; one that fails in a way it does not know is a finding too."""
    remedy = "slw status; the owner's own words are in slw.log (slw path --fault-log)"
    try:
        return attempt(home)
    except Refused as refused:
        error = refused.envelope["error"]
        return Check(name, well=False, found=error["message"], next=error.get("hint") or remedy)
    except SlwError as refused:
        return Check(name, well=False, found=refused.message, next=refused.hint or remedy)
    except Exception as fault:  # noqa: BLE001  a doctor who faints helps nobody: the fault is what was found
        return Check(name, well=False, found=f"{type(fault).__name__}: {fault}", next=remedy)


def told(terminal: Terminal, data: Data) -> None:
    """What was found, and under each finding what to do."""
    terminal.table(
        ("", "what", "found", "next"),
        [("ok" if c["well"] else "WRONG", c["name"], c["found"], c["next"]) for c in data["checks"]],
    )
    terminal.note("all is well" if data["well"] else "something is wrong; see what to do in the last column")


def python(_: Path) -> Check:
    """The interpreter is new enough."""
    found = ".".join(str(number) for number in sys.version_info[:3])
    well = sys.version_info >= OLDEST_PYTHON
    return Check("python", well, found, "" if well else "install Python 3.11 or newer, then slw into it")


def words(_: Path) -> Check:
    """SQLite can index words."""
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute("create virtual table words using fts5(content, tokenize='porter unicode61')")
        except sqlite3.OperationalError as error:
            remedy = "use a Python whose sqlite3 has FTS5, such as one from python.org or `uv python install`"
            return Check("sqlite", well=False, found=f"{sqlite3.sqlite_version}, {error}", next=remedy)
    return Check("sqlite", well=True, found=f"{sqlite3.sqlite_version} with FTS5")


def model(_: Path) -> Check:
    """The embedding model is the one it should be."""
    from ..adapters.embeddings import HINT, WEIGHTS_SHA256, wheel_weights  # noqa: PLC0415  numpy behind it

    weights = wheel_weights()
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        return Check("model", well=False, found=f"{weights} has sha256 {found[:12]}", next=HINT)
    return Check("model", well=True, found=f"{weights.name}, sha256 as published")


def home_is_ours(home: Path) -> Check:
    """The store's directory can be written, and by nobody else."""
    if not home.exists():
        above = next(folder for folder in home.parents if folder.exists())
        well = os.access(above, os.W_OK | os.X_OK)
        return Check("home", well, f"{home} is not there yet", "" if well else f"chmod u+rwx {above}, or choose --home")
    facts = home.stat()
    if facts.st_uid != os.getuid():
        return Check(
            "home", well=False, found=f"{home} is another user's", next="choose another with --home or SLW_HOME"
        )
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Check("home", well=False, found=f"{home} cannot be written", next=f"chmod 700 {home}")
    if facts.st_mode & 0o077:
        return Check("home", well=False, found=f"{home} is open to others", next=f"chmod 700 {home}")
    return Check("home", well=True, found=str(home))


def socket(home: Path) -> Check:
    """The owner's socket has a path that the system takes, or a short one elsewhere."""
    from ..adapters.reach import Unreachable, socket_path  # noqa: PLC0415

    try:
        return Check("socket", well=True, found=socket_path(home))
    except Unreachable as refused:
        error = refused.envelope["error"]
        return Check("socket", well=False, found=error["message"], next=error["hint"])


def disk(home: Path) -> Check:
    """There is room to remember."""
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    well = free >= ENOUGH_DISK
    return Check("disk", well, f"{free / 1e9:.1f} GB free", "" if well else f"free some space on the disk of {place}")


def log_reads(home: Path) -> Check:
    """What stands in the log can be read."""
    if not (home / "log.db").exists():
        return Check("log", well=True, found="none yet")
    from ..adapters.log import LogReader  # noqa: PLC0415  the library behind it

    with closing(LogReader(home / "log.db")) as reader:
        last = reader.position()
        reader.read(max(0, last - 1), 1)
    return Check("log", well=True, found=f"{last} events")


def store_stands(home: Path) -> Check:
    """The owner of this very home serves, and its read models stand where the log ends."""
    if not (home / "log.db").exists():
        return Check("store", well=True, found="none yet")
    told = ask(Terminal(home), "status", {})
    behind = [f"{name} is {view['behind']} behind" for name, view in told["views"].items() if view["behind"]]
    problems = [*told["problems"], *behind]
    if problems:
        return Check("store", well=False, found="; ".join(problems), next="slw serve stop, then slw status; slw verify")
    return Check("store", well=True, found=f"{told['memories']['live']} live memories, {told['generation']}")


def real_path(_: Path) -> Check:
    """A client can start a proxy, see the tools, write, and read what it wrote."""
    with temporary_home() as home:
        return asyncio.run(lived_through(home))


async def lived_through(home: Path) -> Check:
    """One small life over MCP."""
    from mcp import Client  # noqa: PLC0415  over a second

    async with Client(proxy_of(home)) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        if not tools >= CORE_TOOLS:
            missing = ", ".join(sorted(CORE_TOOLS - tools))
            return Check("agents", well=False, found=f"no tool {missing}", next="reinstall slw")

        async def call(verb: str, **arguments: Any) -> Any:
            answer = (await client.call_tool(f"slowave_{verb}", arguments)).structured_content or {}
            if not answer.get("ok"):
                raise RuntimeError(f"{verb}: {answer.get('error')}")
            return answer["data"]

        opened = await call("activate", task="a check-up", initial_goal="see that memory works", scope="check:up")
        session = {"session_id": opened["session_id"], "scope": "check:up"}
        told = await call("remember", **session, content="The doctor keeps a spare key under the blue flowerpot.")
        found = await call("recall", **session, query="where is the spare key?")
    if told["memory_id"] not in [memory["memory_id"] for memory in found["memories"]]:
        return Check("agents", well=False, found="what was remembered is not recalled", next="slw status")
    if any("embeddings_unavailable" in str(warning) for warning in found["warnings"]):
        return Check("agents", well=False, found="words only: no embeddings", next="see `model` above")
    return Check("agents", well=True, found=f"{len(tools)} tools; remembered and recalled over stdio")


CHECKS: dict[str, Callable[[Path], Check]] = {
    "python": python,
    "sqlite": words,
    "model": model,
    "home": home_is_ours,
    "socket": socket,
    "disk": disk,
    "log": log_reads,
    "store": store_stands,
    "agents": real_path,
}
