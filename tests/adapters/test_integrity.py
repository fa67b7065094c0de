"""An edit, a gap, a reordering or a cut in the log is found, and its first place is named."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from lives import Life
from slw.adapters.integrity import Anchor, check_log
from slw.adapters.keys_table import grow_back
from slw.adapters.log import LogReader, chained, hashed_state


@pytest.fixture
def lived(memories, clock, log_path) -> Path:
    """A log with a life in it, at rest."""
    Life(memories, clock, 7).steps(120)
    memories.close()
    return log_path


def attack(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for trigger in ("stored_events_keep", "stored_events_stay"):
            body = db.execute("SELECT sql FROM sqlite_master WHERE name=?", (trigger,)).fetchone()[0]
            db.execute(f"DROP TRIGGER {trigger}")
            statements = (*statements, body)
        for statement in statements:
            db.execute(statement)
    db.close()


def test_a_life_is_found_whole(lived):
    seen = check_log(lived)
    assert seen.findings == []
    assert seen.events == seen.position > 150
    assert check_log(lived, quick=True).findings == []


def test_changed_words_are_found_at_their_position(lived):
    attack(lived, "UPDATE stored_events SET state = CAST(replace(state, 'a', 'b') AS BLOB) WHERE seq = 17")
    assert [(f.part, f.position) for f in check_log(lived).findings][:1] == [("log", 17)]


def test_an_event_that_is_gone_is_found_at_its_position(lived):
    attack(lived, "DELETE FROM stored_events WHERE seq = 40")
    assert 40 in {f.position for f in check_log(lived).findings}
    assert 40 in {f.position for f in check_log(lived, quick=True).findings}


def test_two_events_that_changed_places_are_found(lived):
    attack(
        lived,
        "UPDATE stored_events SET seq = -1 WHERE seq = 30",
        "UPDATE stored_events SET seq = 30 WHERE seq = 31",
        "UPDATE stored_events SET seq = 31 WHERE seq = -1",
    )
    assert min(f.position for f in check_log(lived).findings) == 30


def test_a_cut_tail_is_found_by_what_was_counted_and_by_an_anchor(lived):
    before = check_log(lived)
    attack(lived, f"DELETE FROM stored_events WHERE seq > {before.position - 3}")
    for quick in (True, False):
        assert check_log(lived, quick=quick).findings[0].position == before.position - 2
    attack(lived, f"UPDATE sqlite_sequence SET seq = {before.position - 3} WHERE name = 'stored_events'")
    assert check_log(lived, quick=True).findings == []
    [found] = check_log(lived, [Anchor(before.position, before.chain, "a backup")], quick=True).findings
    assert found.position == before.position - 2
    assert "a backup" in found.what and "slw restore" in found.hint


def test_a_log_that_was_rewritten_link_by_link_is_found_by_an_anchor(lived):
    before = check_log(lived)
    with sqlite3.connect(lived) as db:
        rows = db.execute("SELECT * FROM stored_events WHERE seq >= 20 ORDER BY seq").fetchall()
        link = db.execute("SELECT chain FROM stored_events WHERE seq = 19").fetchone()[0]
        db.execute("DROP TRIGGER stored_events_stay")
        for seq, stream, version, topic, stored, salt, _, _ in rows:
            state = stored.replace(b"uses", b"lost")
            state_hash = hashed_state(salt, state)
            link = chained(link, seq, stream, version, topic, state_hash)
            db.execute(
                "UPDATE stored_events SET state=?, state_hash=?, chain=? WHERE seq=?", (state, state_hash, link, seq)
            )
    db.close()
    anchor = Anchor(before.position, before.chain, "a backup")
    assert [f.part for f in check_log(lived, [anchor]).findings if f.part != "keys"] == ["log", "anchor"]


def test_a_lost_trigger_is_found(lived):
    with sqlite3.connect(lived) as db:
        db.execute("DROP TRIGGER stored_events_stay")
    db.close()
    assert "stored_events_stay" in check_log(lived, quick=True).findings[0].what


def test_a_key_that_differs_from_the_log_is_found_and_grows_back(lived):
    with sqlite3.connect(lived) as db:
        db.execute("DELETE FROM keys WHERE kind='retrieval' AND key=(SELECT min(key) FROM keys WHERE kind='retrieval')")
        db.execute("INSERT INTO keys VALUES ('claim', 'x', 'mem_x', 3)")
    db.close()
    assert [f.part for f in check_log(lived).findings] == ["keys", "keys"]
    grow_back(lived)
    assert check_log(lived).findings == []


def test_an_event_that_names_what_never_was_is_found(memories, log_path):
    from slw.domain.events import Exposure
    from tests_support import agent, shown

    memories.activate(
        task="t",
        initial_goal="g",
        scope="s:a",
        continuity_id="",
        shown=shown(memories=(Exposure(target_id="mem_never", rank=1),)),
        call=agent(),
    )
    [found] = check_log(log_path).findings
    assert (found.part, found.position) == ("references", 2)
    assert "mem_never" in found.what


def test_a_flipped_byte_is_found_or_nothing_that_is_read_changed(lived, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    whole = lived.read_bytes()
    assert not Path(f"{lived}-wal").exists()
    reader = LogReader(lived)
    facts = reader.read(0, 10_000)
    reader.close()
    silent = 0
    for _ in range(200):
        place = chance.randrange(len(whole))
        flipped = tmp_path / "flipped.db"
        flipped.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << chance.randrange(8))]) + whole[place + 1 :])
        if check_log(flipped).findings:
            continue
        silent += 1
        reader = LogReader(flipped)
        assert reader.read(0, 10_000) == facts, f"byte {place}"
        reader.close()
        for beside in tmp_path.glob("flipped.db-*"):
            beside.unlink()
    assert silent < 100
