"""Vectors that anybody can work out: a number a word, so that texts without a common word have a cosine of 0."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from wherefrom.runtime.embedder import in_eight_bits
from wherefrom.text import separated, words

WIDTH = 64
_KNOWN = (
    "the of and lighthouse harbour was built granite roses grow in garden behind a more nothing note happened "
    "that year 灯 台 は 高 い 建 物 で す ships vapeurs dampfschiffe leave at dawn quokka red fox owl brown grey"
).split()


class BagOfWords:
    """Stands where an `TextEmbedder` would."""

    width = WIDTH
    identity = "bag of words"

    def vectors(self, texts: Sequence[str]) -> NDArray[numpy.int8]:
        found = numpy.zeros((len(texts), WIDTH), numpy.float32)
        for row, text in enumerate(texts):
            spaced = separated(text.lower())
            for start, end in words(spaced):
                if spaced[start:end] in _KNOWN:
                    found[row, _KNOWN.index(spaced[start:end])] += 1
        return in_eight_bits(found)
