"""What goes to stdout and what to stderr, what a terminal gets and a pipe does not, and every exit code."""

import json
import signal
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slw.cli.places import default_scope
from slw.cli.terminal import is_harmless, visible

from .conftest import SLW, environment


def answer(done):
    return json.loads(done.stdout)


def test_a_usage_error_is_2_on_stderr_or_an_envelope_with_json(slw):
    done = slw("recall")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hint: slw recall --help" in done.stderr
    done = slw("recall", "--json")
    assert (done.returncode, done.stderr) == (2, "")
    assert answer(done)["error"]["code"] == "invalid_input"


def test_an_unknown_command_and_an_unknown_option_are_usage_errors(slw):
    assert slw("forget").returncode == 2
    assert slw("list", "--everything").returncode == 2


def test_outside_a_repository_a_scope_must_be_named(slw):
    done = slw("search", "x")
    assert done.returncode == 2
    assert "--scope project:NAME" in done.stderr


def test_a_log_that_is_not_there_yet_is_no_fault(slw):
    done = slw("log")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no log" in done.stderr
    assert slw("log", "--quiet").stderr == ""
    assert answer(slw("log", "--json")) == {"ok": True, "data": {"events": []}}


def test_a_log_of_another_program_is_5_with_a_hint(slw, home):
    (home / "log.db").write_bytes(b"")
    done = slw("log")
    assert done.returncode == 5
    assert "hint:" in done.stderr


def test_an_interrupted_command_is_130(home):
    follower = subprocess.Popen(
        [*SLW, "log", "--follow"], env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(1)
    follower.send_signal(signal.SIGINT)
    out, err = follower.communicate(timeout=10)
    assert (follower.returncode, out, err.strip()) == (130, b"", b"")


def test_the_path_is_all_that_path_prints(slw, home):
    assert slw("path").stdout == f"{home}\n"
    assert slw("path", "--log").stdout == f"{home}/log.db\n"
    assert slw("path", "--home", "/elsewhere").stdout == "/elsewhere\n"
    assert answer(slw("path", "--json")) == {"ok": True, "data": {"path": str(home)}}


def test_without_a_named_home_it_is_the_users_data_directory(slw, home):
    done = slw("path", SLW_HOME="", HOME=str(home), XDG_DATA_HOME=str(home / "data"))
    assert done.stdout.strip().startswith(str(home))
    assert done.stdout.strip().endswith("slw")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_of_that_shell(slw, shell):
    assert "_SLW_COMPLETE" in slw("completion", shell).stdout


@pytest.mark.parametrize("words", ["completion bash", "demo"])
def test_a_reader_that_has_seen_enough_is_no_fault(home, words):
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(SLW)} {words} | head -n 3; exit ${{PIPESTATUS[0]}}"],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@given(st.text())
def test_nothing_that_moves_a_cursor_or_turns_a_line_is_printed(text):
    shown = visible(text)
    assert all(is_harmless(character) for character in shown)
    if all(is_harmless(character) for character in text):
        assert shown == text


def test_escape_sequences_and_direction_marks_are_written_out():
    assert visible("\x1b[31mred\u202eder\r") == "\\u001b[31mred\\u202eder\\u000d"


def test_the_default_scope_is_the_git_root_folder(tmp_path):
    inner = tmp_path / "shop" / "src" / "deep"
    inner.mkdir(parents=True)
    assert default_scope(inner) == default_scope(tmp_path)
    (tmp_path / "shop" / ".git").mkdir()
    assert default_scope(inner) == "project:shop"


def test_a_worktree_is_a_repository_too(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: elsewhere")
    assert default_scope(tmp_path / "tree") == "project:tree"
