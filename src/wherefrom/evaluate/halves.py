"""Articles dealt into halves and folds: what is fitted on the questions of some is measured on those of others.

Articles are put in the order of a hash of their names, so that nothing is drawn and every run deals alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Protocol


class OfArticle(Protocol):
    """A question that belongs to an article."""

    @property
    def article(self) -> str: ...


def halved(questions: Sequence[OfArticle]) -> set[str]:
    """The articles of the first half: as many as hold half of the questions."""
    sizes: dict[str, int] = {}
    for question in questions:
        sizes[question.article] = sizes.get(question.article, 0) + 1
    chosen: set[str] = set()
    taken = 0
    for article in _shuffled(sizes):
        if 2 * taken + sizes[article] <= len(questions) or not chosen:  # closer to half with it than without
            chosen.add(article)
            taken += sizes[article]
    return chosen


def folds(articles: Iterable[str], count: int) -> dict[str, int]:
    """The fold of each article, 0 to `count` - 1."""
    return {article: place % count for place, article in enumerate(_shuffled(set(articles)))}


def _shuffled(articles: Iterable[str]) -> list[str]:
    return sorted(articles, key=lambda article: hashlib.sha256(article.encode()).hexdigest())
