"""Exact match and F1 of what a reader says first, each question over its own passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wherefrom.data.examples import Example
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.stages import Reader
from wherefrom.types import Hit


def first_answer_scores(
    reader: Reader, examples: Sequence[Example], report: Callable[[int, int], None] = lambda *_: None, batch: int = 16
) -> dict[str, float]:
    """In per cent, by the rules of SQuAD 1.1."""
    exact = overlap = 0.0
    report(0, len(examples))
    for begin in range(0, len(examples), batch):
        some = examples[begin : begin + batch]
        hits = [[Hit(passage, 1.0) for passage in example.passages] for example in some]
        for example, candidates in zip(some, reader.read([each.question for each in some], hits), strict=True):
            said = candidates[0].text if candidates else ""
            exact += exact_match(said, example.answers, "1.1")
            overlap += token_f1(said, example.answers, "1.1")
        report(begin + len(some), len(examples))
    return {"em": round(100 * exact / len(examples), 3), "f1": round(100 * overlap / len(examples), 3)}
