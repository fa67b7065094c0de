from __future__ import annotations

import pytest
from slw.domain.errors import Conflict
from slw.domain.memory import Claim
from tests_support import person


def told(memories):
    [made] = memories.remember(session_id="", scope="project:a", claims=[Claim("It rains", "fact")], call=person())
    return made.memory_id


def test_a_person_promotes_a_memory_and_pins_it_and_lets_it_go(memories, facts):
    memory = told(memories)
    memories.promote(memory, "portable", person())
    memories.pin(memory, "global", person())
    memories.pin(memory, None, person())
    assert facts()[-3:] == ["memory.promoted", "memory.pinned", "memory.pinned"]
    held = memories.memory(memory)
    assert (held.promoted, held.pinned) == ("portable", None)


def test_what_holds_already_is_refused(memories):
    memory = told(memories)
    memories.promote(memory, "global", person())
    for change in (
        lambda: memories.promote(memory, "global", person()),
        lambda: memories.pin(memory, None, person()),
    ):
        with pytest.raises(Conflict):
            change()
