"""What a writer said in validation, and scores of it in wordpieces: quick ones, to watch a training by.

Published figures are scored on texts, by `wherefrom score` and `writer_texts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from wherefrom.metrics import ranking
from wherefrom.metrics.calibration import best_f1
from wherefrom.metrics.lcs import lcs_length


@dataclass(frozen=True, slots=True)
class Said:
    """One example of validation."""

    example: int
    style: str
    tokens: tuple[int, ...] | None  # what was written; none where nothing was asked for
    target: tuple[int, ...] | None  # what should have been
    answerable: bool
    chance: float  # that it is answerable, as the network sees it
    scores: tuple[float, ...]  # of the passages
    relevant: tuple[bool, ...]


def token_scores(said: Sequence[Said], name: str) -> dict[str, float]:
    """Exact match, F1, ROUGE-L (F with beta 1) in percent; how often a relevant passage comes first; answerability."""
    found: dict[str, float] = {}
    answered = [one for one in said if one.tokens is not None and one.target is not None]
    if answered:
        pairs = [(one.tokens or (), one.target or ()) for one in answered]
        found[f"{name}_em"] = _mean([float(tokens == target) for tokens, target in pairs])
        found[f"{name}_f1"] = _mean([_f1(tokens, target) for tokens, target in pairs])
        found[f"{name}_rouge"] = _mean([_rouge(tokens, target) for tokens, target in pairs])
        found[f"{name}_length"] = _mean([len(tokens) / 100 for tokens, _ in pairs])
    ranked = [one for one in said if any(one.relevant)]
    if ranked and name == "short":
        rankings = [ranking.ranked(one.scores, one.relevant) for one in ranked]
        found["p_1"] = _mean([ranking.precision_at(each) for each in rankings])
        found["map"] = _mean([ranking.average_precision(each) for each in rankings])
    if name == "short" and len({one.answerable for one in said}) == 2:
        found["answerable_f1"] = 100 * best_f1([one.chance for one in said], [one.answerable for one in said]).f1
    return found


def _mean(values: Sequence[float]) -> float:
    return 100 * sum(values) / max(1, len(values))


def _f1(tokens: Sequence[int], target: Sequence[int]) -> float:
    shared = sum((Counter(tokens) & Counter(target)).values())
    return 2 * shared / max(1, len(tokens) + len(target))


def _rouge(tokens: Sequence[int], target: Sequence[int]) -> float:
    return 2 * lcs_length(list(map(str, tokens)), list(map(str, target))) / max(1, len(tokens) + len(target))
