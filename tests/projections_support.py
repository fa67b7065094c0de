"""A log in a list, written by hand: facts told one after the other, and read in pages like a real one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from slw.consolidation.policy import FoldPolicy
from slw.domain.events import (
    ClaimRemembered,
    Compensated,
    Exposure,
    Fact,
    FeedbackGiven,
    FeedbackWithdrawn,
    MemoryVerdict,
    Procedure,
    ProcedureVerdict,
    RetrievalRecorded,
    TaskActivated,
    TaskCommitted,
    Verification,
)
from slw.projections.projector import Positioned
from slw.projections.tables import Tables
from tests_support import AGENT, START

SCOPE = "project:app"


class Told:
    """Facts in the order in which they are told; each at `at`, which a test moves."""

    def __init__(self) -> None:
        self.facts: list[Positioned] = []
        self.at: datetime = START
        self.versions: dict[str, int] = {}

    def passes(self, **span: float) -> None:
        self.at += timedelta(**span)

    def tell(self, cls: type[Fact], stream: str, **members: object) -> int:
        """One fact; returns its version in its stream."""
        version = self.versions[stream] = self.versions.get(stream, 0) + 1
        held = {"recorded_at": self.at, "actor": AGENT, **members}
        fact = cls(originator_id=stream, originator_version=version, **held)
        self.facts.append(Positioned(len(self.facts) + 1, fact))
        return version

    def read(self, after: int, limit: int) -> Sequence[Positioned]:
        return self.facts[after : after + limit]

    # -- what happens often

    def activate(self, session: str = "sess_1", scope: str = SCOPE, **members: object) -> None:
        words = {"task": "ship it", "initial_goal": "a release", "continuity_id": f"cont_{session}"}
        self.tell(TaskActivated, session, scope=scope, **{**words, **members})

    def remember(self, memory: str = "mem_1", content: str = "", session: str = "sess_1", **members: object) -> None:
        told = {"session_id": session, "scope": SCOPE, "content": content or f"what {memory} says", "type": "fact"}
        self.tell(ClaimRemembered, memory, **{**told, **members})

    def recall(
        self, retrieval: str, *memories: str, session: str = "sess_1", procedures: Sequence[str] = (), **members: object
    ) -> None:
        asked = {"verb": "recall", "cue": "how", "page_size": 5, "as_of": self.at, "read_position": 0, "policy": "p"}
        self.tell(
            RetrievalRecorded,
            session,
            retrieval_id=retrieval,
            memories=exposed(memories),
            procedures=exposed(procedures),
            **{**asked, **members},
        )

    def judge(self, retrieval: str = "ret_1", session: str = "sess_1", **verdicts: str) -> int:
        """Verdicts on memories by id; returns the version of the feedback."""
        given = tuple(MemoryVerdict(memory_id=m, assessment=word) for m, word in verdicts.items())
        return self.tell(FeedbackGiven, session, retrieval_id=retrieval, memories=given)

    def report(self, procedure: str, effect: str, retrieval: str = "ret_1", session: str = "sess_1") -> int:
        """What a procedure did; `not_used` when it was not."""
        said = {"use": "used", "effect": effect, "contribution": f"{effect}: {retrieval}"}
        told = ProcedureVerdict(procedure_id=procedure, **(said if effect != "not_used" else {"use": "not_used"}))
        return self.tell(FeedbackGiven, session, retrieval_id=retrieval, procedures=(told,))

    def withdraw(self, version: int, *targets: str, session: str = "sess_1") -> int:
        """An undo takes one event of a session back."""
        return self.tell(
            FeedbackWithdrawn,
            session,
            compensates=Compensated(stream=session, version=version),
            run_id="run_1",
            targets=targets,
        )

    def commit(self, session: str = "sess_1", procedure: Procedure | None = None, **members: object) -> None:
        ending = {
            "scope": SCOPE,
            "final_goal": "a release",
            "outcome": "success",
            "outcome_summary": "it is out",
            "verification": Verification(status="verified", summary="tests pass", evidence_refs=("ci 7",)),
            "procedure_id": f"proc_{session}" if procedure else "",
            "procedure": procedure,
        }
        self.tell(TaskCommitted, session, **{**ending, **members})


METHOD = Procedure(
    summary="release by tag", steps=("freeze", "tag"), caveats=("not on Fridays",), context={"os": "linux"}
)


def exposed(targets: Sequence[str]) -> tuple[Exposure, ...]:
    return tuple(
        Exposure(target_id=t, rank=rank, score=1 / rank, parts={"words": 0.5}) for rank, t in enumerate(targets, 1)
    )


def opened(home: Path, name: str = "model.duckdb") -> Tables:
    return Tables(home / name, FoldPolicy())


def folded(home: Path, facts: Sequence[Positioned], name: str = "model.duckdb") -> Tables:
    """The tables after these facts, written."""
    tables = opened(home, name)
    tables.apply(facts)
    tables.flush()
    return tables


def digests(home: Path, facts: Sequence[Positioned], page: int = 1_000, name: str = "again.duckdb") -> dict[str, str]:
    """The digests of tables built from nothing in pages of this size, each written."""
    tables = opened(home, name)
    for start in range(0, len(facts), page):
        tables.apply(facts[start : start + page])
        tables.flush()
    found = tables.digest()
    tables.close()
    return found
