"""BoolQ: questions to be answered by yes or no, each with a paragraph (Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("train.jsonl",), "valid": ("valid.jsonl", "dev.jsonl")}


class _Record(msgspec.Struct):
    question: str
    passage: str
    label: bool | int | None = None
    answer: bool | None = None  # as first published
    title: str = ""


def load(path: Path, split: str) -> Iterator[Example]:
    """BoolQ; the answer is `yes` or `no`, the title the part of the passage before its ` -- `."""
    for number, (place, record) in enumerate(json_records(split_file(path, split, FILES), _Record), start=1):
        truth = record.answer if record.answer is not None else record.label
        if truth is None:
            raise place.fault("label: expected 0 or 1 (or answer, true or false)")
        title, dashes, text = record.passage.partition(" -- ")
        passage = whole(
            f"boolq-{split}-p{number}", text if dashes else record.passage, record.title or (title if dashes else "")
        )
        yield Example(
            Question(f"boolq-{split}-{number}", record.question.rstrip("?") + "?"),
            (passage,),
            (True,),
            answers=("yes" if truth else "no",),
            answerable=True,
            article=passage.id,
        )
