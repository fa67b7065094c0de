"""One owner per home, whatever happens to it: many agents at once, kill -9, drain, idleness, newer versions."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from slw.adapters import reach
from slw.adapters.log import LogReader
from slw.adapters.stdio import post
from wire import Wire, closing

SCOPE = "project:owner"


def health(home):
    return json.loads(reach.exchange(home, "GET", "/health")[1])


def settings(home, **values):
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps(values))


def until(condition, seconds=60):
    """Wait for something that will happen; not a measurement."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def session(client):
    opened = client.data("activate", task="t", initial_goal="g", scope=SCOPE)
    return {"session_id": opened["session_id"], "scope": SCOPE}


def contents(home):
    reader = LogReader(home / "log.db")
    found = [fact.content for _, fact in reader.read(0, 100_000) if fact.TOPIC == "memory.remembered"]
    reader.close()
    return found


def test_four_proxies_at_once_share_one_owner(home):
    clients = [Wire(home) for _ in range(4)]
    pids, failures = [], []

    def live(number):
        try:
            client = clients[number]
            client.initialize(name=f"agent-{number}")
            here = session(client)
            for turn in range(4):
                client.data("remember", **here, content=f"agent {number} says {turn}")
            found = client.data("recall", **here, query=f"agent {number} says", page_size=20)
            assert len(found["memories"]) >= 4
            pids.append(health(home)["pid"])
        except BaseException as fault:
            failures.append(fault)
            raise

    threads = [threading.Thread(target=live, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not failures
    assert len(set(pids)) == 1
    assert len(contents(home)) == 16
    for client in clients:
        assert client.close()[0] == b""


def test_requests_of_one_client_may_overlap(home):
    client = Wire(home)
    client.initialize()
    here = session(client)
    for number in range(10):
        arguments = {**here, "content": f"overlapping claim {number}"}
        params = {"name": "slowave_remember", "arguments": arguments}
        client.send({"jsonrpc": "2.0", "id": f"r{number}", "method": "tools/call", "params": params})
    answers = [client.read() for _ in range(10)]
    assert {a["id"] for a in answers} == {f"r{number}" for number in range(10)}
    assert all(a["result"]["isError"] is False for a in answers)
    client.close()


def test_what_was_asked_before_the_end_of_input_is_still_answered(home):
    client = Wire(home)
    client.initialize()
    client.send({"jsonrpc": "2.0", "id": "last", "method": "tools/list", "params": {}})
    rest, _ = client.close()
    assert json.loads(rest)["id"] == "last"


def test_only_its_user_may_reach_an_owner_and_read_its_files(home):
    post(home, "status", {})
    assert home.stat().st_mode & 0o777 == 0o700
    for path in home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def kill_among_writes(home, kills, seed):
    chance = random.Random(seed)
    client = Wire(home)
    client.initialize()
    here = session(client)
    acknowledged, done, failures = [], threading.Event(), []

    def killer():
        try:
            for _ in range(kills):
                before = len(acknowledged)
                until(lambda before=before: len(acknowledged) > before + chance.randrange(4))
                time.sleep(chance.random() * 0.02)
                with suppress(ProcessLookupError):
                    os.kill(health(home)["pid"], signal.SIGKILL)
        except BaseException as fault:
            failures.append(fault)
            raise
        finally:
            done.set()

    thread = threading.Thread(target=killer)
    thread.start()
    number = 0
    while not done.is_set():
        number += 1
        content = f"claim {number} of seed {seed}"
        answer = client.call("remember", **here, content=content)
        while not answer["ok"]:
            assert answer["error"]["retryable"], answer
            answer = client.call("remember", **here, content=content)
        acknowledged.append((answer["data"]["memory_id"], content))
    thread.join()
    assert not failures
    held = contents(home)
    assert [content for _, content in acknowledged] == held  # nothing lost, nothing twice, in order
    listed = post(home, "list", {"scope": SCOPE, "limit": 1000})["data"]["memories"]
    assert {m["memory_id"] for m in listed} == {memory_id for memory_id, _ in acknowledged}
    found = client.data("recall", **here, query=acknowledged[-1][1])
    assert found["memories"][0]["memory_id"] == acknowledged[-1][0]
    assert client.close()[0] == b""


def test_nothing_acknowledged_is_lost_when_the_owner_is_killed_5_times(home):
    kill_among_writes(home, 5, seed=11)


@pytest.mark.long
def test_nothing_acknowledged_is_lost_when_the_owner_is_killed_20_times(home):
    kill_among_writes(home, 20, seed=12)


def test_a_request_that_outlives_its_owner_happens_once(home):
    """The owner dies after the append and before the answer: the proxy asks the next one under the same id."""
    headers = {"X-Slw-Request-Id": "same", "X-Slw-Client": "test/1"}
    body = {"scope": SCOPE, "content": "told once"}
    first = post(home, "remember", body, headers)
    os.kill(health(home)["pid"], signal.SIGKILL)
    again = post(home, "remember", body, headers)
    assert again == first
    assert contents(home) == ["told once"]


def test_a_terminated_owner_finishes_what_it_was_asked(home):
    client = Wire(home)
    client.initialize()
    here = session(client)
    first = health(home)["pid"]
    memories = [{"content": f"drained {n}"} for n in range(60)]
    params = {"name": "slowave_remember", "arguments": {**here, "memories": memories}}
    client.send({"jsonrpc": "2.0", "id": "draining", "method": "tools/call", "params": params})
    os.kill(first, signal.SIGTERM)
    assert client.read()["result"]["structuredContent"]["data"]["stored"] == 60
    assert len(contents(home)) == 60
    client.data("recall", **here, query="drained 7")
    assert health(home)["pid"] != first
    client.close()


def test_an_owner_leaves_when_asked_and_takes_its_socket_along(home):
    post(home, "status", {})
    assert reach.stop_owner(home) is True
    assert not (home / "owner.sock").exists()
    assert reach.stop_owner(home) is False


def test_an_owner_leaves_when_nobody_needs_it(home):
    settings(home, idle_exit_seconds=0.5)
    post(home, "status", {})
    until(lambda: not reach.answers(home))
    assert "nobody asked" in (home / "slw.log").read_text()
    assert post(home, "status", {})["ok"]


def test_a_session_that_nobody_names_expires_and_may_still_be_committed_once(home):
    settings(home, session_lifetime_hours=0.0001, expiry_check_seconds=0.1)
    client = Wire(home)
    client.initialize()
    here = session(client)
    until(lambda: post(home, "sessions", {"state": "expired"})["data"]["sessions"])
    assert client.error("remember", **here, content="too late")["code"] == "session_closed"
    first = client.data("commit", **closing(here["session_id"]))
    assert client.data("commit", **closing(here["session_id"])) == first
    reader = LogReader(home / "log.db")
    [expired] = [fact for _, fact in reader.read(0, 100) if fact.TOPIC == "session.expired"]
    reader.close()
    assert expired.actor.kind == "system"
    client.close()


OLD_OWNER = """
import http.server, json, os, pathlib, socket, sys
sys.path.insert(0, {adapters!r})
import reach
home = pathlib.Path({home!r}); home.mkdir(exist_ok=True)
lease = reach.take_lease(home)
class Old(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body); self.wfile.flush()
    def do_GET(self):
        self.answer(json.dumps({{"version": "0.0.1"}}).encode())
    def do_POST(self):
        self.answer(b"{{}}")
        if self.path == "/drain":
            os.unlink(reach.socket_path(home)); os._exit(0)
    def address_string(self): return "proxy"
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_UNIX
    def server_bind(self): self.socket.bind(self.server_address); self.server_name, self.server_port = "", 0
server = Server(reach.socket_path(home), Old)
print("up", flush=True)
server.serve_forever()
"""


def test_a_newer_proxy_asks_an_older_owner_to_go(home):
    code = OLD_OWNER.format(adapters=os.path.dirname(reach.__file__), home=str(home))  # noqa: PTH120
    old = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert old.stdout.readline() == "up\n"
    client = Wire(home)
    client.initialize()
    assert old.wait(60) == 0
    session(client)
    assert health(home)["version"] == reach.VERSION
    client.close()


def test_an_owner_in_the_foreground_says_who_else_serves_the_home(home):
    post(home, "status", {})
    second = subprocess.run(
        [sys.executable, "-P", "-m", "slw.adapters.owner", "--foreground", "--home", str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert second.returncode == 5
    assert "another owner" in second.stderr
    assert second.stdout == ""


def test_a_bad_setting_falls_back_alone_and_status_says_so(home):
    settings(home, idle_exit_seconds="soon", flush_events=7, colour="red")
    problems = post(home, "status", {})["data"]["problems"]
    assert len(problems) == 2
    assert "idle_exit_seconds" in problems[0]
    assert "colour" in problems[1]
