"""Passages ranked by QASA, a small recurrent network that weighs a passage's words by the question.

Use it as a yardstick: it needs no pretrained encoder, and ranks below `rank.kind=reader`. It needs weights of
`wherefrom train qasa`, named by `runtime.qasa`; none come with wherefrom.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.chance import probability
from wherefrom.runtime.qasa import QasaSession
from wherefrom.types import Hit, Question


class QasaRanker:
    """Orders hits by the network's score, squeezed between 0 and 1, and keeps the best."""

    def __init__(self, session: QasaSession, keep: int) -> None:
        self._session = session
        self._keep = keep

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
        scores = self._session.score(
            [question.text for question in questions], [[hit.passage.text for hit in own] for own in hits]
        )
        ranked = []
        for question_hits, own in zip(hits, scores, strict=True):
            scored = [hit.rescored("rank", probability(score)) for hit, score in zip(question_hits, own, strict=True)]
            ranked.append(sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))[: self._keep])
        return ranked
