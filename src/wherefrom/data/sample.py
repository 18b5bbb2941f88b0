"""The questions of wherefrom's own sample library: `sample/questions.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {"valid": ("questions.jsonl",)}


class _Record(msgspec.Struct):
    id: str
    question: str
    type: str
    answerable: bool
    answers: list[str]
    sentence: str | None
    document: str | None
    evidence: str | None


def load(path: Path, split: str) -> Iterator[Example]:
    """Questions to ask of the sample library; `article` is the document that answers, `kind` the question word."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, record in json_records(path, _Record):
        if record.answerable and not record.answers:
            raise place.fault("answers: expected at least one for an answerable question")
        yield Example(
            Question(ids.once(record.id, place, "id"), record.question),
            answers=tuple(record.answers),
            sentences=(record.sentence,) if record.sentence else (),
            answerable=record.answerable,
            kind=record.type,
            article=record.document or "",
        )
