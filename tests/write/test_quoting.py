"""What is quoted around an answer: in prose, tables, lists and code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.types import Candidate, Passage, joined
from wherefrom.write.quoting import answering, quotation


def quoted(text: str, answer: str, start: int = 0) -> str:
    passage = Passage("a#0", "a", text, start, start + len(text))
    at = text.index(answer)
    words = quotation(Candidate(answer, passage, at, at + len(answer), 1.0))
    for word in words:
        if word.source == "passage":
            assert text[word.start : word.end] == word.text
    return joined(words)


def test_the_sentence_that_holds_it() -> None:
    text = "The pump is old. It was serviced by Marta in May. Nobody came."
    assert quoted("The pump is old. Marta serviced it in May. Nobody came.", "Marta") == "Marta serviced it in May."
    assert quoted(text, "Marta") == "The pump is old. It was serviced by Marta in May."


def answered(question: str, text: str, answer: str) -> str:
    at = text.index(answer)
    words = answering(question, Candidate(answer, Passage("a#0", "a", text, 0, len(text)), at, at + len(answer), 1.0))
    assert all(text[word.start : word.end] == word.text for word in words if word.source == "passage")
    return joined(words)


BLEED = (
    "The boiler is in the cellar. Open the small valve with the key. Then wait until water comes. "
    "Close it at once. The key hangs beside the door. The cellar is locked at night."
)


@pytest.mark.parametrize(
    ("question", "text", "answer", "expected"),
    [
        (
            "How do I bleed the radiator?",
            BLEED,
            "Open the small valve",
            "Open the small valve with the key. Then wait until water comes.",
        ),
        ("Which valve is opened?", BLEED, "small valve", "Open the small valve with the key."),
        (
            "Why does the bread not rise?",
            "Old yeast is weak. This is because its cells have died. So bread made of it stays flat. Buy some.",
            "Old yeast is weak",
            "Old yeast is weak. This is because its cells have died. So bread made of it stays flat.",
        ),
        (
            "Why is the index of vectors cut into lists?",
            "An index of vectors is cut into lists. A question looks into few. The moon is far.",
            "looks into few",
            "An index of vectors is cut into lists. A question looks into few.",
        ),
        ("How many valves are there?", "There are two valves. Then there is a pump.", "two", "There are two valves."),
        (
            "How is it sized?",
            "Type | Size\nsmallint | 2 bytes\nbigint | 8 bytes",
            "8 bytes",
            "Type | Size\nbigint | 8 bytes",
        ),
    ],
)
def test_what_goes_on_is_quoted_where_it_is_asked_how_or_why(
    question: str, text: str, answer: str, expected: str
) -> None:
    assert answered(question, text, answer) == expected


@given(st.text(alphabet="ab. \n?:-Then This", min_size=1, max_size=200), st.integers(0, 199), st.integers(1, 30))
def test_an_answer_is_always_in_what_is_quoted_of_how_and_why(text: str, at: int, length: int) -> None:
    at = min(at, len(text) - 1)
    span = text[at : at + length]
    candidate = Candidate(span, Passage("a#0", "a", text, 0, len(text)), at, at + len(span), 1.0)
    for word in answering("how does it go?", candidate):
        if word.source == "passage":
            assert text[word.start : word.end] == word.text


def test_lines_of_a_page_are_one_line() -> None:
    text = "In this book, gunzip\n       will extract  all members\n       at once."
    assert quoted(text, "all members") == "In this book, gunzip will extract all members at once."


def test_a_row_names_its_columns() -> None:
    text = "Type | Size | Range\nsmallint | 2 bytes | small\nbigint | 8 bytes | large"
    assert quoted(text, "8 bytes") == "Type | Size | Range\nbigint | 8 bytes | large"
    assert quoted(text, "Range") == "Type | Size | Range"
    named = "smallint | Size: 2 bytes\nbigint | Size: 8 bytes"
    assert quoted(named, "8 bytes") == "bigint | Size: 8 bytes"


def test_an_item_of_a_list_without_its_mark() -> None:
    text = "Bring these:\n\n- a warm coat\n- boots for rain\n- a map"
    assert quoted(text, "rain") == "boots for rain"


def test_what_a_sentence_announces_comes_with_it() -> None:
    text = "To empty the tank do this:\n\n- close the valve\n- pull the plug\n- wait\n\nThen it is dry."
    assert quoted(text, "empty the tank") == (
        "To empty the tank do this:\n\n- close the valve\n- pull the plug\n- wait"
    )


def test_a_heading_is_no_part_of_the_sentence() -> None:
    assert quoted("Opening hours\n\nThe mill is open on Mondays.", "Mondays") == "The mill is open on Mondays."


def test_text_without_full_stops_is_cut() -> None:
    text = "\n".join(f"item {number} costs {number} pounds and more words" for number in range(100))
    shown = quoted(text, "item 50 costs")
    assert "item 50 costs 50 pounds" in shown
    assert len(shown) < 800


def test_of_entries_a_line_each_one_is_quoted() -> None:
    text = "January:Garnet\nFebruary:Amethyst\nMarch:Aquamarine\nApril:Diamond\nMay:Emerald\nJune:Pearl"
    assert quoted(text, "Aquamarine") == "March:Aquamarine"


def test_marks_around_an_entry_are_left_out() -> None:
    assert quoted("- latin2 the Eastern European alphabet,\n- latin3 another,", "Eastern") == (
        "latin2 the Eastern European alphabet"
    )
    assert quoted("|  cost factor 10 | rounds", "10") == "cost factor 10 | rounds"


def test_code_keeps_its_lines() -> None:
    text = "Sign it like this:\n\njwt.sign({\n  exp: 60,\n  data: 'x'\n}, 'secret');"
    assert quoted(text, "Sign it") == text


def test_a_term_stands_above_what_explains_it() -> None:
    assert quoted("Deferment\nA delay in the\nrepayment.", "delay") == "Deferment\nA delay in the repayment."


def test_a_question_of_the_document_comes_with_its_answer() -> None:
    assert quoted("Is it safe to use? Yes, it is. More here.", "safe") == "Is it safe to use? Yes, it is."


def test_a_passage_that_begins_in_a_sentence_says_so() -> None:
    assert quoted("and the rest is lost in the sea. More.", "sea", start=100) == "… and the rest is lost in the sea."
    assert quoted("and the rest is lost in the sea. More.", "sea") == "and the rest is lost in the sea."


@given(st.text(alphabet="ab .|\n:-1", min_size=1, max_size=80), st.data())
def test_the_answer_is_always_in_it(text: str, data: st.DataObject) -> None:
    visible = [place for place, character in enumerate(text) if not character.isspace()]
    if not visible:
        return
    start = data.draw(st.sampled_from(visible))
    end = data.draw(st.sampled_from([place for place in visible if place >= start])) + 1
    passage = Passage("a#0", "a", text, 0, len(text))
    words = quotation(Candidate(text[start:end], passage, start, end, 1.0))
    spans = [(word.start, word.end) for word in words if word.source == "passage"]
    covered = {place for a, b in spans if a is not None and b is not None for place in range(a, b)}
    assert {place for place in range(start, end) if text[place].isalnum()} <= covered


@pytest.mark.parametrize("text", ["x", "§", "| |"])
def test_very_little_is_quoted_as_it_is(text: str) -> None:
    assert quoted(text, text) == text
