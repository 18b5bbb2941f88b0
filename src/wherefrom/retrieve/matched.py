"""Of the passages that an index finds, those are kept whose words mean most nearly what the question's do.

An index finds words; "how often does cron look at its table" shares none with "examines entries once every minute".
Use it wherever the index is BM25 and the documents are English. It needs the weights `matcher`, which come with
wherefrom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from wherefrom.features.matching import Matcher
from wherefrom.runtime.reader import heading
from wherefrom.stages import Retriever
from wherefrom.types import Hit, Question

_COPIES = 2


class MatchedRetriever:
    """The k best of what another retriever gives: by nearness, and the index's score as a share of the best one's.

    `weight` is that of nearness beside the index's share.
    """

    def __init__(self, retriever: Retriever, matcher: Matcher, k: int, weight: float) -> None:
        self._retriever = retriever
        self._matcher = matcher
        self._k = k
        self._weight = weight

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        return [
            self._kept(question, hits)
            for question, hits in zip(questions, self._retriever.retrieve(questions), strict=True)
        ]

    def _kept(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        if not hits:
            return []
        texts = [f"{heading(hit.passage)}\n{hit.passage.text}" for hit in hits]
        near = self._matcher.scores(question.text, texts)
        most = max(hit.score for hit in hits) or 1.0
        scored = [
            hit.rescored("match", hit.score / most + self._weight * score)
            for hit, score in zip(hits, near, strict=True)
        ]
        return list(few_alike(sorted(scored, key=lambda hit: (-hit.score, hit.passage.id))))[: self._k]


def few_alike(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Without the third and further hits of the very same text: a page under five names is one source, not five.

    Two stay, so that of an old and a new version the newer one can be named.
    """
    seen: Counter[str] = Counter()
    for hit in hits:
        words = " ".join(hit.passage.text.split())
        seen[words] += 1
        if seen[words] <= _COPIES:
            yield hit
