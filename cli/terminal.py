"""What a command prints and where: results on stdout, all else on stderr, ornaments only for a person's eyes."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

Data = Mapping[str, Any]

# What a shell script can tell apart. Codes that the table does not name are faults of ours.
EXIT_FINE = 0
EXIT_PROBLEM = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 3
EXIT_REFUSED = 4
EXIT_BUSY = 5
EXIT_INTERRUPTED = 130
EXIT_OF_CODE = {
    "invalid_input": EXIT_USAGE,
    "not_found": EXIT_NOT_FOUND,
    "session_closed": EXIT_REFUSED,
    "scope_mismatch": EXIT_REFUSED,
    "conflict": EXIT_REFUSED,
    "incomplete_feedback": EXIT_REFUSED,
    "needs_confirmation": EXIT_REFUSED,
    "store_busy": EXIT_BUSY,
    "unavailable": EXIT_BUSY,
}

# Joiners shape words and emoji and move nothing; every other invisible format character could disguise a line.
HARMLESS_FORMAT = "\u200c\u200d"


class Refused(Exception):
    """A failure that came back as an envelope; `run` prints it and chooses the exit code."""

    def __init__(self, envelope: Data) -> None:
        super().__init__(envelope["error"]["message"])
        self.envelope = envelope


@dataclass(frozen=True, slots=True)
class Terminal:
    """The three options every command has, and the ways it can speak."""

    home: Path
    as_json: bool = False
    quiet: bool = False

    def answer(self, data: Data, words: Callable[[Terminal, Data], None]) -> None:
        """The result: the envelope with `--json`, else `words`."""
        if self.as_json:
            self.envelope({"ok": True, "data": data})
        else:
            words(self, data)

    def envelope(self, envelope: Data) -> None:
        """One envelope as one line of JSON on stdout."""
        click.echo(json.dumps(envelope, ensure_ascii=False))

    def say(self, text: str = "") -> None:
        """A line of the result."""
        click.echo(visible(text))

    def heading(self, text: str) -> None:
        """A line of the result that stands out on a terminal."""
        click.secho(visible(text), bold=True, color=False if plain_wanted() else None)

    def note(self, text: str) -> None:
        """A line beside the result, on stderr; `--quiet` drops it."""
        if not self.quiet:
            click.echo(visible(text), err=True)

    def complain(self, text: str) -> None:
        """A line about what was refused, on stderr, also with `--quiet`."""
        click.echo(visible(text), err=True)

    def pairs(self, pairs: Iterable[tuple[str, object]]) -> None:
        """Named values, one a line; those that are empty are left out."""
        for name, value in pairs:
            if value not in (None, "", [], {}):
                self.say(f"{name}: {value}")

    def outline(self, value: Any, indent: str = "") -> None:
        """Anything JSON can hold, indented; what holds only plain values takes one line."""
        entries = value.items() if isinstance(value, Mapping) else (("-", entry) for entry in value)
        for name, entry in entries:
            label = name if name == "-" else f"{name}:"
            if is_plain(entry):
                if entry not in (None, ""):
                    self.say(f"{indent}{label} {entry}")
            elif isinstance(entry, Mapping) and all(is_plain(inner) for inner in entry.values()):
                self.say(f"{indent}{label} {in_one_line(entry)}")
            elif entry:
                self.say(f"{indent}{label}")
                self.outline(entry, indent + "  ")

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table: drawn on a terminal, lines with tabs and no heading elsewhere."""
        cells = [[visible("" if value is None else str(value)) for value in row] for row in rows]
        if not cells:
            return
        if not sys.stdout.isatty():
            for row in cells:
                click.echo("\t".join(" ".join(cell.split()) for cell in row).rstrip())
            return
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415  only for a person's eyes
        from rich.console import Console  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        drawn = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="" if plain_wanted() else "bold")
        for number, header in enumerate(headers):
            drawn.add_column(header, overflow="fold", no_wrap=number == 0)
        for row in cells:
            drawn.add_row(*(Text(cell) for cell in row))
        Console().print(drawn)

    def failure(self, envelope: Data) -> int:
        """Tell a failure and give its exit code: the envelope on stdout with `--json`, else words on stderr."""
        error: Data = envelope["error"]
        if self.as_json:
            self.envelope(envelope)
        else:
            for line in failure_lines(error):
                self.complain(line)
        return EXIT_OF_CODE.get(str(error.get("code", "")), EXIT_PROBLEM)


def plain_wanted() -> bool:
    """Whether NO_COLOR asks for text without any styling (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def is_plain(value: Any) -> bool:
    """Whether it is one value, not a container of some."""
    return not isinstance(value, (Mapping, list))


def in_one_line(values: Data) -> str:
    """`live 3, all 4`; what is empty is left out."""
    return ", ".join(f"{name} {value}" for name, value in values.items() if value not in (None, ""))


def failure_lines(error: Data) -> Iterable[str]:
    """A failure for a person: what was wrong, where, what is outstanding, and the next call."""
    yield f"slw: {error['message']}"
    for field in error.get("field_errors", []):
        if str(field["path"]) not in error["message"]:
            yield f"  {field['path']}: {field['message']}"
    for left in error.get("outstanding", []):
        targets = [*left.get("memory_ids", []), *left.get("procedure_ids", [])]
        yield f"  {left.get('retrieval_id', '')}: {' '.join(targets)}"
    if error.get("hint"):
        # The owner speaks to agents; in a terminal the verbs have another name.
        yield f"hint: {error['hint'].replace('slowave_', 'slw ')}"


def visible(text: str) -> str:
    """The text with what could move the cursor or turn the direction written out, so that it stays data."""
    return "".join(character if is_harmless(character) else _written_out(character) for character in text)


def is_harmless(character: str) -> bool:
    """Whether a terminal merely shows it."""
    return character in "\n\t" or character in HARMLESS_FORMAT or unicodedata.category(character) not in {"Cc", "Cf"}


def _written_out(character: str) -> str:
    return f"\\u{ord(character):04x}"
