"""Replay proves that read models are what the log says: in any page size, with any pause, up to any point."""

from __future__ import annotations

import pytest
from proof_support import facts_of
from slw.adapters.replaying import last_not_later, position_of, replayed
from slw.domain.errors import InvalidInput, NotFound


@pytest.mark.parametrize("seed", range(4))
def test_a_life_folds_to_the_same_in_every_page_size_and_over_every_pause(tmp_path, grown, seed):
    facts = facts_of(tmp_path, seed, 120)
    whole = grown(facts, 1_000)
    assert grown(facts, 1) == whole
    assert grown(facts, 7, 2, 31) == whole
    assert grown(facts, 13, reopen=4) == whole


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_hundred_lives_fold_to_the_same_in_three_page_sizes(tmp_path, grown, seed):
    facts = facts_of(tmp_path, seed, 150)
    assert grown(facts, 1_000) == grown(facts, 1) == grown(facts, 17, reopen=5)


def test_a_replay_to_a_point_and_then_the_rest_is_a_replay(tmp_path, grown):
    facts = facts_of(tmp_path, 5, 120)
    middle = len(facts) // 2
    assert grown(facts, middle, len(facts) - middle, reopen=1) == grown(facts, len(facts))


def test_a_replay_leaves_the_home_as_it_was(lived):
    before = {path: path.read_bytes() for path in lived.rglob("*") if path.is_file()}
    end = position_of(lived / "log.db", None)
    with replayed(lived / "log.db", lived / "embeddings.db", end) as (_, told):
        assert set(told.views.values()) == {end}
    after = {path: path.read_bytes() for path in before}
    assert after == before


def test_a_replay_goes_to_a_position_or_a_time(lived):
    from slw.adapters.log import LogReader

    log = lived / "log.db"
    reader = LogReader(log)
    facts = reader.read(0, 10_000)
    for position, fact in facts[::37]:
        last = max(at for at, f in facts if f.recorded_at <= fact.recorded_at)
        assert last_not_later(reader, len(facts), fact.recorded_at) == last >= position
    reader.close()
    assert position_of(log, 5) == 5
    with pytest.raises(NotFound):
        position_of(log, len(facts) + 1)


def test_a_folder_that_holds_something_is_refused(lived, tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(InvalidInput), replayed(lived / "log.db", lived / "embeddings.db", 5, tmp_path):
        pass
