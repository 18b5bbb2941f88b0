"""Passages ranked by the reader network's relevance: question and passage are read together.

Use it wherever answers are read by the same network: ranking then costs nothing beyond reading. It needs the
weights `reader`, which come with wherefrom.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.chance import probability
from wherefrom.runtime.reader import ReaderSession
from wherefrom.types import Hit, Question


class ReaderRanker:
    """Orders hits by relevance, as a probability, and keeps the best."""

    def __init__(self, session: ReaderSession, keep: int) -> None:
        self._session = session
        self._keep = keep

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
        readings = self._session.read(
            [question.text for question in questions],
            [[hit.passage for hit in question_hits] for question_hits in hits],
        )
        ranked = []
        for question_hits, read in zip(hits, readings, strict=True):
            scored = [
                hit.rescored("rank", probability(reading.relevance))
                for hit, reading in zip(question_hits, read, strict=True)
            ]
            ranked.append(sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))[: self._keep])
        return ranked
