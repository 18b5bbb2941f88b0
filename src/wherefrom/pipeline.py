"""A question's way through the stages, as plain calls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from wherefrom.stages import Heard, Judge, Ranker, Reader, Reranker, Retriever, Writer
from wherefrom.types import Answer, Hit, Question, Style, Trace


@dataclass(frozen=True)
class Pipeline:
    """The stages in force. `ranker` and `reranker` are None where the settings ask for none."""

    retriever: Retriever
    ranker: Ranker | None
    reader: Reader
    reranker: Reranker | None
    judge: Judge
    writer: Writer
    min_chance: float
    weights: tuple[Path, ...] = ()  # folders of the networks that the stages run

    def search_many(self, questions: Sequence[Question]) -> list[Trace]:
        """Find and rank passages; no answers."""
        return self.rank_many(self.find_many(questions))

    def ask_many(
        self, questions: Sequence[Question], style: Style, min_chance: float | None = None, heard: Heard | None = None
    ) -> list[Trace]:
        """Find passages in the library and answer from them."""
        return self.tell_many(self.read_many(self.rank_many(self.find_many(questions))), style, min_chance, heard)

    def answer_many(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        style: Style,
        min_chance: float | None = None,
    ) -> list[Trace]:
        """Answer from given hits: datasets bring their own passages."""
        found = [Trace(question, tuple(given)) for question, given in zip(questions, hits, strict=True)]
        return self.tell_many(self.read_many(self.rank_many(found)), style, min_chance)

    # The steps. Each takes the traces of the one before and fills in more of them, so that a server can show what
    # there is so far, and ask of each step in a batch of its own.

    def find_many(self, questions: Sequence[Question]) -> list[Trace]:
        clock = _Clock(len(questions))
        with clock("retrieve"):
            hits = self.retriever.retrieve(questions)
        return [
            Trace(question, tuple(found), timings=clock.timings)
            for question, found in zip(questions, hits, strict=True)
        ]

    def rank_many(self, traces: Sequence[Trace]) -> list[Trace]:
        if self.ranker is None:
            return list(traces)
        clock = _Clock(len(traces))
        with clock("rank"):
            ranked = self.ranker.rank(*_asked(traces))
        return [
            replace(trace, hits=tuple(hits), timings={**trace.timings, **clock.timings})
            for trace, hits in zip(traces, ranked, strict=True)
        ]

    def read_many(self, traces: Sequence[Trace]) -> list[Trace]:
        questions, hits = _asked(traces)
        clock = _Clock(len(traces))
        with clock("read"):
            candidates = self.reader.read(questions, hits)
        if self.reranker:
            with clock("rerank"):
                candidates = self.reranker.rerank(questions, candidates)
        return [
            replace(trace, candidates=tuple(read), timings={**trace.timings, **clock.timings})
            for trace, read in zip(traces, candidates, strict=True)
        ]

    def tell_many(
        self, traces: Sequence[Trace], style: Style, min_chance: float | None = None, heard: Heard | None = None
    ) -> list[Trace]:
        """Judge, decline where the chance is too small, and write the rest; `heard` is told words as they come."""
        return self.write_many(self.judge_many(traces, style), style, min_chance, heard)

    def judge_many(self, traces: Sequence[Trace], style: Style) -> list[Trace]:
        """The chances, in answers that say nothing yet."""
        clock = _Clock(len(traces))
        with clock("judge"):
            chances = self.judge.judge(*_asked(traces), [trace.candidates for trace in traces])
        return [
            replace(trace, answer=Answer(None, style, chance), timings={**trace.timings, **clock.timings})
            for trace, chance in zip(traces, chances, strict=True)
        ]

    def write_many(
        self, traces: Sequence[Trace], style: Style, min_chance: float | None = None, heard: Heard | None = None
    ) -> list[Trace]:
        needed = self.min_chance if min_chance is None else min_chance
        chances = [trace.answer.chance if trace.answer else 0.0 for trace in traces]
        places = [place for place, chance in enumerate(chances) if chance >= needed]
        told = [traces[place] for place in places]
        clock = _Clock(len(traces))
        with clock("write"):
            written = self.writer.write(
                *_asked(told),
                [trace.candidates for trace in told],
                [chances[place] for place in places],
                style,
                None if heard is None else lambda number, words: heard(places[number], words),
            )
        answers = dict(zip(places, written, strict=True))
        return [
            replace(
                trace,
                answer=answers.get(place, Answer(None, style, chances[place])),
                timings={**trace.timings, **clock.timings},
            )
            for place, trace in enumerate(traces)
        ]


def _asked(traces: Sequence[Trace]) -> tuple[list[Question], list[tuple[Hit, ...]]]:
    return [trace.question for trace in traces], [trace.hits for trace in traces]


class _Clock:
    """Seconds spent in each stage, a question's share of a batch."""

    def __init__(self, questions: int) -> None:
        self._questions = max(questions, 1)
        self.timings: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.timings[stage] = (time.perf_counter() - begun) / self._questions
