"""Text as QASA takes it: small letters and digits alone, and web addresses as one word."""

from __future__ import annotations

import re
import unicodedata

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"  # the 36 that words are spelt with
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_OTHER = re.compile(r"[^a-z0-9]+")


def plain_words(text: str) -> list[str]:
    """The words of a text: addresses become "url", accents go, and what is neither letter nor digit parts words."""
    bare = unicodedata.normalize("NFKD", _ADDRESS.sub(" url ", text).lower())
    unmarked = "".join(character for character in bare if not unicodedata.combining(character))
    return _OTHER.sub(" ", unmarked).split()


def stands_in(words: list[str], text: list[str]) -> bool:
    """Whether the words follow each other somewhere in the text; no words stand nowhere."""
    if not words:
        return False
    length, first = len(words), words[0]
    return any(word == first and text[place : place + length] == words for place, word in enumerate(text))
