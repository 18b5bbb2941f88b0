"""What the selector learns from: statements of passages that were retrieved, with which of them are right.

Of a question with a long answer those statements are right that the evidence touches; of a summary those that, taken
greedily, bring the most of its words. Every question is asked of a library, so that the numbers are those of use.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy
from numpy.typing import NDArray

from wherefrom.config import RetrieveSettings, Settings
from wherefrom.data import long_answers, squality
from wherefrom.data.long_answers import LongQuestion, Part
from wherefrom.data.opening import json_records, named_files
from wherefrom.features.matching import Matcher
from wherefrom.features.telling import Teller
from wherefrom.features.worth import NAMES, PURPOSES, Purpose, Selector, Worth
from wherefrom.library import Library
from wherefrom.metrics.rouge import rouge_n
from wherefrom.metrics.tokens import rouge_tokens
from wherefrom.pipeline import Pipeline
from wherefrom.runtime.reader import ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.text import clean
from wherefrom.types import Document, Hit, Question

HITS = 12  # for an explanation: as many as a question has
SUMMARY_HITS = 60
_TOUCHED = 0.5  # share of a statement's characters that the evidence holds
_ORACLE = 12  # statements of a summary at most

Report = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Rows:
    """Statements of many questions."""

    seen: NDArray[numpy.float32]  # (statements, features)
    gold: NDArray[numpy.float32]  # (statements,): 1 where it is right
    question: NDArray[numpy.int64]  # (statements,): the number of its question
    purpose: NDArray[numpy.int64]  # (questions,)
    answerable: NDArray[numpy.bool_]  # (questions,): whether the document that answers is among the hits
    judged: NDArray[numpy.float32]  # (questions,): the judge's chance, of short answers
    source: NDArray[numpy.str_]  # (questions,)

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            numpy.savez_compressed(file, names=numpy.array(NAMES), **{n: getattr(self, n) for n in self.__slots__})

    @classmethod
    def load(cls, path: Path) -> Rows:
        with path.open("rb") as file, numpy.load(file, allow_pickle=False) as arrays:
            if tuple(arrays["names"].tolist()) != NAMES:
                raise ValueError(f"{path} was made of other features; make it anew")
            return cls(*(arrays[name] for name in cls.__slots__))


class _Collecting:
    """Rows while they are made."""

    def __init__(self) -> None:
        self.seen: list[NDArray[numpy.float32]] = []
        self.gold: list[float] = []
        self.question: list[int] = []
        self.facts: list[tuple[int, bool, float, str]] = []

    def add(
        self,
        rows: NDArray[numpy.float32],
        gold: Sequence[float],
        purpose: Purpose,
        answerable: bool,
        judged: float,
        source: str,
    ) -> None:
        self.seen.append(rows)
        self.gold += gold
        self.question += [len(self.facts)] * len(gold)
        self.facts.append((PURPOSES.index(purpose), answerable, judged, source))

    def rows(self) -> Rows:
        purpose, answerable, judged, source = zip(*self.facts, strict=True)
        return Rows(
            numpy.concatenate(self.seen),
            numpy.array(self.gold, numpy.float32),
            numpy.array(self.question, numpy.int64),
            numpy.array(purpose, numpy.int64),
            numpy.array(answerable, bool),
            numpy.array(judged, numpy.float32),
            numpy.array(source, str),
        )


def teller(settings: Settings, read: int) -> Teller:
    """What makes the numbers; its selector is not looked at."""
    runtime = settings.runtime
    session = ReaderSession(Weights.named(runtime.reader), runtime.threads)
    worth = Worth("english", Matcher(Weights.named(runtime.matcher)))
    return Teller(Selector(Weights.named("selector")), worth, session, read)


def explained(data: Path, sources: Sequence[str], part: Part, count: int, out: Path, report: Report) -> Rows:
    """Questions with long answers, `count` a source: each with its document in the library, and again without it."""
    settings = Settings(retrieve=RetrieveSettings(k=2 * HITS))
    collecting, weighing = _Collecting(), teller(settings, HITS)
    done = 0
    for source in sources:
        library, questions = long_library(data, source, part, count, out, settings)
        with library:
            pipeline = library.pipeline()
            for each in questions:
                report(done, count * len(sources))
                done += 1
                (trace,) = pipeline.find_many([Question(each.id, each.text)])
                for left_out in (False, True):
                    hits = [hit for hit in trace.hits if not (left_out and hit.passage.document_id == each.document_id)]
                    _add_explained(collecting, pipeline, weighing, each, hits[:HITS], left_out, source)
    return collecting.rows()


def long_library(
    data: Path, source: str, part: Part, count: int, out: Path, settings: Settings
) -> tuple[Library, list[LongQuestion]]:
    """A library of a source's documents, and `count` of its questions, drawn with a fixed seed."""
    answers = long_answers.load(data, source, part)
    folder = out / "libraries" / (f"{source}-{part}" if source == "squad" else source)
    library = Library(folder, settings)
    if not (folder / "whole").exists():
        library.put(answers.documents)
        (folder / "whole").touch()
    questions = list(answers.questions)
    random.Random(f"{source} {part}").shuffle(questions)
    return library, questions[:count]


def _add_explained(
    collecting: _Collecting,
    pipeline: Pipeline,
    weighing: Teller,
    each: LongQuestion,
    hits: Sequence[Hit],
    left_out: bool,
    source: str,
) -> None:
    question = Question(each.id, each.text)
    (trace,) = pipeline.answer_many([question], [hits], "short", min_chance=2.0)  # read and judged, never written
    ranked = trace.hits
    weighed = weighing.weighed(each.text, ranked)
    if not weighed.statements:
        return
    gold = [
        0.0
        if left_out or statement.passage.document_id != each.document_id
        else float(_touched(statement.place[1], statement.place[1] + statement.end - statement.start, each.evidence))
        for statement in weighed.statements
    ]
    assert trace.answer is not None
    answerable = not left_out and any(gold)
    if left_out or answerable:  # what was not retrieved teaches nothing of statements
        collecting.add(weighed.rows, gold, "explain", answerable, trace.answer.chance, source)


def _touched(start: int, end: int, evidence: Sequence[tuple[int, int]]) -> bool:
    held = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in evidence)
    return held >= _TOUCHED * (end - start)


# Summaries.


@dataclass(frozen=True, slots=True)
class SummaryQuestion:
    """A document, what is wanted of it, and what people wrote."""

    document: Document
    question: str
    references: tuple[str, ...]
    source: str


class _Turn(msgspec.Struct):
    speaker: str
    content: str


class _Query(msgspec.Struct):
    query: str
    answer: str


class _Meeting(msgspec.Struct):
    general_query_list: list[_Query]
    specific_query_list: list[_Query]
    meeting_transcripts: list[_Turn]


def meetings(data: Path, split: str) -> Iterator[SummaryQuestion]:
    """QMSum as people keep minutes: a text a meeting, a paragraph a turn, the speaker before it."""
    for place, meeting in json_records(named_files(data / "qmsum", [f"{split}.jsonl"])[0], _Meeting):
        text = "\n\n".join(clean(f"{turn.speaker}: {turn.content}") for turn in meeting.meeting_transcripts)
        document = Document(f"{split}/meeting-{place.number}.txt", text)
        for query in (*meeting.general_query_list, *meeting.specific_query_list):
            yield SummaryQuestion(document, query.query.strip(), (query.answer.strip(),), "qmsum")


def stories(data: Path) -> Iterator[SummaryQuestion]:
    """SQuALITY: stories, and questions of which four people wrote a summary each."""
    numbers: dict[str, int] = {}
    for example in squality.load(data / "squality", "train"):
        number = numbers.setdefault(example.article, len(numbers) + 1)
        document = Document(f"story-{number}.txt", example.passages[0].text)
        yield SummaryQuestion(document, example.question.text, example.summaries, "squality")


class _News(msgspec.Struct):
    document: str
    right_summary: str


def news(data: Path) -> Iterator[SummaryQuestion]:
    """News with summaries, of a question that names nothing."""
    for place, article in json_records(named_files(data / "halueval", ["summarization.jsonl"])[0], _News, strict=False):
        document = Document(f"news-{place.number}.txt", clean(article.document))
        yield SummaryQuestion(document, "Summarize the article.", (clean(article.right_summary),), "news")


def summarized(wanted: Sequence[SummaryQuestion], out: Path, name: str, report: Report) -> Rows:
    """Statements of what a summary would be made of, and which of them bring the most of it."""
    settings = Settings(retrieve=RetrieveSettings(k=SUMMARY_HITS))
    collecting, weighing = _Collecting(), teller(settings, HITS)
    library = Library(out / "libraries" / name, settings)
    if not (out / "libraries" / name / "whole").exists():
        library.put(list({each.document.id: each.document for each in wanted}.values()))
        (out / "libraries" / name / "whole").touch()
    with library:
        for number, each in enumerate(wanted):
            report(number, len(wanted))
            hits = library.summary_hits(each.question, [each.document.id])
            weighed = weighing.weighed(each.question, hits)
            if weighed.statements:
                gold = oracle([statement.text for statement in weighed.statements], each.references)
                collecting.add(weighed.rows, gold, "summary", True, 0.0, each.source)
    return collecting.rows()


def oracle(texts: Sequence[str], references: Sequence[str]) -> list[float]:
    """1 for the statements that, taken greedily, raise ROUGE-1 and ROUGE-2 with the references most."""
    wanted = [rouge_tokens(reference, "porter") for reference in references]
    tokens = [rouge_tokens(text, "porter") for text in texts]
    taken: list[int] = []
    best = 0.0
    while len(taken) < _ORACLE:
        so_far = [token for at in sorted(taken) for token in tokens[at]]
        gains = [
            (sum(_f(tuple(so_far) + tokens[at], one) for one in wanted) / len(wanted), -at)
            for at in range(len(texts))
            if at not in taken and tokens[at]
        ]
        if not gains or max(gains)[0] <= best + 1e-4:
            break
        best, at = max(gains)
        taken.append(-at)
    return [float(at in taken) for at in range(len(texts))]


def _f(tokens: Sequence[str], reference: Sequence[str]) -> float:
    return rouge_n(tokens, reference, 1).score().f + rouge_n(tokens, reference, 2).score().f
