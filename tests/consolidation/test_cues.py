"""Lessons of feedback stay bounded, move one way a verdict, and speak for questions like their own alone."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slw.consolidation.cues import Lesson, boosts, learned, likeness, moved
from slw.consolidation.policy import FoldPolicy, ReadPolicy

FOLD, READ = FoldPolicy(), ReadPolicy()
CUES = 40
# Forty questions in ten dimensions: some are near, some are foreign, and some are nearly one.
POINTS = np.random.default_rng(7).normal(size=(CUES, 10))
POINTS[1] = POINTS[0] + 0.05 * POINTS[1]
POINTS /= np.linalg.norm(POINTS, axis=1, keepdims=True)
COSINES = np.round(POINTS @ POINTS.T, 6)
CROWDED = POINTS + np.array([1.2] + [0.0] * 9)  # all of them about one thing
CROWDED /= np.linalg.norm(CROWDED, axis=1, keepdims=True)
WORLDS = (COSINES, np.round(CROWDED @ CROWDED.T, 6))
verdicts = st.lists(
    st.tuples(st.integers(0, CUES - 1), st.sampled_from(["used", "irrelevant", "stale", "already_known"])), max_size=80
)


def after(told, world=COSINES, lessons: tuple[Lesson, ...] = ()) -> tuple[Lesson, ...]:
    for at, (cue, word) in enumerate(told, 1):
        lessons = learned(lessons, cue, [world[cue, held.cue] for held in lessons], word, at, FOLD)
    return lessons


def lift(lessons, cue: int, world=COSINES) -> float:
    values = np.array([lesson.value for lesson in lessons])
    cosines = np.array([world[cue, lesson.cue] for lesson in lessons])
    return float(boosts(np.zeros(len(lessons), np.intp), values, likeness(cosines, READ), 1)[0])


@given(verdicts, st.sampled_from(WORLDS))
def test_whatever_is_said_a_memory_keeps_few_lessons_each_within_its_bounds(told, world):
    lessons = after(told, world)
    assert len(lessons) <= FOLD.cues_most
    assert all(-1 <= lesson.value <= 1 for lesson in lessons)
    assert all(-1 <= lift(lessons, cue, world) <= 1 for cue in range(CUES))


@given(verdicts, st.integers(0, CUES - 1), st.sampled_from(WORLDS))
def test_one_more_used_never_lowers_a_memory_for_the_question_it_was_used_for(told, cue, world):
    lessons = after(told, world)
    assert lift(after([(cue, "used")], world, lessons), cue, world) >= lift(lessons, cue, world) - 1e-12
    assert lift(after([(cue, "irrelevant")], world, lessons), cue, world) <= lift(lessons, cue, world) + 1e-12


@given(verdicts)
def test_what_is_stale_or_known_already_teaches_nothing(told):
    lessons = after(told)
    for word in ("stale", "already_known", "unassessable"):
        assert after([(0, word)], lessons=lessons) == lessons


def test_the_same_question_in_other_words_moves_the_lesson_that_is_there():
    assert COSINES[0, 1] >= FOLD.cue_same
    [lesson] = after([(0, "used"), (1, "used")])
    assert (lesson.cue, lesson.value, lesson.at) == (0, moved(moved(0, "used", FOLD), "used", FOLD), 2)


def test_repeating_saturates():
    once, often = lift(after([(2, "used")]), 2), lift(after([(2, "used")] * 16), 2)
    assert 0 < once < often < lift(after([(2, "used")] * 17), 2) + 1e-9
    assert often - lift(after([(2, "used")] * 8), 2) < 0.01


def test_the_weakest_lesson_about_other_things_is_forgotten_first():
    world = np.eye(CUES)
    told = [(cue, "used") for cue in range(FOLD.cues_most) for _ in range(1 if cue == 5 else 2)]
    kept = {lesson.cue for lesson in after([*told, (30, "used")], world)}
    assert kept == {*range(FOLD.cues_most), 30} - {5}
    of_equals = {lesson.cue for lesson in after([*product(range(FOLD.cues_most + 1), ["used"])], world)}
    assert of_equals == set(range(1, FOLD.cues_most + 1))


def test_where_every_lesson_is_about_the_question_the_nearest_takes_the_verdict():
    world = np.full((CUES, CUES), (FOLD.cue_same + FOLD.cue_foreign) / 2)
    lessons = after([*product(range(FOLD.cues_most), ["used"])], world)
    again = after([(30, "used")], world, lessons)
    assert [lesson.cue for lesson in again] == [lesson.cue for lesson in lessons]
    assert sum(lesson.value for lesson in again) > sum(lesson.value for lesson in lessons)


def test_a_question_about_something_else_is_not_moved_at_all():
    foreign = next(cue for cue in range(CUES) if COSINES[2, cue] < READ.cue_threshold)
    assert lift(after([(2, "used")] * 16), foreign) == 0
    assert lift(after([(2, "irrelevant")] * 16), foreign) == 0


def test_what_may_be_forgotten_for_a_question_says_nothing_about_it():
    assert FOLD.cue_foreign <= READ.cue_threshold


def test_likeness_is_nothing_at_the_threshold_and_all_for_the_same():
    told = likeness(np.array([-1, READ.cue_threshold, (1 + READ.cue_threshold) / 2, 1]), READ)
    assert told.tolist() == [0, 0, 0.5**READ.cue_sharpness, 1]
