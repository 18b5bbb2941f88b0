"""A question's way through the stages, as plain calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from wherefrom.stages import Judge, OnWords, Ranker, Reader, Reranker, Retriever, Sources, Summarizer, Writer
from wherefrom.types import Answer, Hit, Question, Style, Summary, Trace

Gone = Callable[[Sequence[str]], tuple[str, ...]]  # of documents' ids, those whose file is no longer there
OutOfReach = Callable[[str], str]  # from a question's text to a reason, empty for most


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
    sources: Sources | None = None  # weighs versions of one text against each other; None: documents stand alone
    respell: Callable[[Question], Question] | None = None  # with misspelt words mended; None: as they are typed
    out_of_reach: OutOfReach | None = None  # why a question cannot be answered; None: all are tried
    gone: Gone | None = None  # None: documents are no files
    explain_judge: Judge | None = None  # of explanations; None: the judge of short answers judges them too
    summary_retriever: Retriever | None = None  # None: there is no library, or no summarizer
    summarizer: Summarizer | None = None

    def search_many(self, questions: Sequence[Question]) -> list[Trace]:
        """Find and rank passages; no answers."""
        return self.rank_many(self.find_many(questions))

    def ask_many(
        self,
        questions: Sequence[Question],
        style: Style,
        min_chance: float | None = None,
        on_words: OnWords | None = None,
    ) -> list[Trace]:
        """Find passages in the library and answer from them."""
        traces = self.read_many(self.rank_many(self.find_many(questions)))
        return self.write_many(self.judge_many(traces, style), style, min_chance, on_words)

    def answer_many(
        self,
        questions: Sequence[Question],
        hits: Sequence[Sequence[Hit]],
        style: Style,
        min_chance: float | None = None,
    ) -> list[Trace]:
        """Answer from given hits: datasets bring their own passages."""
        traces = [
            Trace(question, tuple(question_hits)) for question, question_hits in zip(questions, hits, strict=True)
        ]
        traces = self.read_many(self.rank_many(traces))
        return self.write_many(self.judge_many(traces, style), style, min_chance)

    def summarize_many(self, questions: Sequence[Question], words: int) -> list[Trace]:
        """Summaries of what the library holds on the questions."""
        clock = _Clock(len(questions))
        with clock("retrieve"):
            if self.respell:
                questions = [self.respell(question) for question in questions]
            retrieved = (self.summary_retriever or self.retriever).retrieve(questions)
        reasons = [self.out_of_reach(question.text) if self.out_of_reach else "" for question in questions]
        hits = [() if reason else tuple(own) for own, reason in zip(retrieved, reasons, strict=True)]
        assert self.summarizer is not None
        with clock("summarize"):
            summaries = self.summarizer.summarize(questions, hits, words)
        return [
            Trace(question, own, summary=Summary(reason=reason) if reason else summary, timings=clock.timings)
            for question, own, summary, reason in zip(questions, hits, summaries, reasons, strict=True)
        ]

    # The steps. Each takes the traces of the one before and fills in more of them, so that a server can show what
    # there is so far, and take each step in a batch of its own.

    def find_many(self, questions: Sequence[Question]) -> list[Trace]:
        """Traces with the passages that the retriever finds."""
        clock = _Clock(len(questions))
        with clock("retrieve"):
            if self.respell:
                questions = [self.respell(question) for question in questions]
            retrieved = self.retriever.retrieve(questions)
        return [
            Trace(question, tuple(hits), timings=clock.timings)
            for question, hits in zip(questions, retrieved, strict=True)
        ]

    def rank_many(self, traces: Sequence[Trace]) -> list[Trace]:
        """The hits in a better order, where there is a ranker."""
        if self.ranker is None:
            return list(traces)
        clock = _Clock(len(traces))
        with clock("rank"):
            ranked = self.ranker.rank(*_questions_and_hits(traces))
        return [
            replace(trace, hits=tuple(hits), timings={**trace.timings, **clock.timings})
            for trace, hits in zip(traces, ranked, strict=True)
        ]

    def read_many(self, traces: Sequence[Trace]) -> list[Trace]:
        """Candidate answers out of the hits, re-ranked where there is a re-ranker; none for what is out of reach."""
        questions = [trace.question for trace in traces]
        hits = [() if self._reason(trace) else trace.hits for trace in traces]
        clock = _Clock(len(traces))
        with clock("read"):
            candidates = self.reader.read(questions, hits)
        if self.reranker:
            with clock("rerank"):
                candidates = self.reranker.rerank(questions, candidates)
        if self.sources:
            candidates = [self.sources.newest_first(each) for each in candidates]
        return [
            replace(trace, candidates=tuple(read), timings={**trace.timings, **clock.timings})
            for trace, read in zip(traces, candidates, strict=True)
        ]

    def judge_many(self, traces: Sequence[Trace], style: Style) -> list[Trace]:
        """The chances, in answers that say nothing yet."""
        clock = _Clock(len(traces))
        judge = self.explain_judge if style == "explain" and self.explain_judge else self.judge
        with clock("judge"):
            chances = judge.judge(*_questions_and_hits(traces), [trace.candidates for trace in traces])
        reasons = [self._reason(trace) for trace in traces]
        return [
            replace(
                trace,
                answer=Answer(None, style, 0.0 if reason else chance, reason=reason),
                timings={**trace.timings, **clock.timings},
            )
            for trace, chance, reason in zip(traces, chances, reasons, strict=True)
        ]

    def write_many(
        self, traces: Sequence[Trace], style: Style, min_chance: float | None = None, on_words: OnWords | None = None
    ) -> list[Trace]:
        """Decline where the chance is too small, write the other answers; `on_words` gets the words as they come."""
        needed = self.min_chance if min_chance is None else min_chance
        chances = [trace.answer.chance if trace.answer else 0.0 for trace in traces]
        reasons = [self._reason(trace) for trace in traces]
        places = [place for place, chance in enumerate(chances) if chance >= needed and not reasons[place]]
        answerable = [traces[place] for place in places]
        clock = _Clock(len(traces))
        with clock("write"):
            written = self.writer.write(
                *_questions_and_hits(answerable),
                [trace.candidates for trace in answerable],
                [chances[place] for place in places],
                style,
                None if on_words is None else lambda number, words: on_words(places[number], words),
            )
        answers = {
            place: self._sourced(self._compared(answer, traces[place]))
            for place, answer in zip(places, written, strict=True)
        }
        return [
            replace(
                trace,
                answer=answers.get(place, Answer(None, style, chances[place], reason=reasons[place])),
                timings={**trace.timings, **clock.timings},
            )
            for place, trace in enumerate(traces)
        ]

    def _compared(self, answer: Answer, trace: Trace) -> Answer:
        """The answer, with what other sources say instead; a Yes or No and what is longer are not compared."""
        if self.sources is None or answer.text is None or answer.rests_on or answer.style in ("passage", "explain"):
            return answer
        return replace(answer, disagrees=self.sources.disagreements(trace.hits, trace.candidates))

    def _sourced(self, answer: Answer) -> Answer:
        """The answer, with which of its sources are no longer there to be looked at."""
        if self.gone is None or not answer.evidence:
            return answer
        return replace(answer, gone=self.gone(list(dict.fromkeys(each.document_id for each in answer.evidence))))

    def _reason(self, trace: Trace) -> str:
        return self.out_of_reach(trace.question.text) if self.out_of_reach else ""


def _questions_and_hits(traces: Sequence[Trace]) -> tuple[list[Question], list[tuple[Hit, ...]]]:
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
