"""How nearly the words of a passage mean what those of a question mean: a vector a wordpiece, and numpy; English.

    score(q, p) = sum_i w_i max_j g_j cos(e_i, e_j) / sum_i w_i

over the wordpieces i of the question and j of the passage. Each word of the question looks for the word of the passage
that comes nearest to it, as between contextual vectors in Khattab and Zaharia 2020 (https://arxiv.org/abs/2004.12832,
equation 3); here a wordpiece has one vector e wherever it stands, a weight w as a part of a question, and a share g of
what it is worth to be found. So nothing has to be kept for a passage, and a hundred of them take some milliseconds.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy
from numpy.typing import NDArray

from wherefrom.errors import WherefromError
from wherefrom.origin import file_hash

if TYPE_CHECKING:
    from wherefrom.wordpieces import Wordpieces

FILE = "matcher.npz"
MOST_QUESTION = 40  # wordpieces of a question that are looked for
MOST_PASSAGE = 256  # wordpieces of a passage, its headings included, that are looked at
SCALE = 127.0  # vectors have length 1, and take eight bits a number

_Floats = NDArray[numpy.float32]
_Ints = NDArray[numpy.int64]


class WeightsFolder(Protocol):
    """A folder of weights, as far as it is needed here."""

    @property
    def folder(self) -> Path: ...
    @property
    def tokenizer(self) -> Wordpieces: ...

    def file(self, name: str) -> Path: ...


class MatcherError(WherefromError):
    """The weights cannot be read; the message names the file and the remedy."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class _Tables:
    vectors: NDArray[numpy.int8]  # (wordpieces, width)
    importance: _Floats  # (wordpieces,): w
    worth: _Floats  # (wordpieces,): g


class Matcher:
    """Scores passages beside a question, from about 0 to 1; may be shared between threads."""

    def __init__(self, weights: WeightsFolder) -> None:
        self._weights = weights

    @property
    def folder(self) -> Path:
        """Of the weights."""
        return self._weights.folder

    def is_common(self, word: str) -> bool:
        """Whether a word in small letters is one of the commonest of English."""
        return self._weights.tokenizer.is_whole(word)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in their order; 0 where the question or the text has no words."""
        tokenizer, tables = self._weights.tokenizer, self._tables
        wanted = numpy.array(tokenizer.ids(question)[:MOST_QUESTION], numpy.int64)
        weights = tables.importance[wanted]
        if not texts or not weights.sum() > 0:
            return [0.0] * len(texts)
        pieces = [numpy.array(tokenizer.ids(text)[:MOST_PASSAGE], numpy.int64) for text in texts]
        filled = [place for place, ids in enumerate(pieces) if len(ids)]
        if not filled:
            return [0.0] * len(texts)
        near = self._nearness(wanted, numpy.concatenate([pieces[place] for place in filled]))  # (all pieces, wanted)
        starts = numpy.cumsum([0, *(len(pieces[place]) for place in filled[:-1])])
        best = numpy.maximum.reduceat(near, starts, axis=0)  # (texts, wanted)
        scores = [0.0] * len(texts)
        for place, score in zip(filled, (best @ weights / weights.sum()).tolist(), strict=True):
            scores[place] = score
        return scores

    @property
    def width(self) -> int:
        """Of the vectors."""
        return int(self._tables.vectors.shape[1])

    @cached_property
    def identity(self) -> str:
        """What the vectors are made by: those of other weights cannot be compared with them."""
        return f"{self.folder.name} {file_hash(self._weights.file(FILE))[:16]}"

    def vectors(self, texts: Sequence[str]) -> _Floats:
        """(texts, width): for each text one vector, the sum of w_i e_i over its different wordpieces, of length 1.

        Far weaker than `scores`, but it can be kept and looked for; all 0 for a text without words.
        """
        tables = self._tables
        summed = numpy.zeros((len(texts), self.width), numpy.float32)
        for place, text in enumerate(texts):
            different = numpy.unique(numpy.array(self._weights.tokenizer.ids(text)[:MOST_PASSAGE], numpy.int64))
            summed[place] = tables.importance[different] @ tables.vectors[different].astype(numpy.float32)
        lengths: _Floats = numpy.maximum(numpy.linalg.norm(summed, axis=1, keepdims=True), 1e-9)
        return summed / lengths

    def _nearness(self, wanted: _Ints, pieces: _Ints) -> _Floats:
        """g cos(e, e) of each piece and each wanted one; pieces that stand in many places are compared once."""
        tables = self._tables
        different, places = numpy.unique(pieces, return_inverse=True)
        vectors = tables.vectors[wanted].astype(numpy.float32) / (SCALE * SCALE)
        near = tables.vectors[different].astype(numpy.float32) @ vectors.T * tables.worth[different][:, None]
        spread: _Floats = near[places.ravel()]
        return spread

    @cached_property
    def _tables(self) -> _Tables:
        file = self._weights.file(FILE)
        try:
            with file.open("rb") as opened, numpy.load(opened, allow_pickle=False) as arrays:
                return _Tables(
                    arrays["vectors"], arrays["importance"].astype(numpy.float32), arrays["worth"].astype(numpy.float32)
                )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise MatcherError(f"{file} cannot be read ({error}); install wherefrom again") from error
