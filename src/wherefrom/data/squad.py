"""SQuAD 1.1 and 2.0: questions on Wikipedia paragraphs, answered by a span or, in 2.0, not at all.

Rajpurkar et al. 2016 (1.1: 87,599 training and 10,570 development questions) and 2018 (2.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, GoldSpan
from wherefrom.data.faults import Ids, RecordPlace
from wherefrom.data.opening import Files, decoded, read_bytes, split_file
from wherefrom.types import Passage, Question

FILES: Files = {"train": ("train-v1.1.json",), "valid": ("valid-v1.1.json",), "dev": ("dev-v1.1.json",)}
FILES_2: Files = {"train": ("train-v2.0.json",), "dev": ("dev-v2.0.json",)}


class _Answer(msgspec.Struct):
    text: str
    answer_start: int
    start_ambiguous: bool = False  # not of the official files: the text occurs more than once


class _Question(msgspec.Struct):
    id: str
    question: str
    answers: list[_Answer]
    is_impossible: bool = False  # 2.0; the plausible_answers that come with it are wrong on purpose


class _Paragraph(msgspec.Struct):
    context: str
    qas: list[_Question]


class _Article(msgspec.Struct):
    title: str
    paragraphs: list[_Paragraph]


class _File(msgspec.Struct):
    data: list[msgspec.Raw]


def load(path: Path, split: str) -> Iterator[Example]:
    """SQuAD 1.1, and any file of the same form."""
    return _examples(split_file(path, split, FILES))


def load_2(path: Path, split: str) -> Iterator[Example]:
    """SQuAD 2.0; an impossible question has no answers and `answerable` is False."""
    return _examples(split_file(path, split, FILES_2))


def _examples(path: Path) -> Iterator[Example]:
    ids, paragraphs = Ids(), Ids()
    decoder = msgspec.json.Decoder(_Article)
    for number, raw in enumerate(decoded(read_bytes(path), _File, path).data, start=1):
        place = RecordPlace(path, number, "article")
        article = decoded(raw, decoder, place)
        for index, paragraph in enumerate(article.paragraphs):
            text = paragraph.context
            id = paragraphs.distinct(f"{article.title}#{index}")
            passage = Passage(id, id, text, 0, len(text), article.title.replace("_", " "))
            for record in paragraph.qas:
                yield _example(record, passage, article.title, ids, place)


def _example(record: _Question, passage: Passage, title: str, ids: Ids, place: RecordPlace) -> Example:
    ids.once(record.id, place, "id")
    if record.is_impossible:
        return Example(Question(record.id, record.question), (passage,), (False,), answerable=False, article=title)
    spans = tuple(_span(answer, passage, record.id, place) for answer in record.answers)
    return Example(
        Question(record.id, record.question),
        (passage,),
        (True,),
        answers=tuple(span.text for span in spans),
        spans=spans,
        answerable=True if spans else None,  # no answers: a hidden test set
        article=title,
    )


def _span(answer: _Answer, passage: Passage, id: str, place: RecordPlace) -> GoldSpan:
    start, end = answer.answer_start, answer.answer_start + len(answer.text)
    text = passage.text[max(0, start) : end]
    if text != answer.text:
        raise place.fault(f"answer_start of question {id}: expected {answer.text!r} at {start}, not {text!r}")
    return GoldSpan(passage.id, start, end, answer.text, sure=not answer.start_ambiguous)
