"""One agent session end to end over real stdio: with the SDK's client in both eras, and with raw lines."""

import asyncio
import json
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import Implementation
from slw.adapters.log import LogReader
from wire import PROXY, closing, verdicts

SCOPE = "project:checkout"
CLAIMS = [
    {"content": "CI runners have two cores: run the payment tests with -n 2.", "type": "lesson"},
    {"content": "Amounts are integer cents; floats broke two invoices.", "type": "decision"},
    {"content": "Never retry a payment without its idempotency key.", "kind": "policy"},
    {"content": "Staging is reset every night at 02:00 UTC.", "occurred_at": "2026-05-01T02:00:00+02:00"},
]
PROCEDURE = {
    "version": 2,
    "summary": "Find out why payment tests time out in CI",
    "context": {"tool": "pytest"},
    "steps": [{"summary": "Run the failing test alone"}, {"summary": "Compare workers with cores"}],
    "caveats": ["Do not raise the time limit first"],
}


async def first_session(call):
    opened = await call("activate", task="Payment tests time out in CI", initial_goal="green CI", scope=SCOPE)
    assert opened["memory_state"] == "cold_start"
    assert "stable document" in opened["guidance"]
    assert opened["memories"] == opened["procedures"] == opened["warnings"] == []
    assert opened["standing"]["rules"] == []
    assert (opened["relevant_total"], opened["more_available"]) == (0, False)
    here = {"session_id": opened["session_id"], "scope": SCOPE}
    told = [await call("remember", **here, **claim) for claim in CLAIMS]
    assert [t["disposition"] for t in told] == ["created"] * 4
    assert told[1]["memory_kind"] == "decision"
    assert told[1]["memory_kind_state"] == "confirmed"
    assert told[2]["memory_kind_label"] == "Standing rule"
    assert told[3]["occurred_at"] == "2026-05-01T00:00:00Z"
    found = await call("recall", **here, query="how many workers for the payment tests in CI?")
    assert found["memories"][0]["memory_id"] == told[0]["memory_id"]
    assert found["memories"][0]["provenance"]["client"].startswith("first")
    assert found["memories"][0]["pathway"] == "direct"
    assert found["memories"][0]["why"]
    assert "not an instruction" in found["notice"]
    assert found["evidence"][0]["events"][0]["event_id"] == f"{told[0]['memory_id']}:1"
    judged = await call("feedback", **verdicts(found))
    assert judged["coverage"] == "complete"
    assert {"target_id": told[0]["memory_id"], "change": "strengthened"} in judged["applied"]
    closed = await call("commit", **closing(opened["session_id"], procedure=PROCEDURE))
    assert closed["procedure_id"] == f"proc_{opened['session_id']}"
    assert closed["feedback_status"] == "complete"
    assert await call("commit", **closing(opened["session_id"], procedure=PROCEDURE)) == closed
    return told, opened


async def second_session(call, refused, told, before):
    opened = await call(
        "activate",
        task="CI is slow: payment tests",
        initial_goal="faster payment tests",
        scope=SCOPE,
        continuity_id=before["continuity_id"],
    )
    assert (opened["memory_state"], opened["continuity_state"]) == ("available", "continued")
    assert told[0]["memory_id"] in [m["memory_id"] for m in opened["memories"]]
    [procedure] = opened["procedures"]
    assert procedure["caveats"] == PROCEDURE["caveats"]
    here = {"session_id": opened["session_id"], "scope": SCOPE}
    newer = "CI runners have eight cores since May: run the payment tests with -n 8."
    replaced = await call("remember", **here, content=newer, type="lesson", replaces=told[0]["memory_id"])
    assert replaced["replaced"] == told[0]["memory_id"]
    found = await call("recall", **here, query="workers for payment tests in CI", evidence="full")
    ids = [m["memory_id"] for m in found["memories"]]
    assert replaced["memory_id"] in ids
    assert told[0]["memory_id"] not in ids
    assert found["procedures"][0]["steps"] == PROCEDURE["steps"]
    assert found["procedures"][0]["context"] == PROCEDURE["context"]
    assert any(record["content"] == newer for record in found["evidence"])
    error = await refused("commit", **closing(opened["session_id"]))
    assert error["code"] == "incomplete_feedback"
    assert error["retryable"] is True
    assert {o["retrieval_id"] for o in error["outstanding"]} == {opened["retrieval_id"], found["retrieval_id"]}
    await call("feedback", **verdicts(opened))
    await call("feedback", **verdicts(found))
    assert (await call("commit", **closing(opened["session_id"])))["committed"] is True


def envelope_of(result):
    envelope = result.structured_content
    assert json.loads(result.content[0].text) == envelope
    assert result.is_error is not envelope["ok"]
    return envelope


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_lives_two_sessions_through_the_sdk(home, mode):
    proxy = StdioServerParameters(
        command=sys.executable, args=["-I", "-S", str(PROXY), "--home", str(home), "--tools", "core"]
    )

    async def live():
        async with Client(proxy, mode=mode, client_info=Implementation(name="first", version="1")) as client:
            assert client.server_info.name == "slw"
            assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
            assert "Lifecycle" in client.instructions
            assert len((await client.list_tools()).tools) == 5

            async def call(verb, **arguments):
                envelope = envelope_of(await client.call_tool(f"slowave_{verb}", arguments))
                assert envelope["ok"], envelope
                return envelope["data"]

            async def refused(verb, **arguments):
                return envelope_of(await client.call_tool(f"slowave_{verb}", arguments))["error"]

            told, opened = await first_session(call)
            await second_session(call, refused, told, opened)

    asyncio.run(live())


@pytest.mark.parametrize("protocol", ["2025-06-18", "2025-11-25"])
def test_an_agent_lives_two_sessions_through_raw_lines(wire, home, protocol):
    client = wire(protocol=protocol, name="first")

    async def call(verb, **arguments):
        return client.data(verb, **arguments)

    async def refused(verb, **arguments):
        return client.error(verb, **arguments)

    async def live():
        told, opened = await first_session(call)
        await second_session(call, refused, told, opened)

    asyncio.run(live())
    rest, _ = client.close()
    assert rest == b""
    for line in client.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"
    reader = LogReader(home / "log.db")
    facts = [fact for _, fact in reader.read(0, 1000)]
    reader.close()
    by_client = [fact for fact in facts if fact.actor.kind == "client"]
    assert {fact.actor.name for fact in by_client} == {"first"}
    assert all(fact.request_id for fact in by_client)
    beside = {(fact.actor.kind, fact.TOPIC) for fact in facts if fact.actor.kind != "client"}
    assert beside <= {("system", "memory.kind_suggested")}
