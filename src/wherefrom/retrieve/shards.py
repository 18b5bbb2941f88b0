"""One BM25 index in several parts, which together score as if they were one.

A part by itself scores by its own counts: how many of its passages hold a word, and how long they are on average. Here
the counts of all parts are put together. The words' weights are handed to each part with the question; the average
length cannot be, so each part gives as many hits as may be among the best ones at worst, and these are scored anew
from what is known of them, until no other can be better. How much the lengths can do is bounded (`_Bounds`), so the
best passages are those of one index over all of them, and so are their scores.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from wherefrom.config import IndexSettings
from wherefrom.retrieve.analysis import Analysis
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.stages import KeyRanges

_K1, _B = 1.2, 0.75  # tantivy's
_SPARE = 8  # hits that a part gives beyond k at first
_ROUNDING = 1e-5  # tantivy computes scores with seven digits
_TERM = "type=Str, "  # stands before a word in tantivy's explanation of a score


@dataclass(frozen=True, slots=True)
class ShardFacts:
    """How large a part is."""

    passages: int
    words: float  # of all its passages together


@dataclass(frozen=True, slots=True)
class ShardHit:
    """A passage that a part found, with its score by this part's average length, and where the part has it."""

    key: int
    score: float
    segment: int
    place: int


class Shard:
    """One part: a BM25 index that also tells its counts, and what its scores are made of."""

    def __init__(self, path: Path, settings: IndexSettings) -> None:
        self._index = BM25Index(path, settings)

    def create(self) -> None:
        self._index.create()

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None:
        self._index.put(keys, texts)

    def commit(self) -> None:
        self._index.commit()

    def close(self) -> None:
        self._index.close()

    def facts(self) -> ShardFacts:
        """The average length is in what tantivy says of any score."""
        import tantivy

        searcher = self._index.searcher()
        words = self._index.beginning("", 1)
        if not words:
            return ShardFacts(int(searcher.num_docs), 0.0)
        query = tantivy.Query.term_query(self._index.schema(), "text", words[0][0], "freq")
        ((_, address),) = searcher.search(query, 1, count=False).hits
        (part,) = _explained(query.explain(searcher, address).to_json())
        return ShardFacts(int(searcher.num_docs), part.average * searcher.num_docs)

    def frequencies(self, terms: Sequence[str]) -> list[int]:
        """How many of its passages hold each word."""
        return [self._index.frequency(term) for term in terms]

    def best(self, weights: Mapping[str, float], k: int) -> list[ShardHit]:
        """The k best by these weights of words and this part's average length."""
        searcher = self._index.searcher()
        query = self._query(weights)
        if query is None:
            return []
        hits = searcher.search(query, k, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits])
        return [
            ShardHit(int(key or 0), float(score), address.segment_ord, address.doc)
            for key, (score, address) in zip(keys, hits, strict=True)
        ]

    def exact(self, weights: Mapping[str, float], average: float, places: Sequence[tuple[int, int]]) -> list[float]:
        """The scores of passages by these weights and the average length of all parts."""
        import tantivy

        query = self._query(weights)
        if query is None:
            return [0.0 for _ in places]
        searcher = self._index.searcher()
        scores = []
        for segment, place in places:
            explained = _explained(query.explain(searcher, tantivy.DocAddress(segment, place)).to_json())
            scores.append(
                sum(weights[part.term] * _saturated(part.frequency, part.length, average) for part in explained)
            )
        return scores

    def _query(self, weights: Mapping[str, float]) -> Any:
        """Each word weighs what all parts together make of it: tantivy's own weight is divided out."""
        import tantivy

        schema, passages = self._index.schema(), int(self._index.searcher().num_docs)
        parts = []
        for term, weight in weights.items():
            holding = self._index.frequency(term)
            if holding:
                query = tantivy.Query.term_query(schema, "text", term, "freq")
                boost = weight / ((_K1 + 1) * rarity(holding, passages))
                parts.append((tantivy.Occur.Should, tantivy.Query.boost_query(query, boost)))
        return tantivy.Query.boolean_query(parts) if parts else None


class Shards(Protocol):
    """Parts that can be called all at once, wherever they are."""

    @property
    def count(self) -> int: ...

    def each(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every part with its own arguments; None: this part is not called, and gives None."""
        ...


class ShardsHere:
    """Parts in this process, one after the other."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards

    @property
    def count(self) -> int:
        return len(self._shards)

    def each(self, method: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        return [
            None if given is None else getattr(shard, method)(*given)
            for shard, given in zip(self._shards, arguments, strict=True)
        ]


class ShardedSearch:
    """Searches all parts as one; what one BM25 index over all passages finds, with the same scores."""

    def __init__(self, shards: Shards, settings: IndexSettings) -> None:
        self._shards = shards
        self._analysis = Analysis(settings.language)
        self._facts: list[ShardFacts] | None = None

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        if within is not None:
            raise NotImplementedError("parts are searched whole; ask a part of the library without shards")
        return [self._search_one(text, k) for text in texts]

    def _search_one(self, text: str, k: int) -> list[tuple[int, float]]:
        facts = self._all_facts()
        passages = sum(each.passages for each in facts)
        terms = self._analysis.of_question(text)
        if not terms or not passages:
            return []
        average = sum(each.words for each in facts) / passages
        weights = self._weights(terms, passages)
        bounds = [_Bounds.of(each, average) for each in facts]
        fetched = [k + _SPARE] * self._shards.count
        hits: list[list[ShardHit]] = [[] for _ in fetched]
        ask = [True] * self._shards.count
        while any(ask):
            given = [(weights, most) if again else None for most, again in zip(fetched, ask, strict=True)]
            for number, best in enumerate(self._shards.each("best", given)):
                hits[number] = hits[number] if best is None else best
            least = _kth([hit.score * bound.low for part, bound in zip(hits, bounds, strict=True) for hit in part], k)
            # Where the last one that a part gave could be among the best, so could one that it did not give.
            ask = [
                len(part) == most and part[-1].score * bound.high >= least
                for part, bound, most in zip(hits, bounds, fetched, strict=True)
            ]
            fetched = [most * 4 if again else most for most, again in zip(fetched, ask, strict=True)]
        chosen = [
            [hit for hit in part if hit.score * bound.high >= least] for part, bound in zip(hits, bounds, strict=True)
        ]
        scored = self._shards.each(
            "exact",
            [(weights, average, [(hit.segment, hit.place) for hit in part]) if part else None for part in chosen],
        )
        pairs = [
            (hit.key, score)
            for part, scores in zip(chosen, scored, strict=True)
            for hit, score in zip(part, scores or [], strict=True)
        ]
        return sorted(pairs, key=lambda pair: (-round(pair[1], 5), pair[0]))[:k]

    def _all_facts(self) -> list[ShardFacts]:
        if self._facts is None:
            self._facts = self._shards.each("facts", [()] * self._shards.count)
        return self._facts

    def _weights(self, terms: Mapping[str, int], passages: int) -> dict[str, float]:
        """What each word of a question weighs over all parts."""
        names = list(terms)
        frequencies = self._shards.each("frequencies", [(names,)] * self._shards.count)
        weights = {}
        for place, term in enumerate(names):
            holding = sum(counted[place] for counted in frequencies)
            if holding:
                weights[term] = terms[term] * (_K1 + 1) * rarity(holding, passages)
        return weights


@dataclass(frozen=True, slots=True)
class _Bounds:
    """By how much a score by a part's own average length can differ from that by the average of all.

    f / (f + k1 (1 - b + b l / a)) with the average a' in place of a changes by a factor between 1 and a' / a: for a
    passage that is very long the lengths are all that counts, for a short one nothing changes.
    """

    low: float
    high: float

    @staticmethod
    def of(facts: ShardFacts, average: float) -> _Bounds:
        if not facts.words:
            return _Bounds(1.0, 1.0)
        ratio = average / (facts.words / facts.passages)
        return _Bounds(min(1.0, ratio) * (1 - _ROUNDING), max(1.0, ratio) * (1 + _ROUNDING))


def rarity(holding: int, passages: int) -> float:
    """BM25's weight of a word that so many of all passages hold."""
    return math.log(1 + (passages - holding + 0.5) / (holding + 0.5))


def _saturated(frequency: float, length: float, average: float) -> float:
    """BM25's weight of how often a word stands in a passage of this length."""
    return frequency / (frequency + _K1 * (1 - _B + _B * length / average))


def _kth(scores: Sequence[float], k: int) -> float:
    """The k-th largest; 0 where there are fewer: then every hit is among the best."""
    return heapq.nlargest(k, scores)[-1] if len(scores) >= k else 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """What one word adds to a score is made of."""

    term: str
    frequency: float
    length: float
    average: float


class _Node(msgspec.Struct):
    """A step of tantivy's explanation of a score."""

    value: float
    description: str
    details: list[_Node] = []
    context: list[str] = []


_DECODER = msgspec.json.Decoder(_Node)


def _explained(text: str) -> list[_Part]:
    parts: list[_Part] = []
    waiting = [_DECODER.decode(text)]
    while waiting:
        node = waiting.pop()
        if node.description.startswith("TermQuery"):
            parts.append(_part(node))
        else:
            waiting += node.details
    return parts


def _part(node: _Node) -> _Part:
    values: dict[str, float] = {}
    waiting = [*node.details]
    while waiting:
        detail = waiting.pop()
        values[detail.description.partition(",")[0]] = detail.value
        waiting += detail.details
    named = node.context[0].partition(_TERM)[2].rstrip(")")
    return _Part(msgspec.json.decode(named, type=str), values["freq"], values["dl"], values["avgdl"])
