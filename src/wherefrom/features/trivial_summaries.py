"""What a summary is to be better than: the first sentences, TextRank, and those most like the question.

Over the same texts and in as many words, each sentence whole, in the order of the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy
from numpy.typing import NDArray

from wherefrom.features.overlap import Stems
from wherefrom.features.worth import similarities

Order = Callable[[str, Sequence[str]], list[int]]  # of a question and sentences: the places, the best first

_DAMPING = 0.85  # of TextRank, as published
_STEMS = Stems("english")


def in_order(_question: str, texts: Sequence[str]) -> list[int]:
    return list(range(len(texts)))


def text_rank(_question: str, texts: Sequence[str]) -> list[int]:
    """Those first that a random walk over the sentences' likeness comes to most often (Mihalcea and Tarau 2004)."""
    likeness: NDArray[numpy.float64] = similarities([_STEMS(text) for text in texts]).astype(float)
    numpy.fill_diagonal(likeness, 0.0)
    sums = likeness.sum(axis=1, keepdims=True)
    walk = numpy.where(sums > 0, likeness / numpy.where(sums > 0, sums, 1.0), 1.0 / len(texts))
    rank = numpy.full(len(texts), 1.0 / len(texts))
    for _ in range(50):
        rank = (1 - _DAMPING) / len(texts) + _DAMPING * rank @ walk
    order: list[int] = numpy.argsort(-rank, kind="stable").tolist()
    return order


def query_likeness(question: str, texts: Sequence[str]) -> list[int]:
    """Those first whose words, weighed by how seldom they are, are most like the question's."""
    likeness = similarities([_STEMS(question), *(_STEMS(text) for text in texts)])[0, 1:]
    order: list[int] = numpy.argsort(-likeness, kind="stable").tolist()
    return order


def filled(texts: Sequence[str], order: Iterable[int], words: int) -> str:
    """The best that there is room for, in the order of the text."""
    taken: list[int] = []
    for at in order:
        length = len(texts[at].split())
        if length <= words:
            taken.append(at)
            words -= length
    return " ".join(texts[at] for at in sorted(taken))


BASELINES: dict[str, Order] = {
    "first sentences": in_order,
    "TextRank": text_rank,
    "most like the query": query_likeness,
}
