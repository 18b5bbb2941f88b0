"""Passages for a summary: what a retriever finds, and where the question names nothing, pieces of all documents.

"Summarize the meeting." shares no word with what was said there. Then, and where few passages share one, the documents
that were named give passages in even steps from their beginnings to their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wherefrom.stages import KeyRanges, Retriever, Store
from wherefrom.types import Filter, Hit, Question


class SummaryRetriever:
    """As many passages as `k`; those that no word of the question led to have the score 0, and stand behind."""

    def __init__(
        self, retriever: Retriever, store: Store, k: int, is_general: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._retriever = retriever
        self._store = store
        self._k = k
        self._is_general = is_general

    def retrieve(self, questions: Sequence[Question]) -> list[list[Hit]]:
        retrieved = self._retriever.retrieve(questions)
        return [self._filled(question, hits) for question, hits in zip(questions, retrieved, strict=True)]

    def _filled(self, question: Question, hits: list[Hit]) -> list[Hit]:
        general = self._is_general(question.text)
        if not question.text.strip() or not (general or question.within):
            return hits
        known = {} if general else {hit.passage.id: hit for hit in hits}
        if len(known) >= self._k:
            return hits
        keys = _spread(self._store.keys_within(question.within or Filter()), self._k)
        passages = self._store.passages_at(keys)
        more = [Hit(passages[key], 0.0, {"retrieve": 0.0}) for key in keys if key in passages]
        fresh = [hit for hit in more if hit.passage.id not in known][: self._k - len(known)]
        return [*known.values(), *sorted(fresh, key=lambda hit: hit.passage.id)]


def _spread(keys: KeyRanges, count: int) -> list[int]:
    """So many of the keys, in even steps."""
    every = len(keys)
    if every <= count:
        return [key for first, stop in zip(keys.firsts, keys.stops, strict=True) for key in range(first, stop)]
    wanted = [place * every // count for place in range(count)]
    spread: list[int] = []
    before = 0
    for first, stop in zip(keys.firsts, keys.stops, strict=True):
        spread += [first + place - before for place in wanted if before <= place < before + stop - first]
        before += stop - first
    return spread
