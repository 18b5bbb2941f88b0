"""Two halves of a dataset, dealt by article: one to fit on, the other to measure on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol


class OfArticle(Protocol):
    """A question that belongs to an article."""

    @property
    def article(self) -> str: ...


def halved(questions: Sequence[OfArticle]) -> set[str]:
    """The articles to fit on: in the order of a hash of their names, as many as hold half of the questions."""
    sizes: dict[str, int] = {}
    for question in questions:
        sizes[question.article] = sizes.get(question.article, 0) + 1
    chosen: set[str] = set()
    taken = 0
    for article in sorted(sizes, key=shuffled):
        if 2 * taken + sizes[article] <= len(questions) or not chosen:  # closer to half with it than without
            chosen.add(article)
            taken += sizes[article]
    return chosen


def shuffled(article: str) -> str:
    """What articles are put in order by: nothing that their names or subjects could have to do with."""
    return hashlib.sha256(article.encode()).hexdigest()
