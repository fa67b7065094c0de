"""How much is shown, where it is cut, and what is made visible."""

from hypothesis import given
from hypothesis import strategies as st
from slw.adapters.phrasing import PAGE_CHARACTERS, cut, neutral, shares, within_budget


def test_control_and_bidirectional_characters_are_made_visible():
    shown = neutral("a\x1b[31m\u202eb\u2066c\x00d\u200fe\u061cf\x85g\U000e0041h")
    assert not set(shown) & set("\x1b\u202e\u2066\x00\u200f\u061c\x85\U000e0041")
    assert shown.replace("\N{REPLACEMENT CHARACTER}", "") == "a[31mbcdefgh"


def test_lines_tabs_and_other_scripts_are_left_as_they_are():
    text = "one\n\ttwo שלום 👩\u200d👧 é"
    assert neutral(text) == text
    assert neutral("a\r\nb") == "a\nb"


def test_a_long_text_ends_at_a_sentence():
    assert cut("The first holds. The second holds too. The third", 40) == "The first holds. The second holds too."


def test_without_a_sentence_it_ends_at_a_word():
    assert cut("one two three four five six", 16) == "one two three…"


def test_without_a_word_it_just_ends():
    assert cut("x" * 50, 10) == "x" * 9 + "…"


def test_short_texts_stay_whole_and_the_longest_give_way():
    shown = within_budget(["short."] * 4 + ["Long. " * 2_000])
    assert [truncated for _, truncated in shown] == [False] * 4 + [True]
    assert sum(len(text) for text, _ in shown) <= PAGE_CHARACTERS


@given(st.lists(st.integers(1, 9_000), min_size=1, max_size=20))
def test_no_page_is_longer_than_its_budget(lengths):
    share = shares(lengths)
    assert sum(min(length, share) for length in lengths) <= PAGE_CHARACTERS
    assert sum(lengths) > PAGE_CHARACTERS or max(lengths) <= share


@given(st.text(max_size=200), st.integers(2, 150))
def test_nothing_cut_is_longer_than_asked(text, limit):
    assert len(cut(text, limit)) <= limit
