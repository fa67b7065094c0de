"""What people, models and policies do to memories: hide and show, say and guess their kind, settle corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from .errors import NotFound, ScopeMismatch, SlwError
from .memory import KindGuess, Memory
from .results import Changed, CorrectionMoved, KindChanged
from .vocabulary import CorrectionAction, Kind, Stage
from .writing import Call, Decision, Positions, Work, Writing


class Curating(Writing):
    """The part of the write side that changes how memories are held, not what was said."""

    # -- people

    def suppress(
        self, memory_id: str, reason: str, call: Call, phrase: Callable[[Changed], str] | None = None
    ) -> Changed:
        """Hide a memory from every verb."""
        return self._change(memory_id, lambda memory: memory.suppress(reason), call, phrase)

    def unsuppress(
        self, memory_id: str, reason: str, call: Call, phrase: Callable[[Changed], str] | None = None
    ) -> Changed:
        """Show a memory again."""
        return self._change(memory_id, lambda memory: memory.unsuppress(reason), call, phrase)

    def promote(
        self, memory_id: str, stage: Stage, call: Call, phrase: Callable[[Changed], str] | None = None
    ) -> Changed:
        """Widen a memory to a stage."""
        return self._change(memory_id, lambda memory: memory.promote(stage), call, phrase)

    def pin(
        self, memory_id: str, stage: Stage | None, call: Call, phrase: Callable[[Changed], str] | None = None
    ) -> Changed:
        """Hold a memory at a stage, or with None let evidence decide again."""
        return self._change(memory_id, lambda memory: memory.pin(stage), call, phrase)

    def confirm_kinds(
        self,
        items: Sequence[tuple[str, Kind | None]],
        call: Call,
        phrase: Callable[[list[KindChanged | SlwError]], str] | None = None,
        *,
        scope: str = "",
    ) -> list[KindChanged | SlwError]:
        """Say kinds, or with None accept the suggestions, each for itself, in one transaction.

        `scope` (over MCP) bounds what may be touched; empty means any.
        """

        def one(memory_id: str, kind: Kind | None, work: Work) -> Callable[[Positions], KindChanged] | SlwError:
            try:
                memory = self._memory_in(memory_id, work)
                if scope not in ("", memory.scope):
                    raise ScopeMismatch(f"{memory_id} is not of scope {scope!r}", hint="name memories of that scope")
                changed = self._enlist(memory, work).confirm_kind(kind)
            except SlwError as refusal:
                return refusal
            held, version = memory.kind, memory.version
            return lambda at: KindChanged(memory_id, memory.type, held, changed, at(memory_id, version))

        def decide(work: Work) -> Decision[list[KindChanged | SlwError]]:
            made = [one(memory_id, kind, work) for memory_id, kind in items]
            return Decision(lambda at: [m if isinstance(m, SlwError) else m(at) for m in made])

        return self._carry_out(call, phrase, decide)

    def settle_correction(
        self,
        case_id: str,
        action: CorrectionAction,
        expected_version: int,
        call: Call,
        phrase: Callable[[CorrectionMoved], str] | None = None,
    ) -> CorrectionMoved:
        """Apply, reject or roll back a correction case that is still at `expected_version`."""

        def decide(work: Work) -> Decision[CorrectionMoved]:
            stream = self.ledger.lookup("case", case_id)
            if stream is None:
                raise NotFound(f"{case_id} was never issued", hint="review_memory_kinds and slw show list open cases")
            memory = self._enlist(self.memory(stream), work)
            memory.settle_correction(case_id, action, expected_version)
            case = memory.cases[case_id]
            return Decision(
                lambda at: CorrectionMoved(
                    case_id, memory.id, case.replacement_id, case.state, case.version, at(memory.id, memory.version)
                )
            )

        return self._carry_out(call, phrase, decide)

    # -- policies

    def suggest_kinds(self, guesses: Iterable[tuple[str, KindGuess]], call: Call) -> list[str]:
        """Take a model's guesses after the fact; returns the ids whose stream gained one."""
        wanted = list(guesses)

        def decide(work: Work) -> Decision[list[str]]:
            changed: list[str] = []
            for memory_id, guess in wanted:
                memory = self._memory_in(memory_id, work)
                if memory.live and self._enlist(memory, work).suggest_kind(guess):
                    changed.append(memory_id)
            return Decision(lambda _: changed)

        return self._carry_out(call, None, decide)

    def expire_idle(self, idle: Iterable[tuple[str, datetime]], lifetime: timedelta, call: Call) -> list[str]:
        """Expire the sessions of `idle` (id, last named at) that nobody named for `lifetime`; returns their ids."""
        candidates = list(idle)

        def decide(work: Work) -> Decision[list[str]]:
            expired: list[str] = []
            for session_id, idle_since in candidates:
                session = self.session(session_id)
                if session.state == "open" and work.at - idle_since >= lifetime:
                    self._enlist(session, work).expire(idle_since)
                    expired.append(session_id)
            return Decision(lambda _: expired)

        return self._carry_out(call, None, decide)

    def _change(
        self,
        memory_id: str,
        command: Callable[[Memory], None],
        call: Call,
        phrase: Callable[[Changed], str] | None,
    ) -> Changed:
        def decide(work: Work) -> Decision[Changed]:
            memory = self._enlist(self.memory(memory_id), work)
            command(memory)
            return Decision(lambda at: Changed(memory.id, at(memory.id, memory.version)))

        return self._carry_out(call, phrase, decide)
