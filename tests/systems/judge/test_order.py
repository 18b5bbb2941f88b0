"""The fitted order: what it learns, that it is measured on what it was not fitted on, and its stages."""

from __future__ import annotations

import random

import numpy
import pytest

from wherefrom.features.merits import NAMES
from wherefrom.systems.judge.order import ComparedQuestion, compared, fit_order, fitted_order
from wherefrom.train.errors import TrainingError

READ, COVERAGE = NAMES.index("read"), NAMES.index("passage coverage")


def question(number: int, right: int, merits: list[tuple[float, float]], kind: str = "manuals") -> ComparedQuestion:
    rows = [[0.0] * len(NAMES) for _ in merits]
    for row, (read, coverage) in zip(rows, merits, strict=True):
        row[READ], row[COVERAGE] = read, coverage
    truths = tuple(place == right for place in range(len(merits)))
    return ComparedQuestion(
        f"{kind}-{number}", f"article {number % 10}", kind, right >= 0, tuple(map(tuple, rows)), truths, truths
    )


def made_up(count: int, kind: str = "manuals") -> list[ComparedQuestion]:
    """The right answer is, nine times of ten, that of two whose passage speaks of the question."""
    draw = random.Random(5)
    questions = []
    for number in range(count):
        right = draw.randrange(2)
        covers = right if draw.random() < 0.9 else 1 - right
        questions.append(question(number, right, [(0.0, float(covers == 0)), (-1.0, float(covers == 1))], kind))
    return questions


def test_what_tells_right_from_wrong_gets_the_weight() -> None:
    line = fit_order(made_up(400), ridge=1.0)
    # P(right) = 1 / (1 + exp(-d)) = 0.9, so that the difference of logits between covering and not is log 9
    difference = line.weights[COVERAGE] / line.scales[COVERAGE]
    assert difference == pytest.approx(numpy.log(9.0), abs=0.5)


def test_half_right_answers_are_worth_less() -> None:
    half = ComparedQuestion("1", "a", "manuals", True, ((0.0,), (1.0,)), (True, True), (0.2, 1.0))
    assert half.worth == pytest.approx([0.3 + 0.7 * 0.2, 1.0])
    wrong = ComparedQuestion("1", "a", "manuals", True, ((0.0,),), (False,), (0.5,))
    assert wrong.worth == pytest.approx([0.0])


def test_it_is_measured_on_articles_and_kinds_that_it_was_not_fitted_on() -> None:
    order = fitted_order([*made_up(300), *made_up(100, "stories")], "manuals", ridge=1.0)
    assert list(order["terms"]) == list(NAMES)
    assert order["fitted"]["questions"] == 300
    for kind, count in (("manuals", 300), ("stories", 100)):
        figures = order["left out"][kind]
        assert figures["questions"] == count
        assert figures["right as read"] == pytest.approx(0.5, abs=0.1)
        assert figures["right in order"] == pytest.approx(0.9, abs=0.06)


def test_unanswerable_questions_and_empty_ones_are_counted_right() -> None:
    nothing = ComparedQuestion("n", "a", "manuals", True, (), (), ())
    figures = compared([question(1, 0, [(0.0, 0.0)]), question(2, -1, [(0.0, 0.0)]), nothing], {"n": 0})
    assert figures["manuals"]["questions"] == 2  # the second has no answer to be right about
    assert figures["manuals"]["right as read"] == 0.5


def test_too_few_questions_are_refused() -> None:
    with pytest.raises(TrainingError, match="not enough to fit an order; take more"):
        fitted_order(made_up(3), "manuals", ridge=1.0)
