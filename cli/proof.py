"""Proving that read models are what the log says: replay, verify, rebuild."""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import click

from ..domain.errors import Unavailable
from .asking import ask
from .confirming import confirm
from .log import PositionOrTime
from .options import sent, shared
from .progress import progress
from .terminal import EXIT_FINE, EXIT_PROBLEM, Data, Terminal

POLL_SECONDS = 0.1


@click.command("replay")
@click.option("--to", "to", type=PositionOrTime(), help="Stop there; default the end of the log.")
@click.option("--into", type=click.Path(path_type=Path), help="Keep the read models in this new folder.")
@click.option("--strict", is_flag=True, help="First check every event, and name the first that is not as written.")
@shared
def replay_command(terminal: Terminal, to: int | datetime | None, into: Path | None, strict: bool) -> int:
    """Fold the log into fresh read models elsewhere, and print what they come to.

    The live ones are not touched, and agents may go on working.
    """
    from ..adapters.integrity import check_log  # noqa: PLC0415 - not for `slw --help`
    from ..adapters.replaying import position_of, replayed  # noqa: PLC0415 - likewise

    log, embeddings = terminal.home / "log.db", terminal.home / "embeddings.db"
    end = position_of(log, to)
    if strict:
        with progress(terminal, "checking the log") as moved:
            checked = check_log(log, upto=end, progress=lambda read: moved(read, end))
        if checked.findings:
            first = min(checked.findings, key=lambda finding: finding.position)
            told = {"position": first.position, "part": first.part, "what": first.what, "hint": first.hint}
            terminal.answer({"checked": checked.events, "first_bad": told}, first_bad)
            return EXIT_PROBLEM
    with progress(terminal, "replaying") as moved, replayed(log, embeddings, end, into, moved) as (_, came_to):
        data = {
            "position": came_to.position,
            "events": came_to.events,
            "seconds": round(came_to.seconds, 3),
            "cpu_seconds": round(came_to.cpu_seconds, 3),
            "events_per_cpu_second": round(came_to.events / max(came_to.cpu_seconds, 1e-9)),
            "views": dict(came_to.views),
            "read_models": [
                {"name": name, "rows": came_to.counts.get(name, 0), "digest": digest}
                for name, digest in came_to.digests.items()
            ],
            "into": str(into / came_to.generation) if into else "",
            "strict": strict,
        }
    terminal.answer(data, came_to_this)
    return EXIT_FINE


def first_bad(terminal: Terminal, data: Data) -> None:
    """The first event that is not as it was written, and what to do."""
    found = data["first_bad"]
    terminal.say(f"position {found['position']}: {found['what']}")
    terminal.say(f"hint: {found['hint']}")


def came_to_this(terminal: Terminal, data: Data) -> None:
    """Counts and a digest for each read model."""
    terminal.table(
        ("read model", "rows", "digest"), [(m["name"], m["rows"], m["digest"][:16]) for m in data["read_models"]]
    )
    behind = {name: at for name, at in data["views"].items() if at < data["position"]}
    for name, at in behind.items():
        terminal.note(f"{name} stand at {at}: the vector of the next text is not in embeddings.db")
    rate = f"{data['events_per_cpu_second']:,} a CPU-second"
    terminal.note(f"{data['events']:,} events up to position {data['position']} in {data['seconds']} s ({rate})")
    if data["into"]:
        terminal.say(f"kept in {data['into']}")


@click.command("verify")
@click.option(
    "--quick", is_flag=True, help="Only the end of the log, its anchors and the files' sums: well under a second."
)
@shared
def verify_command(terminal: Terminal, quick: bool) -> int:
    """Check the log link by link, and the live read models against a replay of it.

    Agents may go on working. Exits 1 when anything is not as it was written, and says what to do.
    """
    from ..adapters.verifying import Verified, verify, verify_quickly  # noqa: PLC0415 - not for `slw --help`

    if not (terminal.home / "log.db").exists():
        raise Unavailable(
            f"there is no log in {terminal.home}", hint="slw activate, or an agent's first call, begins one"
        )
    seen: Verified
    if quick:
        seen = verify_quickly(terminal.home)
    else:
        with ExitStack() as bars:
            seen = verify(terminal.home, lambda doing: bars.enter_context(progress(terminal, doing)))
    terminal.answer(seen.told(), verified)
    return EXIT_FINE if seen.whole else EXIT_PROBLEM


def verified(terminal: Terminal, data: Data) -> None:
    """What was compared, and what differs."""
    for found in data["findings"]:
        where = f" at position {found['position']}" if found["position"] else ""
        terminal.say(f"{found['part']}{where}: {found['what']}")
        terminal.say(f"  hint: {found['hint']}")
    for differs in data["differences"]:
        terminal.say(
            f"{differs['name']} is not what the log says ({differs['live'][:12]} / {differs['replayed'][:12]})"
        )
        for row in differs["rows"]:
            terminal.say(f"  {row}")
    if data["differences"]:
        terminal.say("  hint: slw rebuild grows new read models from the log; nothing is lost")
    if data["whole"] and not (data["compared"] or data["quick"]):
        terminal.note("no read models were there to compare; slw status grows them")
    if data["whole"]:
        compared = f", {len(data['compared'])} read models equal to a replay of it" if data["compared"] else ""
        erased = f", {data['erased']} erased" if data["erased"] else ""
        terminal.say(
            f"the log is whole: {data['events']:,} events looked at up to position {data['position']}{erased}{compared}"
        )


@click.command("rebuild")
@click.option(
    "--projection",
    "projections",
    multiple=True,
    metavar="NAME",
    help="Only this one: tables, words, vectors, or the log's table of keys. May be given again.",
)
@click.option("--back", is_flag=True, help="Read from the generation before the live one again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared
def rebuild_command(terminal: Terminal, projections: tuple[str, ...], back: bool, yes: bool) -> int:
    """Grow new read models from the log beside the live ones, then swap.

    Agents go on reading and writing. The generation before is kept for --back.
    """
    if back and projections:
        raise click.UsageError("--back goes alone")
    confirm("go back to the generation before?" if back else "grow new read models from the log?", yes=yes)
    if "keys" in projections:
        from ..adapters.keys_table import grow_back  # noqa: PLC0415 - not for `slw --help`

        keys = grow_back(terminal.home / "log.db")
        terminal.note(f"the table of keys holds {keys} keys, as the log gives them")
        projections = tuple(name for name in projections if name != "keys")
        if not projections:
            terminal.answer({"state": "done", "generation": "", "keys": keys}, rebuilt)
            return EXIT_FINE
    told = ask(terminal, "rebuild", sent(projections=list(projections), back=back))
    with progress(terminal, "rebuilding") as moved:
        while told["state"] == "running":
            time.sleep(POLL_SECONDS)
            told = ask(terminal, "rebuild_state", {})
            moved(told.get("percent", 0), 100)
    terminal.answer(told, rebuilt)
    return EXIT_PROBLEM if told["state"] == "failed" else EXIT_FINE


def rebuilt(terminal: Terminal, data: Data) -> None:
    """Which generation answers now."""
    if data["state"] == "failed":
        terminal.say(f"the live read models are untouched: {data['why']}")
    elif data["generation"]:
        terminal.say(f"{data['generation']} answers now")
