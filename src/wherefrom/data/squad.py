"""SQuAD 1.1 and 2.0: questions on Wikipedia paragraphs, answered by a span or, in 2.0, not at all.

Rajpurkar et al. 2016 (1.1: 87,599 training and 10,570 development questions) and 2018 (2.0).

Files of the same form are not all as clean: SQuADShifts' Amazon file has offsets at which the answer does not stand.
Such an answer is looked for where it is nearest, and a warning counts them; official scores compare texts alone, so no
question is lost and no score changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, GoldSpan
from wherefrom.data.faults import Ids, RecordPlace, warn
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


@dataclass
class _Astray:
    """Answers that do not stand where a file says, counted."""

    moved: int = 0
    absent: int = 0
    first: str = ""  # where the first of them is, in words

    def noted(self, what: str) -> None:
        self.first = self.first or what

    def report(self, path: Path) -> None:
        """One warning a file, if there is anything to say."""
        parts = []
        if self.moved:
            parts.append(f"{self.moved:,} taken from where their text is nearest")
        if self.absent:
            parts.append(f"{self.absent:,} occur nowhere in their paragraph and have no place")
        if parts:
            total = self.moved + self.absent
            warn(f"{path}: {total:,} answers do not stand at their answer_start: {'; '.join(parts)} ({self.first})")


def _examples(path: Path) -> Iterator[Example]:
    ids, paragraphs, astray = Ids(), Ids(), _Astray()
    decoder = msgspec.json.Decoder(_Article)
    try:
        for number, raw in enumerate(decoded(read_bytes(path), _File, path).data, start=1):
            place = RecordPlace(path, number, "article")
            article = decoded(raw, decoder, place)
            for index, paragraph in enumerate(article.paragraphs):
                text = paragraph.context
                id = paragraphs.distinct(f"{article.title}#{index}")
                passage = Passage(id, id, text, 0, len(text), article.title.replace("_", " "))
                for record in paragraph.qas:
                    yield _example(record, passage, article.title, ids, place, astray)
    finally:  # also where only the first questions are wanted
        astray.report(path)


def _example(record: _Question, passage: Passage, title: str, ids: Ids, place: RecordPlace, astray: _Astray) -> Example:
    ids.once(record.id, place, "id")
    if record.is_impossible:
        return Example(Question(record.id, record.question), (passage,), (False,), answerable=False, article=title)
    spans = [_span(answer, passage, record.id, place, astray) for answer in record.answers]
    return Example(
        Question(record.id, record.question),
        (passage,),
        (True,),
        answers=tuple(answer.text for answer in record.answers),
        spans=tuple(span for span in spans if span is not None),
        answerable=True if spans else None,  # no answers: a hidden test set
        article=title,
    )


def _span(answer: _Answer, passage: Passage, id: str, place: RecordPlace, astray: _Astray) -> GoldSpan | None:
    """The answer at its place, or at the nearest one where its text stands; None where it stands nowhere."""
    start, end = answer.answer_start, answer.answer_start + len(answer.text)
    if start >= 0 and passage.text[start:end] == answer.text:
        return GoldSpan(passage.id, start, end, answer.text, sure=not answer.start_ambiguous)
    astray.noted(f"the first is of question {id}, article {place.number}: {answer.text!r} is not at {start}")
    nearest = _nearest(answer.text, passage.text, start)
    if nearest is None:
        astray.absent += 1
        return None
    astray.moved += 1
    sure = passage.text.count(answer.text) == 1 and not answer.start_ambiguous
    return GoldSpan(passage.id, nearest, nearest + len(answer.text), answer.text, sure=sure)


def _nearest(wanted: str, text: str, start: int) -> int | None:
    """Where the wanted text stands, nearest to `start`; the earlier of two that are equally near."""
    if not wanted:
        return None
    before = text.rfind(wanted, 0, max(0, start) + len(wanted))
    after = text.find(wanted, max(0, start))
    places = [place for place in (before, after) if place >= 0]
    return min(places, key=lambda place: (abs(place - start), place), default=None)
