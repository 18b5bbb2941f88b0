"""Two styles of one system: counted by hand."""

from __future__ import annotations

import pytest

from wherefrom.evaluate.consistency import consistency
from wherefrom.evaluate.predictions import Prediction


def predictions(style: str, **answers: str) -> dict[str, Prediction]:
    return {id: Prediction(id, text, style=style) for id, text in answers.items()}


SHORT = predictions("short", a="1908", b="the Angara", c="yes", d="a boat", e="", f="owl")
SENTENCE = predictions(
    "sentence", a="It opened in 1908.", b="Angara drains it.", c="No, it is not.", d="He swam.", e="It is.", f=""
)
QUESTIONS = list("abcdefg")


def test_agreement_overlap_and_contradiction_by_hand() -> None:
    """a and b agree (articles do not count), c says yes and no, c and d have no word in common; e and f are declined
    in one style."""
    both_styles = consistency(SENTENCE, SHORT, QUESTIONS)
    assert both_styles is not None
    assert (both_styles.one, both_styles.other, both_styles.questions) == ("sentence", "short", 4)
    assert (both_styles.one_alone, both_styles.other_alone) == (1, 1)
    assert (both_styles.agrees, both_styles.zero_overlap, both_styles.contradicts) == (50.0, 50.0, 25.0)
    assert (both_styles.words_one, both_styles.words_other) == ((4 + 3 + 4 + 2) / 4, (1 + 2 + 1 + 2) / 4)


def test_the_shorter_style_is_looked_for_in_the_longer_one_either_way() -> None:
    both_styles, turned = consistency(SENTENCE, SHORT, QUESTIONS), consistency(SHORT, SENTENCE, QUESTIONS)
    assert both_styles is not None
    assert turned is not None
    assert (turned.one, turned.agrees, turned.one_alone) == ("short", both_styles.agrees, both_styles.other_alone)


def test_only_the_questions_that_are_asked_for_count() -> None:
    both_styles = consistency(SENTENCE, SHORT, ["a", "b"])
    assert both_styles is not None
    assert (both_styles.questions, both_styles.agrees) == (2, 100.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SHORT, SHORT),  # the same style
        (SENTENCE, predictions("", a="1908")),  # a format that does not say it
        (predictions("sentence", a=""), predictions("short", a="1908")),  # nothing answered in both
    ],
)
def test_there_is_nothing_to_compare(one: dict[str, Prediction], other: dict[str, Prediction]) -> None:
    assert consistency(one, other, QUESTIONS) is None
