"""Blame names the event behind each field, and undoing moves the blame."""

from __future__ import annotations

import pytest
from slw.adapters.blaming import blame
from slw.domain.errors import NotFound
from slw.domain.memory import Claim
from slw.domain.undoing import Selector
from tests_support import agent, person, shown


@pytest.fixture
def told(memories):
    session = memories.activate(
        task="t", initial_goal="g", scope="s:a", continuity_id="", shown=shown(), call=agent()
    ).session_id
    [made] = memories.remember(session_id=session, scope="s:a", claims=[Claim("tabs")], call=agent())
    return session, made.memory_id


def fields(log_path, thing):
    return {entry["field"]: entry for entry in blame(log_path, thing)}


def test_each_field_has_the_event_that_set_it(memories, log_path, told):
    session, memory = told
    memories.confirm_kinds([(memory, "rule")], person())
    memories.suppress(memory, "", person())
    found = fields(log_path, memory)
    assert (found["content"]["value"], found["content"]["session_id"]) == ("tabs", session)
    assert (found["kind"]["value"], found["kind"]["by"]) == ("rule (person 1.0)", "person")
    assert (found["state"]["value"], found["state"]["topic"]) == ("suppressed", "memory.suppressed")
    assert found["content"]["by"] == "test-agent 1"


def test_an_undo_takes_the_blame(memories, log_path, told):
    session, memory = told
    run = memories.undo(Selector(session_id=session), person()).run_id
    found = fields(log_path, memory)
    assert (found["state"]["value"], found["state"]["run_id"]) == ("stale", run)


def test_a_session_is_blamed_too_and_nothing_else(memories, log_path, told):
    assert fields(log_path, told[0])["state"]["value"] == "open"
    with pytest.raises(NotFound):
        blame(log_path, "mem_never")
