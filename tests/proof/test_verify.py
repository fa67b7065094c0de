"""Verify finds whatever is not what the log says, and says where."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import duckdb
import pytest
from slw.adapters.verifying import current_generation, verify, verify_quickly


def test_a_home_at_rest_is_whole(lived):
    seen = verify(lived)
    assert seen.whole, (seen.findings, seen.differences)
    assert "schemas" in seen.compared and "vectors" in seen.compared


def test_a_quick_look_finds_a_whole_home_whole(lived):
    assert verify_quickly(lived).whole


def test_a_row_that_was_changed_is_shown(lived):
    with duckdb.connect(str(current_generation(lived) / "model.duckdb")) as db:
        db.execute("update schemas set type = 'lesson' where position = (select min(position) from schemas)")
        [(memory_id,)] = db.execute("select memory_id from schemas order by position limit 1").fetchall()
    [found] = verify(lived).differences
    assert found.name == "schemas"
    assert [row.split(":")[0] for row in found.rows] == ["live", "replayed"]
    assert all(memory_id in row for row in found.rows)


def test_words_that_were_changed_are_shown(lived):
    with sqlite3.connect(current_generation(lived) / "words.sqlite") as db:
        db.execute("UPDATE docs SET content = 'something else' WHERE row = (SELECT min(row) FROM docs)")
    db.close()
    [found] = verify(lived).differences
    assert found.name == "words.docs" and "something else" in found.rows[0]


def test_a_vector_file_that_was_changed_is_found_at_a_glance(lived):
    file = min((current_generation(lived) / "vectors").glob("*.usearch"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert file.name in verify_quickly(lived).findings[0].what
    assert not verify(lived).whole


def test_a_log_that_was_cut_is_found_by_the_generation_that_saw_more(lived):
    with sqlite3.connect(lived / "log.db") as db:
        db.execute("DROP TRIGGER stored_events_keep")
        db.execute("DELETE FROM stored_events WHERE seq > (SELECT max(seq) - 5 FROM stored_events)")
        db.execute("UPDATE sqlite_sequence SET seq = (SELECT max(seq) FROM stored_events)")
    db.close()
    assert any(found.part == "anchor" and "slw restore" in found.hint for found in verify_quickly(lived).findings)


def flips(home: Path, scratch: Path, count: int) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    files = sorted(p for p in home.rglob("*") if p.is_file() and p.name not in ("owner.lock", "slw.log"))
    sizes = [path.stat().st_size for path in files]
    for _ in range(count):
        [file] = chance.choices(files, sizes)
        place = chance.randrange(file.stat().st_size)
        copy = scratch / "flipped"
        shutil.copytree(home, copy)
        target = copy / file.relative_to(home)
        data = bytearray(target.read_bytes())
        data[place] ^= 1 << chance.randrange(8)
        target.write_bytes(data)
        seen = verify(copy)
        # Either it is found, or everything that is read came to the same: verify compared every digest.
        assert not seen.whole or len(seen.compared) >= 10, (file, place)
        if seen.whole:
            from slw.adapters.log import LogReader

            old, new = LogReader(home / "log.db"), LogReader(copy / "log.db")
            assert old.read(0, 10_000) == new.read(0, 10_000), (file, place)
            old.close()
            new.close()
        shutil.rmtree(copy)


def test_some_flipped_bytes_are_found_or_changed_nothing(lived, tmp_path):
    flips(lived, tmp_path, 6)


@pytest.mark.long
def test_two_hundred_flipped_bytes_are_found_or_changed_nothing(lived, tmp_path):
    flips(lived, tmp_path, 200)
