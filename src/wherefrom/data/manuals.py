"""Questions over manuals, READMEs and private papers, written for wherefrom: JSON lines of `bench.real.training`.

A line has a question, the passage that it was written over with the headings above it, the answer as it stands there,
and passages that a search also finds. `answer` is null where the passage does not answer, and yes or no where a
question asks for that; `evidence` is then what decides it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, GoldSpan
from wherefrom.data.faults import RecordPlace
from wherefrom.data.opening import json_records
from wherefrom.types import Passage, Question

YES_NO = ("yes", "no")


class _Record(msgspec.Struct):
    collection: str
    document: str
    title: str
    section: str
    passage: str
    question: str
    answer: str | None
    kind: str
    near_miss: bool = False
    evidence: str | None = None
    others: list[tuple[str, str, str]] = []  # title, section, text


def load(path: Path) -> Iterator[Example]:
    """The questions; the first passage is the one they were written over, `article` its document."""
    for place, record in json_records(path, _Record):
        id = f"manuals-{place.number}"
        others = [
            Passage(f"{id}#{number}", f"{id}#{number}", text, 0, len(text), title, section)
            for number, (title, section, text) in enumerate(record.others, start=1)
        ]
        gold = Passage(f"{id}#0", id, record.passage, 0, len(record.passage), record.title, record.section)
        truth = record.answer in YES_NO and record.kind == "yes-no"
        place_of = None if record.answer is None or truth else _span(record, gold, place)
        yield Example(
            Question(id, record.question),
            (gold, *others),
            (record.answer is not None, *(False for _ in others)),
            answers=() if record.answer is None else (record.answer,),
            spans=() if place_of is None else (place_of,),
            answerable=record.answer is not None,
            kind=record.kind,
            article=f"{record.collection}/{record.document}",
        )


def is_held_out(example: Example) -> bool:
    """A fifth of the documents: readers are not trained on them, so that their judge can be fitted there."""
    return zlib.crc32(example.article.encode()) % 5 == 0


def _span(record: _Record, passage: Passage, place: RecordPlace) -> GoldSpan:
    """The answer's place; line breaks in the passage count as spaces."""
    words = [re.escape(word) for word in (record.answer or "").split()]
    match = re.search(r"\s+".join(words), passage.text) if words else None
    if match is None:
        raise place.fault(f"answer: {record.answer!r} does not stand in the passage")
    return GoldSpan(passage.id, match.start(), match.end(), match[0])
