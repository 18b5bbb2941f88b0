"""One pass of the reader network over questions and passages: relevance, spans and no-answer at once.

Ranking, reading and judging share a session, and what it has read it remembers for a while: the pass is paid once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wherefrom.runtime.weights import Weights
from wherefrom.types import Passage

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

_REMEMBERED = 1024  # pairs, about 4 kB each; always at least those of the last call, which the next stages need
MOST_TITLE = 32  # tokens of a passage's headings
_LEAST_PASSAGE = 32  # tokens that a window leaves for the passage, whatever the question's length

_Key = tuple[str, str, str]  # question, title, text


def heading(passage: Passage) -> str:
    """What stands above a passage: the title of its document, and of its section where that says more."""
    if not passage.section or passage.section in passage.title:
        return passage.title
    return f"{passage.title}: {passage.section}" if passage.title else passage.section


@dataclass(frozen=True, slots=True)
class PassageReading:
    """What the network says of one question and one passage.

    `spans[t]` are the characters of the passage's token t; `start` and `end` its logits. `relevance`, `no_answer` and
    `truth` are those of the most relevant window. `truth` is above 0 where the passage says yes; None in a network
    that was not trained for yes and no.
    """

    relevance: float
    no_answer: float
    spans: NDArray[numpy.int32]  # (tokens, 2)
    start: NDArray[numpy.float32]
    end: NDArray[numpy.float32]
    truth: float | None = None


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of a pair that fits the network."""

    pair: int
    tokens: list[int]
    first: int  # where the passage begins among the tokens
    begin: int  # which of the passage's tokens that is
    count: int


class ReaderSession:
    """Reads pairs in small batches of similar length; long passages in overlapping windows.

    `threads` batches are read at a time, one thread each. Threads that share a batch instead wait for each other at
    every operator, and several questions at once would each bring their own: here all wait in one queue.
    """

    batch_tokens = 256  # padding included; a small batch stays in the processor's cache, and little of it is padding

    def __init__(self, weights: Weights, threads: int) -> None:
        self.weights = weights
        self._threads = threads
        self._session: InferenceSession | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._remembered: OrderedDict[_Key, PassageReading] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[PassageReading]]:
        """For every question a reading of each of its passages, in their order."""
        keys = [
            [(question, heading(passage), passage.text) for passage in question_passages]
            for question, question_passages in zip(questions, passages, strict=True)
        ]
        wanted = dict.fromkeys(key for row in keys for key in row)
        known = self._recalled(wanted)
        missing = [key for key in wanted if key not in known]
        fresh = dict(zip(missing, self._pass(missing), strict=True))
        self._remember(fresh)
        known |= fresh
        return [[known[key] for key in row] for row in keys]

    def _recalled(self, keys: Iterable[_Key]) -> dict[_Key, PassageReading]:
        with self._lock:
            known = {key: self._remembered[key] for key in keys if key in self._remembered}
            for key in known:
                self._remembered.move_to_end(key)
        return known

    def _remember(self, readings: Mapping[_Key, PassageReading]) -> None:
        with self._lock:
            self._remembered.update(readings)
            while len(self._remembered) > max(_REMEMBERED, len(readings)):
                self._remembered.popitem(last=False)

    def _pass(self, pairs: Sequence[_Key]) -> list[PassageReading]:
        import numpy

        if not pairs:
            return []
        offsets: list[list[tuple[int, int]]] = []
        windows: list[_Window] = []
        for number, pair in enumerate(pairs):
            offsets.append(self._windows(number, *pair, windows))
        start = [numpy.full(len(spans), -numpy.inf, numpy.float32) for spans in offsets]
        end = [numpy.full(len(spans), -numpy.inf, numpy.float32) for spans in offsets]
        relevance = numpy.full(len(pairs), -numpy.inf, numpy.float32)
        no_answer = numpy.zeros(len(pairs), numpy.float32)
        truth: list[float | None] = [None] * len(pairs)
        batches = _batches(windows, self.batch_tokens)
        for batch, outputs in zip(batches, self._pool().map(self._run, batches), strict=True):
            for row, window in enumerate(batch):
                here = slice(window.begin, window.begin + window.count)
                there = slice(window.first, window.first + window.count)
                numpy.maximum(start[window.pair][here], outputs["start"][row, there], out=start[window.pair][here])
                numpy.maximum(end[window.pair][here], outputs["end"][row, there], out=end[window.pair][here])
                if outputs["relevance"][row] > relevance[window.pair]:
                    relevance[window.pair] = outputs["relevance"][row]
                    no_answer[window.pair] = outputs["no_answer"][row]
                    truth[window.pair] = float(outputs["truth"][row]) if "truth" in outputs else None
        return [
            PassageReading(
                float(relevance[number]),
                float(no_answer[number]),
                numpy.array(spans, numpy.int32).reshape(
                    -1, 2
                ),  # pairs of Python numbers would take twenty times as much
                start[number],
                end[number],
                truth[number],
            )
            for number, spans in enumerate(offsets)
        ]

    def _windows(
        self, number: int, question: str, title: str, text: str, windows: list[_Window]
    ) -> list[tuple[int, int]]:
        """Cut a pair into windows; returns the characters of the passage's tokens."""
        tokenizer, settings = self.weights.tokenizer, self.weights.settings
        longest = int(settings["max_tokens"])
        classify, separate = int(settings["classify"]), int(settings["separate"])
        question_ids = tokenizer.ids(question)
        question_ids = question_ids[: min(int(settings["max_question"]), longest - _LEAST_PASSAGE - MOST_TITLE - 4)]
        title_ids = tokenizer.ids(title)[:MOST_TITLE] if title else []
        head = [classify, *question_ids, separate, *title_ids, *([separate] if title_ids else [])]
        passage = tokenizer.encode(text)
        room = longest - len(head) - 1
        begin = 0
        while True:
            piece = passage.ids[begin : begin + room]
            windows.append(_Window(number, [*head, *piece, separate], len(head), begin, len(piece)))
            if begin + room >= len(passage.ids):
                break
            begin += max(room - int(settings["window_overlap"]), 1)
        return passage.offsets

    def _run(self, batch: Sequence[_Window]) -> dict[str, NDArray[numpy.float32]]:
        session = self._loaded()
        inputs = self._inputs(batch)
        names = [output.name for output in session.get_outputs()]
        outputs = session.run(names, {name: inputs[name] for name in (i.name for i in session.get_inputs())})
        return dict(zip(names, outputs, strict=True))

    def _inputs(self, batch: Sequence[_Window]) -> dict[str, NDArray[numpy.generic]]:
        """What the network is given, padded on the right: each (windows, length)."""
        import numpy

        length = max(len(window.tokens) for window in batch)
        tokens = numpy.full((len(batch), length), int(self.weights.settings["padding"]), numpy.int64)
        mask = numpy.zeros((len(batch), length), bool)
        passage = numpy.zeros((len(batch), length), bool)
        types = numpy.zeros((len(batch), length), numpy.int64)
        question_end = [window.tokens.index(int(self.weights.settings["separate"])) for window in batch]
        for row, window in enumerate(batch):
            tokens[row, : len(window.tokens)] = window.tokens
            mask[row, : len(window.tokens)] = True
            passage[row, window.first : window.first + window.count] = True
            types[row, question_end[row] + 1 : len(window.tokens)] = 1
        return {"tokens": tokens, "mask": mask, "passage": passage, "types": types}

    def _loaded(self) -> InferenceSession:
        with self._lock:
            if self._session is None:
                self._session = self.weights.session(threads=1)
            return self._session

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="reader")
            return self._workers


def _batches(windows: Sequence[_Window], most: int) -> list[list[_Window]]:
    """Windows of similar length together, longest first, so that little is padded."""
    batches: list[list[_Window]] = []
    for window in sorted(windows, key=lambda window: -len(window.tokens)):
        if batches and (len(batches[-1]) + 1) * len(batches[-1][0].tokens) <= most:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches
