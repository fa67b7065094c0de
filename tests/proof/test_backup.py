"""A backup is whole, is taken while agents write, and what a restore replaces is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from proof_home import live_in
from slw.adapters.backing_up import back_up, restore
from slw.adapters.backups import backups_of
from slw.adapters.integrity import check_log
from slw.adapters.log import LogReader
from slw.adapters.verifying import verify, verify_quickly
from slw.domain.errors import NeedsConfirmation, Unavailable


def facts(home):
    reader = LogReader(home / "log.db")
    found = reader.read(0, 1_000_000)
    reader.close()
    return found


def nothing() -> None:
    """Let read models grow when somebody asks."""


def test_positions_and_ids_survive(lived, tmp_path):
    about = back_up(lived, tmp_path / "b")
    other = tmp_path / "other"
    told, aside = restore(other, tmp_path / "b", yes=False, grow=nothing)
    assert (told, aside) == (about, None)
    assert facts(other) == facts(lived)
    assert (other / "log.db").stat().st_mode & 0o077 == 0
    assert check_log(other / "log.db").findings == []


def test_a_log_that_is_there_is_replaced_only_when_told_so_and_kept(lived, tmp_path):
    back_up(lived, tmp_path / "b")
    before = facts(lived)
    with pytest.raises(NeedsConfirmation):
        restore(lived, tmp_path / "b", yes=False, grow=nothing)
    _, aside = restore(lived, tmp_path / "b", yes=True, grow=nothing)
    assert facts(aside) == before == facts(lived)
    assert verify(lived).whole


def test_a_backup_is_never_written_over(lived, tmp_path):
    back_up(lived, tmp_path / "b")
    with pytest.raises(NeedsConfirmation):
        back_up(lived, tmp_path / "b")


def test_a_damaged_backup_changes_nothing(lived, tmp_path):
    back_up(lived, tmp_path / "b")
    data = bytearray((tmp_path / "b").read_bytes())
    (tmp_path / "short").write_bytes(data[: len(data) // 2])
    place = data.find(b"session.activated") + 40
    data[place] ^= 1
    (tmp_path / "flipped").write_bytes(data)
    before = facts(lived)
    for name in ("short", "flipped"):
        with pytest.raises(Unavailable):
            restore(lived, tmp_path / name, yes=True, grow=nothing)
    assert facts(lived) == before


def test_a_damaged_log_makes_no_backup(lived, tmp_path):
    data = bytearray((lived / "log.db").read_bytes())
    data[data.find(b'"task":"') + 9] ^= 1
    (lived / "log.db").write_bytes(data)
    with pytest.raises(Unavailable, match="not whole"):
        back_up(lived, tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_log_shorter_than_a_backup_is_told(lived, tmp_path):
    back_up(lived, tmp_path / "b")
    assert [backup.path for backup in backups_of(lived)] == [str(tmp_path / "b")]
    assert verify_quickly(lived).whole
    live_in(tmp_path / "younger", 3, 20)
    for name in ("log.db", "log.db-wal", "log.db-shm"):
        (lived / name).unlink(missing_ok=True)
    (tmp_path / "younger" / "log.db").rename(lived / "log.db")
    assert any(str(tmp_path / "b") in found.what for found in verify_quickly(lived).findings)


def test_backups_are_whole_while_agents_write(tmp_path):
    home = tmp_path / "h"
    live_in(home, 1, 30)
    writing = threading.Thread(target=live_in, args=(home, 2, 400))
    writing.start()
    made = []
    while writing.is_alive():
        made.append(back_up(home, tmp_path / f"b{len(made)}"))
    writing.join()
    assert len({about.position for about in made}) > 1


KILLED = """
import sys
from pathlib import Path
from slw.adapters.backing_up import back_up, restore
home, file, doing = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
print("begun", flush=True)
back_up(home, file) if doing == "backup" else restore(home, file, yes=True, grow=lambda: None)
"""


@pytest.mark.parametrize("doing", ["backup", "restore"])
def test_killed_in_the_middle_nothing_is_lost(lived, tmp_path, doing):
    back_up(lived, tmp_path / "b")
    before = facts(lived)
    for round_ in range(5):
        target = tmp_path / (f"k{round_}" if doing == "backup" else "b")
        started = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(lived), str(target), doing], stdout=subprocess.PIPE, env={**os.environ}
        )
        started.stdout.readline()
        time.sleep(0.02 * round_)
        os.kill(started.pid, signal.SIGKILL)
        started.wait()
        if doing == "backup":
            assert facts(lived) == before
        else:
            kept = [p for p in (lived, *lived.glob("before-restore-*")) if (Path(p) / "log.db").exists()]
            assert any(facts(Path(place)) == before for place in kept)
