"""Sentences and words: offsets that hold for any text, borders where people see them."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.text import (
    clean,
    says_something,
    sections,
    sentences,
    sentences_around,
    separated,
    without_marker,
    words,
)

any_text = st.text() | st.text(alphabet="aB.!? \n\"'()1-•。\u3000\u00a0Ж灯é")


@given(any_text)
def test_sentences_hold_every_visible_character_once(text: str) -> None:
    spans = sentences(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert all(not text[start].isspace() and not text[end - 1].isspace() for start, end in spans)
    covered = {position for start, end in spans for position in range(start, end)}
    assert all(character.isspace() for position, character in enumerate(text) if position not in covered)


@given(any_text)
def test_words_hold_every_visible_character_once(text: str) -> None:
    spans = words(text)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. We left! Why? Who knows…", ["It rained.", "We left!", "Why?", "Who knows…"]),
        ("Dr. J. R. Smith met Mrs. Hall.", ["Dr. J. R. Smith met Mrs. Hall."]),
        (
            "See no. 5 and Fig. 3. The answer is no. Then rest.",
            ["See no. 5 and Fig. 3.", "The answer is no.", "Then rest."],
        ),
        (
            "On Jan. 5 it snowed. In the dark of Jan. Nobody came.",
            ["On Jan. 5 it snowed.", "In the dark of Jan.", "Nobody came."],
        ),
        ("It costs 3.50 euros. The e.g. case is rare.", ["It costs 3.50 euros.", "The e.g. case is rare."]),
        ('He said "Go." She went. (Really.) Yes.', ['He said "Go."', "She went.", "(Really.)", "Yes."]),
        ("A heading\n\nA sentence over\ntwo lines.", ["A heading", "A sentence over\ntwo lines."]),
        ("You need:\n- a pot\n- two spoons\n1. Boil it.", ["You need:", "- a pot", "- two spoons", "1. Boil it."]),
        ("東京は首都です。大阪は西です！", ["東京は首都です。", "大阪は西です！"]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("no full stop", ["no full stop"]),
        ("", []),
        (" \n\t ", []),
        ("...", ["..."]),
    ],
)
def test_sentence_borders_are_where_people_see_them(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The well-known 3.5 m pole, isn't it?", ["The", "well-known", "3.5", "m", "pole", ",", "isn't", "it", "?"]),
        ("«Déjà» vu — 12,000 €", ["«", "Déjà", "»", "vu", "—", "12,000", "€"]),
        ("東京タワー333m", ["東", "京", "タ", "ワ", "ー", "333m"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
    ],
)
def test_words_are_what_people_call_words(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in words(text)] == expected


@given(st.text(alphabet=st.characters()))
def test_cleaned_text_can_be_stored_and_cleaning_again_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned
    assert "\r" not in cleaned
    assert "\x00" not in cleaned


def test_a_span_grows_to_the_sentences_it_touches() -> None:
    text = "One is here. Two is there. Three is gone."
    assert sentences_around(text, (4, 6)) == (0, 12)
    assert sentences_around(text, (7, 16)) == (0, 26)
    assert sentences_around("  ", (0, 1)) == (0, 1)


def test_cleaning_composes_letters_and_keeps_line_ends() -> None:
    assert clean("cafe\u0301\r\nnext\rlast\x0cpage\x00") == "café\nnext\nlast\npage"
    assert unicodedata.is_normalized("NFC", clean("e\u0301"))


def test_characters_of_unspaced_scripts_are_set_apart() -> None:
    assert separated("東京 tower").split() == ["東", "京", "tower"]
    assert separated("plain text") == "plain text"


@pytest.mark.parametrize("text", ["", "  \n", ".", "?!", "“…”", " ( ) ", "—", "。"])
def test_marks_between_words_say_nothing(text: str) -> None:
    assert not says_something(text)


@pytest.mark.parametrize("text", ["a", "7", "%", "&", "+", "(c)", "山", "Ünal", "…so", "$"])
def test_words_numbers_and_signs_do(text: str) -> None:
    assert says_something(text)


def test_a_passage_stands_under_the_heading_above_it() -> None:
    text = "Octave\n\nIntroduction\n\nIt is a language.\n\n2.4 Editing Lines\n\nPress Ctrl-A.\n\nMore text here."
    spans = [(text.index(words), len(text)) for words in ("It is", "Press", "More")]
    assert sections(text, spans, "Octave") == ["Introduction", "2.4 Editing Lines", "2.4 Editing Lines"]


@pytest.mark.parametrize(
    ("text", "rest"), [("- an item", "an item"), ("•  one", "one"), ("-1 degrees", "-1 degrees"), ("-", "-"), ("", "")]
)
def test_the_marker_of_an_item_is_left_out(text: str, rest: str) -> None:
    start, end = without_marker(f"before {text}", (7, 7 + len(text)))
    assert f"before {text}"[start:end] == rest


def test_items_sentences_rows_and_the_title_are_no_sections() -> None:
    text = "Octave\n\nFirst words.\n\n- an item\n\nbigint | 8 bytes\n\nA sentence.\n\nLast words of all"
    assert sections(text, [(8, 20), (len(text) - 5, len(text))], "Octave") == ["", ""]
