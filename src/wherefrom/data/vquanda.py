"""VQuAnDa: questions on DBpedia with the answer as a sentence, the short answer in it in [brackets].

Kacupaj et al. 2020. In about one in eleven the answer was too long to write; these have neither answers nor sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.bracketed import is_form, unbracketed
from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {"train": ("train.json",), "test": ("test.json",)}


class _Record(msgspec.Struct):
    uid: str | int
    question: str
    verbalized_answer: str


def load(path: Path, split: str) -> Iterator[Example]:
    """VQuAnDa."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, record in json_records(path, _Record):
        verbalised = record.verbalized_answer
        sentence, answer = ("", "") if is_form(verbalised) else unbracketed(verbalised)
        yield Example(
            Question(ids.once(str(record.uid), place, "uid"), record.question.strip()),
            answers=(answer,) if answer else (),
            sentences=(sentence,) if sentence else (),
        )
