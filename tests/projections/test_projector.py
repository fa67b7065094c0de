from __future__ import annotations

import pytest
from projections_support import Told
from slw.projections.projector import PAGE, Projector


class Counting:
    """A view that counts facts; it can be told to refuse one position, or to wait there."""

    def __init__(self, name, refuses=0, waits_at=0):
        self.name = name
        self.position = self.flushed = 0
        self.seen = []
        self.refuses = refuses
        self.waits_at = waits_at
        self.disk_full = False

    def apply(self, page):
        for at in page:
            if at.position <= self.position:
                continue
            if at.position == self.waits_at:
                return
            if at.position == self.refuses:
                raise ValueError("this fact tells me nothing")
            self.seen.append(at.position)
            self.position = at.position

    def flush(self):
        if self.disk_full:
            raise OSError("no space left")
        self.flushed = self.position

    def digest(self):
        return {self.name: str(self.flushed)}

    def close(self):
        self.closed = True


@pytest.fixture
def told():
    log = Told()
    for n in range(2_500):
        log.remember(f"mem_{n}")
    return log


def everything(log):
    return list(range(1, len(log.facts) + 1))


def test_every_view_is_fed_every_fact_once_and_in_order_from_where_it_stands(told):
    ahead, behind = Counting("ahead"), Counting("behind")
    ahead.position = 1_700
    Projector(told.read, [ahead, behind]).catch_up()
    assert ahead.seen == everything(told)[1_700:]
    assert behind.seen == everything(told)


def test_catching_up_to_a_position_goes_that_far_and_no_further(told):
    view = Counting("view")
    projector = Projector(told.read, [view])
    projector.catch_up(1_234)
    assert projector.positions() == {"view": 1_234}
    projector.catch_up(1_000)
    assert view.position == 1_234


def test_a_log_that_ends_before_the_wanted_position_ends_the_catching_up(told):
    view = Counting("view")
    Projector(told.read, [view]).catch_up(9_999)
    assert view.position == 2_500


def test_a_failing_view_stops_says_so_and_never_skips_while_the_others_go_on(told):
    failing, sound = Counting("failing", refuses=1_500), Counting("sound")
    projector = Projector(told.read, [failing, sound])
    projector.catch_up()
    projector.catch_up()
    assert failing.position == 1_499
    assert sound.position == 2_500
    assert projector.failures == {"failing": "stopped at 1499: ValueError: this fact tells me nothing"}


def test_a_view_that_stopped_goes_on_after_a_retry(told):
    view = Counting("view", refuses=10)
    projector = Projector(told.read, [view])
    projector.catch_up()
    view.refuses = 0
    projector.retry()
    projector.catch_up()
    assert view.seen == everything(told)
    assert projector.failures == {}


def test_a_view_that_waits_asks_again_without_reading_the_log_anew(told):
    reads = []

    def read(after, limit):
        reads.append(after)
        return told.read(after, limit)

    waiting, sound = Counting("waiting", waits_at=1_200), Counting("sound")
    projector = Projector(read, [waiting, sound])
    projector.catch_up()
    assert (waiting.position, sound.position) == (1_199, 2_500)
    before = len(reads)
    projector.catch_up(2_500)
    assert len(reads) == before
    waiting.waits_at = 0
    projector.catch_up()
    assert waiting.seen == everything(told)


def test_a_view_that_cannot_be_written_goes_on_folding_and_is_written_later(told):
    view, other = Counting("view"), Counting("other")
    projector = Projector(told.read, [view, other])
    view.disk_full = True
    projector.catch_up(100)
    projector.flush()
    assert "no space left" in projector.failures["view"]
    assert other.flushed == 100
    projector.catch_up(200)
    view.disk_full = False
    projector.flush()
    assert (view.flushed, projector.failures) == (200, {})


def test_closing_writes_first(told):
    view = Counting("view")
    projector = Projector(told.read, [view])
    projector.catch_up()
    projector.close()
    assert (view.flushed, view.closed) == (2_500, True)


def test_a_page_is_never_larger_than_the_limit(told):
    limits = []

    def read(after, limit):
        limits.append(limit)
        return told.read(after, limit)

    Projector(read, [Counting("view")]).catch_up(1_001)
    assert limits == [PAGE, 1]
