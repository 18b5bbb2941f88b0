"""What a network wrote and judged about validation examples, and scores of it in wordpieces: quick ones, to watch by.

Published figures are scored on texts, by `texts`. This file needs nothing that a bare GPU machine lacks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wherefrom.metrics import ranking
from wherefrom.metrics.calibration import best_f1
from wherefrom.metrics.lcs import lcs_length


@dataclass(frozen=True, slots=True)
class ValidationAnswer:
    """One example of validation."""

    example: int
    request: str  # what was asked for: "short", "sentence", "given" (a sentence from its short answer), ...
    tokens: tuple[int, ...] | None  # what was written; none where nothing was asked for
    target: tuple[int, ...] | None  # what should have been
    answerable: bool
    chance: float  # that it is answerable, as the network sees it
    scores: tuple[float, ...] = ()  # of the passages
    relevant: tuple[bool, ...] = ()


def write_answers(path: Path, answers: Iterable[ValidationAnswer]) -> dict[str, int]:
    """A line each; returns how many there are of each request."""
    counts: Counter[str] = Counter()
    with path.open("w", encoding="utf-8") as file:
        for answer in answers:
            file.write(json.dumps(asdict(answer)) + "\n")
            counts[answer.request] += 1
    return dict(counts)


def read_answers(path: Path) -> list[ValidationAnswer]:
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [ValidationAnswer(**{name: _tuple(value) for name, value in line.items()}) for line in lines]


def _tuple(value: Any) -> Any:
    """JSON has lists alone."""
    return tuple(value) if isinstance(value, list) else value


def token_scores(answers: Sequence[ValidationAnswer], name: str) -> dict[str, float]:
    """Exact match, F1, ROUGE-L (F with beta 1) in percent; how often a relevant passage comes first; answerability."""
    scores: dict[str, float] = {}
    written = [(answer.tokens, answer.target) for answer in answers]
    pairs = [(tokens, target) for tokens, target in written if tokens is not None and target is not None]
    if pairs:
        scores[f"{name}_em"] = _mean([float(tokens == target) for tokens, target in pairs])
        scores[f"{name}_f1"] = _mean([_f1(tokens, target) for tokens, target in pairs])
        scores[f"{name}_rouge"] = _mean([_rouge(tokens, target) for tokens, target in pairs])
        scores[f"{name}_length"] = _mean([len(tokens) / 100 for tokens, _ in pairs])
    ranked = [ranking.ranked(answer.scores, answer.relevant) for answer in answers if any(answer.relevant)]
    if ranked and name == "short":
        scores["p_1"] = _mean([ranking.precision_at(each) for each in ranked])
        scores["map"] = _mean([ranking.average_precision(each) for each in ranked])
    if name == "short" and len({answer.answerable for answer in answers}) == 2:
        chances, truths = [answer.chance for answer in answers], [answer.answerable for answer in answers]
        scores["answerable_f1"] = 100 * best_f1(chances, truths).f1
    return scores


def _mean(values: Sequence[float]) -> float:
    return 100 * sum(values) / max(1, len(values))


def _f1(tokens: Sequence[int], target: Sequence[int]) -> float:
    shared = sum((Counter(tokens) & Counter(target)).values())
    return 2 * shared / max(1, len(tokens) + len(target))


def _rouge(tokens: Sequence[int], target: Sequence[int]) -> float:
    return 2 * lcs_length(list(map(str, tokens)), list(map(str, target))) / max(1, len(tokens) + len(target))
