"""A client that speaks to a proxy in raw JSON-RPC lines, as a host does that has no SDK; and what it says."""

import json
import subprocess
import sys
import threading
from pathlib import Path

from slw.adapters import stdio

PROXY = Path(stdio.__file__)


class Wire:
    """A client that writes and reads JSON-RPC lines by hand, as hosts of the 2025 revisions do."""

    def __init__(self, home, tools="full", **options):
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(PROXY), "--home", str(home), "--tools", tools],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self.lines = []
        self.number = 0
        self.lock = threading.Lock()

    def initialize(self, protocol="2025-06-18", name="wire"):
        info = {"name": name, "version": "1.0"}
        answer = self.request("initialize", protocolVersion=protocol, capabilities={}, clientInfo=info)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def send(self, message):
        self.send_line(json.dumps(message).encode())

    def send_line(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode()
        self.lines.append(line)
        return json.loads(line)

    def request(self, method, **params):
        with self.lock:
            self.number += 1
            self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
            answer = self.read()
            assert answer["id"] == self.number
            return answer

    def call(self, tool, meta=None, **arguments):
        """The envelope that a tool answers; checks that all three forms of it agree."""
        extra = {"_meta": meta} if meta else {}
        result = self.request("tools/call", name=f"slowave_{tool}", arguments=arguments, **extra)["result"]
        envelope = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == envelope
        assert result["isError"] is not envelope["ok"]
        return envelope

    def data(self, tool, **arguments):
        envelope = self.call(tool, **arguments)
        assert envelope["ok"], envelope
        return envelope["data"]

    def error(self, tool, **arguments):
        envelope = self.call(tool, **arguments)
        assert not envelope["ok"], envelope
        return envelope["error"]

    def close(self):
        """End of input: the proxy finishes and leaves; gives whatever it still had to say."""
        rest, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors.decode()
        return rest, errors


def closing(session_id, **more):
    """The arguments of a commit."""
    return {
        "session_id": session_id,
        "final_goal": "payment tests pass in CI",
        "outcome": "success",
        "outcome_summary": "passed three times with two workers",
        "verification": {"status": "verified", "summary": "three green runs", "evidence_refs": ["run 17"]},
        **more,
    }


def verdicts(shown, assessment="used"):
    """The arguments of complete feedback on what a retrieval showed."""
    return {
        "retrieval_id": shown["retrieval_id"],
        "memory_feedback": [{"memory_id": m["memory_id"], "assessment": assessment} for m in shown["memories"]],
        "procedure_feedback": [
            {
                "procedure_id": p["procedure_id"],
                "use": "used",
                "effect": "helped",
                "contribution": "showed where to look",
            }
            for p in shown["procedures"]
        ],
        "coverage": "complete",
    }
