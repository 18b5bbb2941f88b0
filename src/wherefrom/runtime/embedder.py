"""Texts become vectors of eight bits, by which passages are vectors that share no words with a question.

The weights say how: `kind = "words"` adds up a vector for each wordpiece, with numpy, thousands of passages a second;
`kind = "network"` reads the text with a transformer of a few layers and takes the mean of what it says of each piece.
Either way the vector is brought to length 1, then to whole numbers from -127 to 127, so that the product of two of them
is the same on every machine.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wherefrom.runtime.weights import PROVENANCE, Weights, WeightsError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

FILE = "vectors.npz"  # of a kind "words"
STEPS = 254.0  # in a length of 1: at most three numbers of such a vector are above a half, and those are cut
_BATCH_TOKENS = 2048  # of a pass of the network, padding included
_TOGETHER = 256  # texts that are sorted by length, so that little of a pass is padding


@dataclass(frozen=True, slots=True)
class _Words:
    vectors: NDArray[numpy.int8]  # (wordpieces, width)
    scales: NDArray[numpy.float32]  # (wordpieces, 1)


class TextEmbedder:
    """Gives texts their vectors; may be shared between threads."""

    def __init__(self, weights: Weights, threads: int) -> None:
        self._weights = weights
        self._threads = threads
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        """Of the weights."""
        return self._weights.folder

    @cached_property
    def width(self) -> int:
        return int(self._weights.settings["width"])

    @cached_property
    def identity(self) -> str:
        """What the vectors were made by: those of other weights cannot be compared with them."""
        from wherefrom.origin import file_hash

        provenance = self._weights.folder / PROVENANCE
        named = provenance if provenance.exists() else self._weights.file("settings.toml")
        return f"{self._weights.folder.name} {file_hash(named)[:16]}"

    def vectors(self, texts: Sequence[str]) -> NDArray[numpy.int8]:
        """(texts, width); all 0 for a text without words. The texts are read together, for speed."""
        import numpy

        kind = self._weights.settings["kind"]
        pieces = [self._pieces(text) for text in texts]
        vectors = numpy.zeros((len(texts), self.width), numpy.float32)
        filled = [place for place, ids in enumerate(pieces) if ids]
        if filled:
            within = [pieces[place] for place in filled]
            vectors[filled] = self._summed(within) if kind == "words" else self._read(within)
        return in_eight_bits(vectors)

    def _pieces(self, text: str) -> list[int]:
        return self._weights.tokenizer.ids(text)[: int(self._weights.settings["max_tokens"])]

    def _summed(self, pieces: Sequence[list[int]]) -> NDArray[numpy.float32]:
        """The sum of the vectors of a text's wordpieces, each counted once."""
        import numpy

        words = self._words
        different = [numpy.unique(ids) for ids in pieces]
        every = numpy.concatenate(different)
        rows = words.vectors[every].astype(numpy.float32) * words.scales[every]
        starts = numpy.cumsum([0, *(len(ids) for ids in different[:-1])])
        summed: NDArray[numpy.float32] = numpy.add.reduceat(rows, starts, axis=0)
        return summed

    def _read(self, pieces: Sequence[list[int]]) -> NDArray[numpy.float32]:
        """What the network makes of them, those of like length together."""
        import numpy

        classify, separate = (int(self._weights.settings[name]) for name in ("classify", "separate"))
        vectors = numpy.zeros((len(pieces), self.width), numpy.float32)
        for first in range(0, len(pieces), _TOGETHER):
            places = sorted(range(first, min(first + _TOGETHER, len(pieces))), key=lambda place: -len(pieces[place]))
            while places:
                longest = len(pieces[places[0]]) + 2
                batch, places = _split(places, max(1, _BATCH_TOKENS // longest))
                tokens = numpy.zeros((len(batch), longest), numpy.int64)
                mask = numpy.zeros((len(batch), longest), numpy.bool_)
                for row, place in enumerate(batch):
                    whole = [classify, *pieces[place], separate]
                    tokens[row, : len(whole)] = whole
                    mask[row, : len(whole)] = True
                (vectors[batch],) = self._session.run(None, {"tokens": tokens, "mask": mask})
        return vectors

    @property
    def _session(self) -> InferenceSession:
        with self._lock:
            return self._opened

    @cached_property
    def _opened(self) -> InferenceSession:
        return self._weights.session(self._threads)

    @cached_property
    def _words(self) -> _Words:
        import numpy

        file = self._weights.file(FILE)
        try:
            with file.open("rb") as opened, numpy.load(opened, allow_pickle=False) as arrays:
                return _Words(arrays["vectors"], arrays["scales"].astype(numpy.float32).reshape(-1, 1))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise WeightsError(f"{file} cannot be read ({error}); install wherefrom again") from error


def in_eight_bits(vectors: NDArray[numpy.float32]) -> NDArray[numpy.int8]:
    """Of length 1, in whole numbers; a row of zeros stays one."""
    import numpy

    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / numpy.maximum(lengths, 1e-9)
    whole: NDArray[numpy.int8] = numpy.clip(numpy.rint(unit * STEPS), -127, 127).astype(numpy.int8)
    return whole


def _split(places: list[int], size: int) -> tuple[list[int], list[int]]:
    return places[:size], places[size:]
