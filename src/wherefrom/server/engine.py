"""Questions are answered off the event loop, several at a time.

Two threads, because finding passages takes a millisecond and reading them takes a hundred: the first finds, so that
everybody sees hits at once; the second reads for as many as are waiting together, since a network reads eight
questions in much less than eight times the time of one. What each step brings becomes an event at once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from wherefrom.config import ServerSettings
from wherefrom.errors import WherefromError
from wherefrom.library import Library
from wherefrom.pipeline import Pipeline
from wherefrom.server.line import Line, Turns
from wherefrom.server.metrics import Metrics
from wherefrom.types import Candidate, Filter, Hit, Passage, Question, Style, Trace, Word

_TRIED = 4  # passages that are read to see how long it takes

log = logging.getLogger("wherefrom.server")


class TooSlow(WherefromError):
    """The answer was not ready in time."""


# The events of a question, in this order.


@dataclass(frozen=True, slots=True)
class HitsFound:
    stage: str  # "retrieve", and again in a better order after "rank"
    hits: tuple[Hit, ...]
    understood: str = ""  # the question as it is answered; empty where that is as it was typed
    instead: tuple[str, ...] = ()  # other meanings of it that were tried, and whose answers were judged less likely


@dataclass(frozen=True, slots=True)
class CandidatesRead:
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class ChanceJudged:
    chance: float
    declined: bool
    style: Style


@dataclass(frozen=True, slots=True)
class WordsWritten:
    """The next words of the answer: a writer that quotes sends all at once, one that writes sends them one by one.

    An answer that turns out not to keep to its sources is replaced by another; the trace has that one.
    """

    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    trace: Trace


@dataclass(frozen=True, slots=True)
class Failed:
    error: Exception


Event = HitsFound | CandidatesRead | ChanceJudged | WordsWritten | Finished | Failed


@dataclass(eq=False)
class PendingQuestion:
    """One question on its way; `wanted` turns False when nobody waits for it any more."""

    question: Question
    style: Style
    k: int | None
    min_chance: float | None
    only_search: bool
    emit: Callable[[Event], None]
    client: str = ""
    words: int | None = None  # of a summary; None: it is to be answered, or searched
    trace: Trace = field(init=False)
    wanted: bool = True
    streamed: list[Word] = field(default_factory=list)  # words that were sent while the answer was being written

    def __post_init__(self) -> None:
        self.trace = Trace(self.question)

    def stream(self, words: tuple[Word, ...]) -> None:
        self.streamed += words
        self.emit(WordsWritten(words))


class Engine:
    """Answers questions from a library; `ask` is for the event loop, the rest happens in two threads."""

    def __init__(
        self, library: Library, settings: ServerSettings, metrics: Metrics, pipeline: Pipeline | None = None
    ) -> None:
        self._library = library
        self._settings = settings
        self._metrics = metrics
        self._own_pipeline = pipeline
        self._line = Line(settings.queue, settings.patience_seconds)
        self.warm = False  # whether it has answered once, be it only to load the networks
        self.trouble = ""  # why it could not, in words
        wait = settings.wait_ms / 1000
        self._finding = BatchThread("find", self._find, settings.queue, 0.0)
        self._reading = BatchThread("read", self._answer, settings.batch, wait, first=self._warm_up)

    def start(self) -> None:
        self._pipeline = self._own_pipeline or self._library.pipeline()
        self._finding.start()
        self._reading.start()

    def stop(self) -> None:
        """Finish what is under way, then end."""
        self._finding.stop()
        self._reading.stop()

    @property
    def under_way(self) -> int:
        return len(self._line)

    @property
    def alive(self) -> bool:
        return self._finding.alive and self._reading.alive

    async def ask(
        self,
        text: str,
        style: Style,
        k: int | None = None,
        min_chance: float | None = None,
        only_search: bool = False,
        within: Filter | None = None,
        client: str = "",
        words: int | None = None,
    ) -> AsyncGenerator[Event]:
        """The events of a question, each as soon as its step is done; the last one is Finished. Clients take turns.

        With `words` it is summarized in at most so many: HitsFound, WordsWritten for each sentence, Finished.

        Raises QueueFull, TooSlow, or what went wrong. Closing it, or cancelling its task, drops the question.
        """
        self._line.join(client, text)
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event] = asyncio.Queue()
        begun = loop.time()

        def emit(event: Event) -> None:
            if pending.wanted:
                with suppress(RuntimeError):  # the loop has just been closed: nobody listens any more
                    loop.call_soon_threadsafe(events.put_nowait, event)

        pending = PendingQuestion(Question("", text, within), style, k, min_chance, only_search, emit, client, words)
        outcome = "cancelled"
        try:
            self._finding.put(pending)
            while True:
                try:
                    async with asyncio.timeout_at(begun + self._settings.seconds):  # wait_for may lose a cancellation
                        event = await events.get()
                except TimeoutError:
                    outcome = "too slow"
                    raise TooSlow(
                        f"the answer was not ready within {self._settings.seconds:g} s; ask again when there is less "
                        "to do, with a smaller k, or raise server.seconds"
                    ) from None
                if isinstance(event, Failed):
                    outcome = "failed"
                    raise event.error
                if isinstance(event, Finished):
                    outcome = _outcome(event.trace)
                    self._metrics.finished(event.trace)
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            pending.wanted = False
            self._line.leave(client)
            self._metrics.question_ended(outcome, loop.time() - begun)

    # In the threads.

    def _find(self, batch: Sequence[PendingQuestion]) -> None:
        for pending in batch:
            if pending.words is not None:  # it finds its passages in its own way
                self._reading.put(pending)
        batch = [pending for pending in batch if pending.words is None]
        for k in dict.fromkeys(pending.k for pending in batch):
            pipeline = self._pipeline
            if k is not None:
                pipeline = replace(pipeline, retriever=self._library.pipeline(k).retriever)

            def find(traces: Sequence[Trace], pipeline: Pipeline = pipeline) -> list[Trace]:
                return pipeline.find_many([trace.question for trace in traces])

            for pending in _step([pending for pending in batch if pending.k == k], find):
                pending.emit(_hits_found("retrieve", pending.trace))
                self._reading.put(pending)

    def _answer(self, batch: Sequence[PendingQuestion]) -> None:
        begun = time.monotonic()
        self._read(batch)
        self._line.answered(len(batch), time.monotonic() - begun)

    def _read(self, batch: Sequence[PendingQuestion]) -> None:
        self._metrics.batched(len(batch))
        pipeline = self._pipeline
        for pending in batch:
            if pending.words is not None:
                self._summarize(pipeline, pending, pending.words)
        batch = [pending for pending in batch if pending.words is None]
        batch = _step(batch, pipeline.rank_many)
        for pending in batch:
            if pipeline.ranker is not None:
                pending.emit(_hits_found("rank", pending.trace))
            if pending.only_search:
                pending.emit(Finished(pending.trace))
        batch = _step([pending for pending in batch if not pending.only_search], pipeline.read_many)
        for pending in batch:
            pending.emit(CandidatesRead(pending.trace.candidates))
        for style, min_chance in dict.fromkeys((pending.style, pending.min_chance) for pending in batch):
            alike = [a for a in batch if (a.style, a.min_chance) == (style, min_chance)]
            self._judge_and_write(pipeline, alike, style, pipeline.min_chance if min_chance is None else min_chance)

    def _summarize(self, pipeline: Pipeline, pending: PendingQuestion, words: int) -> None:
        """A summary, whose sentences are sent one by one."""
        if pending.k is not None:
            pipeline = replace(pipeline, summary_retriever=self._library.pipeline(pending.k).summary_retriever)

        def summarize(traces: Sequence[Trace]) -> list[Trace]:
            return pipeline.summarize_many([trace.question for trace in traces], words)

        for each in _step([pending], summarize):
            each.emit(_hits_found("retrieve", each.trace))
            assert each.trace.summary is not None
            for sentence in each.trace.summary.sentences:
                first, *rest = sentence.words
                each.emit(WordsWritten((replace(first, space=sentence.space), *rest)))
            each.emit(Finished(each.trace))

    def _judge_and_write(
        self, pipeline: Pipeline, batch: Sequence[PendingQuestion], style: Style, needed: float
    ) -> None:
        """Judge and write; words are sent as they are written."""

        def write(traces: Sequence[Trace]) -> list[Trace]:
            pending_by_trace = {id(pending.trace): pending for pending in batch}
            written = [pending_by_trace[id(trace)] for trace in traces]
            return pipeline.write_many(traces, style, needed, lambda number, words: written[number].stream(words))

        batch = _step(batch, lambda traces: pipeline.judge_many(traces, style))
        for pending in batch:
            assert pending.trace.answer is not None
            chance = pending.trace.answer.chance
            pending.emit(ChanceJudged(chance, chance < needed or not pending.trace.candidates, style))
        for pending in _step(batch, write):
            answer = pending.trace.answer
            assert answer is not None
            sent = len(pending.streamed)
            if answer.words[:sent] == tuple(pending.streamed) and len(answer.words) > sent:
                pending.emit(WordsWritten(answer.words[sent:]))
            self.warm, self.trouble = True, ""
            pending.emit(Finished(pending.trace))

    def _seconds(self, passages: Sequence[Passage]) -> float:
        """How long a question takes, about, for those who come all at once before one is answered."""
        hits = [Hit(passage, 0.0) for passage in passages[:_TRIED]]
        begun = time.monotonic()
        self._pipeline.answer_many([Question("", passages[0].text[:90])], [hits], "short", min_chance=0.0)
        return (time.monotonic() - begun) * self._library.settings().retrieve.k / len(hits)

    def _warm_up(self) -> None:
        """Load the networks before the first question, with a text for which something is surely found."""
        try:
            documents = self._library.documents(limit=1)
            passages = self._library.passages_of(documents[0].id) if documents else []
            if passages:
                questions, hits = [Question("", passages[0].text[:100])], [[Hit(passages[0], 0.0)]]
                for style in ("short", "sentence"):  # the second may need a network of its own
                    self._pipeline.answer_many(questions, hits, style, min_chance=0.0)
                self._line.guess(self._seconds(passages))
            self.warm = True
        except Exception as error:  # noqa: BLE001 - the thread must live; /ready and the questions say what is wrong
            self.trouble = str(error) if isinstance(error, WherefromError) else "an unexpected error; the log names it"
            log.error("the pipeline cannot be warmed up (%s); questions will be told why", type(error).__name__)


def _step(batch: Sequence[PendingQuestion], step: Callable[[Sequence[Trace]], list[Trace]]) -> list[PendingQuestion]:
    """Take a step with those that are still wanted; they come back with more in their traces.

    Where it fails with all together it is taken with each alone, so that one question cannot spoil another's answer.
    """
    batch = [pending for pending in batch if pending.wanted]
    if not batch:
        return []
    try:
        traces = step([pending.trace for pending in batch])
    except Exception as error:  # noqa: BLE001 - sent to whom it concerns; the thread goes on
        if len(batch) > 1:
            return [pending for alone in batch for pending in _step([alone], step)]
        batch[0].emit(Failed(error))
        return []
    for pending, trace in zip(batch, traces, strict=True):
        pending.trace = trace
    return batch


def _hits_found(stage: str, trace: Trace) -> HitsFound:
    return HitsFound(stage, trace.hits, trace.question.text if trace.question.typed else "")


def _outcome(trace: Trace) -> str:
    if trace.summary is not None:
        return "declined" if trace.summary.declined else "summarized"
    if trace.answer is None:
        return "searched"
    return "declined" if trace.answer.declined else "answered"


class BatchThread:
    """A thread that takes what has come in, up to `most` at a time, and works on it.

    The first of a batch waits `wait` seconds for others. What nobody wants any more is dropped.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[PendingQuestion]], None],
        most: int,
        wait: float,
        first: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._most = most
        self._wait = wait
        self._first = first
        self._items: Turns[PendingQuestion] = Turns()
        self._change = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name=f"wherefrom-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, pending: PendingQuestion) -> None:
        with self._change:
            self._items.put(pending.client, pending)
            self._change.notify()

    def stop(self) -> None:
        with self._change:
            self._ending = True
            self._change.notify()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        self._first()
        while (batch := self._next()) is not None:
            try:
                if batch:
                    self._work(batch)
            except Exception as error:  # noqa: BLE001 - sent to whom it concerns; the thread goes on
                for pending in batch:
                    pending.emit(Failed(error))

    def _next(self) -> list[PendingQuestion] | None:
        """The next batch; None when it is time to end and all is done."""
        with self._change:
            while not self._items:
                if self._ending:
                    return None
                self._change.wait()
            until = time.monotonic() + self._wait
            while len(self._items) < self._most and not self._ending:
                left = until - time.monotonic()
                if left <= 0 or not self._change.wait(left):
                    break
            taken = self._items.take(self._most)
        return [pending for pending in taken if pending.wanted]
