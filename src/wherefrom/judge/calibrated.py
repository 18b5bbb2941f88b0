"""The chance that the answer is right: logistic regression on what the reader network says and on words, calibrated.

Fitted on questions over several kinds of documents that the network was not trained on, so that of all answers with
chance 0.8 about 80 % are right. It needs the weights `reader`, which come with wherefrom; `wherefrom train judge` fits
it anew for any reader.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wherefrom.errors import WherefromError
from wherefrom.features.chance import FittedLine, probability
from wherefrom.features.matching import Matcher
from wherefrom.features.overlap import Stems
from wherefrom.judge.signs import NAMES, features
from wherefrom.runtime.reader import ReaderSession
from wherefrom.types import Candidate, Hit, Question

_SURENESS = NAMES.index("sureness")


@dataclass(frozen=True, slots=True)
class _Fitted:
    """`judge.json`, read."""

    line: FittedLine
    places: tuple[int, ...]  # of its features among all
    knots: tuple[tuple[float, float], ...]  # (logit, chance), rising; () where the logistic's chances are used
    yes_no: _Fitted | None = None  # of the word, for questions of yes or no that the network decides


class CalibratedJudge:
    """Reads `judge.json` beside the network: a weight for each feature that it names, after centring and scaling.

    Where it holds `knots` the chance is read off the line through them, else it is the logistic function's. Where a
    question asks for yes or no and the network says which, the chance is that of the word, by a line of its own.
    """

    def __init__(self, session: ReaderSession, language: str = "english", matcher: Matcher | None = None) -> None:
        self._session = session
        self._matcher = matcher
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
            features(question.text, question_hits, read, answers, self._stems, self._matcher)
            for question, question_hits, read, answers in zip(questions, hits, readings, candidates, strict=True)
        ]

    def _chance(self, row: tuple[float, ...] | None) -> float:
        if row is None:
            return 0.0
        fitted = self._read()
        if fitted.yes_no is not None and row[_SURENESS] > 0:
            fitted = fitted.yes_no
        logit = fitted.line.logit([row[place] for place in fitted.places])
        if fitted.knots:
            return between(fitted.knots, logit)
        return probability(logit)

    def _read(self) -> _Fitted:
        if self._fitted is None:
            saved = self._session.weights.json("judge.json")
            try:
                yes_no = _fitted(saved["yes_no"]) if "yes_no" in saved else None
                self._fitted = replace(_fitted(saved), yes_no=yes_no)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise WherefromError(
                    f"{self._session.weights.folder / 'judge.json'} is not a fitted judge ({error}); "
                    "install wherefrom again, or fit it with `wherefrom train judge`"
                ) from error
        return self._fitted


def _fitted(saved: Mapping[str, Any]) -> _Fitted:
    names = tuple(saved["terms"])
    if unknown := [name for name in names if name not in NAMES]:
        raise ValueError(f"it goes by '{unknown[0]}', which this version of wherefrom does not know")
    knots = [tuple(map(float, knot)) for knot in saved.get("knots", ())]
    places = tuple(NAMES.index(name) for name in names)
    return _Fitted(FittedLine.of(saved, names), places, tuple((a, b) for a, b in knots))


def between(knots: Sequence[tuple[float, float]], logit: float) -> float:
    """The chance on the line between knots (logit, chance); beyond the first and the last, theirs."""
    after = bisect_right(knots, logit, key=lambda knot: knot[0])
    if after == 0 or after == len(knots):
        return knots[max(after - 1, 0)][1]
    (low, begin), (high, end) = knots[after - 1], knots[after]
    return begin + (end - begin) * (logit - low) / (high - low)
