"""The rules of the house, read from the files themselves: who may import whom, and what must not be anywhere."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from slw.domain.events import Fact, all_facts

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("domain", "consolidation", "projections", "adapters", "cli")
MAY_IMPORT_OURS = {
    "domain": {"domain"},
    "consolidation": {"domain", "consolidation"},
    "projections": {"domain", "consolidation", "projections"},
    "adapters": {"domain", "consolidation", "projections", "adapters"},
    "cli": set(FOLDERS),
}
MAY_IMPORT_THEIRS = {
    "domain": {"pydantic", "eventsourcing"},
    "consolidation": {"numpy"},
    "projections": {"duckdb", "usearch", "numpy"},
    "adapters": None,  # whatever the work needs
    "cli": None,  # whatever the work needs
}
CLOCK_AND_CHANCE = {"time", "random", "uuid", "secrets"}
CLOCK_CALLS = {"now", "utcnow", "today", "urandom", "default_rng", "monotonic"}

SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
FOLDS = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ("projections", "consolidation")]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """("ours", folder) or ("theirs", top-level module) for every import statement, wherever it stands."""
    package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (("theirs", alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield "theirs", (node.module or "").split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            target = [*base, *(node.module or "").split(".")] if node.module else base
            yield from (("ours", (target or [alias.name])[0]) for alias in node.names)


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_folder_imports_only_what_the_table_allows(path):
    folder = path.relative_to(ROOT).parts[0]
    allowed = MAY_IMPORT_THEIRS[folder]
    for whose, name in imports(path):
        if whose == "ours":
            assert name in MAY_IMPORT_OURS[folder], f"{folder} may not import {name}"
        elif allowed is not None:
            assert name in allowed or name in sys.stdlib_module_names, f"{folder} may not import {name}"


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_source_imports_across_folders_relatively(path):
    assert "slw" not in {name for whose, name in imports(path) if whose == "theirs"}


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_a_file_begins_with_its_sentence(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), "no module docstring"


@pytest.mark.parametrize("path", FOLDS, ids=named)
def test_no_fold_knows_a_clock_or_chance(path):
    assert not CLOCK_AND_CHANCE & {name for whose, name in imports(path) if whose == "theirs"}
    tree = ast.parse(path.read_text("utf-8"))
    called = {
        node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not CLOCK_CALLS & called


def test_the_stdio_proxy_needs_the_standard_library_alone():
    for name in ("stdio.py", "reach.py"):
        theirs = {name for whose, name in imports(ROOT / "adapters" / name) if whose == "theirs"}
        # Run by its path, the proxy finds its neighbour by its bare name.
        assert theirs - {"reach"} <= set(sys.stdlib_module_names)


def test_no_file_bears_the_name_of_something_else():
    wanted = {line.split(">")[0].split("=")[0].strip() for line in PYPROJECT["project"]["dependencies"]}
    dependencies = {name for name, owners in packages_distributions().items() if wanted & set(owners)}
    assert "duckdb" in dependencies
    ours = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    assert not ours & (sys.stdlib_module_names | dependencies)


def test_every_package_is_listed_for_installation():
    holding = {path.parent.relative_to(ROOT) for path in SOURCES}
    assert {".".join(("slw", *folder.parts)) for folder in holding} == set(PYPROJECT["tool"]["setuptools"]["packages"])
    assert all((ROOT / folder / "__init__.py").exists() for folder in holding)
    assert not (ROOT / "__init__.py").exists()


def test_every_event_has_a_topic_of_its_own_and_says_what_happened():
    kinds, waiting = [], [Fact]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if not kind.__subclasses__():
            kinds.append(kind)
    assert len(kinds) == len(all_facts()) > 0
    for kind in kinds:
        assert "TOPIC" in kind.__dict__, kind
        assert kind.__dict__.get("__doc__"), kind


def test_tests_use_real_parts():
    for path in (ROOT / "tests").rglob("*.py"):
        assert not {name for whose, name in imports(path) if whose == "theirs"} & {"mock", "unittest"}, path
