"""Questions as people type them: with slips of the keyboard, or as words alone."""

from __future__ import annotations

import random
import re

from wherefrom.text import FUNCTION_WORDS

_WORD = re.compile(r"[A-Za-z]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 5  # letters of a word that slips are made in


def misspelt(text: str, chance: random.Random, share: float = 0.5) -> str:
    """The text with one edit in some of its longer words: a letter left out, put in, changed, or two swapped."""

    def slipped(match: re.Match[str]) -> str:
        word = match[0]
        return edited(word, chance) if len(word) > _SHORTEST and chance.random() < share else word

    return _WORD.sub(slipped, text)


def edited(word: str, chance: random.Random) -> str:
    """The word with one slip inside it."""
    place = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(4)
    if kind == 0:
        return word[:place] + word[place + 1 :]
    if kind == 1:
        return word[:place] + chance.choice(_LETTERS) + word[place:]
    if kind == 2:
        return word[:place] + chance.choice(_LETTERS) + word[place + 1 :]
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def keywords(text: str) -> str:
    """The words of a question that say what it is about, in small letters, without a question mark."""
    words = re.findall(r"[\w'’.-]*\w", text.lower())
    return " ".join(word for word in words if word not in FUNCTION_WORDS) or text
