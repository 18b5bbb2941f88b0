"""VANiLLa: a question, its short answer from Wikidata, and the answer as a sentence (Biswas et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {
    "train": ("train.jsonl", "Vanilla_Dataset_Train.json"),
    "test": ("test.jsonl", "Vanilla_Dataset_Test.json"),
}


class _Record(msgspec.Struct):
    question_id: int | str
    question: str
    answer: str
    answer_sentence: str


def load(path: Path, split: str) -> Iterator[Example]:
    """VANiLLa; a few questions come twice with different sentences, the second as `73624~2`."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for _, record in json_records(path, _Record):
        yield Example(
            Question(ids.distinct(str(record.question_id)), record.question.strip()),
            answers=(record.answer.strip(),),
            sentences=(record.answer_sentence.strip(),),
        )
