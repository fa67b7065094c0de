"""Everything that can be asked: a new operation is one function, and one entry in a tuple that is named here."""

from __future__ import annotations

from .kind_operations import KIND_OPERATIONS
from .operations import Operation
from .past import PAST
from .people import PEOPLE
from .upkeep import UPKEEP
from .verbs import VERBS

OPERATIONS: tuple[Operation, ...] = (*VERBS, *PEOPLE, *KIND_OPERATIONS, *UPKEEP, *PAST)
_BY_NAME = {operation.name: operation for operation in OPERATIONS}


def named(name: str) -> Operation:
    """The operation of that name; KeyError when there is none."""
    return _BY_NAME[name]
