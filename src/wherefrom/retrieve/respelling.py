"""Misspelt words of a question become the words of the library that they were meant for.

A word is taken for a slip only where hardly any passage holds it and it is no common English word; then it becomes
the word one slip away, or two in long words, that most passages hold. Nothing is looked up but the index's own words,
so that the names and terms of the documents are known as well as English. What was typed is kept (`Question.typed`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from wherefrom.features.slips import one_slip_away, slips_between
from wherefrom.stages import Store
from wherefrom.text import FUNCTION_WORDS, words
from wherefrom.types import Question

_SHORTEST = 5  # letters: shorter words are one slip away from too many others
_SHORTEST_NAME = 6  # of a word with a capital letter inside a question
_TWO_SLIPS = 8  # letters from which two slips are thought possible
_RARE = 20  # passages: a word that more of them hold is meant
_COMMONER = 200  # times as many passages hold what a word that is there was meant for; else both are words
_COMMON_BONUS = 2.0  # common English words are what slips are made in
_TRIED = 5  # candidates that are looked for in passages
_NEIGHBOURS = 2000  # words with the same two first letters that are compared for two slips
_PLAIN = re.compile(r"(?<![\w/\\.@`$-])[A-Za-z]+(?![\w/\\@`]|\.\w)")  # no part of a path, an address or a name in code


@runtime_checkable
class KnownWords(Protocol):
    """The part of an index that knows words."""

    def term(self, word: str) -> str | None:
        """What a word is indexed as; None where that is not one term."""
        ...

    def frequency(self, term: str) -> int:
        """How many passages hold a term."""
        ...

    def beginning(self, start: str, most: int) -> list[tuple[str, int]]:
        """The commonest terms that begin so, with how many passages hold each."""
        ...

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]: ...


class Respelling:
    """Calls give the question as the library would spell it; `is_common` knows the common words of English."""

    def __init__(self, index: Callable[[], KnownWords], store: Store, is_common: Callable[[str], bool]) -> None:
        self._index = index
        self._store = store
        self._is_common = is_common

    def __call__(self, question: Question) -> Question:
        index = self._index()
        parts: list[str] = []
        end = 0
        for match in _PLAIN.finditer(question.text):
            word = match[0]
            meant = self._meant(index, word, inside=match.start() > 0) if _may_be_a_slip(word) else None
            if meant is not None:
                parts += [question.text[end : match.start()], meant.capitalize() if word[0].isupper() else meant]
                end = match.end()
        if not parts:
            return question
        text = "".join([*parts, question.text[end:]])
        return replace(question, text=text, typed=question.typed or question.text)

    def _meant(self, index: KnownWords, word: str, inside: bool) -> str | None:
        """The word that was meant, in small letters; None where it is this one, or nobody can tell."""
        name = inside and word[0].isupper()
        if name and len(word) < _SHORTEST_NAME:
            return None
        word = word.lower()
        term = index.term(word)
        if term is None or self._is_common(word):
            return None
        passages = index.frequency(term)
        if passages > _RARE or (passages and name):
            return None
        meant = self._one_slip(index, word, term, passages)
        if meant is None and not passages and len(word) >= _TWO_SLIPS:
            meant = self._two_slips(index, word, term)
        return meant

    def _one_slip(self, index: KnownWords, word: str, term: str, passages: int) -> str | None:
        scored: list[tuple[float, str]] = []
        for near, likely in one_slip_away(word).items():
            common = self._is_common(near)
            if passages and not common:
                continue
            held = index.term(near)
            if held is None or held == term:
                continue
            frequency = index.frequency(held)
            if frequency > passages * _COMMONER:
                scored.append((math.log(frequency) + likely + (_COMMON_BONUS if common else 0.0), near))
        best = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:_TRIED]
        return next((near for _, near in best if self._is_common(near) or self._spelt(index, near) == near), None)

    def _two_slips(self, index: KnownWords, word: str, term: str) -> str | None:
        """Between what words are indexed as, without their endings."""
        near = [
            (frequency, held)
            for held, frequency in index.beginning(term[:2], _NEIGHBOURS)
            if slips_between(term, held, 2) <= 2
        ]
        for _, held in sorted(near, key=lambda pair: (-pair[0], pair[1]))[:_TRIED]:
            spelt = self._spelt(index, held, word)
            if spelt is not None and slips_between(word, spelt, 2) <= 2:
                return spelt
        return None

    def _spelt(self, index: KnownWords, term: str, like: str = "") -> str | None:
        """How passages spell a term: of several ways the one nearest to `like`, or to the term itself."""
        (hits,) = index.search([term], _TRIED)
        wanted = index.term(term)
        spelt = {
            word
            for passage in self._store.passages_at([key for key, _ in hits]).values()
            for word in (passage.text[start:end].lower() for start, end in words(passage.text))
            if word.isascii() and word.isalpha() and index.term(word) in (wanted, term)
        }
        longest = len(like or term) + 4
        return min(spelt, key=lambda word: (slips_between(word, like or term, longest), word), default=None)


def _may_be_a_slip(word: str) -> bool:
    """Long enough, and neither an abbreviation, a name in code nor a function word."""
    return len(word) >= _SHORTEST and word[1:].islower() and word.lower() not in FUNCTION_WORDS
