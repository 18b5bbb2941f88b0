"""Questions are answered with hits: an index finds the keys, the store gives the passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from wherefrom.stages import KeyRanges, Store
from wherefrom.types import Hit, Question


class Searchable(Protocol):
    """The part of an index that a retriever needs."""

    def search(
        self, texts: Sequence[str], k: int, within: KeyRanges | None = None
    ) -> list[list[tuple[int, float]]]: ...


class IndexRetriever:
    """The k best passages of one index; `index` gives the index as it is when a question comes."""

    def __init__(self, name: str, index: Callable[[], Searchable], store: Store, k: int) -> None:
        self.name = name
        self._index = index
        self._store = store
        self._k = k

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        if not questions:
            return []
        index = self._index()
        return [self._hits(index, question) for question in questions]

    def _hits(self, index: Searchable, question: Question) -> list[Hit]:
        """Hits for the keys found; an index may for a moment hold keys that the store has dropped."""
        within = self._store.keys_within(question.within) if question.within else None
        wanted = self._k
        (scored_keys,) = index.search([question.text], wanted, within)
        passages = self._store.passages_at([key for key, _ in scored_keys])
        while len(passages) < min(self._k, len(scored_keys)) and len(scored_keys) == wanted:
            wanted *= 2
            (scored_keys,) = index.search([question.text], wanted, within)
            passages = self._store.passages_at([key for key, _ in scored_keys])
        hits = [Hit(passages[key], score, {self.name: score}) for key, score in scored_keys if key in passages]
        hits.sort(key=lambda hit: (-hit.score, hit.passage.id))
        return hits[: self._k]
