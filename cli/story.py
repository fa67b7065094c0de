"""One small story in two sessions: what the demo's agents do, and what must come of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .terminal import Refused

SCOPE = "project:checkout"
FIRST_AGENT = "agent-one"
SECOND_AGENT = "agent-two"

SLOW_RUNNER = "The CI runners have two cores: run the payment tests with -n 2, with more workers they time out."
FAST_RUNNER = "The CI runners have eight cores since May: run the payment tests with -n 8."
CLAIMS: Sequence[dict[str, str]] = (
    {"content": SLOW_RUNNER, "type": "lesson"},
    {"content": "We decided to store amounts as integer cents, because floats broke two invoices.", "type": "decision"},
    {"content": "Never retry a payment request without its idempotency key.", "type": "instruction"},
    {"content": "The staging database is reset every night at 02:00 UTC.", "type": "fact"},
)
PROCEDURE: dict[str, Any] = {
    "summary": "Find out why payment tests time out in CI",
    "steps": [
        {"summary": "Run the one failing test alone on the CI image"},
        {"summary": "Compare the number of test workers with the cores of the runner"},
        {"summary": "Set the worker count in the CI file and run the suite three times"},
    ],
    "caveats": ["Do not raise the time limit first: it hides the cause"],
}

# Sends one tool call and gives the envelope that came back.
Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class Findings:
    """What the story promised, and whether it came true."""

    held: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    def expect(self, promise: str, kept: bool) -> None:
        """Note one promise."""
        self.held.append((promise, kept))

    @property
    def all_kept(self) -> bool:
        """Whether every promise was kept."""
        return all(kept for _, kept in self.held)


async def first_session(call: Call, findings: Findings) -> str:
    """A cold start: four claims are remembered, one is looked up, the task ends with a procedure.

    Gives the id of the memory that will not hold for ever.
    """
    opened = data(await call("slowave_activate", {"task": "Payment tests time out in CI", **goal("make CI green")}))
    findings.expect("the first agent starts cold", opened["memory_state"] == "cold_start")
    session = {"session_id": opened["session_id"], "scope": SCOPE}
    remembered = [data(await call("slowave_remember", {**session, **claim}))["memory_id"] for claim in CLAIMS]
    findings.expect("four claims are remembered", len(set(remembered)) == len(CLAIMS))

    found = data(await call("slowave_recall", {**session, "query": "how many workers for the payment tests in CI?"}))
    findings.expect("recall finds the claim it was asked for", remembered[0] in shown_memories(found)[:1])
    await call("slowave_feedback", verdicts(found, used=remembered[:1]))
    await call(
        "slowave_commit", {**closing(opened, "the suite passed three times with two workers"), "procedure": PROCEDURE}
    )
    return remembered[0]


async def second_session(call: Call, findings: Findings, outdated: str) -> None:
    """Another agent, another day: it is brought what the first one learned, and corrects one claim."""
    opened = data(
        await call("slowave_activate", {"task": "Payment tests time out in CI again", **goal("find out why")})
    )
    findings.expect("the second agent is brought the right claim", outdated in shown_memories(opened))
    findings.expect("and the procedure", bool(opened["procedures"]))
    session = {"session_id": opened["session_id"], "scope": SCOPE}
    newer = {"content": FAST_RUNNER, "type": "lesson", "replaces": outdated}
    replacement = data(await call("slowave_remember", {**session, **newer}))["memory_id"]

    found = data(await call("slowave_recall", {**session, "query": "how many workers for the payment tests in CI?"}))
    findings.expect("the new claim stands in the place of the old one", replacement in shown_memories(found))
    findings.expect("the old claim no longer comes back", outdated not in shown_memories(found))

    commit = closing(opened, "the runner had changed: the suite passes with eight workers")
    refused = await call("slowave_commit", commit)
    code = refused.get("error", {}).get("code")
    findings.expect("commit is refused until feedback is complete", code == "incomplete_feedback")
    await call("slowave_feedback", verdicts(opened, used=[outdated]))
    await call("slowave_feedback", verdicts(found, used=[replacement]))
    closed = await call("slowave_commit", commit)
    findings.expect("then it is accepted", closed["ok"])


def goal(text: str) -> dict[str, str]:
    """The rest of an activate."""
    return {"initial_goal": text, "scope": SCOPE}


def closing(opened: dict[str, Any], how: str) -> dict[str, Any]:
    """A commit of the session that `opened` began."""
    return {
        "session_id": opened["session_id"],
        "final_goal": "payment tests that pass in CI",
        "outcome": "success",
        "outcome_summary": how,
        "verification": {"status": "verified", "summary": how},
    }


def verdicts(retrieval: dict[str, Any], used: Sequence[str]) -> dict[str, Any]:
    """Complete feedback on everything that a retrieval showed."""
    memories = [
        {"memory_id": memory_id, "assessment": "used" if memory_id in used else "irrelevant"}
        for memory_id in shown_memories(retrieval)
    ]
    procedures = [
        {
            "procedure_id": shown["procedure_id"],
            "use": "used",
            "effect": "helped",
            "contribution": "showed where to look",
        }
        for shown in retrieval["procedures"]
    ]
    return {
        "retrieval_id": retrieval["retrieval_id"],
        **({"memory_feedback": memories} if memories else {}),
        **({"procedure_feedback": procedures} if procedures else {}),
        "coverage": "complete",
    }


def shown_memories(retrieval: dict[str, Any]) -> list[str]:
    """The ids on a page, best first."""
    return [memory["memory_id"] for memory in retrieval["memories"]]


def data(envelope: dict[str, Any]) -> dict[str, Any]:
    """The data of an answer that the story cannot go on without."""
    if not envelope["ok"]:
        raise Refused(envelope)
    return envelope["data"]
