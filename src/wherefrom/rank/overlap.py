"""Passages ranked by the words they share with the question, the rarer the better.

Needs no model. The yardstick for trained rankers, and a way to order passages that a dataset gives unordered.
"""

from __future__ import annotations

from collections.abc import Sequence

from wherefrom.features.overlap import Stems, coverage, rarity
from wherefrom.types import Hit, Question

_LENGTH = 0.001  # a word: of two passages that hold the same of the question, the shorter says it more plainly


class OverlapRanker:
    """Scores a passage by the weighted share of the question's stems that it holds."""

    def __init__(self, language: str) -> None:
        self._stems = Stems(language)

    def rank(self, questions: Sequence[Question], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
        return [
            self._rank_one(question, question_hits) for question, question_hits in zip(questions, hits, strict=True)
        ]

    def _rank_one(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        texts = [self._stems(f"{hit.passage.title}\n{hit.passage.text}") for hit in hits]
        held = [frozenset(text) for text in texts]
        weights = rarity(self._stems(question.text), held)
        scored = [
            hit.rescored("rank", coverage(weights, stems) - _LENGTH * len(text))
            for hit, stems, text in zip(hits, held, texts, strict=True)
        ]
        return sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))
