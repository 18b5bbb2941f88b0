"""The chance that the passages answer the question: logistic regression on what the reader network says, calibrated.

Fitted on questions that the network was not trained on, so that of all questions with chance 0.8 about 80 % are
answerable. It needs the weights `reader`, which come with wherefrom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wherefrom.errors import WherefromError
from wherefrom.runtime.reader import ReaderSession, Reading
from wherefrom.types import Candidate, Hit, Question

NAMES = ("relevance", "second relevance", "no answer", "span", "margin", "agreement")
_BOUND = 12.0  # logits beyond this say no more


class CalibratedJudge:
    """Reads `judge.json` beside the network: a weight for each feature, after centring and scaling."""

    def __init__(self, session: ReaderSession) -> None:
        self._session = session
        self._fitted: tuple[float, list[tuple[float, float, float]]] | None = None

    def judge(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
    ) -> list[float]:
        readings = self._session.read(
            [question.text for question in questions], [[hit.passage for hit in found] for found in hits]
        )
        return [self._chance(features(read, found)) for read, found in zip(readings, candidates, strict=True)]

    def _chance(self, found: tuple[float, ...] | None) -> float:
        if found is None:
            return 0.0
        bias, terms = self._weights()
        logit = bias + sum(
            weight * (value - centre) / scale for value, (weight, centre, scale) in zip(found, terms, strict=True)
        )
        return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logit))))

    def _weights(self) -> tuple[float, list[tuple[float, float, float]]]:
        if self._fitted is None:
            saved = self._session.weights.json("judge.json")
            try:
                terms = [tuple(map(float, saved["terms"][name])) for name in NAMES]
                self._fitted = float(saved["bias"]), [(a, b, c) for a, b, c in terms]
            except (KeyError, TypeError, ValueError) as error:
                raise WherefromError(
                    f"{self._session.weights.folder / 'judge.json'} is not a fitted judge ({error}); "
                    "install wherefrom again"
                ) from error
        return self._fitted


def features(readings: Sequence[Reading], candidates: Sequence[Candidate]) -> tuple[float, ...] | None:
    """What the judge looks at, in the order of NAMES; None where there is nothing to look at.

    relevance: the best passage's logit, and the second best's. no answer: -log sum exp(-n), as in training. span: the
    best candidate's log probability. margin: its lead over the next different answer. agreement: the share of the best
    five candidates that say the same.
    """
    if not readings or not candidates:
        return None
    relevance = sorted((_bounded(reading.relevance) for reading in readings), reverse=True)
    no_answer = [_bounded(reading.no_answer) for reading in readings]
    lowest = min(no_answer)
    slot = lowest - math.log(sum(math.exp(lowest - value) for value in no_answer))
    best = candidates[0]
    said = best.text.casefold()
    other = next((c.score for c in candidates if c.text.casefold() != said), best.score - _BOUND)
    return (
        relevance[0],
        relevance[1] if len(relevance) > 1 else -_BOUND,
        slot,
        max(best.features.get("span", best.score), -_BOUND),
        min(best.score - other, _BOUND),
        sum(c.text.casefold() == said for c in candidates[:5]) / min(len(candidates), 5),
    )


def _bounded(value: float) -> float:
    return max(-_BOUND, min(_BOUND, value))
