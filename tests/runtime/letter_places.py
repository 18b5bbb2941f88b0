"""Places of texts in letters, and a vocabulary of a few safe words."""

from __future__ import annotations

import numpy

from train.letters import VOCABULARY, letters_tokenizer
from wherefrom.runtime.copying import PASSAGE, CopyPlaces, Text, Vocabulary

PIECES = list(dict.fromkeys(VOCABULARY))
TOKENIZER = letters_tokenizer()


def text(words: str, source: int = PASSAGE, passage: int = 0, start: int = 0, end: int | None = None) -> Text:
    encoded = TOKENIZER.encode(words)
    return Text(source, passage, words, encoded.ids[start:end], encoded.offsets[start:end])


def pieces(places: CopyPlaces, chosen: numpy.ndarray) -> list[str]:
    return [PIECES[token] for token in places.tokens[chosen]]


def vocabulary(safe: str = "the story is . ##s") -> Vocabulary:
    words = numpy.arange(len(PIECES))
    return Vocabulary(
        words,
        numpy.isin(words, [PIECES.index(word) for word in safe.split()]),
        numpy.array([piece.startswith("##") for piece in PIECES]),
        words,
        numpy.array([piece.removeprefix("##").isalpha() for piece in PIECES]),
    )
