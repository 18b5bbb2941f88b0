"""What several indexes find becomes one list.

By the places that a passage has in the lists, which need not be of one scale; or by the scores themselves, each with a
weight, which knows how far apart two hits are. Either way a passage that one index alone has can come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from wherefrom.features.matching import Matcher
from wherefrom.runtime.reader import heading
from wherefrom.stages import Retriever
from wherefrom.types import Hit, Question

WORDS, VECTORS = "retrieve", "dense"  # what hits of the two indexes call their score
_FROM = 60  # as published: how little the first places stand out


class Blend(Protocol):
    """Makes one list of several."""

    def fused(self, question: Question, lists: Sequence[Sequence[Hit]], k: int, /) -> list[Hit]: ...


class FusedRetriever:
    """The k best of what other retrievers give, in one list."""

    def __init__(self, retrievers: Sequence[Retriever], fusion: Blend, k: int) -> None:
        self._retrievers = retrievers
        self._fusion = fusion
        self._k = k

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        each = [retriever.retrieve(questions) for retriever in self._retrievers]
        return [
            self._fusion.fused(question, [lists[place] for lists in each], self._k)
            for place, question in enumerate(questions)
        ]


class ByRank:
    """sum_l 1 / (60 + rank_l), rank 1 being the best (Cormack, Clarke and Büttcher 2009, SIGIR)."""

    def fused(self, _question: Question, lists: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
        scores: dict[str, float] = {}
        for hits in lists:
            for rank, hit in enumerate(hits, start=1):
                scores[hit.passage.id] = scores.get(hit.passage.id, 0.0) + 1 / (_FROM + rank)
        return _best([hit.rescored("fuse", scores[hit.passage.id]) for hit in joined(lists)], k)


class ByScore:
    """s = b / b_max + w_m m + w_c c: BM25's score as a share of the best one's, the matcher's, the vectors' cosine."""

    def __init__(self, matcher: Matcher | None, nearness: float, cosine: float, full: int) -> None:
        """Without a matcher m is 0. A list of so many hits is `full`: there may be more."""
        self._matcher = matcher
        self._nearness = nearness
        self._cosine = cosine
        self._full = full

    def fused(self, question: Question, lists: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
        hits = joined(lists)
        if not hits:
            return []
        near, both = self._near(question, hits), shares_and_cosines(hits, self._full)
        scored = []
        for hit, match, (share, cosine) in zip(hits, near, both, strict=True):
            score = share + self._nearness * match + self._cosine * cosine
            scored.append(
                replace(hit.rescored("fuse", score), features={**hit.features, "fuse": score, "match": match})
            )
        return _best(scored, k)

    def _near(self, question: Question, hits: Sequence[Hit]) -> list[float]:
        if self._matcher is None:
            return [0.0] * len(hits)
        return self._matcher.scores(question.text, [f"{heading(hit.passage)}\n{hit.passage.text}" for hit in hits])


def shares_and_cosines(hits: Sequence[Hit], full: int) -> list[tuple[float, float]]:
    """Of each hit b / b_max and c.

    A passage that a full list lacks has at most what the last one in it has, and is given that; one that shares no word
    with the question is not behind all that share some common one.
    """
    words = [hit.features[WORDS] for hit in hits if WORDS in hit.features]
    most = max(words, default=0.0) or 1.0
    last = min(words) if len(words) >= full else 0.0
    least = min((hit.features[VECTORS] for hit in hits if VECTORS in hit.features), default=0.0)
    return [(hit.features.get(WORDS, last) / most, hit.features.get(VECTORS, least)) for hit in hits]


def joined(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Every passage once, with the features that it has in any of the lists."""
    features: dict[str, Mapping[str, float]] = {}
    hits: dict[str, Hit] = {}
    for hit in (hit for each in lists for hit in each):
        features[hit.passage.id] = {**features.get(hit.passage.id, {}), **hit.features}
        hits.setdefault(hit.passage.id, hit)
    return [replace(hit, features=features[id]) for id, hit in hits.items()]


def _best(hits: Sequence[Hit], k: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))[:k]
