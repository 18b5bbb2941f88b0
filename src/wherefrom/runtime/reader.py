"""One pass of the reader network over questions and passages: relevance, spans and no-answer at once.

Ranking, reading and judging share a session, and what it has read it remembers for a while: the pass is paid once.

A network may come in two parts (`wherefrom train skim`). Its first layers then skim all passages of a question, and the
others read those that look most relevant after that: the rest cost half.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wherefrom.runtime.batches import batches_of
from wherefrom.runtime.weights import Weights
from wherefrom.types import Passage

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

_REMEMBERED = 1024  # pairs, about 4 kB each; always at least those of the last call, which the next stages need
MOST_TITLE = 32  # tokens of a passage's headings
_LEAST_PASSAGE = 32  # tokens that a window leaves for the passage, whatever the question's length
_TOGETHER = 96  # pairs whose skimmed states are held at once: about 25 MB
_BEHIND = 1e-3  # by which a skimmed passage's relevance stays below that of every one that was read

MODEL = "model.onnx"  # all layers or, where FIRST lies beside it, those that come after
FIRST = "first.onnx"
SKIM = "skim."  # how all names in FIRST begin that belong to its estimate
STATES, ESTIMATE = "states", "estimate"  # what the first layers hand on, and how relevant the passage looks to them

_Key = tuple[str, str, str]  # question, title, text
_Row = tuple[str, frozenset[_Key]]  # a question and all its pairs
_WindowOutput = Mapping[str, "NDArray[numpy.float32]"]  # of one window, by the name of the output


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
    that was not trained for yes and no. A passage that was only skimmed has no spans, and a relevance below that of
    every one that was read.
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

    number: int  # among all windows of a pass
    pair: int
    tokens: list[int]
    first: int  # where the passage begins among the tokens
    begin: int  # which of the passage's tokens that is
    count: int


class ReaderSession:
    """Reads pairs in small batches of similar length; long passages in overlapping windows.

    `threads` batches are read at a time, one thread each. Threads that share a batch instead wait for each other at
    every operator, and several questions at once would each bring their own: here all wait in one queue. `skim=False`
    reads all passages with all layers, whatever the weights could do.
    """

    batch_tokens = 256  # padding included; a small batch stays in the processor's cache, and little of it is padding

    def __init__(self, weights: Weights, threads: int, skim: bool = True) -> None:
        self.weights = weights
        self._threads = threads
        self._skim = skim
        self._sessions: dict[str, InferenceSession] = {}
        self._workers: ThreadPoolExecutor | None = None
        self._remembered: OrderedDict[_Row, Mapping[_Key, PassageReading]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[PassageReading]]:
        """For every question a reading of each of its passages, in their order."""
        keys = [
            [(question, heading(passage), passage.text) for passage in question_passages]
            for question, question_passages in zip(questions, passages, strict=True)
        ]
        rows = [(question, frozenset(own)) for question, own in zip(questions, keys, strict=True)]
        known = {row: own for row in dict.fromkeys(rows) if (own := self._recalled(row)) is not None}
        missing = {row: dict.fromkeys(own) for row, own in zip(rows, keys, strict=True) if row not in known}
        fresh = dict(zip(missing, self._pass([list(own) for own in missing.values()]), strict=True))
        self._remember(fresh)
        known |= fresh
        return [[known[row][key] for key in own] for row, own in zip(rows, keys, strict=True)]

    def inputs_of(self, question: str, passages: Sequence[Passage]) -> Iterator[dict[str, NDArray[numpy.generic]]]:
        """What the network is given for each passage: its first window alone."""
        for passage in passages:
            windows: list[_Window] = []
            self._windows(0, question, heading(passage), passage.text, windows)
            yield self._inputs(windows[:1], {})

    def _recalled(self, row: _Row) -> Mapping[_Key, PassageReading] | None:
        """What was read of these passages together: of them alone or, where a ranker kept the best, of more."""
        question, keys = row
        with self._lock:
            if row not in self._remembered:
                wider = (other for other in reversed(self._remembered) if other[0] == question and other[1] > keys)
                row = next(wider, row)
            if row in self._remembered:
                self._remembered.move_to_end(row)
            return self._remembered.get(row)

    def _remember(self, readings: Mapping[_Row, Mapping[_Key, PassageReading]]) -> None:
        with self._lock:
            self._remembered.update(readings)
            kept, least = sum(map(len, self._remembered.values())), sum(map(len, readings.values()))
            while kept > max(_REMEMBERED, least):
                kept -= len(self._remembered.popitem(last=False)[1])

    def _pass(self, rows: Sequence[Sequence[_Key]]) -> list[dict[_Key, PassageReading]]:
        """Readings of the pairs of each row, which compete with each other where they are skimmed first."""
        return [readings for few in _together(rows) for readings in self._pass_few(few)]

    def _pass_few(self, rows: Sequence[Sequence[_Key]]) -> list[dict[_Key, PassageReading]]:
        pairs = {key: number for number, key in enumerate(dict.fromkeys(key for row in rows for key in row))}
        windows: list[_Window] = []
        spans = [self._windows(number, *pair, windows) for pair, number in pairs.items()]
        if not self._in_parts():
            read = _joined(spans, windows, self._outputs(windows, MODEL))
            return [{key: read[pairs[key]] for key in row} for row in rows]
        skimmed = self._outputs(windows, FIRST)
        estimates = _estimates(windows, skimmed)
        tokens = Counter[int]()
        for window in windows:
            tokens[window.pair] += len(window.tokens)
        chosen = [self._promising([pairs[key] for key in row], estimates, tokens) for row in rows]
        wanted = frozenset(number for few in chosen for number in few)
        deep = [window for window in windows if window.pair in wanted]
        read = _joined(spans, deep, self._outputs(deep, MODEL, skimmed))
        return [_with_skimmed(row, pairs, read, few, estimates) for row, few in zip(rows, chosen, strict=True)]

    def _in_parts(self) -> bool:
        return (self.weights.folder / FIRST).exists()

    def _promising(
        self, pairs: Sequence[int], estimates: Mapping[int, float], tokens: Mapping[int, int]
    ) -> frozenset[int]:
        """Those of a question's pairs that all layers read: of sentences, which cost little, every one."""
        rule = self.weights.settings["skim"]
        if not self._skim or sum(tokens[pair] for pair in pairs) < int(rule["tokens"]) * len(pairs):
            return frozenset(pairs)
        most = max(int(rule["least"]), math.ceil(float(rule["share"]) * len(pairs)))
        return frozenset(sorted(pairs, key=lambda pair: -estimates[pair])[:most])

    def _outputs(
        self, windows: Sequence[_Window], part: str, skimmed: Mapping[int, _WindowOutput] | None = None
    ) -> dict[int, _WindowOutput]:
        """What a part of the network says of each window, by the window's number."""
        batches = batches_of(windows, self.batch_tokens)
        passes = self._pool().map(lambda batch: self._run(batch, part, skimmed or {}), batches)
        return {
            window.number: {name: values[row] for name, values in outputs.items()}
            for batch, outputs in zip(batches, passes, strict=True)
            for row, window in enumerate(batch)
        }

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
            windows.append(_Window(len(windows), number, [*head, *piece, separate], len(head), begin, len(piece)))
            if begin + room >= len(passage.ids):
                break
            begin += max(room - int(settings["window_overlap"]), 1)
        return passage.offsets

    def _run(
        self, batch: Sequence[_Window], part: str, skimmed: Mapping[int, _WindowOutput]
    ) -> dict[str, NDArray[numpy.float32]]:
        session = self._loaded(part)
        inputs = self._inputs(batch, skimmed)
        names = [output.name for output in session.get_outputs()]
        outputs = session.run(names, {name: inputs[name] for name in (i.name for i in session.get_inputs())})
        return dict(zip(names, outputs, strict=True))

    def _inputs(
        self, batch: Sequence[_Window], skimmed: Mapping[int, _WindowOutput]
    ) -> dict[str, NDArray[numpy.generic]]:
        """What the network is given, padded on the right: each (windows, length), states (windows, length, width)."""
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
        inputs: dict[str, NDArray[numpy.generic]] = {"tokens": tokens, "mask": mask, "passage": passage, "types": types}
        if skimmed:
            width = skimmed[batch[0].number][STATES].shape[-1]
            states = numpy.zeros((len(batch), length, width), numpy.float32)
            for row, window in enumerate(batch):
                states[row, : len(window.tokens)] = skimmed[window.number][STATES][: len(window.tokens)]
            inputs[STATES] = states
        return inputs

    def _loaded(self, part: str) -> InferenceSession:
        with self._lock:
            if part not in self._sessions:
                self._sessions[part] = self.weights.session(threads=1, name=part)
            return self._sessions[part]

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="reader")
            return self._workers


def _together(rows: Sequence[Sequence[_Key]]) -> Iterator[list[Sequence[_Key]]]:
    """As many rows as a pass may have, and one at least."""
    few: list[Sequence[_Key]] = []
    for row in rows:
        if few and sum(map(len, few)) + len(row) > _TOGETHER:
            yield few
            few = []
        few.append(row)
    if few:
        yield few


def _joined(
    spans: Sequence[list[tuple[int, int]]], windows: Sequence[_Window], outputs: Mapping[int, _WindowOutput]
) -> dict[int, PassageReading]:
    """Windows of a pair become one reading; a pair without windows here has none."""
    import numpy

    of_pairs: dict[int, list[_Window]] = {}
    for window in windows:
        of_pairs.setdefault(window.pair, []).append(window)
    readings: dict[int, PassageReading] = {}
    for pair, own in of_pairs.items():
        start = numpy.full(len(spans[pair]), -numpy.inf, numpy.float32)
        end = numpy.full(len(spans[pair]), -numpy.inf, numpy.float32)
        for window in own:
            here = slice(window.begin, window.begin + window.count)
            there = slice(window.first, window.first + window.count)
            numpy.maximum(start[here], outputs[window.number]["start"][there], out=start[here])
            numpy.maximum(end[here], outputs[window.number]["end"][there], out=end[here])
        leading = max((outputs[window.number] for window in own), key=lambda each: float(each["relevance"]))
        readings[pair] = PassageReading(
            float(leading["relevance"]),
            float(leading["no_answer"]),
            numpy.array(spans[pair], numpy.int32).reshape(-1, 2),  # pairs of Python numbers take twenty times as much
            start,
            end,
            float(leading["truth"]) if "truth" in leading else None,
        )
    return readings


def _estimates(windows: Sequence[_Window], skimmed: Mapping[int, _WindowOutput]) -> dict[int, float]:
    """How relevant each pair looks to the first layers: that of its best window."""
    estimates: dict[int, float] = {}
    for window in windows:
        estimate = float(skimmed[window.number][ESTIMATE])
        estimates[window.pair] = max(estimates.get(window.pair, estimate), estimate)
    return estimates


def _with_skimmed(
    row: Sequence[_Key],
    pairs: Mapping[_Key, int],
    read: Mapping[int, PassageReading],
    chosen: Collection[int],
    estimates: Mapping[int, float],
) -> dict[_Key, PassageReading]:
    """A question's readings: those of all layers, and behind them, in the order of the estimates, what was skimmed."""
    import numpy

    lowest = min(read[pair].relevance for pair in chosen) if chosen else 0.0
    readings = {key: read[pairs[key]] for key in row if pairs[key] in chosen}
    behind = sorted((key for key in row if key not in readings), key=lambda key: -estimates[pairs[key]])
    nothing = numpy.zeros(0, numpy.float32)
    for place, key in enumerate(behind, 1):
        relevance = min(estimates[pairs[key]], lowest - _BEHIND * place)
        readings[key] = PassageReading(relevance, 0.0, numpy.zeros((0, 2), numpy.int32), nothing, nothing)
    return readings
