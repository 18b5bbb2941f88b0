"""NQ-open: questions typed into a search engine, with short answers and, where given, the gold Wikipedia passage.

Lee et al. 2019. Read as published (`question`, `answer`) and with passages as FiD and DPR write them (`question`,
`answers`, `ctxs`), of which `isgold` marks the oracle passage.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import RecordPlace
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {
    "train": ("train.jsonl", "NQ-open.train.jsonl", "NQ-open.efficientqa.train.*.jsonl"),
    "dev": ("dev.jsonl", "NQ-open.dev.jsonl"),
    "test": ("test.jsonl", "NQ-open.efficientqa.test.*.jsonl"),
}


class _Context(msgspec.Struct):
    title: str
    text: str
    isgold: bool | None = None


class _Record(msgspec.Struct):
    question: str
    answer: list[str] | None = None
    answers: list[str] | None = None
    ctxs: list[_Context] = []


def load(path: Path, split: str) -> Iterator[Example]:
    """NQ-open; with an oracle passage `relevant` is known and the question answerable."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    for number, (place, record) in enumerate(json_records(path, _Record), start=1):
        id = f"nq-{number}"
        relevant = _relevant(record, place)
        yield Example(
            Question(id, record.question),
            tuple(whole(f"{id}#{index}", context.text, context.title) for index, context in enumerate(record.ctxs)),
            relevant,
            answers=_answers(record, place),
            answerable=True if any(relevant) else None,
        )


def _answers(record: _Record, place: RecordPlace) -> tuple[str, ...]:
    answers = record.answers if record.answers is not None else record.answer
    if not answers:
        raise place.fault("answers: expected at least one")
    return tuple(answers)


def _relevant(record: _Record, place: RecordPlace) -> tuple[bool, ...]:
    known = [context.isgold for context in record.ctxs if context.isgold is not None]
    if known and len(known) != len(record.ctxs):
        raise place.fault(f"ctxs: expected isgold on all {len(record.ctxs)}, found it on {len(known)}")
    return tuple(known)
