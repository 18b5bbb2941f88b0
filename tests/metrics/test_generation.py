"""Each dataset's protocol puts tokens and formulas together as its published numbers do."""

from __future__ import annotations

import math

import pytest
from metric_texts import random_pairs, real_pairs
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.rouge.rouge import Rouge

from wherefrom.metrics.checks import MetricError
from wherefrom.metrics.generation import duc, marco, mean_score, narrative
from wherefrom.metrics.overlap import Score
from wherefrom.metrics.tokens import marco_tokens


def test_marco_by_hand() -> None:
    # tokens: "it is 5 km ." (5) and "it is 5 kilometres ." (5): LCS 4, P = R = F = 4/5; BLEU-1 4/5; BLEU-2 √(4/5 · 2/4)
    scores = marco(["It is 5km."], [["It is 5 kilometres."]])
    assert scores.rouge_l == pytest.approx(0.8)
    assert scores.bleu[0] == pytest.approx(0.8)
    assert scores.bleu[1] == pytest.approx(math.sqrt(0.8 * 0.5))
    assert scores.meteor is None


def test_marco_agrees_with_the_scorers_it_is_published_with() -> None:
    pairs = [pair for pair in random_pairs(71, 400) + real_pairs(72, 200) if all(map(marco_tokens, pair[1]))]
    ours = marco([predicted for predicted, _ in pairs], [wanted for _, wanted in pairs])
    wanted = {i: [" ".join(marco_tokens(text)) for text in references] for i, (_, references) in enumerate(pairs)}
    predicted = {i: [" ".join(marco_tokens(text))] for i, (text, _) in enumerate(pairs)}
    rouge_l, each = Rouge().compute_score(wanted, predicted)
    assert ours.rouge_l == pytest.approx(rouge_l, abs=1e-12)
    assert ours.rouge_l_each == pytest.approx(list(each), abs=1e-12)
    assert ours.bleu == pytest.approx(Bleu(4).compute_score(wanted, predicted, verbose=0)[0], abs=1e-12)


def test_marco_without_brevity_penalty() -> None:
    pairs = ["short answer"], [["a short answer of several words"]]
    assert marco(*pairs, brevity=False).bleu[0] == pytest.approx(1.0)
    assert marco(*pairs).bleu[0] == pytest.approx(math.exp(1 - 6 / 2))


def test_narrative_ignores_case_and_punctuation() -> None:
    scores = narrative(["In the House!"], [["in the house", "at home"]])
    assert scores.rouge_l == 1.0
    assert scores.bleu[2] == pytest.approx(1.0)
    assert scores.meteor == pytest.approx(1 - 0.5 / 27)


def test_duc_averages_over_summaries() -> None:
    # the first: recall 1/2, precision 1; the second: nothing
    scores = duc(["harbours", "nothing alike"], [["harbour towns"], ["wholly different words"]], ("1",))
    assert scores["1"] == pytest.approx((0.5, 0.25, 1 / 3))


def test_mean_f_is_not_the_f_of_the_means() -> None:
    assert mean_score([Score(1.0, 0.5, 2 / 3), Score(0.0, 0.0, 0.0)]) == pytest.approx((0.5, 0.25, 1 / 3))


def test_nothing_to_score_is_an_error() -> None:
    for protocol in (marco, narrative, duc):
        with pytest.raises(MetricError, match="nothing to score"):
            protocol([], [])
        with pytest.raises(MetricError, match="same length"):
            protocol(["a"], [])
