from __future__ import annotations

import json
import os
import stat

import pytest
from projections_support import METHOD, Told
from slw.consolidation.policy import FoldPolicy
from slw.projections.generation import MANIFEST, Manifest, schema_of
from slw.projections.projector import Damaged, ViewKind
from slw.projections.succession import CURRENT, Succession
from slw.projections.tables import tables_kind

KINDS = [tables_kind(FoldPolicy())]


@pytest.fixture
def told():
    log = Told()
    for n in range(40):
        log.activate(f"sess_{n}")
        log.remember(f"mem_{n}", session=f"sess_{n}")
        log.recall(f"ret_{n}", f"mem_{n}", session=f"sess_{n}")
        log.judge(f"ret_{n}", f"sess_{n}", **{f"mem_{n}": "used"})
        log.commit(f"sess_{n}", METHOD)
    return log


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def succession(told, home):
    home.mkdir()
    return Succession(home, KINDS, FoldPolicy().digest, told.read)


def grown(succession, told):
    generation, _ = succession.open_or_grow(len(told.facts))
    return generation


def names(home, pattern="gen-*"):
    return sorted(path.name for path in home.glob(pattern))


def test_a_home_without_a_generation_gets_one_grown_from_the_log(succession, told, home):
    generation, why = succession.open_or_grow(len(told.facts))
    assert why == "no generation was current"
    assert (generation.position, generation.complete) == (len(told.facts), True)
    assert (home / CURRENT).read_text() == f"{generation.directory.name}\n"
    assert names(home) == [f"gen-{succession.schema}-1"]


def test_the_next_owner_opens_the_same_and_folds_only_what_is_new(succession, told):
    first = grown(succession, told)
    digests = first.projector.digests()
    first.retire()
    told.activate("sess_new")
    second, why = succession.open_or_grow(len(told.facts))
    assert why == ""
    assert (second.directory, second.position) == (first.directory, len(told.facts) - 1)
    assert second.projector.digests() == digests
    second.projector.catch_up()
    assert second.position == len(told.facts)


def test_directories_and_files_are_for_their_user_alone(succession, told):
    before = os.umask(0o077)
    try:
        generation = grown(succession, told)
        directory = generation.directory
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    finally:
        os.umask(before)


@pytest.mark.parametrize("damage", ["spoilt", "gone", "manifest", "manifest gone", "current gone", "current nonsense"])
def test_a_missing_or_damaged_generation_is_grown_back_to_the_same_digests(succession, told, home, damage):
    generation = grown(succession, told)
    digests, directory = generation.projector.digests(), generation.directory
    generation.retire()
    match damage:
        case "spoilt":
            (directory / "model.duckdb").write_bytes(b"spoilt" * 5_000)
        case "gone":
            (directory / "model.duckdb").unlink()
        case "manifest":
            held = json.loads((directory / MANIFEST).read_text())
            (directory / MANIFEST).write_text(json.dumps({**held, "number": 9}))
        case "manifest gone":
            (directory / MANIFEST).unlink()
        case "current gone":
            (home / CURRENT).unlink()
        case _:
            (home / CURRENT).write_text("../elsewhere")
    again = grown(succession, told)
    again.projector.catch_up()
    assert again.projector.digests() == digests


def test_what_is_damaged_is_set_aside_and_not_deleted(succession, told):
    generation = grown(succession, told)
    generation.retire()
    (generation.directory / "model.duckdb").write_bytes(b"spoilt" * 5_000)
    again = grown(succession, told)
    assert (generation.directory / "model.duckdb.damaged-1").read_bytes() == b"spoilt" * 5_000
    assert [said.split(":")[0] for said in again.mended] == ["tables"]


def test_a_generation_ahead_of_the_log_is_not_read(succession, told):
    grown(succession, told).retire()
    del told.facts[100:]
    generation, why = succession.open_or_grow(100)
    assert "ahead of the log at 100" in why
    assert generation.position == 100


def test_other_code_reads_no_generation_of_this_schema_and_builds_its_own_beside(succession, told, home):
    grown(succession, told).retire()
    newer = [ViewKind("tables", "another version", KINDS[0].files, KINDS[0].open)]
    upgraded = Succession(home, newer, FoldPolicy().digest, told.read)
    generation, why = upgraded.open_or_grow(len(told.facts))
    assert f"of schema {succession.schema}" in why
    assert names(home) == sorted([f"gen-{succession.schema}-1", f"gen-{upgraded.schema}-2"])
    assert generation.manifest.number == 2


def test_another_fold_policy_is_another_schema():
    policy = FoldPolicy(salience_floor=0.3)
    assert schema_of(KINDS, policy.digest) != schema_of(KINDS, FoldPolicy().digest)


def test_a_build_beside_leaves_the_current_one_alone_until_it_is_adopted(succession, told, home):
    current = grown(succession, told)
    beside = succession.create()
    seen = []
    assert beside.grow(len(told.facts), lambda at, to: seen.append((at, to)))
    assert seen == [(len(told.facts), len(told.facts))]
    assert succession.current_name() == current.directory.name
    succession.adopt(beside)
    assert succession.current_name() == beside.directory.name
    assert names(home) == [current.directory.name, beside.directory.name]
    assert beside.projector.digests() == current.projector.digests()


def test_the_way_back_leads_to_the_one_before(succession, told):
    first = grown(succession, told)
    second = succession.create()
    second.grow(len(told.facts))
    succession.adopt(second)
    for generation in (first, second):
        generation.retire()
    back, why = succession.back(len(told.facts))
    assert (back.directory, why) == (first.directory, "")


def test_there_is_no_way_back_to_another_schema(succession, told, home):
    grown(succession, told).retire()
    newer = [ViewKind("tables", "another version", KINDS[0].files, KINDS[0].open)]
    upgraded = Succession(home, newer, FoldPolicy().digest, told.read)
    upgraded.open_or_grow(len(told.facts))
    assert upgraded.back(len(told.facts)) == (None, "no earlier generation of this schema was kept")


def test_only_the_one_before_is_kept(succession, told, home):
    grown(succession, told)
    for _ in range(3):
        beside = succession.create()
        beside.grow(len(told.facts))
        succession.adopt(beside)
    assert names(home) == [f"gen-{succession.schema}-3", f"gen-{succession.schema}-4"]


def test_an_unfinished_build_is_removed_at_the_next_opening(succession, told, home):
    current = grown(succession, told)
    current.retire()
    killed = succession.create()
    killed.grow(50)
    killed.retire()
    (home / f"gen-{succession.schema}-9").mkdir()
    assert grown(succession, told).directory == current.directory
    assert names(home) == [current.directory.name]


def test_growing_stops_when_told_to(succession, told):
    generation = succession.create()
    assert not generation.grow(len(told.facts), going_on=lambda: False)
    assert generation.position == 0


def test_a_retired_generation_stays_open_until_its_last_reader_is_done(succession, told):
    generation = grown(succession, told)
    tables = generation.views["tables"]
    with generation.reading():
        generation.retire()
        assert tables.query("select count(*) as n from schemas") == [{"n": 40}]
        with pytest.raises(Damaged, match="retired"), generation.reading():
            pass
    with pytest.raises(Exception, match="closed"):
        tables.query("select 1")


def test_the_manifest_is_anchored_in_the_log(succession, told):
    generation = grown(succession, told)
    generation.anchor(200, "ab" * 32)
    held = Manifest.read(generation.directory)
    assert (held.position, held.chain, held.state) == (200, "ab" * 32, "complete")
