"""`slw sql`, `slw schema` and `slw report`: asking the published snapshot while agents work."""

from __future__ import annotations

import csv
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import shared
from .terminal import Data, Terminal

if TYPE_CHECKING:
    from ..adapters.asking_sql import Answered

# More rows than this nobody reads in a terminal.
SCREENFUL = 500


@click.command("sql")
@click.argument("question", metavar="SQL")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated, with a heading.")
@click.option("--parquet", type=click.Path(path_type=Path), help="Write the answer to this Parquet file.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0, help="Seconds it may take (30).")
@shared
def sql_command(terminal: Terminal, question: str, as_csv: bool, parquet: Path | None, timeout: float) -> None:
    """Ask in SQL, over the views that slw schema prints.

    The answer is fresh to the last event. Only a single statement that reads is run, and it reaches no other file.
    """
    from ..adapters.asking_sql import asked, require_reading, written_as_parquet  # noqa: PLC0415 - not for --help
    from ..adapters.publishing import publish  # noqa: PLC0415 - likewise

    if [as_csv, terminal.as_json, parquet is not None].count(True) > 1:
        raise click.UsageError("choose one of --csv, --json and --parquet")
    require_reading(question)
    published = publish(terminal.home)
    if parquet is not None:
        rows = written_as_parquet(published.path, question, parquet, seconds=timeout)
        terminal.answer({"file": str(parquet.absolute()), "rows": rows, "position": published.position}, kept)
        return
    told(terminal, asked(published.path, question, seconds=timeout), published.position, as_csv=as_csv)


def told(terminal: Terminal, answer: Answered, position: int, *, as_csv: bool) -> None:
    """An answer as a table, as CSV or as JSON."""
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
        return
    if terminal.as_json:
        rows = [dict(zip(answer.columns, map(plain, row), strict=True)) for row in answer.rows]
        terminal.envelope({"ok": True, "data": {"columns": answer.columns, "rows": rows, "position": position}})
        return
    shown = answer.rows[:SCREENFUL] if sys.stdout.isatty() else answer.rows
    terminal.table(answer.columns, [[plain(value) for value in row] for row in shown])
    left = len(answer.rows) - len(shown)
    terminal.note(f"{len(answer.rows)} rows at position {position}" + (f", {left} not shown: --csv" if left else ""))


def plain(value: Any) -> Any:
    """A value of DuckDB as JSON has it; times are UTC."""
    if isinstance(value, datetime):
        return f"{value.isoformat()}Z" if value.tzinfo is None else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def kept(terminal: Terminal, data: Data) -> None:
    """Where the answer is."""
    terminal.say(f"{data['rows']} rows in {data['file']}")


@click.command("schema")
@click.argument("view", required=False)
@shared
def schema_command(terminal: Terminal, view: str | None) -> None:
    """Print the views of SQL, or the columns of one of them with their types and meanings."""
    from ..adapters.publishing import table_columns  # noqa: PLC0415 - not for `slw --help`
    from ..projections.analytics import VIEWS, described  # noqa: PLC0415 - likewise

    columns = described(table_columns())
    wanted = view.removeprefix("v1.") if view else None
    if wanted is not None and wanted not in columns:
        raise click.UsageError(f"there is no view {view}; there are {', '.join(columns)}")
    views = [
        {
            "view": f"v1.{known.name}",
            "about": known.about,
            "columns": [{"name": name, "type": kind, "about": meaning} for name, kind, meaning in columns[known.name]],
        }
        for known in VIEWS
        if wanted in (None, known.name)
    ]
    terminal.answer({"views": views}, columns_told if wanted else views_told)


def views_told(terminal: Terminal, data: Data) -> None:
    """The views, one a line."""
    terminal.table(
        ("view", "columns", "each row is"), [(v["view"], len(v["columns"]), v["about"]) for v in data["views"]]
    )


def columns_told(terminal: Terminal, data: Data) -> None:
    """The columns of one view."""
    [view] = data["views"]
    terminal.heading(f"{view['view']}: {view['about']}")
    terminal.table(("column", "type", "meaning"), [(c["name"], c["type"], c["about"]) for c in view["columns"]])


@click.command("report")
@click.argument("name", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated, with a heading.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the question in SQL, to be changed at will.")
@shared
def report_command(terminal: Terminal, name: str | None, as_csv: bool, as_sql: bool) -> None:
    """Answer one of the usual questions; without a name, list them."""
    from ..adapters.asking_sql import asked  # noqa: PLC0415 - not for `slw --help`
    from ..adapters.publishing import publish  # noqa: PLC0415 - likewise
    from ..adapters.reports import REPORTS  # noqa: PLC0415 - likewise

    if name is None:
        reports = [{"name": known, "question": report.question} for known, report in REPORTS.items()]
        terminal.answer({"reports": reports}, reports_told)
        return
    if name not in REPORTS:
        raise click.UsageError(f"there is no report {name}; there are {', '.join(REPORTS)}")
    report = REPORTS[name]
    if as_sql:
        terminal.answer({"name": name, "sql": report.sql}, lambda terminal, data: terminal.say(data["sql"].strip()))
        return
    terminal.note(report.question)
    published = publish(terminal.home)
    told(terminal, asked(published.path, report.sql), published.position, as_csv=as_csv)


def reports_told(terminal: Terminal, data: Data) -> None:
    """The reports, one a line."""
    terminal.table(("report", "answers"), [(r["name"], r["question"]) for r in data["reports"]])
