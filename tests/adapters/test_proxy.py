"""The proxy alone: quick, small, silent but for the protocol, and clear when no owner can serve."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from slw.adapters import reach
from slw.adapters.stdio import INSTRUCTIONS
from wire import PROXY, Wire

ROOT = Path(reach.__file__).parent.parent
NOBODY = 65534


def test_the_version_is_the_packages():
    assert f'version = "{reach.VERSION}"' in (ROOT / "pyproject.toml").read_text()


def test_the_proxy_imports_the_standard_library_alone():
    code = (
        f"import sys; sys.argv = ['stdio.py']; sys.path.append({str(PROXY.parent)!r}); import stdio; "
        "print('\\n'.join(m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)))"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    files = ran.stdout.split()
    ours = [file for file in files if file.startswith(str(PROXY.parent))]
    assert sorted(Path(file).name for file in ours) == ["reach.py", "stdio.py"]
    assert not [file for file in files if "site-packages" in file]


def test_a_handshake_is_answered_at_once_with_our_version_and_instructions(home):
    asked = {"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "2024-11-05": "2024-11-05", "1999": "2025-11-25"}
    clients = [Wire(home) for _ in asked]
    for client, (version, answered) in zip(clients, asked.items(), strict=True):
        result = client.initialize(version)
        assert result["protocolVersion"] == answered
        assert result["serverInfo"] == {"name": "slw", "version": reach.VERSION}
        assert result["instructions"] == INSTRUCTIONS
        assert result["capabilities"] == {"tools": {"listChanged": False}}
    for client in clients:
        client.close()


def test_the_owners_own_handshake_says_the_same(home):
    client = Wire(home)
    ours = client.initialize("2025-11-25")
    body = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": body}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    _, answer = reach.exchange(home, "POST", "/mcp", json.dumps(message).encode(), headers)
    theirs = json.loads(answer)["result"]
    assert {name: theirs[name] for name in ours} == ours
    client.close()


def test_what_is_no_request_gets_a_protocol_error_or_no_answer(home):
    client = Wire(home)
    client.send_line(b"this is not JSON")
    assert client.read()["error"]["code"] == -32700
    client.send_line(b'["a", "batch"]')
    assert client.read()["error"]["code"] == -32600
    client.send_line(b"")
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    client.send({"jsonrpc": "2.0", "id": 7, "result": {}})
    assert client.request("ping")["result"] == {}
    assert client.close()[0] == b""


def test_text_that_is_no_unicode_is_refused_without_asking_anyone(home):
    client = Wire(home)
    client.initialize()
    params = '{"name":"slowave_remember","arguments":{"content":"a\\ud800b"}}'
    client.send_line(f'{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{params}}}'.encode())
    answer = client.read()
    assert answer["id"] == "x"
    assert answer["result"]["isError"] is True
    assert answer["result"]["structuredContent"]["error"]["code"] == "invalid_input"
    client.close()


# ---------------------------------------------------------------- homes that cannot be served


def refused(home, **options):
    """What a tool call answers on this home."""
    client = Wire(home, **options)
    client.initialize()
    error = client.error("recall", session_id="s", scope="a:b", query="q")
    listing = client.request("tools/list")
    assert listing["error"]["data"]["error"] == error
    client.close()
    assert error["code"] == "unavailable"
    assert error["hint"]
    return error


def test_a_home_that_is_a_file(home):
    home.write_text("something")
    assert "is a file" in refused(home)["message"]


def test_a_folder_full_of_other_things_is_left_alone(home):
    home.mkdir()
    (home / "thesis.tex").write_text("42")
    error = refused(home)
    assert "holds other things" in error["message"]
    assert error["retryable"] is False
    assert [path.name for path in home.iterdir()] == ["thesis.tex"]


def test_a_log_of_another_program(home):
    home.mkdir()
    subprocess.run([sys.executable, "-c", BAD_LOG, str(home / "log.db")], check=True)
    assert "another program" in refused(home)["message"]


def test_a_log_of_a_newer_format_starts_no_owner(home):
    home.mkdir()
    subprocess.run([sys.executable, "-c", NEWER_LOG, str(home / "log.db")], check=True)
    error = refused(home)
    assert "format 99" in error["message"]
    assert "update slw" in error["hint"]
    assert not reach.answers(home)


NEWER_LOG = (
    "import pathlib, sqlite3, sys; from slw.adapters.log import APPLICATION_ID; db = sqlite3.connect(sys.argv[1]); "
    "db.execute(f'pragma application_id={APPLICATION_ID}'); db.execute('pragma user_version=99'); db.commit()"
)
BAD_LOG = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('create table theirs (x)'); db.commit()"


def test_a_home_of_another_user(home):
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    assert "belongs to another user" in refused(home)["message"]


def test_a_home_that_cannot_be_written(home):
    home.mkdir()
    home.chmod(0o500)
    if os.getuid() == 0:  # whom permissions do not stop
        if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", home], check=False).returncode:
            pytest.skip("root, and no immutable folders here")
        try:
            assert "cannot be written" in refused(home)["message"]
        finally:
            subprocess.run(["chattr", "-i", home], check=True)
    else:
        assert "cannot be written" in refused(home)["message"]
        home.chmod(0o700)


def test_a_long_path_is_served_from_a_short_private_folder():
    with tempfile.TemporaryDirectory(prefix="slw-") as place:
        home = Path(place) / ("long" * 30)
        found = Path(reach.socket_path(home))
        assert len(os.fsencode(found)) <= reach.SOCKET_PATH_BYTES
        assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700
        assert found != Path(reach.socket_path(Path(place) / ("Long" * 30)))


def test_a_path_that_is_too_long_everywhere_is_said(home):
    with pytest.raises(reach.Unreachable, match="too long"):
        reach.socket_path(home, longest=10)


def test_two_spellings_of_one_home_have_one_socket(home):
    home.mkdir()
    link = home.parent / "link"
    link.symlink_to(home)
    assert reach.socket_path(link) == reach.socket_path(home / ".." / "h")


def test_a_private_folder_that_others_may_write_in_is_refused(home):
    home.mkdir()
    shared = home / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(reach.Unreachable, match="others may write"):
        reach.private_folder(shared)


def test_a_lease_is_held_once_and_freed_by_the_kernel(home):
    home.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    assert reach.take_lease(home) is None
    holder.kill()
    holder.wait()
    lease = reach.take_lease(home)
    assert lease is not None
    os.close(lease)


HOLD = (
    "import sys, pathlib; from slw.adapters.reach import take_lease; "
    "take_lease(pathlib.Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
)


@pytest.mark.parametrize(("older", "newer"), [("0.1.0", "0.2.0"), ("0.9", "0.10.1"), ("1.0", "1.0.1"), ("0", "0.0.1")])
def test_versions_are_compared_as_numbers(older, newer):
    assert reach.as_numbers(older) < reach.as_numbers(newer)


def test_a_proxy_is_small(home):
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc")
    client = Wire(home)
    client.initialize()
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    assert int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) < 25_000
    client.close()
