"""Questions whose answer is several sentences, with the characters of their documents that answer them.

Put together from MedQuAD (a page a subject, a section a question), MS MARCO's written answers (task 870 of
Super-NaturalInstructions), Natural Questions with the long answer that people marked, and SQuAD's questions of how and
why with the sentence that holds the answer and its neighbours. A document's questions are all in one part: "fit" is for
fitting, "valid" for measuring, by a hash of its name, so that both stay what they are when files grow.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from wherefrom.data import squad
from wherefrom.data.opening import json_records, named_files
from wherefrom.text import FUNCTION_WORDS, Span, clean, sentences, words
from wherefrom.types import Document

Part = Literal["fit", "valid"]
_VALID_SHARE = 0.4
_MOST_SENTENCES = 8  # of an answer: of more no five can be said to answer
_LEAST_SENTENCES = 2
_COVERED = 0.75  # share of a written answer's words that its evidence holds
_HOW_WHY = re.compile(r"\b(?:why|how (?!many|much|long|old|far|often|tall|big|high|large|fast|deep))", re.I)


@dataclass(frozen=True, slots=True)
class LongQuestion:
    """A question, the document that answers it, and where."""

    id: str
    text: str
    document_id: str
    evidence: tuple[Span, ...]  # sentences, as characters of the document
    reference: str


@dataclass(frozen=True, slots=True)
class LongAnswers:
    """Documents and the questions that they answer."""

    documents: tuple[Document, ...]
    questions: tuple[LongQuestion, ...]


def load(data: Path, source: str, part: Part) -> LongAnswers:
    """The part of one of SOURCES; documents of the other part are there too, as they are in a real library."""
    return SOURCES[source](data, part)


def part_of(name: str) -> Part:
    """Which part a document's questions belong to."""
    share = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF
    return "valid" if share < _VALID_SHARE else "fit"


class _MedQuAD(msgspec.Struct):
    question: str
    answer: str
    focus: str
    source: str


def _medquad(data: Path, part: Part) -> LongAnswers:
    """A page a subject and source: its answers are the sections."""
    pages: dict[str, list[_MedQuAD]] = defaultdict(list)
    for _, record in json_records(named_files(data / "medquad", ["medquad.jsonl"])[0], _MedQuAD):
        pages[f"{record.source}/{record.focus}"].append(record)
    documents, questions = [], []
    for name, records in pages.items():
        answers = dict.fromkeys(" ".join(clean(record.answer).split()) for record in records)
        text, starts = "", {}
        for answer in answers:
            starts[answer] = len(text)
            text += answer + "\n\n"
        id = f"medquad/{name}"
        documents.append(Document(id, text.rstrip(), records[0].focus))
        if part_of(name) != part:
            continue
        for number, record in enumerate(records):
            answer = " ".join(clean(record.answer).split())
            spans = _shifted(sentences(answer), starts[answer])
            if _LEAST_SENTENCES <= len(spans) <= _MOST_SENTENCES:
                text_of_question = " ".join(record.question.split()).replace(" ?", "?").replace("(are) ", "")
                questions.append(LongQuestion(f"{id}/{number}", text_of_question, id, spans, answer))
    return LongAnswers(tuple(documents), tuple(questions))


class _Instruction(msgspec.Struct):
    input: str
    target: list[str]


_QUERY = re.compile(r"(?P<text>.*)\s(?:Query|Question)\s?: ?(?P<question>.*)", re.S)


def _msmarco(data: Path, part: Part) -> LongAnswers:
    """Search results as one text; the evidence is the fewest sentences that hold what the written answer says."""
    documents, questions = [], []
    file = named_files(data / "instructions", ["task870_msmarco_answer_generation.jsonl"])[0]
    for place, record in json_records(file, _Instruction):
        match = _QUERY.fullmatch(record.input)
        if match is None:
            raise place.fault("input: expected a text and 'Query: ...'")
        text, id = clean(match["text"]).strip(), f"msmarco/{place.number}"
        documents.append(Document(id, text))
        reference = record.target[0]
        evidence = _holding(text, reference)
        if part_of(id) == part and evidence and len(words(reference)) >= 12:
            questions.append(LongQuestion(id, match["question"].strip(), id, evidence, reference))
    return LongAnswers(tuple(documents), tuple(questions))


class _NQGold(msgspec.Struct):
    title: str
    long_answer: str


class _NQ(msgspec.Struct):
    question: str
    gold: _NQGold = msgspec.field(name="nq_annotated_gold")


def _nq(data: Path, part: Part) -> LongAnswers:
    """Search questions, and the paragraph that people marked as the long answer."""
    documents: dict[str, Document] = {}
    questions = []
    for place, record in json_records(named_files(data / "nq_oracle", ["train.jsonl"])[0], _NQ):
        text = clean(record.gold.long_answer).strip()
        id = f"nq/{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        documents.setdefault(id, Document(id, text, record.gold.title))
        spans = tuple(sentences(text))
        if part_of(record.gold.title) == part and _LEAST_SENTENCES <= len(spans) <= _MOST_SENTENCES:
            questions.append(LongQuestion(f"{id}/{place.number}", record.question + "?", id, spans, text))
    return LongAnswers(tuple(documents.values()), tuple(questions))


def _squad(data: Path, part: Part) -> LongAnswers:
    """How and why: the sentence that holds the answer with its neighbours, in the article of all paragraphs."""
    paragraphs: dict[str, dict[str, str]] = defaultdict(dict)
    wanted = []
    for example in squad.load(data / "squad", "train" if part == "fit" else "valid"):
        passage, span = example.passages[0], example.spans[0]
        paragraphs[example.article][passage.id] = passage.text
        if _HOW_WHY.search(example.question.text):
            wanted.append((example.question, example.article, passage, span))
    documents, starts = [], {}
    for article, texts in paragraphs.items():
        text = ""
        for id, paragraph in texts.items():
            starts[id] = len(text)
            text += paragraph + "\n\n"
        documents.append(Document(f"squad/{article}", text.rstrip(), article.replace("_", " ")))
    questions = []
    for question, article, passage, span in wanted:
        around = _neighbours(passage.text, (span.start, span.end))
        reference = passage.text[around[0][0] : around[-1][1]]
        if len(around) >= _LEAST_SENTENCES:
            spans = _shifted(around, starts[passage.id])
            questions.append(LongQuestion(f"squad/{question.id}", question.text, f"squad/{article}", spans, reference))
    return LongAnswers(tuple(documents), tuple(questions))


SOURCES: dict[str, Callable[[Path, Part], LongAnswers]] = {
    "medquad": _medquad,
    "msmarco": _msmarco,
    "nq": _nq,
    "squad": _squad,
}


def _shifted(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple((start + by, end + by) for start, end in spans)


def _neighbours(text: str, span: Span) -> list[Span]:
    """The sentences that hold a span, with the one before and the one after."""
    spans = sentences(text)
    touched = [number for number, (start, end) in enumerate(spans) if start < span[1] and end > span[0]]
    if not touched:
        return []
    return spans[max(touched[0] - 1, 0) : touched[-1] + 2]


def _holding(text: str, reference: str) -> tuple[Span, ...]:
    """The fewest sentences, greedily, that hold what the reference says; none where even five do not."""
    wanted = set(_content(reference))
    if not wanted:
        return ()
    held = {span: wanted & set(_content(text[slice(*span)])) for span in sentences(text)}
    taken: list[Span] = []
    missing = set(wanted)
    while held and len(taken) < 5 and len(missing) > (1 - _COVERED) * len(wanted):
        best = max(held, key=lambda span: (len(held[span] & missing), -span[0]))
        if not held[best] & missing:
            break
        missing -= held.pop(best)
        taken.append(best)
    return tuple(sorted(taken)) if len(missing) <= (1 - _COVERED) * len(wanted) else ()


def _content(text: str) -> Iterator[str]:
    for start, end in words(text):
        word = text[start:end].lower()
        if word[0].isalnum() and word not in FUNCTION_WORDS:
            yield word
