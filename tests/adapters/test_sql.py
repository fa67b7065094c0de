"""SQL reads the published snapshot and nothing else, and the shape of its views is a promise."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from slw.adapters.asking_sql import asked, require_reading, written_as_parquet
from slw.adapters.publishing import table_columns
from slw.adapters.reports import REPORTS
from slw.domain.errors import InvalidInput, Unavailable
from slw.projections.analytics import VIEWS, create_empty, create_views, described

GOLDEN = Path(__file__).parent / "views_v1.json"


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "analytics.duckdb"
    with duckdb.connect(str(path)) as db:
        create_empty(db, "analytics", table_columns())
        create_views(db, "analytics")
    return path


def test_names_and_types_of_the_views_are_what_was_promised():
    """A new column may be added to the golden file; a change of one that is there breaks somebody's query."""
    now = {view: [[name, kind] for name, kind, _ in columns] for view, columns in described(table_columns()).items()}
    assert now == json.loads(GOLDEN.read_text())


def test_every_view_and_column_says_what_it_means(snapshot):
    with duckdb.connect(str(snapshot), read_only=True) as db:
        views = dict(db.execute("select view_name, comment from duckdb_views() where schema_name = 'v1'").fetchall())
        columns = db.execute("select column_name, comment from duckdb_columns() where schema_name = 'v1'").fetchall()
    assert set(views) == {view.name for view in VIEWS} and all(views.values())
    assert columns and all(comment for _, comment in columns)


@pytest.mark.parametrize(
    "question",
    [
        "copy (select 1) to '/tmp/slw-out.csv'",
        "copy v1.memories from '/etc/passwd'",
        "install fts",
        "load fts",
        "attach '/tmp/other.duckdb' as other",
        "pragma version",
        "pragma database_list",
        "call pragma_version()",
        "set threads = 1",
        "reset threads",
        "use v1",
        "checkpoint",
        "vacuum",
        "create temp table t as select 1",
        "insert into model.schemas select * from model.schemas",
        "delete from model.schemas",
        "drop view v1.memories",
        "export database '/tmp/slw-out'",
        "prepare p as select 1",
        "begin",
        "select 1; select 2",
        "",
        "selec 1",
        "explain select 1; drop view v1.memories",
    ],
)
def test_only_a_single_statement_that_reads_is_run(question):
    with pytest.raises(InvalidInput):
        require_reading(question)


@pytest.mark.parametrize(
    "question",
    [
        "select * from read_text('/etc/passwd')",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/etc/*')",
        "select * from sniff_csv('/etc/passwd')",
        "explain analyze select * from read_text('/etc/passwd')",
        "with t as (select * from parquet_scan('/etc/passwd')) select * from t",
    ],
)
def test_a_question_reaches_no_file(snapshot, question):
    with pytest.raises(InvalidInput):
        asked(snapshot, question)


def test_a_question_sees_no_variable_of_python(snapshot):
    secret_rows = [1, 2, 3]
    with pytest.raises(InvalidInput):
        asked(snapshot, "select * from secret_rows")
    assert secret_rows


@pytest.mark.parametrize(
    "question",
    [
        "select count(*) as n from v1.memories",
        "with t as (select 1 as x) select x from t",
        "from v1.sessions",
        "describe v1.memories",
        "show all tables",
        "summarize v1.kinds",
        "explain select * from v1.events",
        "select 1;",
    ],
)
def test_what_reads_is_answered(snapshot, question):
    assert asked(snapshot, question).columns


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_a_question_that_can_be_asked(snapshot, name):
    assert asked(snapshot, REPORTS[name].sql).columns


def test_a_question_that_takes_too_long_is_ended(snapshot):
    with pytest.raises(Unavailable, match="longer"):
        asked(snapshot, "select count(*) from range(100000000000) a, range(1000) b", seconds=0.3)


def test_parquet_is_the_one_file_a_question_writes(snapshot, tmp_path):
    target = tmp_path / "it's.parquet"
    assert written_as_parquet(snapshot, "select 1 as one union all select 2", target) == 2
    assert sorted(duckdb.sql(f"select one from read_parquet('{tmp_path}/*.parquet')").fetchall()) == [(1,), (2,)]
    with pytest.raises(InvalidInput):
        written_as_parquet(snapshot, "select * from read_text('/etc/passwd')", tmp_path / "b.parquet")
