"""QA2D: a question and its short answer, written as one sentence by people (Demszky et al. 2018).

The text is tokenised. There are no passages, but most rows come from SQuAD, and `on_squad` finds theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from wherefrom.data.detokenize import detokenized
from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, split_file, tsv_rows
from wherefrom.types import Question

FILES: Files = {"train": ("train.tsv",), "valid": ("valid.tsv", "dev.tsv")}
COLUMNS = ("dataset", "example_uid", "question", "answer", "turker_answer", "rule-based")


def load(path: Path, split: str, *, detokenize: bool = False) -> Iterator[Example]:
    """QA2D; `kind` is the dataset a row comes from. The rule-based sentence is no gold and is left out."""
    return _examples(split_file(path, split, FILES), detokenize)


def _examples(path: Path, detokenize: bool) -> Iterator[Example]:
    printed = detokenized if detokenize else str
    ids = Ids()
    for place, row in tsv_rows(path, COLUMNS):
        for name in ("question", "answer", "turker_answer"):
            if not row[name].strip():
                raise place.fault(f"{name}: expected some text")
        yield Example(
            Question(ids.distinct(f"{row['dataset']}-{row['example_uid']}"), printed(row["question"].strip())),
            answers=(printed(row["answer"].strip()),),
            sentences=(printed(row["turker_answer"].strip()),),
            kind=row["dataset"],
        )


def on_squad(rows: Iterable[Example], squad: Iterable[Example]) -> Iterator[Example]:
    """The SQuAD examples whose question a row asks too, with the row's sentences.

    Joined by the letters and digits of the question, since the tokeniser changed all else; rows of other datasets
    and rows whose question is not in `squad` are left out. A row for several SQuAD examples goes with the first.
    """
    by_letters: dict[str, Example] = {}
    for example in squad:
        by_letters.setdefault(_letters(example.question.text), example)
    for row in rows:
        same = by_letters.get(_letters(row.question.text))
        if same is not None and row.kind == "SQuAD":
            yield replace(same, sentences=row.sentences)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())
