"""Erased words are nowhere in the home any more, and everything else is as it was."""

from __future__ import annotations

import sqlite3

import pytest
from proof_home import keep_vectors, open_and_close
from slw.adapters.erasing import erase, plan, still_in
from slw.adapters.integrity import check_log
from slw.adapters.log import LogReader, log_environment
from slw.adapters.verifying import verify
from slw.domain.errors import NotFound
from slw.domain.events import MemoryVerdict
from slw.domain.memories import Memories
from slw.domain.memory import Claim
from slw.domain.session import Exposure
from tests_support import Clock, agent, person, shown

SECRET = "the staging key is sk-LIVE-42, tell nobody"  # noqa: S105 - what has to go


@pytest.fixture
def told(lived):
    """A secret in every place a text can get to; its memory's id."""
    clock = Clock()
    clock.passes(days=9_000)
    with Memories(log_environment(lived / "log.db"), clock=clock) as memories:
        session = memories.activate(
            task=f"find out: {SECRET}",
            initial_goal="g",
            scope="project:app",
            continuity_id="",
            shown=shown(cue=SECRET.upper()),
            call=agent(),
        ).session_id
        phrase = "one answer with {}".format
        [made] = memories.remember(
            session_id=session,
            scope="project:app",
            claims=[Claim(SECRET)],
            call=agent("r-1", "sum"),
            phrase=lambda _: '{"said": "' + phrase(SECRET) + '"}',
        )
        [twin] = memories.remember(session_id="", scope="project:web", claims=[Claim(f"note: {SECRET}")], call=person())
        retrieval = memories.expose(
            session_id=session,
            shown=shown("recall", memories=(Exposure(target_id=made.memory_id, rank=1),)),
            call=agent(),
        ).retrieval_id
        memories.feedback(
            retrieval_id=retrieval,
            memories=[MemoryVerdict(memory_id=made.memory_id, assessment="used", reason=f"since {SECRET}")],
            procedures=[],
            coverage="partial",
            call=agent(),
        )
    keep_vectors(lived)
    open_and_close(lived)
    return made.memory_id, twin.memory_id


def test_nothing_in_the_home_holds_the_words_and_everything_still_verifies(lived, told):
    made, twin = told
    assert len(still_in(lived, [SECRET])) >= 2
    done = erase(lived, made, person().actor, grow=lambda: open_and_close(lived))
    assert done["still_in"] == []
    assert done["memory_ids"] == [made, twin]
    for path in lived.rglob("*"):
        assert path.is_dir() or b"sk-LIVE-42" not in path.read_bytes().upper().replace(b"SK-LIVE", b"sk-LIVE")
    seen = verify(lived)
    assert seen.whole, (seen.findings, seen.differences)
    assert seen.erased >= 5


def test_what_happened_stays_and_the_log_says_that_words_were_erased(lived, told):
    reader = LogReader(lived / "log.db")
    before = reader.read(0, 100_000)
    erase(lived, told[0], person().actor)
    after = reader.read(0, 100_000)
    reader.close()
    assert [fact.TOPIC for _, fact in after[-2:]] == ["memory.erased", "memory.erased"]
    blanked = {position for _, fact in after[-2:] for position in fact.positions}
    for old, new in zip(before, after, strict=False):
        assert (old == new) == (old[0] not in blanked)
        assert type(old[1]) is type(new[1])


def test_a_plan_changes_nothing_and_an_erasure_twice_is_once(lived, told):
    before = (lived / "log.db").read_bytes()
    assert plan(lived, told[0]).told()["events"] == 5
    assert (lived / "log.db").read_bytes() == before
    erase(lived, told[0], person().actor)
    end = check_log(lived / "log.db")
    assert erase(lived, told[0], person().actor)["events"] == 0
    assert check_log(lived / "log.db").position == end.position
    assert end.findings == []


def test_further_words_are_erased_wherever_they_stand(lived, told):
    done = erase(lived, told[0], person().actor, ["Anna"])
    assert len(done["memory_ids"]) > 2
    assert still_in(lived, ["Anna"]) == []
    assert check_log(lived / "log.db").findings == []


def test_the_log_is_append_only_again_afterwards(lived, told):
    erase(lived, told[0], person().actor)
    with sqlite3.connect(lived / "log.db") as db, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute("UPDATE stored_events SET state = x''")
    db.close()


def test_a_memory_that_never_was_is_not_found(lived):
    with pytest.raises(NotFound):
        plan(lived, "mem_never")
