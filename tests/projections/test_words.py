"""The word index, held against a model in plain Python that knows every text and who stands beside whom."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projections_support import METHOD, SCOPE, Told
from slw.consolidation.wording import shelf_of
from slw.domain.events import (
    ClaimReinstated,
    ClaimRetired,
    ClaimSuppressed,
    ClaimUnsuppressed,
    Compensated,
    ContentErased,
    ProcedureReinstated,
    ProcedureWithdrawn,
)
from slw.projections.heard import Heard
from slw.projections.places import REACH
from slw.projections.projector import Damaged
from slw.projections.words import FILE, Words

VOCABULARY = ("redis", "deploy", "anna", "port", "flag")


def words_over(home: Path, told: Told, page: int = 1_000, name: str = FILE) -> Words:
    words = Words(home / name)
    for start in range(0, len(told.facts), page):
        words.apply(told.facts[start : start + page])
        words.flush()
    return words


def heard(words: Words, text: str, scope: str = SCOPE) -> Heard:
    shelf = words.scope(scope)
    assert shelf is not None
    return words.heard(shelf, text)


def found(words: Words, text: str, scope: str = SCOPE, table: str = "own") -> list[str]:
    """The memories that a question reaches, best first."""
    shelf, scores = words.scope(scope), getattr(heard(words, text, scope), table)
    return [shelf.docs[row].memory_id for row in sorted(scores.nonzero()[0].tolist(), key=lambda row: -scores[row])]


def retire(told: Told, memory: str) -> int:
    return told.tell(ClaimRetired, memory, reason="outdated", explanation="no longer so")


# ---------------------------------------------------------------- finding


def test_a_memory_is_found_by_a_word_in_another_form(tmp_path):
    told = Told()
    told.remember("mem_1", "We deploy on Fridays")
    told.remember("mem_2", "Tabs, never spaces")
    assert found(words_over(tmp_path, told), "who deployed it on a friday?") == ["mem_1"]


@pytest.mark.parametrize(
    "symbol", ["deploy_key", "app.settings.base", "src/parser/core.py", "TokenBucket", "x-request-id"]
)
def test_a_code_symbol_brings_the_memory_that_has_it_whole_before_those_with_its_parts(tmp_path, symbol):
    told = Told()
    told.remember(
        "mem_parts", "settings, a bucket, a key, a core, an id: deploy app src parser base token request py x"
    )
    told.remember("mem_whole", f"Rotate what {symbol} holds before the audit in the second week of every other month")
    assert found(words_over(tmp_path, told), f"where is {symbol}?")[0] == "mem_whole"


def test_a_question_of_nothing_but_stop_words_finds_nothing(tmp_path):
    told = Told()
    told.remember("mem_1", "what it is")
    words = words_over(tmp_path, told)
    assert found(words, "what is it?") == []
    assert heard(words, "what is it?").terms == ()


@pytest.mark.parametrize(
    "text", ['"', "a AND", "NEAR(", "x*", "col:umn", "(", "-postgres", "^a", "''", "{x}", "ÄÖ ß ﬁ"]
)
def test_no_text_is_mistaken_for_the_language_of_the_index(tmp_path, text):
    told = Told()
    told.remember("mem_1", "postgres column x")
    assert found(words_over(tmp_path, told), text) in ([], ["mem_1"])


def test_neighbours_told_in_the_same_session_speak_for_a_memory_and_those_of_other_sessions_do_not(tmp_path):
    told = Told()
    for n in range(1, 8):
        told.remember(f"mem_{n}", "it was postponed" if n != 4 else "about the parser", session="sess_1")
    told.remember("mem_8", "it was postponed too", session="sess_2")
    words = words_over(tmp_path, told)
    assert found(words, "parser") == ["mem_4"]
    assert sorted(found(words, "parser", table="around")) == ["mem_2", "mem_3", "mem_4", "mem_5", "mem_6"]


def test_a_neighbour_that_is_gone_makes_room_for_the_next_and_comes_back(tmp_path):
    told = Told()
    for n in range(1, 6):
        told.remember(f"mem_{n}", "about the parser" if n == 1 else "it was postponed")
    assert sorted(found(words_over(tmp_path, told), "parser", table="around")) == ["mem_1", "mem_2", "mem_3"]
    version = retire(told, "mem_2")
    assert sorted(found(words_over(tmp_path, told, name="b"), "parser", table="around")) == ["mem_1", "mem_3", "mem_4"]
    told.tell(ClaimReinstated, "mem_2", compensates=Compensated(stream="mem_2", version=version))
    assert sorted(found(words_over(tmp_path, told, name="c"), "parser", table="around")) == ["mem_1", "mem_2", "mem_3"]


def test_scopes_with_the_same_texts_never_see_each_other(tmp_path):
    told = Told()
    scopes = ("project:app", "project:app-2", "project:APP", "project:äpp", "project:a\u0308pp")
    for n, scope in enumerate(scopes):
        told.remember(f"mem_{n}", "postgres on port 5433", scope=scope)
    words = words_over(tmp_path, told)
    for n, scope in enumerate(scopes):
        assert found(words, "postgres port", scope) == [f"mem_{n}"]
        assert found(words, "postgres port", scope, table="around") == [f"mem_{n}"]
    assert words.scope("project:ap") is None


def test_equal_scores_stand_in_the_order_they_were_told(tmp_path):
    told = Told()
    for n in range(20):
        told.remember(f"mem_{n:02}", "postgres", session=f"sess_{n}")
    assert found(words_over(tmp_path, told), "postgres") == [f"mem_{n:02}" for n in range(20)]


def test_a_procedure_stands_on_a_shelf_of_its_own_until_it_is_withdrawn(tmp_path):
    told = Told()
    told.remember("mem_1", "release notes")
    told.commit("sess_1", METHOD)
    words = words_over(tmp_path, told)
    assert found(words, "release") == ["mem_1"]
    assert found(words, "release", shelf_of(SCOPE)) == ["proc_sess_1"]
    gone = {"procedure_id": "proc_sess_1", "compensates": Compensated(stream="sess_1", version=1), "run_id": "run_1"}
    told.tell(ProcedureWithdrawn, "sess_1", **gone)
    assert found(words_over(tmp_path, told, name="b"), "release", shelf_of(SCOPE)) == []
    told.tell(ProcedureReinstated, "sess_1", **gone)
    assert found(words_over(tmp_path, told, name="c"), "release", shelf_of(SCOPE)) == ["proc_sess_1"]


def test_erased_words_are_nowhere_in_the_file(tmp_path):
    told = Told()
    told.remember("mem_1", "before")
    told.remember("mem_2", "the password is xyzzyplugh")
    told.remember("mem_3", "after")
    words = words_over(tmp_path, told)
    told.tell(ContentErased, "mem_2", positions=(2,))
    words.apply(told.facts)
    words.flush()
    assert found(words, "xyzzyplugh", table="around") == []
    assert words.contents(["mem_2"]) == {"mem_2": ""}
    words.come_to_rest()
    words.close()
    assert not any(b"xyzzyplugh" in file.read_bytes() for file in tmp_path.iterdir())


def test_a_claim_that_was_blanked_in_the_log_before_is_folded_without_words(tmp_path):
    told = Told()
    told.remember("mem_1", "secret plan")
    blanked = told.facts[0]
    told.facts[0] = blanked._replace(fact=blanked.fact.model_copy(update={"content": ""}))
    told.tell(ContentErased, "mem_1", positions=(1,))
    told.remember("mem_2", "open plan")
    words = words_over(tmp_path, told)
    assert found(words, "plan", table="around") == ["mem_2"]


def test_the_terms_of_a_question_weigh_by_how_rare_they_are_in_the_scope(tmp_path):
    told = Told()
    for n in range(30):
        told.remember(f"mem_{n}", "postgres replica" if n == 7 else "postgres primary", session=f"sess_{n}")
        told.remember(f"mem_other_{n}", "replica", session=f"sess_other_{n}", scope="project:b")
    tells = {
        term.spoken: term.tells for term in heard(words_over(tmp_path, told), "the postgres replica and moon").terms
    }
    assert tells["moon"] > tells["replica"] > tells["postgres"] > 0


def test_a_word_in_every_third_memory_of_a_large_store_is_left_out_where_rarer_ones_are(tmp_path):
    told = Told()
    for n in range(9_000):
        told.remember(
            f"mem_{n}", "the build needs a flag" if n % 3 else f"the build broke on day{n}", session=f"s_{n // 9}"
        )
    words = words_over(tmp_path, told)
    assert [term.spoken for term in heard(words, "which flag broke the build on day4500").terms] == ["day4500"]
    assert found(words, "which flag broke the build on day4500") == ["mem_4500"]
    assert len(found(words, "flag for the build")) == 9_000


def test_what_each_memory_says_of_the_question_is_told_by_term_and_as_a_share(tmp_path):
    told = Told()
    for n, content in enumerate(["We deployed it", "nothing", "Postgres deploy", "a", "b", "c"]):
        told.remember(f"mem_{n}", content)
    reached = heard(words_over(tmp_path, told), "deploys of postgres")
    said = reached.said(np.arange(3))
    assert said.tolist() == [[True, False], [False, False], [True, True]]
    assert [reached.spoken(row) for row in said] == [["deploys"], [], ["postgres", "deploys"]]
    shares = reached.share(said).tolist()
    assert shares[1:] == [0.0, 1.0] and 0 < shares[0] < 0.5


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 50])
def test_the_best_are_a_bounded_number_and_ties_go_to_what_was_told_first(tmp_path, limit):
    told = Told()
    for n in range(9):
        told.remember(f"mem_{n}", "postgres postgres" if n == 6 else "postgres", session=f"sess_{n}")
    best = heard(words_over(tmp_path, told), "postgres").best(limit).tolist()
    assert best == sorted([6, *range(6), 7, 8][:limit])


# ---------------------------------------------------------------- the view


def test_a_page_given_twice_is_folded_once(tmp_path):
    told = Told()
    told.remember("mem_1", "postgres")
    words = words_over(tmp_path, told)
    before = words.digest()
    words.apply(told.facts)
    words.flush()
    assert (words.position, words.digest()) == (1, before)


def test_what_was_not_flushed_is_folded_again_by_the_next_owner(tmp_path):
    told = Told()
    told.remember("mem_1", "postgres")
    words = words_over(tmp_path, told)
    told.remember("mem_2", "redis")
    words.apply(told.facts)
    assert found(words, "redis") == ["mem_2"]
    words.close()
    again = Words(tmp_path / FILE)
    assert again.position == 1
    again.apply(told.facts)
    again.flush()
    assert again.digest() == words_over(tmp_path, told, name="fresh").digest()


@pytest.mark.parametrize("damage", ["cut", "spoilt", "version", "empty tables"])
def test_a_file_that_this_build_did_not_write_is_refused(tmp_path, damage):
    told = Told()
    for n in range(50):
        told.remember(f"mem_{n}", f"postgres {n}")
    words = words_over(tmp_path, told)
    if damage == "version":
        words._db.execute("UPDATE meta SET value='0' WHERE name='version'")
    if damage == "empty tables":
        words._db.execute("DROP TABLE meta")
    words.come_to_rest()
    words.close()
    file = tmp_path / FILE
    data = file.read_bytes()
    if damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    if damage == "spoilt":
        file.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(Damaged):
        Words(file)


# ---------------------------------------------------------------- against a model


@st.composite
def lives(draw):
    """Facts of claims in a few sessions that come, go, hide, return and are erased, as the write side would allow."""
    told = Told()
    model: dict[str, dict] = {}
    for n in range(draw(st.integers(1, 25))):
        deed = draw(st.sampled_from(["remember", "remember", "retire", "reinstate", "hide", "show", "erase"]))
        if deed == "remember" or not model:
            memory = f"mem_{n}"
            content = " ".join(draw(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=4)))
            scope, session = draw(
                st.sampled_from([(SCOPE, "sess_1"), (SCOPE, "sess_2"), ("project:b", "sess_3"), (SCOPE, "")])
            )
            told.remember(memory, content, session=session, scope=scope)
            model[memory] = {
                "content": content, "scope": scope, "session": session or memory,
                "retired": [], "hidden": False, "erased": False,
            }  # fmt: skip
            continue
        memory = draw(st.sampled_from(sorted(model)))
        held = model[memory]
        match deed:
            case "retire" if not held["retired"]:
                held["retired"] = [retire(told, memory)]
            case "reinstate" if held["retired"]:
                told.tell(
                    ClaimReinstated, memory, compensates=Compensated(stream=memory, version=held["retired"].pop())
                )
            case "hide" if not held["hidden"]:
                told.tell(ClaimSuppressed, memory)
                held["hidden"] = True
            case "show" if held["hidden"]:
                told.tell(ClaimUnsuppressed, memory)
                held["hidden"] = False
            case "erase" if not held["erased"]:
                told.tell(ContentErased, memory, positions=(1,))
                held["erased"] = True
            case _:
                pass
    return told, model


def naive_bm25(texts: dict[str, list[str]], lengths: dict[str, int], term: str) -> dict[str, float]:
    """bm25 of one term over texts, as the book has it."""
    holders = [m for m, text in texts.items() if term in text]
    mean = max(1.0, sum(lengths.values()) / max(1, len(texts)))
    tells = math.log1p((len(texts) - len(holders) + 0.5) / (len(holders) + 0.5))
    scores = {}
    for memory in holders:
        count = texts[memory].count(term)
        scores[memory] = tells * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * lengths[memory] / mean))
    return scores


def expected(model: dict[str, dict], scope: str, words: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The bm25 of each live memory's own words, and of the words told around it."""
    live = [m for m, held in model.items() if not (held["retired"] or held["hidden"] or held["erased"])]
    own = {m: stems_of(model[m]["content"]) for m in live if model[m]["scope"] == scope}
    around = {}
    for memory in own:
        beside = [m for m in own if model[m]["session"] == model[memory]["session"]]
        place = beside.index(memory)
        around[memory] = [t for m in beside[max(0, place - REACH) : place + REACH + 1] for t in own[m]]
    scores = []
    for texts in (own, around):
        sums = dict.fromkeys(texts, 0.0)
        for word in words:
            for memory, score in naive_bm25(texts, {m: len(t) for m, t in texts.items()}, stems_of(word)[0]).items():
                sums[memory] += score
        scores.append({m: pytest.approx(score) for m, score in sums.items() if score})
    return scores[0], scores[1]


def stems_of(text: str) -> list[str]:
    """The few words of these lives are their own stems, but for one."""
    return ["deploi" if word == "deploy" else word for word in text.split()]


@settings(max_examples=60, deadline=None)
@given(
    lives(), st.sampled_from([1, 3, 1_000]), st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3, unique=True)
)
def test_after_any_life_exactly_the_live_memories_are_scored_and_a_rebuild_is_equal(life, page, question):
    told, model = life
    with tempfile.TemporaryDirectory() as home:
        words = words_over(Path(home), told, page)
        rebuilt = words_over(Path(home), told, name="rebuilt")
        assert rebuilt.digest() == words.digest()
        words.close()
        opened = Words(Path(home) / FILE)
        assert opened.digest() == rebuilt.digest()
        for scope in (SCOPE, "project:b"):
            own, around = expected(model, scope, question)
            for view in (opened, rebuilt):
                shelf = view.scope(scope)
                if shelf is None:
                    assert own == {}
                    continue
                reached = view.heard(shelf, " ".join(question))
                for scores, wanted in ((reached.own, own), (reached.around, around)):
                    assert {shelf.docs[row].memory_id: scores[row] for row in scores.nonzero()[0].tolist()} == wanted
