"""The chance that the answer is right: logistic regression on what the reader network says and on words, calibrated.

Fitted on questions over several kinds of documents that the network was not trained on, so that of all answers with
chance 0.8 about 80 % are right. It needs the weights `reader`, which come with wherefrom; `wherefrom train judge` fits
it anew for any reader. With `judge.second` it also asks the writer network what it thinks of the answer (`second.py`).
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
from wherefrom.judge.second import NOTHING, SecondOpinion
from wherefrom.judge.signs import NAMES, OF_SECOND, features
from wherefrom.runtime.reader import ReaderSession
from wherefrom.types import Candidate, Hit, Question

_SURENESS = NAMES.index("sureness")
_SECOND = slice(NAMES.index(OF_SECOND[0]), NAMES.index(OF_SECOND[-1]) + 1)
_WORTH_ASKING = 0.1  # chance from which a second opinion is asked for: below it, no opinion makes an answer of it


@dataclass(frozen=True, slots=True)
class _Fitted:
    """`judge.json`, read."""

    line: FittedLine
    places: tuple[int, ...]  # of its features among all
    knots: tuple[tuple[float, float], ...]  # (logit, chance), rising; () where the logistic's chances are used
    yes_no: _Fitted | None = None  # of the word, for questions of yes or no that the network decides
    alone: _Fitted | None = None  # without a second opinion; None: none is looked at


class CalibratedJudge:
    """Reads `judge.json` beside the network: a weight for each feature that it names, after centring and scaling.

    Where it holds `knots` the chance is read off the line through them, else it is the logistic function's. Where a
    question asks for yes or no and the network says which, the chance is that of the word, by a line of its own.

    A `second` opinion costs another network's pass over a few passages. It is asked for where a line that does without
    gives the answer some chance.
    """

    def __init__(
        self,
        session: ReaderSession,
        language: str = "english",
        matcher: Matcher | None = None,
        second: SecondOpinion | None = None,
    ) -> None:
        self._session = session
        self._matcher = matcher
        self._second = second
        self._stems = Stems(language)
        self._fitted: _Fitted | None = None

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]:
        rows = self._features(questions, hits, candidates, [NOTHING] * len(questions))
        chances = [self._chance(row, alone=True) for row in rows]
        fitted = self._read()
        if self._second is None or fitted.alone is None:
            return chances
        worth = [
            place
            for place, (row, chance) in enumerate(zip(rows, chances, strict=True))
            if row is not None and chance >= _WORTH_ASKING and not _decides_yes_no(fitted, row)
        ]
        opinions = self._second.signs(
            [questions[place] for place in worth],
            [hits[place] for place in worth],
            [candidates[place] for place in worth],
        )
        for place, signs in zip(worth, opinions, strict=True):
            row = rows[place]
            assert row is not None
            chances[place] = self._chance((*row[: _SECOND.start], *signs, *row[_SECOND.stop :]))
        return chances

    def features(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[tuple[float, ...] | None]:
        """All that the judge may look at, question by question, with a second opinion on each if it can ask for one."""
        if self._second is None:
            return self._features(questions, hits, candidates, [NOTHING] * len(questions))
        return self._features(questions, hits, candidates, self._second.signs(questions, hits, candidates))

    def _features(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],
        second: Sequence[Sequence[float]],
    ) -> list[tuple[float, ...] | None]:
        readings = self._session.read(
            [question.text for question in questions],
            [[hit.passage for hit in question_hits] for question_hits in hits],
        )
        return [
            features(question.text, question_hits, read, answers, self._stems, self._matcher, opinion)
            for question, question_hits, read, answers, opinion in zip(
                questions, hits, readings, candidates, second, strict=True
            )
        ]

    def _chance(self, row: tuple[float, ...] | None, alone: bool = False) -> float:
        if row is None:
            return 0.0
        fitted = self._read()
        if fitted.yes_no is not None and _decides_yes_no(fitted, row):
            fitted = fitted.yes_no
        elif alone and fitted.alone is not None:
            fitted = fitted.alone
        logit = fitted.line.logit([row[place] for place in fitted.places])
        if fitted.knots:
            return between(fitted.knots, logit)
        return probability(logit)

    def _read(self) -> _Fitted:
        if self._fitted is None:
            saved = self._session.weights.json("judge.json")
            try:
                yes_no, alone = (_fitted(saved[name]) if name in saved else None for name in ("yes_no", "alone"))
                self._fitted = replace(_fitted(saved), yes_no=yes_no, alone=alone)
                if alone is None and any(saved["terms"].get(name, [0.0])[0] for name in OF_SECOND):
                    raise ValueError("it goes by a second opinion, and has no line for where there is none")
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise WherefromError(
                    f"{self._session.weights.folder / 'judge.json'} is not a fitted judge ({error}); "
                    "install wherefrom again, or fit it with `wherefrom train judge`"
                ) from error
        return self._fitted


def _decides_yes_no(fitted: _Fitted, row: Sequence[float]) -> bool:
    """Whether the chance is that of a word, which no second opinion is about."""
    return fitted.yes_no is not None and row[_SURENESS] > 0


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
