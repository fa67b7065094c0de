"""`slw log`: the events in order, read from the log itself without the owner."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import shared
from .terminal import Terminal, visible

if TYPE_CHECKING:
    from ..adapters.log import LogReader
    from ..domain.events import Fact

PAGE = 500
FOLLOW_SECONDS = 0.25
WIDEST_TOPIC = 24
COMMON = {"originator_id", "originator_version", "recorded_at", "actor", "request_id"}


class PositionOrTime(click.ParamType):
    """A position of the log, or an RFC 3339 time."""

    name = "position|time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | datetime:
        if str(value).isdigit():
            return int(value)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self.fail(f"{value!r} is neither a position nor a time with an offset (2026-05-01T12:00:00Z)", param, ctx)
        return moment


@click.command("log")
@click.option("--follow", "-f", is_flag=True, help="Go on printing what is appended, until interrupted.")
@click.option("--stream", metavar="ID", help="Only the events of one session, memory, run or `store`.")
@click.option("--since", type=PositionOrTime(), default=0, help="Only what comes after that position or time.")
@click.option("--ndjson", is_flag=True, help="One JSON object a line, for other tools.")
@shared
def log_command(
    terminal: Terminal,
    follow: bool,
    stream: str | None,
    since: int | datetime,
    ndjson: bool,
) -> None:
    """Print the events of the log, in order.

    It reads the log itself, and works with and without an owner.
    """
    if follow and terminal.as_json:
        raise click.UsageError("--follow has no end, so no envelope: use --ndjson")
    path = terminal.home / "log.db"
    if not path.exists() and not follow:
        terminal.note(f"there is no log in {terminal.home} yet")
    found = chosen(path, since, stream, follow=follow)
    if terminal.as_json:
        terminal.envelope({"ok": True, "data": {"events": [as_json(at, fact) for at, fact in found]}})
        return
    for position, fact in found:
        if ndjson:
            click.echo(json.dumps(as_json(position, fact), ensure_ascii=False))
        else:
            terminal.say(as_line(position, fact))
        if follow:
            sys.stdout.flush()


def chosen(
    path: Path, since: int | datetime, stream: str | None = None, *, follow: bool = False
) -> Iterator[tuple[int, Fact]]:
    """The events after a position or time, page by page; with `follow` for ever."""
    while follow and not path.exists():
        time.sleep(FOLLOW_SECONDS)
    if not path.exists():
        return
    from ..adapters.log import LogReader  # noqa: PLC0415  the library behind it is not for `slw --help`

    with closing(LogReader(path)) as reader:
        for position, fact in pages(reader, since if isinstance(since, int) else 0, follow=follow):
            late_enough = isinstance(since, int) or fact.recorded_at > since
            if late_enough and stream in (None, fact.originator_id):
                yield position, fact


def pages(reader: LogReader, after: int, *, follow: bool) -> Iterator[tuple[int, Fact]]:
    """Every event behind a position."""
    while True:
        page = reader.read(after, PAGE)
        yield from page
        if page:
            after = page[-1][0]
        elif follow:
            time.sleep(FOLLOW_SECONDS)
        else:
            return


def as_json(position: int, fact: Fact) -> dict[str, Any]:
    """An event as other tools read it: where it stands, what it is, and all it says."""
    said = fact.model_dump(mode="json", exclude={"originator_id", "originator_version"}, exclude_defaults=True)
    return {
        "position": position,
        "topic": fact.TOPIC,
        "stream": fact.originator_id,
        "version": fact.originator_version,
        **said,
    }


def as_line(position: int, fact: Fact) -> str:
    """An event in a line; on a terminal what it says stands under it, cut where the line ends."""
    moment = fact.recorded_at.strftime("%Y-%m-%d %H:%M:%S")
    actor = f"{fact.actor.name} {fact.actor.version}".strip() if fact.actor.kind == "client" else fact.actor.kind
    head = f"{position:>6}  {moment}  {fact.TOPIC:<{WIDEST_TOPIC}}  {fact.originator_id}  {actor}"
    if not sys.stdout.isatty():
        return f"{head}  {gist(fact)}".rstrip()
    width = shutil.get_terminal_size().columns
    said = f"        {visible(gist(fact))}"
    return f"{head}\n{said if len(said) <= width else f'{said[: width - 1]}…'}".rstrip()


def gist(fact: Fact) -> str:
    """What an event says beyond when, where and who, as `name=value`."""
    said = fact.model_dump(mode="json", exclude=COMMON, exclude_defaults=True)
    # The scope is much the same in all of them; the words of an event are what the eye looks for.
    told = sorted(said.items(), key=lambda member: member[0] in ("scope", "session_id"))
    text = " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in told)
    return " ".join(text.split())
