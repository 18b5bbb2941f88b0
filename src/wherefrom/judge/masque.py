"""The chance that the passages answer the question, as the writer network says it: P(a) of Masque's classifier.

Use it where the writer network is to do all by itself, as in Masque. It is as well calibrated as training left it;
`judge.kind=calibrated` is fitted for that. It needs the weights `writer`.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.runtime.writer import WriterSession
from wherefrom.types import Candidate, Hit, Question


class MasqueJudge:
    """P(a); 0 where nothing was found."""

    def __init__(self, session: WriterSession) -> None:
        self._session = session

    def judge(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        candidates: Sequence[Sequence[Candidate]],  # noqa: ARG002 - the network judges the passages
    ) -> list[float]:
        judgements = self._session.judge(
            [question.text for question in questions],
            [[hit.passage for hit in question_hits] for question_hits in hits],
        )
        return [judgement.answerable for judgement in judgements]
