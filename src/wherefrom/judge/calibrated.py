"""The chance that the passages answer the question: logistic regression on what the reader network says, calibrated.

Fitted on questions that the network was not trained on, so that of all questions with chance 0.8 about 80 % are
answerable. It needs the weights `reader`, which come with wherefrom; `wherefrom train judge` fits it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wherefrom.errors import WherefromError
from wherefrom.features.chance import FittedLine, probability
from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.runtime.reader import PassageReading, ReaderSession
from wherefrom.types import Candidate, Hit, Question

NAMES = ("relevance", "other relevance", "span", "margin", "same passage", "coverage")
_BOUND = 12.0  # logits beyond this say no more
_NOTHING = -6.0  # relevance of a passage that has nothing to do with the question
_CANDIDATES = 10  # that it was fitted on
_NEAR = 150  # characters around the best span in which the question's words are looked for: about two sentences


@dataclass(frozen=True, slots=True)
class _Fitted:
    """`judge.json`, read."""

    line: FittedLine
    knots: tuple[tuple[float, float], ...]  # (logit, chance), rising; () where the logistic's chances are used


class CalibratedJudge:
    """Reads `judge.json` beside the network: a weight for each feature, after centring and scaling.

    Where it holds `knots` the chance is read off the line through them, else it is the logistic function's.
    """

    def __init__(self, session: ReaderSession, language: str = "english") -> None:
        self._session = session
        self._stems = Stems(language)
        self._fitted: _Fitted | None = None

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]:
        return [self._chance(row) for row in self.features(questions, hits, candidates)]

    def features(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[tuple[float, ...] | None]:
        """What the judge looks at, question by question."""
        readings = self._session.read(
            [question.text for question in questions],
            [[hit.passage for hit in question_hits] for question_hits in hits],
        )
        return [
            features(question.text, question_hits, read, answers, self._stems)
            for question, question_hits, read, answers in zip(questions, hits, readings, candidates, strict=True)
        ]

    def _chance(self, row: tuple[float, ...] | None) -> float:
        if row is None:
            return 0.0
        fitted = self._read()
        logit = fitted.line.logit(row)
        if fitted.knots:
            return between(fitted.knots, logit)
        return probability(logit)

    def _read(self) -> _Fitted:
        if self._fitted is None:
            saved = self._session.weights.json("judge.json")
            try:
                knots = [tuple(map(float, knot)) for knot in saved.get("knots", ())]
                self._fitted = _Fitted(FittedLine.of(saved, NAMES), tuple((a, b) for a, b in knots))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise WherefromError(
                    f"{self._session.weights.folder / 'judge.json'} is not a fitted judge ({error}); "
                    "install wherefrom again, or fit it with `wherefrom train judge`"
                ) from error
        return self._fitted


def features(
    question: str,
    hits: Sequence[Hit],
    readings: Sequence[PassageReading],
    candidates: Sequence[Candidate],
    stems: Stems,
) -> tuple[float, ...] | None:
    """What the judge looks at, in the order of NAMES; None where there is nothing to look at.

    relevance: the best passage's logit. other relevance: that of the best passage that does not say the same. span: the
    log probability of the best candidate and all that say the same. margin: the best candidate's lead over the next
    different answer. same passage: whether the most relevant passage says it. coverage: how much of the question's
    words, the rarer the more, stands around the best candidate.

    Candidates are taken in the reader's order, as it was fitted: a re-ranker changes which answer is given, not the
    chance that there is one.

    Nothing here counts passages or punishes an answer for being found twice, as it is in libraries: the judge is fitted
    on sets in which only one of ten passages holds the answer, and would learn just that.
    """
    if not readings or not candidates:
        return None
    candidates = as_read(candidates)
    best = candidates[0]
    answer = best.text.casefold()
    alike = [c.features.get("span", c.score) for c in candidates if c.text.casefold() == answer]
    next_best = next((c.score for c in candidates if c.text.casefold() != answer), best.score - _BOUND)
    first, top = max(zip(hits, readings, strict=True), key=lambda pair: pair[1].relevance)
    others = [
        reading.relevance
        for hit, reading in zip(hits, readings, strict=True)
        if answer not in hit.passage.text.casefold()
    ]
    return (
        _bounded(top.relevance),
        min(max(_NOTHING, *others), _BOUND) if others else _NOTHING,
        max(alike[0] + math.log(sum(math.exp(span - alike[0]) for span in alike)), -_BOUND),
        min(best.score - next_best, _BOUND),
        float(answer in first.passage.text.casefold()),
        _coverage(question, hits, best, stems),
    )


def as_read(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best candidates in the order and with the scores that the reader gave them."""
    if any("rerank" in candidate.features for candidate in candidates):
        candidates = [replace(c, score=c.features.get("read", c.score)) for c in candidates]
        candidates = sorted(candidates, key=lambda c: (-c.score, c.passage.id, c.start, c.end))
    return list(candidates[:_CANDIDATES])


def between(knots: Sequence[tuple[float, float]], logit: float) -> float:
    """The chance on the line between knots (logit, chance); beyond the first and the last, theirs."""
    after = bisect_right(knots, logit, key=lambda knot: knot[0])
    if after == 0 or after == len(knots):
        return knots[max(after - 1, 0)][1]
    (low, begin), (high, end) = knots[after - 1], knots[after]
    return begin + (end - begin) * (logit - low) / (high - low)


def _coverage(question: str, hits: Sequence[Hit], best: Candidate, stems: Stems) -> float:
    passages = [frozenset(stems(f"{hit.passage.title}\n{hit.passage.text}")) for hit in hits]
    near = best.passage.text[max(best.start - _NEAR, 0) : best.end + _NEAR]
    return coverage(rarity(stems(question), passages), frozenset(stems(f"{best.passage.title}\n{near}")))


def _bounded(value: float) -> float:
    return max(-_BOUND, min(_BOUND, value))
