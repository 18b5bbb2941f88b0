"""Yes/no questions with the passages that answer them, and which it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from wherefrom.data import boolq, manuals, msmarco, multirc, squad
from wherefrom.data.examples import Example
from wherefrom.data.opening import json_records
from wherefrom.errors import NotFound
from wherefrom.features.polarity import asks_yes_no
from wherefrom.lab import lab_file

LABELS = "systems/yes_no/yes_no_squad.tsv"
FILES = (
    "squad/train-v1.1.json.xz",
    "squad/valid-v1.1.json.xz",
    "more_reading/multirc.jsonl.xz",
    "msmarco_sample/ms_marco_sample.json.xz",
)
BOOLQ = "boolq/valid.jsonl.xz"
_BEGINNING = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class _Decided(msgspec.Struct):
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class YesNoQuestion:
    """A yes/no question, the passage that answers it and whether the answer is yes."""

    source: str
    example: Example
    yes: bool
    evidence: str = ""  # what decides it, where somebody has said so


def labelled(data: Path) -> list[YesNoQuestion]:
    """All yes/no questions of the datasets that have a label."""
    for name in FILES:
        there(data / name)
    lines = (line.split("\t") for line in lab_file(LABELS).read_text(encoding="utf-8").splitlines())
    by_hand = {id: label == "yes" for id, label in lines}
    rows = [
        YesNoQuestion(f"squad/{split}", example, by_hand[example.question.id])
        for split in ("train", "valid")
        for example in squad.load(data / "squad", split)
        if example.question.id in by_hand
    ]
    rows += _answered("multirc", multirc.load(data / "more_reading"))
    rows += _answered("msmarco", msmarco.load(data / "msmarco_sample", "sample"))
    return [row for row in rows if asks_yes_no(row.example.question.text)]


def there(file: Path) -> Path:
    """The file, if it is there."""
    if not file.exists():
        raise NotFound(f"{file} is not there; --data names the folder of datasets, such as $WHEREFROM_DATA")
    return file


def _answered(source: str, examples: Iterator[Example]) -> Iterator[YesNoQuestion]:
    """Those whose answers, as far as they begin with yes or no, agree."""
    for example in examples:
        words = {match[1].lower() for answer in example.answers if (match := _BEGINNING.match(answer))}
        if len(words) == 1 and any(example.relevant):
            yield YesNoQuestion(source, example, words == {"yes"})


def boolq_questions(data: Path) -> list[YesNoQuestion]:
    """BoolQ's validation part, which readers do not learn from: all of it, whatever form its questions have."""
    there(data / BOOLQ)
    return [
        YesNoQuestion("boolq", example, example.answers == ("yes",)) for example in boolq.load(data / "boolq", "valid")
    ]


def manual_questions(file: Path) -> list[YesNoQuestion]:
    """Those over manuals that readers do not learn from, the right passage among others that a search finds."""
    evidence = [record.evidence or "" for _, record in json_records(file, _Decided)]
    return [
        YesNoQuestion("manuals", example, example.answers == ("yes",), decided)
        for example, decided in zip(manuals.load(file), evidence, strict=True)
        if example.kind == "yes-no" and example.answers and manuals.is_held_out(example)
    ]
