from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from slw.consolidation.generalization import Evidence, earned, held, reach
from slw.consolidation.policy import FoldPolicy, ReadPolicy

FOLD, READ = FoldPolicy(), ReadPolicy()
HOME = "project:a"


def projects(count):
    return [f"project:{chr(ord('a') + i)}" for i in range(count)]


def told(*scopes):
    return {scope: [f"sess_{scope}"] for scope in scopes}


def test_a_claim_that_is_told_once_stays_in_its_scope_however_often_it_is_used_there():
    alone = Evidence(HOME, {HOME: [f"sess_{i}" for i in range(99)]})
    assert earned(alone, [HOME], FOLD) == "scoped"


def test_the_same_claim_told_in_a_second_scope_makes_it_portable():
    assert earned(Evidence(HOME, told(*projects(2))), projects(2), FOLD) == "portable"


def test_two_tellings_in_one_session_are_one_telling():
    both = {HOME: ["sess_1"], "project:b": ["sess_1"]}
    assert earned(Evidence(HOME, both), projects(2), FOLD) == "scoped"


def test_a_scope_without_a_commit_says_nothing():
    assert earned(Evidence(HOME, told(*projects(2))), [HOME], FOLD) == "scoped"


def test_being_used_elsewhere_counts_from_portable_on_only():
    used = told(*projects(8)[1:])
    assert earned(Evidence(HOME, told(HOME), used), projects(8), FOLD) == "scoped"
    assert earned(Evidence(HOME, told(*projects(2)), used), projects(8), FOLD) == "global"


def test_the_share_of_the_active_scopes_of_its_kind_must_be_reached():
    two = Evidence(HOME, told(*projects(2)))
    assert earned(two, projects(8), FOLD) == "portable"
    assert earned(two, projects(9), FOLD) == "scoped"
    teams = [f"team:{i}" for i in range(20)]
    assert earned(two, [*projects(8), *teams], FOLD) == "portable"  # scopes of another kind take nothing away


def test_each_stage_needs_as_many_scopes_as_it_says():
    for count, stage in ((3, "portable"), (4, "contextual"), (7, "contextual"), (8, "global")):
        evidence = Evidence(HOME, told(*projects(2)), told(*projects(count)[2:]))
        assert earned(evidence, projects(count), FOLD) == stage


def test_a_scope_that_speaks_against_it_takes_one_away_that_speaks_for_it():
    evidence = Evidence(HOME, told(*projects(2)), told(*projects(4)[2:]))
    assert earned(evidence, projects(5), FOLD) == "contextual"
    against = Evidence(HOME, told(*projects(2)), told(*projects(4)[2:]), ["project:e"])
    assert earned(against, projects(5), FOLD) == "portable"
    worse = Evidence(HOME, told(*projects(2)), {}, ["project:d", "project:e"])
    assert earned(worse, projects(5), FOLD) == "scoped"


def test_a_person_widens_and_only_more_scopes_against_it_than_for_it_take_that_back():
    alone = Evidence(HOME, told(HOME))
    assert held(alone, [], FOLD, "contextual") == "contextual"
    assert held(Evidence(HOME, told(HOME), {}, ["project:b"]), [], FOLD, "contextual") == "contextual"
    assert held(Evidence(HOME, told(HOME), {}, ["project:b", "project:c"]), [], FOLD, "contextual") == "scoped"


def test_a_pin_outweighs_everything():
    wide = Evidence(HOME, told(*projects(8)))
    assert held(wide, projects(8), FOLD, "global", "scoped") == "scoped"
    assert held(Evidence(HOME, told(HOME), {}, projects(9)[1:]), projects(9), FOLD, "scoped", "global") == "global"


def test_a_stage_reaches_as_far_as_it_says():
    elsewhere = ["project:b", "team:core"]
    reached = {stage: [reach(stage, HOME, s, READ) for s in elsewhere] for stage in ("scoped", "portable", "global")}
    assert reached == {"scoped": [0, 0], "portable": [1, 0], "global": [1, 1]}
    assert [reach("contextual", HOME, s, READ) for s in elsewhere] == [1, READ.contextual_factor]
    assert all(reach(stage, HOME, HOME, READ) == 1 for stage in ("scoped", "portable", "contextual", "global"))


scopes = st.lists(st.sampled_from(projects(12)), unique=True)


@given(scopes, scopes, scopes, st.integers(1, 11))
def test_a_store_with_fewer_scopes_than_a_stage_needs_never_reaches_it(told_in, used_in, against, count):
    active = projects(count)
    evidence = Evidence(
        HOME,
        told(HOME, *(s for s in told_in if s in active)),
        told(*(s for s in used_in if s in active)),
        [s for s in against if s in active],
    )
    stage = earned(evidence, active, FOLD)
    assert stage != "global" or count >= 8
    assert stage != "contextual" or count >= 4
    assert stage == "scoped" or count >= 2


@given(scopes, scopes, scopes)
def test_one_more_scope_against_never_widens(told_in, used_in, against):
    ranks = ("scoped", "portable", "contextual", "global")
    active = projects(12)
    some = Evidence(HOME, told(HOME, *told_in), told(*used_in), against[1:])
    more = Evidence(HOME, told(HOME, *told_in), told(*used_in), against)
    assert ranks.index(earned(more, active, FOLD)) <= ranks.index(earned(some, active, FOLD))
