"""The writer network at work: it reads a question with passages, says which are relevant, and writes from them.

Ranking, judging and writing share a session, and what it has read it remembers for a while: the pass is paid once.
The words are looked up in one table outside of the graphs, since reading and writing both need it.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from wherefrom.errors import SettingsError
from wherefrom.runtime.weights import Weights
from wherefrom.types import Candidate, Hit, Passage
from wherefrom.wordpieces import Encoded

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    from wherefrom.runtime.copying import CopyPlaces, Text, Vocabulary
    from wherefrom.runtime.search import SearchSettings, WrittenAnswer

    Floats = NDArray[numpy.float32]

_REMEMBERED = 64  # readings, about 300 kB each; always at least those of the last call, which the next stages need
_MOST_SHORT = 64  # tokens of a short answer
_MOST_WEIGHED = 12  # tokens of one that is weighed: each costs a step, and the first ones say most
_LEAST = 1e-9  # likelihood that a token is taken to have at least
_LEAST_PASSAGE = 32  # tokens that are left for the passage, whatever the question's length


@dataclass(frozen=True, slots=True)
class Short:
    """The short answer that a sentence is to hold: characters of one of the passages."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WritingTask:
    """What an answer is written from."""

    question: str
    passages: tuple[Passage, ...]
    short: Short | None = None


@dataclass(frozen=True, slots=True)
class WriterJudgement:
    """What the network says of a question and its passages."""

    relevance: tuple[float, ...]  # beta of each passage, from 0 to 1
    answerable: float  # P(a)


@dataclass(frozen=True, slots=True)
class WeighedAnswer:
    """What the network thinks of a short answer that it was not shown, had it to write one itself."""

    first: float  # log-likelihood of the answer's first token
    mean: float  # ... of its tokens, in the mean
    place: float  # how much of the first token it would copy from the answer's own characters, from 0 to 1
    answerable: float  # the logit of P(a)


@dataclass(frozen=True, slots=True)
class WrittenAnswers:
    """The answers written for one task, the preferred one first; a token's place is one of `places`."""

    written: tuple[WrittenAnswer, ...]
    places: CopyPlaces


@dataclass(frozen=True, slots=True)
class _Sequence:
    """`[CLS] question [SEP] title [SEP] passage [SEP]`, or the same with a short answer and no title."""

    tokens: tuple[int, ...]
    question_length: int  # tokens of the question
    first: int  # where the part to copy begins
    offsets: tuple[tuple[int, int], ...]  # characters of that part's tokens

    @property
    def copied(self) -> slice:
        return slice(self.first, self.first + len(self.offsets))


class WriterSession:
    """Reads in small batches of similar length, one thread each, and writes each question's answer in a thread.

    Answers are written one by one, not as rows of one batch: what they look at differs in length, so that rows would
    mostly share padding; and an answer alone is the very same as beside others.
    """

    batch_tokens = 256  # padding included, as the reader's

    def __init__(self, weights: Weights, threads: int) -> None:
        self.weights = weights
        self._threads = threads
        self._lock = threading.Lock()
        self._sessions: dict[str, InferenceSession] = {}
        self._workers: ThreadPoolExecutor | None = None
        self._remembered: OrderedDict[_Sequence, Floats] = OrderedDict()

    @property
    def styles(self) -> tuple[str, ...]:
        return tuple(name for name in ("short", "sentence", "narrative") if name in self.weights.settings)

    def piece(self, token: int) -> str:
        """A token as the vocabulary has it: `##` before one that continues a word."""
        return self.weights.tokenizer.piece(token)

    # Judging

    def judge(self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[WriterJudgement]:
        """How relevant each passage is, and the chance that they answer the question."""
        pairs = [
            [self._pair(question, passage, 0) for passage in question_passages]
            for question, question_passages in zip(questions, passages, strict=True)
        ]
        states = self._read(pair for row in pairs for pair in row)
        return [self._judged([states[pair] for pair in row])[0] for row in pairs]

    def _judged(self, read: Sequence[Floats]) -> tuple[WriterJudgement, Floats]:
        """The judgement, and log beta of each passage."""
        import numpy

        if not read:
            return WriterJudgement((), 0.0), numpy.zeros(0, numpy.float32)
        first = numpy.stack([states[0] for states in read])[None]  # (1, K, width)
        inputs = {"first": first, "real": numpy.ones(first.shape[:2], bool)}
        _, log_beta, answerable = self._session("judge").run(None, inputs)
        chance = 1.0 / (1.0 + numpy.exp(-float(answerable[0])))
        return WriterJudgement(tuple(numpy.exp(log_beta[0]).tolist()), float(chance)), log_beta[0]

    # Weighing

    def weigh(self, tasks: Sequence[WritingTask]) -> list[WeighedAnswer]:
        """What it thinks of the short answer of each task; every task needs one."""
        rows = [[self._short_sequence(replace(task, short=None)), *self._sequences(task)[1:]] for task in tasks]
        states = self._read(sequence for row in rows for sequence in row)

        def one(number: int) -> WeighedAnswer:
            return self._weigh_one(tasks[number], rows[number], states)

        return list(self._pool().map(one, range(len(tasks))))

    def _weigh_one(
        self, task: WritingTask, sequences: Sequence[_Sequence], states: Mapping[_Sequence, Floats]
    ) -> WeighedAnswer:
        import numpy

        from wherefrom.runtime.copying import PASSAGE, places_of
        from wherefrom.runtime.search import summed

        blind, *pairs = sequences
        short = task.short
        assert short is not None
        judged, log_beta = self._judged([states[pair] for pair in pairs])
        places = places_of(self._texts(replace(task, short=None), blind, pairs), self._forbidden)
        own = (places.source == PASSAGE) & (places.passage == short.passage)
        own &= (places.start < short.end) & (places.end > short.start)
        answerable = math.log(max(judged.answerable, _LEAST)) - math.log(max(1.0 - judged.answerable, _LEAST))
        if not own.any():
            return WeighedAnswer(math.log(_LEAST), math.log(_LEAST), 0.0, answerable)
        decoder = _Decoder(self, self._sources(blind, pairs, states, log_beta))
        likelihoods: list[float] = []
        share, before = 0.0, int(self.weights.settings["short"])
        for token in places.tokens[own][:_MOST_WEIGHED].tolist():
            vocabulary, copied = decoder.step(numpy.array([before], numpy.int64), None)
            likely = summed(places.tokens, copied[0], len(self._vocabulary.column))
            likely[self._vocabulary.words] += vocabulary[0]
            share = share if likelihoods else float(copied[0][own].sum())
            likelihoods.append(math.log(max(float(likely[token]), _LEAST)))
            before = token
        return WeighedAnswer(likelihoods[0], sum(likelihoods) / len(likelihoods), share, answerable)

    # Writing

    def write(
        self,
        tasks: Sequence[WritingTask],
        style: str,
        settings: SearchSettings,
        on_token: Callable[[int, WrittenAnswer, CopyPlaces], None] | None = None,
    ) -> list[WrittenAnswers]:
        """Several answers a task, `settings.beam` at most. With a beam of one, `on_token` hears of each token."""
        if style not in self.styles:
            raise SettingsError(f"{style} is not a style of this writer; it knows {', '.join(self.styles)}")
        first = int(self.weights.settings[style])
        sequences = [self._sequences(task) for task in tasks]
        states = self._read(sequence for row in sequences for sequence in row)

        def one(number: int) -> WrittenAnswers:
            report = None if on_token is None else partial(on_token, number)
            return self._write_one(tasks[number], sequences[number], states, first, settings, report)

        return list(self._pool().map(one, range(len(tasks))))

    def _write_one(
        self,
        task: WritingTask,
        sequences: Sequence[_Sequence],
        states: Mapping[_Sequence, Floats],
        style: int,
        settings: SearchSettings,
        on_token: Callable[[WrittenAnswer, CopyPlaces], None] | None,
    ) -> WrittenAnswers:
        from wherefrom.runtime.copying import places_of
        from wherefrom.runtime.search import Search, chosen

        short, *pairs = sequences
        judged, log_beta = self._judged([states[pair] for pair in pairs])
        places = places_of(self._texts(task, short, pairs), self._forbidden)
        sources = self._sources(short, pairs, states, log_beta)
        report = None if on_token is None else lambda written: on_token(written, places)
        settings = replace(settings, max_tokens=min(settings.max_tokens, int(self.weights.settings["max_written"])))
        search = Search(places, self._vocabulary, int(self.weights.settings["end"]), settings)
        answers = search.run(_Decoder(self, sources).step, style, report)
        return WrittenAnswers(tuple(chosen(answers, judged.answerable, settings)), places)

    def _sources(
        self, short: _Sequence, pairs: Sequence[_Sequence], states: Mapping[_Sequence, Floats], log_beta: Floats
    ) -> list[_Source]:
        """What the decoder looks at: the places that can be copied, and nothing else."""
        import numpy

        read = [states[pair] for pair in pairs]
        question_length = pairs[0].question_length if pairs else 0
        share = numpy.exp(log_beta - log_beta.max()) if pairs else log_beta
        share = (share / share.sum()).astype(numpy.float32)
        nothing = numpy.zeros((0, int(self.weights.settings["width"])), numpy.float32)
        states_of = {
            # The question has states beside every passage; they count as much as the passage does.
            "question": numpy.einsum("k,kjd->jd", share, numpy.stack([r[1 : question_length + 1] for r in read]))
            if pairs
            else nothing,
            "answer": states[short][short.copied],
            "passages": numpy.concatenate([nothing, *(states[pair][pair.copied] for pair in pairs)]),
        }
        weight = numpy.repeat(log_beta, [len(pair.offsets) for pair in pairs]) if pairs else log_beta
        empty = states[short][:1]
        return [
            _Source(name, states_of[name], weight if name == "passages" else None, empty)
            for name in self.weights.settings["sources"]
        ]

    def _texts(self, task: WritingTask, short_sequence: _Sequence, pairs: Sequence[_Sequence]) -> list[Text]:
        """The sources' texts, in the order of their places."""
        from wherefrom.runtime.copying import ANSWER, PASSAGE, QUESTION, Text

        question = self._encoded(task.question)
        count = pairs[0].question_length if pairs else 0
        texts = [Text(QUESTION, -1, task.question, question.ids[:count], question.offsets[:count])]
        if task.short is not None and "answer" in self.weights.settings["sources"]:
            short = task.short
            text = task.passages[short.passage].text
            # Only its own characters: of a word that the answer has a part of, that part is whole.
            shown = " " * short.start + text[short.start : short.end]
            texts.append(
                Text(ANSWER, short.passage, shown, short_sequence.tokens[short_sequence.copied], short_sequence.offsets)
            )
        for number, (passage, pair) in enumerate(zip(task.passages, pairs, strict=True)):
            texts.append(Text(PASSAGE, number, passage.text, pair.tokens[pair.copied], pair.offsets))
        return texts

    # Sequences

    def _sequences(self, task: WritingTask) -> list[_Sequence]:
        """The short answer's, then those of the passages."""
        at = {task.short.passage: task.short.start} if task.short is not None else {}
        pairs = [self._pair(task.question, passage, at.get(number, 0)) for number, passage in enumerate(task.passages)]
        return [self._short_sequence(task), *pairs]

    def _pair(self, question: str, passage: Passage, around: int) -> _Sequence:
        """Question, title and passage; of a long passage the part around a character."""
        settings = self.weights.settings
        separate = int(settings["separate"])
        question_ids = self._question_ids(question)
        title_ids = self.weights.tokenizer.ids(passage.title)[: int(settings["max_title"])] if passage.title else []
        head = [int(settings["classify"]), *question_ids, separate, *title_ids, *([separate] if title_ids else [])]
        encoded = self._encoded(passage.text)
        room = int(settings["max_tokens"]) - len(head) - 1
        begin = 0
        if (more := len(encoded.ids) - room) > 0 and around:
            before = sum(end <= around for _, end in encoded.offsets)
            begin = max(0, min(before - room // 2, more))
        ids, offsets = encoded.ids[begin : begin + room], encoded.offsets[begin : begin + room]
        return _Sequence((*head, *ids, separate), len(question_ids), len(head), tuple(offsets))

    def _short_sequence(self, task: WritingTask) -> _Sequence:
        """Question and short answer, whose tokens are the passage's; without one, the question alone."""
        settings = self.weights.settings
        question_ids, separate = self._question_ids(task.question), int(settings["separate"])
        head = (int(settings["classify"]), *question_ids, separate)
        if task.short is None:
            return _Sequence(head, len(question_ids), len(head), ())
        encoded = self._encoded(task.passages[task.short.passage].text)
        touched = [
            (token, span)
            for token, span in zip(encoded.ids, encoded.offsets, strict=True)
            if span[0] < task.short.end and span[1] > task.short.start
        ][:_MOST_SHORT]
        tokens = (*head, *(token for token, _ in touched), separate)
        return _Sequence(tokens, len(question_ids), len(head), tuple(span for _, span in touched))

    def _question_ids(self, question: str) -> list[int]:
        settings = self.weights.settings
        room = int(settings["max_tokens"]) - _LEAST_PASSAGE - int(settings["max_title"]) - 4
        return self.weights.tokenizer.ids(question)[: min(int(settings["max_question"]), room)]

    def _encoded(self, text: str) -> Encoded:
        return self.weights.tokenizer.encode(text)

    # Reading

    def _read(self, sequences: Iterable[_Sequence]) -> dict[_Sequence, Floats]:
        """The states of each sequence, (length, width)."""
        wanted = dict.fromkeys(sequences)
        with self._lock:
            known = {sequence: self._remembered[sequence] for sequence in wanted if sequence in self._remembered}
        missing = [sequence for sequence in wanted if sequence not in known]
        batches = in_batches(missing, lambda sequence: len(sequence.tokens), self.batch_tokens)
        for batch, read in zip(batches, self._pool().map(self._pass, batches), strict=True):
            known |= {
                # A copy: what is remembered must not keep the whole batch alive.
                sequence: states[: len(sequence.tokens)].copy()
                for sequence, states in zip(batch, read, strict=True)
            }
        with self._lock:
            for sequence in wanted:
                self._remembered[sequence] = known[sequence]
                self._remembered.move_to_end(sequence)
            while len(self._remembered) > max(_REMEMBERED, len(wanted)):
                self._remembered.popitem(last=False)
        return known

    def _pass(self, batch: Sequence[_Sequence]) -> Floats:
        import numpy

        length = len(batch[0].tokens)  # the longest is the first
        tokens = numpy.full((len(batch), length), int(self.weights.settings["padding"]), numpy.int64)
        mask = numpy.zeros((len(batch), length), bool)
        types = numpy.zeros((len(batch), length), numpy.int64)
        for row, sequence in enumerate(batch):
            tokens[row, : len(sequence.tokens)] = sequence.tokens
            mask[row, : len(sequence.tokens)] = True
            types[row, sequence.question_length + 2 : len(sequence.tokens)] = 1
        inputs = {"words": self.words(tokens), "mask": mask, "types": types}
        states: Floats = self._session("encode").run(None, inputs)[0]
        return states

    # What is loaded when it is first needed

    def words(self, tokens: NDArray[numpy.int64]) -> Floats:
        """The vectors of these tokens: (..., width)."""
        rows, scale = self._table
        vectors: Floats = rows[tokens] * scale[tokens]
        return vectors

    @cached_property
    def _table(self) -> tuple[NDArray[numpy.int8], Floats]:
        return self.weights.array("words.npy"), self.weights.array("words.scale.npy")

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        import numpy

        from wherefrom.runtime.copying import Vocabulary

        tokenizer = self.weights.tokenizer
        size = len(self._table[0])
        listed = self.weights.array("vocabulary.npy").astype(numpy.int64)
        pieces = [tokenizer.piece(token) for token in range(size)]
        column = numpy.full(size, -1)
        column[listed] = numpy.arange(len(listed))
        return Vocabulary(
            listed,
            numpy.array(self.weights.array("safe.npy")),
            numpy.array([pieces[token].startswith("##") for token in listed]),
            column,
            numpy.array([piece.removeprefix("##").isalpha() for piece in pieces]),
        )

    @cached_property
    def _forbidden(self) -> tuple[int, ...]:
        """Tokens with a meaning of their own, which a text may hold all the same."""
        settings = self.weights.settings
        return tuple(int(settings[name]) for name in ("padding", "classify", "separate", "end", *self.styles))

    def _session(self, name: str) -> InferenceSession:
        with self._lock:
            if name not in self._sessions:
                self._sessions[name] = self.weights.session(threads=1, name=f"{name}.onnx")
            return self._sessions[name]

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._workers is None:
                self._workers = ThreadPoolExecutor(self._threads, thread_name_prefix="writer")
            return self._workers


@dataclass(frozen=True, slots=True)
class _Source:
    """A sequence that the decoder looks at."""

    name: str
    states: Floats  # (places, width)
    weight: Floats | None  # (places,): log beta of the place's passage
    empty: Floats  # (1, width), of [CLS], which is never written: stands in for a source without places

    def inputs(self) -> dict[str, Any]:
        """What a step is given, as a batch of one."""
        import numpy

        count = len(self.states)
        weight = numpy.zeros(max(count, 1), numpy.float32) if self.weight is None or not count else self.weight
        return {
            f"{self.name}_states": (self.states if count else self.empty)[None],
            f"{self.name}_mask": numpy.full((1, max(count, 1)), True),
            f"{self.name}_weight": weight[None].astype(numpy.float32),
        }


class _Decoder:
    """Steps of one question's answer; what was worked out for the steps before is kept."""

    def __init__(self, writer: WriterSession, sources: Sequence[_Source]) -> None:
        import numpy

        self._writer, self._sources = writer, sources
        self._session = writer._session("step")
        begin = writer._session("begin")
        inputs = {name: value for source in sources for name, value in source.inputs().items()}
        names = [output.name for output in begin.get_outputs()]
        begun = begin.run(names, {name: inputs[name] for name in (i.name for i in begin.get_inputs())})
        self._inputs = inputs | dict(zip(names, begun, strict=True))
        settings = writer.weights.settings
        heads = int(settings["heads"])
        shape = (int(settings["decoder_layers"]), 1, heads, 0, int(settings["width"]) // heads)
        self._own = (numpy.zeros(shape, numpy.float32), numpy.zeros(shape, numpy.float32))
        self._by_rows = {1: self._inputs}

    def step(self, tokens: NDArray[numpy.int64], parents: NDArray[numpy.int64] | None) -> tuple[Floats, Floats]:
        """See `search.Step`."""
        import numpy

        if parents is not None and (len(parents) > 1 or self._own[0].shape[1] > 1):
            self._own = (self._own[0][:, parents], self._own[1][:, parents])
        rows = len(tokens)
        if rows not in self._by_rows:
            self._by_rows[rows] = {name: numpy.repeat(value, rows, axis=0) for name, value in self._inputs.items()}
        inputs = self._by_rows[rows] | {
            "word": self._writer.words(tokens[:, None]),
            "own_keys": self._own[0],
            "own_values": self._own[1],
        }
        vocabulary, *copied, keys, values = self._session.run(None, inputs)
        self._own = (keys, values)
        real = [part for source, part in zip(self._sources, copied, strict=True) if len(source.states)]
        return vocabulary, numpy.concatenate(real or [vocabulary[:, :0]], axis=1)


def passages_with(hits: Sequence[Hit], candidate: Candidate | None, most: int) -> list[Passage]:
    """The passages of the first hits, with the candidate's own among them."""
    passages = [hit.passage for hit in hits[:most]]
    if candidate is not None and candidate.passage not in passages:
        passages = [*passages[: most - 1], candidate.passage]
    return passages


_Item = TypeVar("_Item")


def in_batches(items: Sequence[_Item], length: Callable[[_Item], int], most: int) -> list[list[_Item]]:
    """Items of similar length together, longest first, so that little is padded; `most` is the length of a batch."""
    batches: list[list[_Item]] = []
    for item in sorted(items, key=lambda item: -length(item)):
        if batches and (len(batches[-1]) + 1) * length(batches[-1][0]) <= most:
            batches[-1].append(item)
        else:
            batches.append([item])
    return batches
