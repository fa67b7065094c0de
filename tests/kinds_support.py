"""Short ways to say what tests of kinds say again and again: an agent tells, a person tells, a model guesses."""

from __future__ import annotations

from slw.domain.memories import Memories
from slw.domain.memory import Claim, KindGuess
from slw.domain.results import Remembered
from tests_support import agent, person, shown

SCOPE = "project:app"


def opened(memories: Memories, scope: str = SCOPE) -> str:
    return memories.activate(
        task="t", initial_goal="g", scope=scope, continuity_id="", shown=shown(), call=agent()
    ).session_id


def told(memories: Memories, content: str, call=None, scope: str = SCOPE, session_id: str = "", **claim) -> Remembered:
    """One claim, by a person unless a session is named."""
    [made] = memories.remember(
        session_id=session_id,
        scope=scope,
        claims=[Claim(content, **claim)],
        call=call or (agent() if session_id else person()),
    )
    assert isinstance(made, Remembered), made
    return made


def guess(kind: str, source: str = "rules", confidence: float = 0.7, recipe: str = "r1", cue: str = "") -> KindGuess:
    return KindGuess(kind, source, confidence, cue, recipe)


def kind_of(memories: Memories, memory_id: str) -> tuple[str, str] | None:
    held = memories.memory(memory_id).kind
    return (held.kind, held.source) if held else None
