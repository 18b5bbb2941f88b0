"""Questions are answered with hits: an index finds the keys, the store gives the passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from wherefrom.stages import Store
from wherefrom.types import Hit, Question


class Searchable(Protocol):
    """What is asked of an index here."""

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]: ...


class IndexRetriever:
    """The k best passages of one index; `index` gives the index as it is at the time of asking."""

    def __init__(self, name: str, index: Callable[[], Searchable], store: Store, k: int) -> None:
        self.name = name
        self._index = index
        self._store = store
        self._k = k

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        if not questions:
            return []
        index = self._index()
        texts = [question.text for question in questions]
        return [
            self._hits(index, text, scored_keys)
            for text, scored_keys in zip(texts, index.search(texts, self._k), strict=True)
        ]

    def _hits(self, index: Searchable, text: str, scored_keys: list[tuple[int, float]]) -> list[Hit]:
        """Hits for the keys found; an index may for a moment hold keys that the store has dropped."""
        wanted = self._k
        passages = self._store.passages_at([key for key, _ in scored_keys])
        while len(passages) < min(self._k, len(scored_keys)) and len(scored_keys) == wanted:
            wanted *= 2
            (scored_keys,) = index.search([text], wanted)
            passages = self._store.passages_at([key for key, _ in scored_keys])
        hits = [Hit(passages[key], score, {self.name: score}) for key, score in scored_keys if key in passages]
        hits.sort(key=lambda hit: (-hit.score, hit.passage.id))
        return hits[: self._k]
