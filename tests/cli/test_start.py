"""How fast `slw` starts, what it imports on the way, and that every command is reachable and alike."""

import resource
import subprocess
import sys

import click
import pytest
from slw.cli.main import proxy_options
from slw.cli.root import ENTRIES, slw

HEAVY = {"mcp", "duckdb", "numpy", "fastembed", "pydantic", "eventsourcing", "rich", "starlette", "usearch"}
HELP_CPU_SECONDS = 0.25


def modules_after(code):
    told = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(told.stderr.split())


def test_importing_the_entry_point_imports_nothing_heavy_not_even_click():
    assert not modules_after("import slw.cli.main") & (HEAVY | {"click", "platformdirs"})


def test_help_imports_nothing_heavy_and_no_command():
    loaded = modules_after("from slw.cli.root import run\nrun(['--help'])")
    assert not loaded & HEAVY
    assert not {f"slw.cli.{entry.module}" for entry in ENTRIES.values()} & loaded


@pytest.mark.parametrize("name", ["activate", "recall", "log", "doctor", "demo", "serve", "status"])
def test_help_of_a_command_imports_nothing_heavy(name):
    assert not modules_after(f"from slw.cli.root import run\nrun(['{name}', '--help'])") & HEAVY


def test_help_takes_less_than_a_quarter_of_a_second_of_cpu():
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "slw.cli.main", "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(once() for _ in range(3)) < HELP_CPU_SECONDS


def test_every_listed_command_is_there_and_has_a_sentence():
    context = click.Context(slw)
    for name, entry in ENTRIES.items():
        command = slw.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.help
        assert entry.help.endswith(".")


def commands(group=slw, before=""):
    """Every command that does something, at any depth; a group that only holds others is none."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield f"{before}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{before}{name} ")


def test_every_command_takes_json_home_and_quiet():
    for name, command in commands():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--json", "--home", "--quiet"} <= options, name


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], {}),
        (["--home", "/a b"], {"home": "/a b"}),
        (["--home=/x=y", "--tools", "core"], {"home": "/x=y", "tools": "core"}),
        (["--help"], None),
        (["--tools", "some"], None),
        (["--home"], None),
        (["--json"], None),
        (["stray"], None),
    ],
)
def test_a_well_formed_slw_mcp_skips_click_and_anything_else_meets_it(words, options):
    assert proxy_options(words) == options
