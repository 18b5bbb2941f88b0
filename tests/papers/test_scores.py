"""Scores become measures: percent to fractions, and nothing that is one already divided again."""

from __future__ import annotations

from wherefrom.evaluate.score import DatasetScores
from wherefrom.papers.scores import from_scores


def test_shares_become_fractions_and_thresholds_stay() -> None:
    metrics = {
        "em": 50.0,
        "map": 0.7,
        "rouge_1_f": 58.5,
        "answerable_f1": 79.0,
        "answerable_threshold": 0.51,
        "ece": 0.1,
    }
    assert from_scores(DatasetScores("msmarco", 10, 0, 0, metrics, {}, {}, {}, {})) == {
        "em": 0.5,
        "map": 0.7,
        "rouge_1_f": 0.585,
        "answerable_f1": 0.79,
        "threshold": 0.51,
    }
