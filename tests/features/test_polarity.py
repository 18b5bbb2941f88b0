"""Which questions ask for yes or no, and what speaks for either."""

from __future__ import annotations

import pytest

from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, asks_yes_no, features, log_support, pooled_truth

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
        "is pain experienced in a missing body part",
        "do i need to restart the mill",
        "can you swim in the mill pond?",
        "can you find a pearl in a mussel",
        "If I lose the key, can they send another?",
        "In winter, is the mill closed?",
        "Does `mill --force` overwrite files?",
        "Is .45 auto the same?",
        "Does \\textls need the tracking option?",
        "Does it run on Python 3.8 or later?",
        "Does it work with or without a key?",
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
        "Is it made of wood or stone?",
        "is the mill above or below the river",
        "In which year did the mill open?",
        "In what year, did the mill open?",
        "if the mill is closed, where do visitors go?",
        "At the lowest level of the mill, are what rooms?",
        "Do you know where the key is?",
        "does anyone know how to open the mill",
        "Can the mill grind rye, and how?",
        "May I ask what it costs?",
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


def test_truths_of_several_texts_are_weighed_by_their_relevance() -> None:
    assert pooled_truth([2.0], [3.0]) == 3.0
    assert pooled_truth([2.0, 2.0], [3.0, -3.0]) == pytest.approx(0.0)
    assert pooled_truth([5.0, -5.0], [3.0, -3.0]) == pytest.approx(3.0, abs=0.001)
    assert pooled_truth([0.0, 0.0], [2.0, 4.0]) == pytest.approx(3.0)
    assert pooled_truth([900.0, -900.0], [1e9, -1e9]) == pytest.approx(8.0)  # logits that large say no more


def test_support_needs_relevance_and_the_right_direction() -> None:
    assert log_support(0.0, 0.0, yes=True) == pytest.approx(-1.386, abs=0.001)  # two coins
    assert log_support(3.0, 2.0, yes=True) > log_support(-3.0, 2.0, yes=True)
    assert log_support(3.0, 2.0, yes=True) > log_support(3.0, -2.0, yes=True) == log_support(3.0, 2.0, yes=False)
    assert log_support(-900.0, 900.0, yes=True) == pytest.approx(-900.0)
