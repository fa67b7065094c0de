from __future__ import annotations

import pytest
from slw.consolidation.contexts import contradictions, vocabulary

KNOWN = vocabulary([{"region": "Frankfurt"}, {"region": "Oregon"}, {"tier": ["gold", "silver"]}])


@pytest.mark.parametrize(
    ("cue", "context", "against"),
    [
        ("deploy to staging", {"environment": "production"}, ["environment"]),
        ("deploy to prod", {"environment": "production"}, []),
        ("copy production data to staging", {"environment": "production"}, []),
        ("deploy the service", {"environment": "production"}, []),
        ("build on windows", {"os": "Linux"}, ["os"]),
        ("fix the build on Python 3.8", {"python": "3.11"}, ["python"]),
        ("fix the build on Python 3", {"python": "3.11"}, []),
        ("fix the build on python 3.11", {"python": 3.11}, []),
        ("move the queue to Oregon", {"region": "Frankfurt"}, ["region"]),
        ("not in Frankfurt this time", {"region": "Frankfurt"}, ["region"]),
        ("for silver customers", {"tier": ["gold", "silver"]}, []),
        ("deploy to staging", {"where": {"environment": "production"}, "dry": True, "note": None}, ["environment"]),
    ],
)
def test_a_task_contradicts_a_context_where_it_says_that_it_is_somewhere_else(cue, context, against):
    assert contradictions(cue, context, KNOWN) == against
