"""Exact match and F1 of the best span that a reader finds in each question's own passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wherefrom.data.examples import Example
from wherefrom.errors import SettingsError
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.stages import Reader
from wherefrom.types import Hit


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    """Exact match and F1 of exported weights on SQuAD's validation part, each question with its paragraph."""

    questions: int = 2000  # evenly spread, a minute or two; 0 takes all
    threads: int = 2

    def __post_init__(self) -> None:
        if self.questions < 0 or self.threads < 1:
            raise SettingsError("measure.questions must be 0 or above, and measure.threads above 0")


def first_answer_scores(
    reader: Reader, examples: Sequence[Example], report: Callable[[int, int], None] = lambda *_: None, batch: int = 16
) -> dict[str, float]:
    """Exact match and F1, in per cent, of any reader's first candidate; `report` is told how many of how many."""
    exact = overlap = 0.0
    report(0, len(examples))
    for begin in range(0, len(examples), batch):
        chosen = examples[begin : begin + batch]
        hits = [[Hit(passage, 1.0) for passage in example.passages] for example in chosen]
        for example, candidates in zip(chosen, reader.read([each.question for each in chosen], hits), strict=True):
            answer = candidates[0].text if candidates else ""
            exact += exact_match(answer, example.answers, "1.1")
            overlap += token_f1(answer, example.answers, "1.1")
        report(begin + len(chosen), len(examples))
    return {"em": round(100 * exact / len(examples), 3), "f1": round(100 * overlap / len(examples), 3)}
