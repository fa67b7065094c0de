"""Kinds over HTTP on the owner's socket, and over MCP: the same fields, the same errors, the right status."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import tempfile
import time
from pathlib import Path

import pytest
from slw.adapters.kind_routes import WAYS
from slw.adapters.reach import socket_path, stop_owner
from wire import Wire

SCOPE = "project:app"


class Over(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


@pytest.fixture(scope="module")
def home():
    place = Path(tempfile.mkdtemp(prefix="slw-"))
    yield place / "h"
    stop_owner(place / "h")
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def wire(home):
    client = Wire(home)
    client.initialize()
    yield client
    client.close()


@pytest.fixture(scope="module")
def http_of(home, wire):
    """A function that sends one request to the owner: status and envelope."""
    wire.data("activate", task="t", initial_goal="g", scope=SCOPE)

    def send(method, path, body=None):
        connection = Over(socket_path(home))
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        told = json.loads(answer.read())
        connection.close()
        return answer.status, told

    return send


@pytest.fixture(scope="module")
def memories(http_of):
    return [
        http_of("POST", "/api/remember", {"scope": SCOPE, "content": content})[1]["data"]["memory_id"]
        for content in ("Never push to main.", "We decided to use Postgres.", "The gateway has two workers.")
    ]


def tool(wire, name, **arguments):
    result = wire.request("tools/call", name=name, arguments=arguments)["result"]
    assert result["isError"] is not result["structuredContent"]["ok"]
    return result["structuredContent"]


def test_every_way_keeps_its_permission_beside_it():
    assert all(way.permission == ("read" if way.method == "GET" else "manage") for way in WAYS)


def test_status_settings_suggestions_and_confirm(http_of, memories):
    status, told = http_of("GET", "/api/memory-kinds/status")
    assert status == 200 and told["data"]["total"] == 3
    assert http_of("GET", "/api/memory-kinds/settings")[1]["data"]["settings"]["backend"] == "auto"
    status, told = http_of("POST", "/api/memory-kinds/settings", {"display_min_confidence": 0.35})
    assert status == 200 and told["data"]["settings"]["display_min_confidence"] == 0.35
    _, told = http_of("GET", f"/api/memory-kinds/suggestions?scope={SCOPE}&kind=rule&limit=5")
    assert [s["memory_id"] for s in told["data"]["suggestions"]] == memories[:1]
    _, told = http_of("POST", "/api/memory-kinds/confirm", {"items": [{"memory_id": memories[1]}]})
    assert told["data"]["results"][0]["data"]["memory_kind_source"] == "person"
    status, told = http_of("PATCH", f"/api/memory-kinds/fact/{memories[0]}", {"kind": "rule"})
    assert status == 200 and told["data"]["memory_kind_state"] == "confirmed"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/memory-kinds/settings?backend=off", None, 400),
        ("GET", "/api/memory-kinds/suggestions?limit=x", None, 400),
        ("GET", "/api/memory-kinds/suggestions?colour=red", None, 400),
        ("POST", "/api/memory-kinds/settings", {"hosted_consent": "true"}, 400),
        ("POST", "/api/memory-kinds/settings", {"hosted_consent": 1}, 400),
        ("POST", "/api/memory-kinds/settings", [], 400),
        ("POST", "/api/memory-kinds/confirm", {"items": [{}] * 201}, 400),
        ("PATCH", "/api/memory-kinds/fact/mem_unknown", {"kind": "rule"}, 404),
        ("PATCH", "/api/memory-kinds/fact/mem_unknown", {"kind": "rule", "memory_id": "mem_other"}, 400),
        ("POST", "/api/memory-kinds/backfill/run_unknown/pause", {}, 404),
        ("POST", "/api/memory-kinds/backfill/run_unknown/dance", {}, 404),
        ("GET", "/api/memories?kind=mood", None, 400),
    ],
)
def test_what_is_wrong_is_said_with_the_right_status(http_of, method, path, body, status):
    got, told = http_of(method, path, body)
    assert got == status and told["ok"] is False and told["error"]["hint"]


def test_memories_by_kind_and_exact_counts(http_of, memories):
    http_of("PATCH", f"/api/memory-kinds/fact/{memories[0]}", {"kind": "rule"})
    _, told = http_of("GET", "/api/memories?kind=rule&limit=1")
    assert [m["memory_id"] for m in told["data"]["memories"]] == memories[:1]
    _, told = http_of("GET", f"/api/memories/kind-counts?scope={SCOPE}")
    assert told["data"]["kinds"]["rule"]["confirmed"] == 1 and told["data"]["total"] == 3


def test_a_hosted_run_without_confirmation_is_409_with_the_numbers(http_of, memories, endpoint):
    where = {"hosted_url": endpoint.url, "hosted_model": "m", "hosted_consent": True, "backend": "hosted"}
    http_of("POST", "/api/memory-kinds/settings", where)
    for body in ({"mode": "refresh"}, {"mode": "refresh", "confirm_data_leaves_device": "true"}):
        status, told = http_of("POST", "/api/memory-kinds/backfill", body)
        error = told["error"]
        assert status == 409 and error["code"] == "needs_confirmation"
        assert error["facts"] >= 1 and error["requests"] == 1 and error["leaves_device"] is True
    time.sleep(0.2)
    assert endpoint.requests == []
    status, told = http_of(
        "POST", "/api/memory-kinds/backfill", {"mode": "refresh", "confirm_data_leaves_device": True}
    )
    assert status == 200
    run_id = told["data"]["run_id"]
    while http_of("GET", f"/api/memory-kinds/backfill?run_id={run_id}")[1]["data"]["run"]["state"] != "completed":
        time.sleep(0.05)
    assert len(endpoint.requests) == 1
    status, told = http_of("POST", f"/api/memory-kinds/backfill/{run_id}/revert", {"dry_run": True})
    assert status == 200 and told["data"]["dry_run"] is True
    status, told = http_of("POST", f"/api/memory-kinds/backfill/{run_id}/resume", {})
    assert status == 409 and "completed" in told["error"]["message"]
    http_of("POST", "/api/memory-kinds/settings", {"backend": "rules", "hosted_consent": False})


def test_agents_have_the_tools_of_kinds(wire, http_of, memories):
    names = {t["name"] for t in wire.request("tools/list")["result"]["tools"]}
    assert names >= {"set_memory_kind", "confirm_memory_kinds", "review_correction", "list_recent", "search"}
    said = tool(wire, "set_memory_kind", memory_id=memories[2], kind="fact")
    assert said["data"]["memory_kind_source"] == "caller"
    http_of("PATCH", f"/api/memory-kinds/fact/{memories[2]}", {"kind": "status"})
    assert tool(wire, "set_memory_kind", memory_id=memories[2], kind="fact")["error"]["code"] == "conflict"
    assert tool(wire, "memory_kinds_status")["data"]["total"] == 3
    assert tool(wire, "review_memory_kinds")["error"]["code"] == "invalid_input"
    assert tool(wire, "review_memory_kinds", scope=SCOPE, limit=1)["ok"]
    answer = tool(wire, "confirm_memory_kinds", items=[{"memory_id": memories[2]}, {"memory_id": 7}, "x"])
    assert [r["ok"] for r in answer["data"]["results"]] == [True, False, False]
    assert tool(wire, "review_correction", case_id="case_x", action="apply", expected_version=1)["error"]["code"] == (
        "not_found"
    )
    assert tool(wire, "list_recent", scope=SCOPE, kind="status")["data"]["total"] == 1
    assert tool(wire, "search", scope=SCOPE, query="postgres")["data"]["memories"]
