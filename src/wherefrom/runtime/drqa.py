"""DrQA's network over questions and passages: a logit for every token to be the start or the end of the answer."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wherefrom.runtime.weights import Weights, WeightsError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

VECTORS = "vectors.npz"
WORDS = "words.txt"
_MOST_WORDS = 50_000  # remembered with their vectors


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a passage: their words in small letters, and the features of the passage's tokens."""

    question: Sequence[str]
    passage: Sequence[str]
    features: NDArray[numpy.float32]  # (tokens, features)


@dataclass(frozen=True, slots=True)
class SpanLogits:
    """What the network says of one pair."""

    start: NDArray[numpy.float32]  # (tokens,)
    end: NDArray[numpy.float32]


class DrQASession:
    """Reads pairs one by one, `threads` at a time: a pair's numbers never depend on what is read beside it."""

    def __init__(self, weights: Weights, threads: int) -> None:
        self.weights = weights
        self._threads = threads
        self._session: InferenceSession | None = None
        self._vectors: WordVectors | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def read(self, pairs: Sequence[Pair]) -> list[SpanLogits]:
        """The logits of each pair, in their order; a passage or a question without words has none."""
        return list(self._pool().map(self._read_one, pairs)) if pairs else []

    def _read_one(self, pair: Pair) -> SpanLogits:
        import numpy

        if not pair.question or not pair.passage:
            nothing = numpy.full(len(pair.passage), -numpy.inf, numpy.float32)
            return SpanLogits(nothing, nothing)
        session, vectors = self._loaded()
        inputs = {  # by the names of the graph: `asked` and `told` are lengths
            "question": vectors.of(pair.question)[None],
            "asked": numpy.array([len(pair.question)], numpy.int32),
            "passage": vectors.of(pair.passage)[None],
            "told": numpy.array([len(pair.passage)], numpy.int32),
            "features": pair.features[None],
        }
        start, end = session.run(["start", "end"], inputs)
        return SpanLogits(start[0], end[0])

    def _loaded(self) -> tuple[InferenceSession, WordVectors]:
        with self._lock:
            if self._session is None or self._vectors is None:
                self._vectors = WordVectors(self.weights)
                self._session = self.weights.session(threads=1)
            return self._session, self._vectors

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="drqa")
            return self._workers


class WordVectors:
    """Vectors of words: learnt ones, or GloVe's beside the mean over the word's pieces; any word has some pieces.

    Kept in 8 bits with a scale a row; what has been put together is remembered.
    """

    def __init__(self, weights: Weights) -> None:
        import numpy

        self._tokenizer = weights.tokenizer
        self._numbers = {
            word: number for number, word in enumerate(weights.file(WORDS).read_text(encoding="utf-8").split("\n"))
        }
        file = weights.file(VECTORS)
        try:
            with numpy.load(file, allow_pickle=False) as arrays:
                self._arrays = dict(arrays)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise WeightsError(f"{file} cannot be read ({error}); install wherefrom again") from error
        self._width = int(self._arrays["tuned"].shape[1])
        self._known: dict[str, NDArray[numpy.float32]] = {}

    def of(self, words: Sequence[str]) -> NDArray[numpy.float32]:
        """(words, width)."""
        import numpy

        if len(self._known) > _MOST_WORDS:
            self._known = {}  # threads that still look something up keep the old one
        known = self._known
        vectors = numpy.empty((len(words), self._width), numpy.float32)
        for place, word in enumerate(words):
            vector = known.get(word)
            if vector is None:
                vector = known[word] = self._vector(word)
            vectors[place] = vector
        return vectors

    def _vector(self, word: str) -> NDArray[numpy.float32]:
        import numpy

        arrays, number = self._arrays, self._numbers.get(word, 0)
        if 0 < number < len(arrays["tuned"]):
            learnt: NDArray[numpy.float32] = arrays["tuned"][number].astype(numpy.float32)
            return learnt
        parts = []
        if "glove" in arrays:
            parts.append(arrays["glove"][number] * arrays["glove_scale"][number].astype(numpy.float32))
        if "pieces" in arrays:
            ids = self._tokenizer.ids(word)
            rows = arrays["pieces"][ids] * arrays["pieces_scale"][ids].astype(numpy.float32)[:, None]
            parts.append(rows.sum(0) / max(len(ids), 1))
        return numpy.concatenate(parts).astype(numpy.float32)
