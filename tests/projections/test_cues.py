"""What feedback taught, as a view: from facts alone, exactly once, and gone without a trace when it is taken back."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projections_support import Told
from slw.consolidation.policy import FoldPolicy, ReadPolicy
from slw.consolidation.wording import query_text
from slw.domain.events import PageShown
from slw.projections.cues import Cues, CueTexts
from slw.projections.projector import Damaged

POLICY, READ = FoldPolicy(), ReadPolicy()
MEMORIES = ("mem_1", "mem_2", "mem_3", "mem_4")
WORDS = ("used", "irrelevant", "stale", "already_known")


def vector_of(text: str) -> np.ndarray:
    """A unit vector of its own for every text; texts that differ in an exclamation mark alone are nearly one."""
    of = lambda t: np.random.default_rng(int(hashlib.sha256(t.encode()).hexdigest()[:8], 16)).normal(size=384)  # noqa: E731
    row = of(text.rstrip("!")) + 0.1 * of(text)
    return (row / np.linalg.norm(row)).astype(np.float16).astype(np.float32)


def vectors_of(texts: Sequence[str]) -> list[np.ndarray | None]:
    return [vector_of(text) for text in texts]


@pytest.fixture
def view(tmp_path_factory):
    made: list[Cues] = []
    home, number = tmp_path_factory.mktemp("cues"), count()

    def opened(name: str = "", vectors=vectors_of, space: str = "space") -> Cues:
        made.append(Cues(home / (name or f"{next(number)}.sqlite"), space, POLICY, vectors))
        return made[-1]

    yield opened
    for one in made:
        with suppress(Exception):  # a test may have closed it
            one.close()


def asked(told: Told, retrieval: str, cue: str, session: str = "sess_1") -> None:
    told.recall(retrieval, *MEMORIES, session=session, cue=cue)


def lift(view: Cues, memory: str, cue: str) -> float:
    return view.associations(vector_of(query_text(cue)), [memory], READ).get(memory, 0.0)


def folded(view: Cues, told: Told, page: int = 1_000) -> Cues:
    for start in range(0, len(told.facts), page):
        view.apply(told.facts[start : start + page])
        view.flush()
    return view


def life(seed: int, steps: int = 120) -> Told:
    """Questions, pages, verdicts and undone verdicts, and verdicts whose undoing was undone."""
    told, chance = Told(), random.Random(seed)
    retrievals: list[tuple[str, str]] = []
    undoable: list[tuple[str, int]] = []
    for n in range(steps):
        session = f"sess_{chance.randint(1, 3)}"
        match chance.choice(("ask", "ask", "page", "judge", "judge", "judge", "undo")):
            case "ask":
                asked(told, f"ret_{n}", f"question {chance.randint(1, 25)}{'!' * chance.randint(0, 1)}", session)
                retrievals.append((f"ret_{n}", session))
            case "page" if retrievals:
                of, session = chance.choice(retrievals)
                told.tell(PageShown, session, retrieval_id=f"ret_{n}", continues=of, offset=5, next_offset=9)
                retrievals.append((f"ret_{n}", session))
            case "judge" if retrievals:
                of, session = chance.choice(retrievals)
                some = chance.sample(MEMORIES, chance.randint(1, 4))
                undoable.append((session, told.judge(of, session, **{m: chance.choice(WORDS) for m in some})))
            case "undo" if undoable:
                session, version = undoable.pop(chance.randrange(len(undoable)))
                undoable.append((session, told.withdraw(version, *MEMORIES, session=session)))
            case _:
                pass
    return told


# ---------------------------------------------------------------- what is learned


def test_used_lifts_a_memory_for_that_question_and_irrelevant_lowers_it_and_neither_moves_another(view):
    told = Told()
    for n in range(16):
        asked(told, f"ret_{n}", "how is it deployed")
        told.judge(f"ret_{n}", mem_1="used", mem_2="irrelevant")
    cues = folded(view(), told)
    assert lift(cues, "mem_1", "how is it deployed") > 0.7
    assert lift(cues, "mem_2", "how is it deployed") < -0.7
    assert cues.associations(vector_of("who pays"), MEMORIES, READ) == {"mem_1": 0.0, "mem_2": 0.0}


def test_a_further_page_belongs_to_the_question_of_the_first(view):
    told = Told()
    asked(told, "ret_1", "how is it deployed")
    told.tell(PageShown, "sess_1", retrieval_id="ret_2", continues="ret_1", offset=5, next_offset=9)
    told.tell(PageShown, "sess_1", retrieval_id="ret_3", continues="ret_2", offset=9, next_offset=12)
    told.judge("ret_3", mem_1="used")
    assert lift(folded(view(), told), "mem_1", "how is it deployed") > 0


def test_the_last_verdict_in_a_retrieval_counts(view):
    told = Told()
    asked(told, "ret_1", "how")
    told.judge("ret_1", mem_1="irrelevant", mem_2="used")
    told.judge("ret_1", mem_1="used", mem_2="already_known")
    cues = folded(view(), told)
    assert cues.lessons("mem_1") == [("how", POLICY.cue_used)]
    assert cues.lessons("mem_2") == []


def test_a_verdict_taken_back_leaves_no_trace_and_comes_back_as_it_was(view):
    told = Told()
    asked(told, "ret_1", "how")
    asked(told, "ret_2", "why")
    first = told.judge("ret_1", mem_1="used")
    told.judge("ret_2", mem_1="irrelevant")
    cues = folded(view(), told)
    both = cues.lessons("mem_1")
    undone = told.withdraw(first, "mem_1")
    assert [cue for cue, _ in folded(cues, told).lessons("mem_1")] == ["why"]
    told.withdraw(undone, "mem_1")
    assert folded(cues, told).lessons("mem_1") == both


# ---------------------------------------------------------------- as a view


@given(st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_live_and_rebuilt_in_any_page_size_are_equal_and_twice_is_once(tmp_path_factory, seed):
    told, home = life(seed), tmp_path_factory.mktemp("lived")
    digests = []
    for page in (1, 7, 1_000):
        cues = Cues(home / f"{page}.sqlite", "space", POLICY, vectors_of)
        folded(cues, told, page)
        folded(cues, told, page)
        digests.append((cues.digest(), cues.position, {m: cues.lessons(m) for m in MEMORIES}))
        cues.close()
    assert digests[0] == digests[1] == digests[2]
    again = Cues(home / "7.sqlite", "space", POLICY, vectors_of)
    assert (again.digest(), again.position, {m: again.lessons(m) for m in MEMORIES}) == digests[0]
    again.close()


@given(st.integers(0, 10_000))
@settings(max_examples=12, deadline=None)
def test_undoing_every_verdict_leaves_no_lesson(tmp_path_factory, seed):
    told, chance = Told(), random.Random(seed)
    versions = []
    for n in range(20):
        asked(told, f"ret_{n}", f"question {chance.randint(1, 30)}")
        some = chance.sample(MEMORIES, 2)
        versions.append(told.judge(f"ret_{n}", **{m: chance.choice(WORDS) for m in some}))
    chance.shuffle(versions)
    for version in versions:
        told.withdraw(version, *MEMORIES)
    cues = folded(Cues(tmp_path_factory.mktemp("undone") / "c.sqlite", "space", POLICY, vectors_of), told)
    assert [cues.lessons(m) for m in MEMORIES] == [[]] * 4
    cues.close()


def test_it_waits_for_the_vector_of_a_judged_cue_and_for_no_other(view):
    told, there = Told(), {}
    asked(told, "ret_1", "never judged")
    asked(told, "ret_2", "judged")
    told.judge("ret_2", mem_1="already_known")
    told.judge("ret_2", mem_1="used")
    told.judge("ret_2", mem_2="used")
    cues = folded(view(vectors=lambda texts: [there.get(text) for text in texts]), told)
    assert cues.position == 3
    there["judged"] = vector_of("judged")
    assert folded(cues, told).position == 5
    assert lift(cues, "mem_2", "judged") > 0
    assert cues.counts()["cues.vectors"] == 1


def test_what_is_embedded_of_a_feedback_is_the_cue_that_it_judges():
    told = Told()
    asked(told, "ret_1", "how  is it\ndeployed")
    told.tell(PageShown, "sess_1", retrieval_id="ret_2", continues="ret_1", offset=5, next_offset=9)
    told.judge("ret_1", mem_1="stale")
    told.judge("ret_2", mem_1="used")
    texts = CueTexts(lambda session: [at.fact for at in told.facts if at.fact.originator_id == session])
    assert [texts(at.fact) for at in told.facts] == [[], [], [], ["how is it deployed"]]


def test_a_cue_whose_words_were_erased_teaches_nothing(view):
    told = Told()
    asked(told, "ret_1", "")
    told.judge("ret_1", mem_1="used")
    assert folded(view(), told).lessons("mem_1") == []


def test_a_file_of_another_space_or_in_pieces_is_damaged(view, tmp_path):
    folded(view("one.sqlite"), life(1)).close()
    with pytest.raises(Damaged):
        view("one.sqlite", space="other")
    (tmp_path / "torn.sqlite").write_bytes(b"not a database at all" * 99)
    with pytest.raises(Damaged):
        Cues(tmp_path / "torn.sqlite", "space", POLICY, vectors_of)


def test_five_hundred_candidates_cost_less_than_a_millisecond(view):
    told, chance = Told(), random.Random(1)
    memories = [f"mem_{n}" for n in range(500)]
    for n in range(400):
        asked(told, f"ret_{n}", f"question {n}")
        told.judge(f"ret_{n}", **{m: chance.choice(WORDS[:2]) for m in chance.sample(memories, 20)})
    cues, vector = folded(view(), told), vector_of("question 7")
    spent = []
    for _ in range(30):
        began = time.process_time()
        cues.associations(vector, memories, READ)
        spent.append(time.process_time() - began)
    assert min(spent) < 0.001
