"""How much of a question's words a text holds."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Mapping, Sequence

from wherefrom.text import FUNCTION_WORDS, words


class Stems:
    """Content words of a text, cut to their stems; `language` is a Snowball name or "none"."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._threads = threading.local()  # a Snowball stemmer must not be shared between threads

    def __call__(self, text: str) -> list[str]:
        plain_words = (text[start:end].lower().removesuffix("'s").removesuffix("’s") for start, end in words(text))
        content = [word for word in plain_words if word[0].isalnum() and word not in FUNCTION_WORDS]
        if self._language == "none":
            return content
        if not hasattr(self._threads, "stemmer"):
            import Stemmer

            self._threads.stemmer = Stemmer.Stemmer(self._language)
        stems: list[str] = self._threads.stemmer.stemWords(content)
        return stems


def rarity(stems: Collection[str], texts: Sequence[Collection[str]]) -> dict[str, float]:
    """A weight for each stem, larger the fewer of the texts hold it: log((n + 1) / (df + 1/2)).

    A word that none of the texts holds weighs most: an answer that never mentions it is suspect.
    """
    return {
        stem: math.log((len(texts) + 1) / (sum(stem in text for text in texts) + 0.5)) for stem in dict.fromkeys(stems)
    }


def coverage(weights: Mapping[str, float], text: Collection[str]) -> float:
    """The weighted share of the question's stems that stand in the text, from 0 to 1; 0 for no stems."""
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in text) / total if total else 0.0
