"""Which questions ask for yes or no, and what speaks for either."""

from __future__ import annotations

import pytest

from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, asks_yes_no, features

TEXT = "The mill stands by the river. It does not grind corn any more, but it is open to visitors. It has 3 floors."


@pytest.mark.parametrize(
    "question",
    [
        "Is the mill open?",
        "does polygonum persicaria smell",
        "Isn't the mill open?",
        "Can't visitors climb the tower?",
        'Is "low" voltage safe?',
        "Was it built or not?",
        "Did he have support, when he left?",
        "Is there a place where visitors eat?",
        "  Has anyone ever lived there?",
    ],
)
def test_asks_for_yes_or_no(question: str) -> None:
    assert asks_yes_no(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?",
        "Is",
        "Is?",
        "Who is the miller?",
        "Is the mill old or new?",
        "Was was the name of the mill?",  # a slip for what
        "Had he not died, what would he be?",
        "Can you name some fruits?",
        "Could you please tell me the way?",
        "Is said that it had how many floors?",
        "Island of the mill?",
        "鍵はどこですか",
    ],
)
def test_asks_for_something_else(question: str) -> None:
    assert not asks_yes_no(question)


def looked_at(question: str, quoted: str, text: str = TEXT, title: str = "") -> dict[str, float]:
    start = text.index(quoted)
    values = features(question, title, text, (start, start + len(quoted)), Stems("english"))
    return dict(zip(NAMES, values, strict=True))


def test_a_negation_in_the_span_counts() -> None:
    assert looked_at("Does the mill grind corn?", "does not grind corn")["negation"] == 1.0
    assert looked_at("Does the mill grind corn?", "open to visitors")["negation"] == 0.0


def test_a_question_with_a_negation_asks_for_it() -> None:
    values = looked_at("Is it true that the mill does not grind corn?", "does not grind corn")
    assert (values["negation"], values["question negated"]) == (0.0, 1.0)
    assert looked_at("Does the mill not grind corn?", "open to visitors")["negation"] == 1.0


def test_isnt_it_asks_the_same_as_is_it() -> None:
    assert looked_at("Isn't the mill open?", "open to visitors")["question negated"] == 0.0


def test_contracted_negations_are_seen() -> None:
    text = "They can't swim and don’t fly."
    assert looked_at("Can they swim?", "can't swim", text)["negation"] == 1.0
    assert looked_at("Do they fly?", "don’t fly", text)["negation"] == 1.0


def test_a_difference_that_is_asked_for_is_no_contradiction() -> None:
    text = "The colours run in the opposite order."
    assert looked_at("Is the order of the colours reversed?", "the opposite order", text)["difference"] == 0.0
    assert looked_at("Is the order the same?", "the opposite order", text)["difference"] == 1.0


def test_an_opposite_is_one_of_a_word_of_the_question() -> None:
    text = "The landing was unsuccessful, and unusual."
    assert looked_at("Was the landing successful?", "unsuccessful", text)["opposite"] == 1.0
    assert looked_at("Was the landing successful?", "unusual", text)["opposite"] == 0.0


def test_words_beside_the_span_stay_in_its_sentence() -> None:
    assert looked_at("Does it grind corn?", "does not grind corn")["contrast around"] == 1.0
    assert looked_at("Has it floors?", "3 floors")["contrast around"] == 0.0


def test_a_number_of_the_question_is_looked_for() -> None:
    assert looked_at("Has it 4 floors?", "3 floors")["number missing"] == 1.0
    assert looked_at("Has it 3 floors?", "3 floors")["number missing"] == 0.0


def test_coverage_is_the_share_of_the_questions_words() -> None:
    values = looked_at("Is the mill open to visitors?", "open to visitors")  # mill, open, visitor
    assert values["span coverage"] == pytest.approx(2 / 3)
    assert values["sentence coverage"] == pytest.approx(2 / 3)
    assert looked_at("Is the mill open to visitors?", "open", title="The mill")["sentence coverage"] == 1.0
