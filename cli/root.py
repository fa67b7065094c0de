"""Every command by its group; each group's module is imported when one of its commands is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import click

from ..domain.errors import Internal, InvalidInput, SlwError
from .places import home_directory
from .terminal import EXIT_FINE, EXIT_INTERRUPTED, Refused, Terminal


class Entry(NamedTuple):
    """A command without its code: the module it stands in, and its first line of help."""

    module: str
    help: str


GROUPS: dict[str, dict[str, Entry]] = {
    "Agents": {
        "mcp": Entry("agents", "Serve one agent over stdio; what a client's configuration starts."),
        "serve": Entry("agents", "Start the owner of the store, the one process that all agents share."),
        "demo": Entry("demo", "Play two sessions of a small story through a real MCP client."),
    },
    "The verbs by hand": {
        "activate": Entry("verbs", "Open a task and get what is remembered for it."),
        "remember": Entry("verbs", "Store a durable claim."),
        "recall": Entry("verbs", "Look something up."),
        "feedback": Entry("verbs", "Say what helped of what a retrieval brought."),
        "commit": Entry("verbs", "Close a task with its outcome, and a procedure if one is worth keeping."),
    },
    "Looking": {
        "list": Entry("looking", "List memories, newest first."),
        "search": Entry("looking", "Search memories; leaves no trace."),
        "show": Entry("looking", "Show one memory, procedure, session or retrieval."),
        "why": Entry("looking", "Tell the chain of events behind a memory's state."),
        "blame": Entry("blaming", "Tell which event set each field of a memory or session, when and by whom."),
        "sessions": Entry("looking", "List task sessions, newest first."),
    },
    "People": {
        "kinds": Entry("kinds", "Say what sort of knowledge memories are: facts, rules, decisions and so on."),
        "trace": Entry("tracing", "Search, and tell every channel's score of each answer."),
        "suppress": Entry("people", "Hide a memory from every verb; deletes nothing."),
        "unsuppress": Entry("people", "Let a suppressed memory be shown again."),
        "promote": Entry("people", "Let a memory be seen beyond its scope."),
        "pin": Entry("people", "Hold a memory at a stage, whatever other scopes make of it."),
    },
    "The log": {
        "log": Entry("log", "Print the events of the log, in order."),
        "replay": Entry("proof", "Fold the log into fresh read models elsewhere, and print what they come to."),
        "verify": Entry("proof", "Check the log link by link, and the live read models against a replay of it."),
        "erase": Entry("erasing", "Erase a memory's words for good, everywhere in the home."),
        "sql": Entry("analysing", "Ask in SQL, fresh to the last event, while agents work."),
        "schema": Entry("analysing", "Print the views of SQL and what their columns mean."),
        "report": Entry("analysing", "Answer one of the usual questions about the memory."),
        "export": Entry("exporting", "Write the memory as Parquet, CSV or JSON lines, with a manifest."),
        "import": Entry("exporting", "Make a home's log from an export of JSON lines."),
        "backup": Entry("backups", "Write one checked file with everything that cannot be grown back."),
        "restore": Entry("backups", "Put a backup into the home; what was there is kept."),
        "rebuild": Entry("proof", "Grow new read models from the log beside the live ones, then swap."),
        "undo": Entry("undoing", "Take back what a session, a run or a client did; nothing is deleted."),
    },
    "Care": {
        "status": Entry("care", "Tell what the store holds and how its read models stand."),
        "doctor": Entry("doctor", "Try the real path, and name the next command for each thing that is wrong."),
        "path": Entry("care", "Print where the store's files are."),
        "completion": Entry("care", "Print the completion script of a shell."),
    },
}
ENTRIES: dict[str, Entry] = {name: entry for group in GROUPS.values() for name, entry in group.items()}


class LazyGroup(click.Group):
    """Knows every command's name and help line, and imports none before it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(ENTRIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in ENTRIES:
            return None
        module = import_module(f".{ENTRIES[cmd_name].module}", __package__)
        return getattr(module, f"{cmd_name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.help) for name, entry in group.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 a problem was found, 2 usage, 3 not found, 4 refused or conflict, 5 busy, "
    "130 interrupted.",
)
@click.version_option(package_name="slw", message="%(prog)s %(version)s")
def slw() -> None:
    """Long-term memory for coding agents: one local event log, and everything else a way of looking at it.

    Every command takes --json, --home DIR (or SLW_HOME) and --quiet.
    """


def run(words: Sequence[str]) -> int:
    """Run one command line; every failure ends here, as words or as an envelope, and as an exit code."""
    # Even a command line that cannot be parsed may have asked for JSON.
    terminal = Terminal(home_directory(), as_json="--json" in words)
    try:
        code = slw.main(list(words), prog_name="slw", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader has seen enough (`slw log | head`); click leaves by SystemExit for this alone. Python would
        # complain once more while closing stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FINE
    except Refused as refused:
        return terminal.failure(refused.envelope)
    except SlwError as error:
        return terminal.failure(error.envelope())
    except click.ClickException as wrong:
        where = getattr(wrong, "ctx", None)
        hint = f"{where.command_path if where else 'slw'} --help"
        return terminal.failure(InvalidInput(wrong.format_message(), hint=hint).envelope())
    except OSError as error:
        return terminal.failure(Internal(f"{error.strerror or error}", hint="slw doctor").envelope())
    except Exception as fault:
        if os.environ.get("SLW_TRACEBACK"):
            raise
        hint = "the same with SLW_TRACEBACK=1 shows where; please report it"
        return terminal.failure(Internal(f"{type(fault).__name__}: {fault}", hint=hint).envelope())
    return code if isinstance(code, int) else EXIT_FINE
