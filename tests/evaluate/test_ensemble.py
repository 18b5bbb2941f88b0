"""Votes of several models, worked out by hand."""

from __future__ import annotations

import pytest

from wherefrom.errors import WherefromError
from wherefrom.evaluate.ensemble import voted


def test_two_weaker_models_outvote_the_best() -> None:
    answers = [{1: "the harbour", 2: "1904"}, {1: "a lighthouse", 2: "1904"}, {1: "a lighthouse", 2: "1905"}]
    assert voted(answers, [60.0, 40.0, 30.0]) == {1: "a lighthouse", 2: "1904"}


def test_a_model_better_than_all_others_together_wins() -> None:
    assert voted([{1: "yes"}, {1: "no"}, {1: "no"}], [60.0, 20.0, 30.0]) == {1: "yes"}


def test_without_agreement_the_best_model_answers() -> None:
    assert voted([{1: "a"}, {1: "b"}, {1: "c"}], [0.30, 0.32, 0.31]) == {1: "b"}


@pytest.mark.parametrize("places", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_tie_goes_to_the_best_model(places: tuple[int, ...]) -> None:
    answers, weights = [{1: "one"}, {1: "two"}, {1: "two"}], [0.3, 0.1, 0.2]  # 0.3 against 0.1 + 0.2
    assert voted([answers[place] for place in places], [weights[place] for place in places]) == {1: "one"}


def test_models_asked_differently_cannot_vote() -> None:
    with pytest.raises(WherefromError, match="not asked the same questions"):
        voted([{1: "a"}, {2: "a"}], [1.0, 1.0])
    with pytest.raises(WherefromError, match="2 models and 1 weights"):
        voted([{1: "a"}, {1: "a"}], [1.0])
    with pytest.raises(WherefromError, match="0 models"):
        voted([], [])
