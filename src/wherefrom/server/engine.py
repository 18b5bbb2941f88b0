"""Questions are answered off the event loop, several at a time.

Two threads, because finding passages takes a millisecond and reading them takes a hundred: the first finds, so that
everybody sees hits at once; the second reads for as many as are waiting together, since a network reads eight
questions in much less than eight times the time of one. What each step brings is told as it comes.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from wherefrom.config import ServerSettings
from wherefrom.errors import WherefromError
from wherefrom.library import Library
from wherefrom.pipeline import Pipeline
from wherefrom.server.metrics import Metrics
from wherefrom.types import Candidate, Hit, Question, Style, Trace, Word

log = logging.getLogger("wherefrom.server")


class QueueFull(WherefromError):
    """As many questions are under way as may be."""


class TooSlow(WherefromError):
    """The answer was not ready in time."""


# What is told of a question, in this order.


@dataclass(frozen=True, slots=True)
class HitsFound:
    stage: str  # "retrieve", and again in a better order after "rank"
    hits: tuple[Hit, ...]


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
    """The next words of the answer: all of them at once by a writer that quotes, one by one by one that writes.

    Where the answer turns out not to keep to its sources another is told; the trace has it.
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
class Asked:
    """One question on its way; `wanted` turns False when nobody waits for it any more."""

    question: Question
    style: Style
    k: int | None
    min_chance: float | None
    only_search: bool
    tell: Callable[[Event], None]
    trace: Trace = field(init=False)
    wanted: bool = True
    heard: list[Word] = field(default_factory=list)  # words that were told while the answer was being written

    def __post_init__(self) -> None:
        self.trace = Trace(self.question)

    def hear(self, words: tuple[Word, ...]) -> None:
        self.heard += words
        self.tell(WordsWritten(words))


class Engine:
    """Answers questions from a library; `ask` is for the event loop, the rest happens in two threads."""

    def __init__(
        self, library: Library, settings: ServerSettings, metrics: Metrics, pipeline: Pipeline | None = None
    ) -> None:
        self._library = library
        self._settings = settings
        self._metrics = metrics
        self._given = pipeline
        self._under_way: set[Asked] = set()
        self.warm = False  # whether it has answered once, be it only to load the networks
        self.trouble = ""  # why it could not, in words
        wait = settings.wait_ms / 1000
        self._finding = Lane("find", self._find, settings.queue, 0.0)
        self._reading = Lane("read", self._answer, settings.batch, wait, first=self._warm_up)

    def start(self) -> None:
        self._pipeline = self._given or self._library.pipeline()
        self._finding.start()
        self._reading.start()

    def stop(self) -> None:
        """Finish what is under way, then end."""
        self._finding.stop()
        self._reading.stop()

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    @property
    def alive(self) -> bool:
        return self._finding.alive and self._reading.alive

    async def ask(
        self, text: str, style: Style, k: int | None = None, min_chance: float | None = None, only_search: bool = False
    ) -> AsyncGenerator[Event]:
        """What is found out about a question, as it is found out; the last one is Finished.

        Raises QueueFull, TooSlow, or what went wrong. Closing it, or cancelling its task, drops the question.
        """
        if len(self._under_way) >= self._settings.queue:
            raise QueueFull(f"{self._settings.queue} questions are under way already; ask again in a moment")
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event] = asyncio.Queue()
        begun = loop.time()

        def tell(event: Event) -> None:
            if asked.wanted:
                with suppress(RuntimeError):  # the loop has just been closed: nobody listens any more
                    loop.call_soon_threadsafe(events.put_nowait, event)

        asked = Asked(Question("", text), style, k, min_chance, only_search, tell)
        self._under_way.add(asked)
        outcome = "cancelled"
        try:
            self._finding.put(asked)
            while True:
                left = begun + self._settings.seconds - loop.time()
                try:
                    event = await asyncio.wait_for(events.get(), max(left, 0.0))
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
            asked.wanted = False
            self._under_way.discard(asked)
            self._metrics.asked(outcome, loop.time() - begun)

    # In the threads.

    def _find(self, batch: Sequence[Asked]) -> None:
        for k in dict.fromkeys(asked.k for asked in batch):
            pipeline = self._pipeline
            if k is not None:
                pipeline = replace(pipeline, retriever=self._library.pipeline(k).retriever)

            def find(traces: Sequence[Trace], pipeline: Pipeline = pipeline) -> list[Trace]:
                return pipeline.find_many([trace.question for trace in traces])

            for asked in _step([asked for asked in batch if asked.k == k], find):
                asked.tell(HitsFound("retrieve", asked.trace.hits))
                self._reading.put(asked)

    def _answer(self, batch: Sequence[Asked]) -> None:
        self._metrics.batched(len(batch))
        pipeline = self._pipeline
        batch = _step(batch, pipeline.rank_many)
        for asked in batch:
            if pipeline.ranker is not None:
                asked.tell(HitsFound("rank", asked.trace.hits))
            if asked.only_search:
                asked.tell(Finished(asked.trace))
        batch = _step([asked for asked in batch if not asked.only_search], pipeline.read_many)
        for asked in batch:
            asked.tell(CandidatesRead(asked.trace.candidates))
        for style, min_chance in dict.fromkeys((asked.style, asked.min_chance) for asked in batch):
            alike = [a for a in batch if (a.style, a.min_chance) == (style, min_chance)]
            self._tell(pipeline, alike, style, pipeline.min_chance if min_chance is None else min_chance)

    def _tell(self, pipeline: Pipeline, batch: Sequence[Asked], style: Style, needed: float) -> None:
        """Judge and write; words are told as they are written."""

        def write(traces: Sequence[Trace]) -> list[Trace]:
            asked_of = {id(asked.trace): asked for asked in batch}
            asked = [asked_of[id(trace)] for trace in traces]
            return pipeline.write_many(traces, style, needed, lambda number, words: asked[number].hear(words))

        batch = _step(batch, lambda traces: pipeline.judge_many(traces, style))
        for asked in batch:
            assert asked.trace.answer is not None
            chance = asked.trace.answer.chance
            asked.tell(ChanceJudged(chance, chance < needed or not asked.trace.candidates, style))
        for asked in _step(batch, write):
            answer = asked.trace.answer
            assert answer is not None
            heard = len(asked.heard)
            if answer.words[:heard] == tuple(asked.heard) and len(answer.words) > heard:
                asked.tell(WordsWritten(answer.words[heard:]))
            self.warm, self.trouble = True, ""
            asked.tell(Finished(asked.trace))

    def _warm_up(self) -> None:
        """Load the networks before the first question, on a text that something is surely found for."""
        try:
            documents = self._library.documents(limit=1)
            passages = self._library.passages_of(documents[0].id) if documents else []
            if passages:
                asked, hits = [Question("", passages[0].text[:100])], [[Hit(passages[0], 0.0)]]
                for style in ("short", "sentence"):  # the second may need a network of its own
                    self._pipeline.answer_many(asked, hits, style, min_chance=0.0)
            self.warm = True
        except Exception as error:  # noqa: BLE001 - the thread must live; who asks is told what is wrong
            self.trouble = str(error) if isinstance(error, WherefromError) else "an unexpected error; the log names it"
            log.error("the pipeline cannot be warmed up (%s); questions will be told why", type(error).__name__)


def _step(batch: Sequence[Asked], step: Callable[[Sequence[Trace]], list[Trace]]) -> list[Asked]:
    """Take a step with those that are still wanted; they come back with more in their traces.

    Where it fails with all together it is taken with each alone, so that one question cannot spoil another's answer.
    """
    batch = [asked for asked in batch if asked.wanted]
    if not batch:
        return []
    try:
        traces = step([asked.trace for asked in batch])
    except Exception as error:  # noqa: BLE001 - told to whom it concerns; the thread goes on
        if len(batch) > 1:
            return [asked for alone in batch for asked in _step([alone], step)]
        batch[0].tell(Failed(error))
        return []
    for asked, trace in zip(batch, traces, strict=True):
        asked.trace = trace
    return batch


def _outcome(trace: Trace) -> str:
    if trace.answer is None:
        return "searched"
    return "declined" if trace.answer.declined else "answered"


class Lane:
    """A thread that takes what has come in, up to `most` at a time, and works on it.

    The first of a batch waits `wait` seconds for others. What nobody wants any more is dropped.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[Asked]], None],
        most: int,
        wait: float,
        first: Callable[[], None] = lambda: None,
    ) -> None:
        self._work = work
        self._most = most
        self._wait = wait
        self._first = first
        self._items: deque[Asked] = deque()
        self._change = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name=f"wherefrom-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, asked: Asked) -> None:
        with self._change:
            self._items.append(asked)
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
            except Exception as error:  # noqa: BLE001 - told to whom it concerns; the thread goes on
                for asked in batch:
                    asked.tell(Failed(error))

    def _next(self) -> list[Asked] | None:
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
            taken = [self._items.popleft() for _ in range(min(self._most, len(self._items)))]
        return [asked for asked in taken if asked.wanted]
