"""An export holds everything, and what is imported elsewhere comes to the same read models."""

from __future__ import annotations

import json

import duckdb
import pytest
from slw.adapters.exporting import export, import_log
from slw.adapters.integrity import check_log
from slw.adapters.log import LogReader
from slw.domain.errors import Conflict, InvalidInput, NotFound, Unavailable


def still(_):
    return lambda *__: None


def facts(home):
    reader = LogReader(home / "log.db")
    found = reader.read(0, 1_000_000)
    reader.close()
    return found


def test_an_imported_log_is_the_same_and_comes_to_the_same(lived, tmp_path):
    told = export(lived, "jsonl", tmp_path / "out", still)
    came = import_log(tmp_path / "other", tmp_path / "out", still)
    assert (came["position"], came["equal"]) == (told["position"], True)
    assert facts(tmp_path / "other") == facts(lived)
    assert check_log(tmp_path / "other" / "log.db").findings == []
    assert [p.name for p in (tmp_path / "other").iterdir() if p.name.startswith(".importing")] == []


def test_a_log_that_is_there_is_never_imported_over(lived, tmp_path):
    export(lived, "jsonl", tmp_path / "out", still)
    with pytest.raises(Conflict):
        import_log(lived, tmp_path / "out", still)


def test_an_export_that_was_changed_is_not_imported(lived, tmp_path):
    export(lived, "jsonl", tmp_path / "out", still)
    lines = (tmp_path / "out" / "events.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out" / "events.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(Unavailable):
        import_log(tmp_path / "other", tmp_path / "out", still)
    assert not (tmp_path / "other" / "log.db").exists()
    with pytest.raises(NotFound):
        import_log(tmp_path / "other", tmp_path, still)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_other_tools_read_every_view(lived, tmp_path, kind):
    told = export(lived, kind, tmp_path / "out", still)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == told
    for view, rows in told["views"].items():
        read = "read_parquet" if kind == "parquet" else "read_csv"
        [(count,)] = duckdb.sql(f"select count(*) from {read}('{tmp_path}/out/{view}.{kind}')").fetchall()
        assert count == rows, view
    with pytest.raises(InvalidInput):
        export(lived, kind, tmp_path / "out", still)
