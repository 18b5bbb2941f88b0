"""What `evaluate` scored, as the measures that papers report."""

from __future__ import annotations

from wherefrom.evaluate.score import FRACTIONS, DatasetScores
from wherefrom.papers.measures import MEASURES

_OUR_NAMES = {"answerable_threshold": "threshold"}


def from_scores(scores: DatasetScores) -> dict[str, float]:
    """The scored metrics with shares from 0 to 1, ready for an `Outcome`; what no paper reports is left out."""
    named = {_OUR_NAMES.get(name, name): (name, value) for name, value in scores.metrics.items()}
    return {
        ours: value if name in FRACTIONS or MEASURES[ours].kind == "plain" else value / 100.0
        for ours, (name, value) in named.items()
        if ours in MEASURES
    }
