"""The owner, the demo and the doctor as a person meets them, and what only a terminal gets."""

import json
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest

from .conftest import SLW, environment, on_a_terminal, slw_in

CLAIM = ("remember", "Invoices are numbered without gaps.", "--scope", "project:shop")
STYLE = "\x1b["


@pytest.fixture(scope="module")
def shop():
    """A home with a claim and an open session, and how to ask it; its owner is gone when the file is done."""
    with tempfile.TemporaryDirectory(prefix="slw-", ignore_cleanup_errors=True) as name:
        run = slw_in(Path(name))
        run(*CLAIM)
        run("activate", "number the invoices", "--scope", "project:shop")
        yield Path(name), run
        run("serve", "stop")


def test_the_owner_starts_once_and_stops_once(home, slw):
    assert json.loads(slw("serve", "--json").stdout)["data"]["started"] is True
    assert json.loads(slw("serve", "--json").stdout)["data"]["started"] is False
    assert json.loads(slw("serve", "stop", "--json").stdout)["data"]["stopped"] is True
    assert json.loads(slw("serve", "--home", str(home), "stop", "--json").stdout)["data"]["stopped"] is False


def test_a_log_that_another_program_holds_is_busy_5_and_goes_on_afterwards(home, slw):
    (home / "settings.json").write_text('{"lock_seconds": 1}')
    assert slw(*CLAIM).returncode == 0
    holder = sqlite3.connect(home / "log.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    done = slw("remember", "Another claim altogether.", "--scope", "project:shop", "--json")
    holder.close()
    assert done.returncode == 5
    assert json.loads(done.stdout)["error"]["retryable"] is True
    assert slw("remember", "Another claim altogether.", "--scope", "project:shop").returncode == 0
    slw("serve", "stop")


def test_a_folder_full_of_other_things_is_not_taken_for_a_home(home, slw):
    (home / "thesis.txt").write_text("years of work")
    done = slw(*CLAIM)
    assert done.returncode == 5
    assert "hint: choose another folder" in done.stderr
    assert [path.name for path in home.iterdir()] == ["thesis.txt"]


def test_the_log_is_followed_while_it_grows(shop):
    home, slw = shop
    follower = subprocess.Popen([*SLW, "log", "--follow"], env=environment(home), stdout=subprocess.PIPE, text=True)
    assert "Invoices are numbered" in follower.stdout.readline()
    slw("remember", "Credit notes have numbers of their own.", "--scope", "project:shop")
    while "Credit notes" not in follower.stdout.readline():
        assert follower.poll() is None
    follower.terminate()
    follower.wait()


def test_tables_are_drawn_on_a_terminal_only(shop):
    home, slw = shop
    drawn = on_a_terminal(home, "sessions", "--all")
    assert "task" in drawn
    assert "─" in drawn
    piped = slw("sessions", "--all").stdout
    assert "─" not in piped
    assert piped.split("\t")[1] == "open"


def test_no_color_is_honoured(shop):
    home, slw = shop
    assert STYLE in on_a_terminal(home, "sessions", "--all")
    assert STYLE not in on_a_terminal(home, "sessions", "--all", NO_COLOR="1")
    assert STYLE not in slw("sessions", "--all").stdout


def test_words_that_would_move_the_cursor_are_written_out(shop):
    home, slw = shop
    slw("remember", "an \x1b[31mescape\x1b[0m that colours", "--scope", "project:shop")
    assert "\x1b[31m" not in on_a_terminal(home, "list", "--all")
    assert "\\u001b[31mescape" in on_a_terminal(home, "log")


def test_the_demo_keeps_every_promise_and_leaves_nothing(slw, home):
    done = slw("demo", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)["data"]
    assert all(promise["kept"] for promise in told["promises"])
    assert [step["tool"] for step in told["steps"]].count("slowave_remember") == 5
    positions = [event["position"] for step in told["steps"] for event in step["appended"]]
    assert positions == list(range(1, len(positions) + 1))
    assert list(home.iterdir()) == []


def test_the_doctor_finds_a_sound_home_well(slw):
    done = slw("doctor", "--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)["data"]
    assert told["well"] is True
    assert {check["name"] for check in told["checks"]} >= {"python", "sqlite", "model", "home", "disk", "agents"}


def test_the_doctor_names_the_next_command_for_what_is_wrong(slw, home):
    home.chmod(0o755)
    (home / "log.db").write_bytes(b"no log at all")
    done = slw("doctor", "--json")
    assert done.returncode == 1
    wrong = {check["name"]: check for check in json.loads(done.stdout)["data"]["checks"] if not check["well"]}
    assert set(wrong) == {"home", "log", "store"}
    assert wrong["home"]["next"] == f"chmod 700 {home}"
    assert all(check["next"] for check in wrong.values())
