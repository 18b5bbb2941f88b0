"""The chance that an explanation is right: whether the passages speak of the question, by the statements in them.

Fitted on questions whose answer is several sentences, with the document that answers them and without it. What answers
"why" is often no span that a reader would point at: the judge of short answers declines too much, and beside these
signs its chance tells little more. But where none of the statements that explain best holds the reader's answer, one of
the two is mistaken, and an explanation is no likelier right than that answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.chance import FittedLine
from wherefrom.features.statements import holding
from wherefrom.features.telling import Teller, WeightsOfLine, chance_of, read_line
from wherefrom.stages import Judge
from wherefrom.types import Candidate, Hit, Question


class ExplainJudge:
    """Reads `speaks.json` beside the selector; `answers` judges the reader's answers."""

    def __init__(self, teller: Teller, weights: WeightsOfLine, answers: Judge) -> None:
        self._teller = teller
        self._weights = weights
        self._answers = answers
        self._line: FittedLine | None = None

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]:
        return [self._chance(*each) if each[2] else 0.0 for each in zip(questions, hits, candidates, strict=True)]

    def _chance(self, question: Question, hits: Sequence[Hit], candidates: Sequence[Candidate]) -> float:
        if self._line is None:
            self._line = read_line(self._weights)
        weighed = self._teller.weighed(question.text, hits)
        chance = chance_of(self._line, self._teller.signs(weighed))
        if holding(weighed.statements, candidates[0]) in self._teller.explanation(weighed):
            return chance
        return min(chance, *self._answers.judge([question], [hits], [candidates]))
