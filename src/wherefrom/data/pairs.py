"""Questions with candidate answers, one labelled pair a row: the form that answer selection shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import RecordPlace
from wherefrom.data.opening import tsv_rows
from wherefrom.types import Question

COLUMNS = ("question", "answer", "label")


def from_tsv(path: Path, name: str) -> Iterator[Example]:
    """Rows of question, answer, label; rows that follow each other with one question belong together."""
    grouped = groupby(tsv_rows(path, COLUMNS), key=lambda row: row[1]["question"])
    for number, (question, group) in enumerate(grouped, start=1):
        rows = list(group)
        labels = [binary(row["label"], place) for place, row in rows]
        yield candidates(f"{name}-{number}", question.strip(), [row["answer"].strip() for _, row in rows], labels)


def candidates(id: str, question: str, answers: Sequence[str], labels: Sequence[bool]) -> Example:
    """One question and its candidates; an empty candidate stays, it takes a rank like any other."""
    passages = tuple(whole(f"{id}#{index}", answer) for index, answer in enumerate(answers))
    return Example(Question(id, question), passages, tuple(labels))


def binary(label: str | int, place: RecordPlace) -> bool:
    """A label that must be 0 or 1."""
    if (text := str(label).strip()) not in ("0", "1"):
        raise place.fault(f"label: expected 0 or 1, not {text!r}")
    return text == "1"


def mixed(example: Example) -> bool:
    """Whether there are right and wrong candidates: with one sort only, every order is the same."""
    return any(example.relevant) and not all(example.relevant)
