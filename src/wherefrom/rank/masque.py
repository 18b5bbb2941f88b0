"""Passages ranked by the writer network, which weighs them anyway: beta of Masque's ranker.

Use it where the writer network is to do all by itself, as in Masque; `rank.kind=reader` is better where answers are
read by the reader network. It needs the weights `writer`.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.runtime.writer import WriterSession
from wherefrom.types import Hit, Question


class MasqueRanker:
    """Orders hits by beta and keeps the best."""

    def __init__(self, session: WriterSession, keep: int) -> None:
        self._session = session
        self._keep = keep

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
        judgements = self._session.judge(
            [question.text for question in questions],
            [[hit.passage for hit in question_hits] for question_hits in hits],
        )
        ranked = []
        for question_hits, judgement in zip(hits, judgements, strict=True):
            scored = [hit.rescored("rank", beta) for hit, beta in zip(question_hits, judgement.relevance, strict=True)]
            ranked.append(sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))[: self._keep])
        return ranked
