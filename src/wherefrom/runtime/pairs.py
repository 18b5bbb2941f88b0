"""The network that reads a question and a candidate answer in one sequence, and says whether it answers.

A sentence fits in one sequence; a longer text is read in overlapping windows, of which the best counts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wherefrom.runtime.batches import batches_of
from wherefrom.runtime.weights import Weights

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

_OVERLAP = 32  # tokens that neighbouring windows of a long text share
_LEAST_CANDIDATE = 8  # tokens that a window leaves for the candidate, whatever the question's length


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of a pair that fits the network."""

    pair: int
    tokens: list[int]
    second: int  # where the candidate begins


class PairSession:
    """Scores pairs in small batches of similar length, `threads` batches at a time, one thread each."""

    batch_tokens = 256  # padding included; a small batch stays in the processor's cache

    def __init__(self, weights: Weights, threads: int) -> None:
        self.weights = weights
        self._threads = threads
        self._session: InferenceSession | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def score(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[float]]:
        """For every question the logit that each of its texts answers it: log P(right) - log P(wrong)."""
        pairs = [(question, text) for question, own in zip(questions, texts, strict=True) for text in own]
        windows = [window for number, pair in enumerate(pairs) for window in self._windows(number, *pair)]
        logits = [float("-inf")] * len(pairs)
        batches = batches_of(windows, self.batch_tokens)
        for batch, logits_of_batch in zip(batches, self._pool().map(self._run, batches), strict=True):
            for window, logit in zip(batch, logits_of_batch.tolist(), strict=True):
                logits[window.pair] = max(logits[window.pair], logit)
        rest = iter(logits)
        return [[next(rest) for _ in own] for own in texts]

    def _windows(self, number: int, question: str, text: str) -> Iterator[_Window]:
        settings = self.weights.settings
        most, classify, separate = (int(settings[name]) for name in ("max_tokens", "classify", "separate"))
        question_ids = self.weights.tokenizer.ids(question)[
            : min(int(settings["max_question"]), most - _LEAST_CANDIDATE - 3)
        ]
        candidate = self.weights.tokenizer.ids(text)
        first = [classify, *question_ids, separate]
        room = most - len(first) - 1
        begin = 0
        while True:
            yield _Window(number, [*first, *candidate[begin : begin + room], separate], len(first))
            if begin + room >= len(candidate):
                return
            begin += max(room - _OVERLAP, 1)

    def _run(self, batch: Sequence[_Window]) -> NDArray[numpy.float32]:
        import numpy

        shape = (len(batch), max(len(window.tokens) for window in batch))
        tokens = numpy.full(shape, int(self.weights.settings["padding"]), numpy.int64)
        mask, types = numpy.zeros(shape, bool), numpy.zeros(shape, numpy.int64)
        for row, window in enumerate(batch):
            tokens[row, : len(window.tokens)] = window.tokens
            mask[row, : len(window.tokens)] = True
            types[row, window.second : len(window.tokens)] = 1
        logits: NDArray[numpy.float32] = self._loaded().run(
            ["logit"], {"tokens": tokens, "mask": mask, "types": types}
        )[0]
        return logits

    def _loaded(self) -> InferenceSession:
        with self._lock:
            if self._session is None:
                self._session = self.weights.session(threads=1)
            return self._session

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="pairs")
            return self._workers
