"""The chance that an explanation is right: whether the passages speak of the question, by the statements in them.

Fitted on questions whose answer is several sentences, with the document that answers them and without it. What answers
"why" is often no span that a reader would point at, so the judge of short answers declines too much; beside these signs
its chance tells nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.chance import FittedLine
from wherefrom.features.telling import Teller, WeightsOfLine, chance_of, read_line
from wherefrom.types import Candidate, Hit, Question


class ExplainJudge:
    """Reads `speaks.json` beside the selector."""

    def __init__(self, teller: Teller, weights: WeightsOfLine) -> None:
        self._teller = teller
        self._weights = weights
        self._line: FittedLine | None = None

    def judge(
        self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]], candidates: Sequence[Sequence[Candidate]]
    ) -> list[float]:
        return [
            self._chance(question.text, own) if read else 0.0
            for question, own, read in zip(questions, hits, candidates, strict=True)
        ]

    def _chance(self, question: str, hits: Sequence[Hit]) -> float:
        if self._line is None:
            self._line = read_line(self._weights)
        return chance_of(self._line, self._teller.signs(self._teller.weighed(question, hits)))
