"""WikiQA: Bing queries with the sentences of a Wikipedia summary, labelled right or wrong.

Yang et al. 2015; 2,118 / 296 / 633 questions. Two thirds have no right sentence: those are truly unanswerable.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, split_file, text_lines, tsv_rows
from wherefrom.data.pairs import COLUMNS as PAIR_COLUMNS
from wherefrom.data.pairs import binary, from_tsv
from wherefrom.types import Passage, Question

FILES: Files = {split: (f"WikiQA-{split}.tsv",) for split in ("train", "dev", "test")}
COLUMNS = ("QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label")


def load(path: Path, split: str, *, clean: bool = False) -> Iterator[Example]:
    """WikiQA; `clean` keeps the questions with a right sentence (243 of the 633 test questions)."""
    file = split_file(path, split, FILES)
    first = next(text_lines(file), None)
    in_pairs = first is not None and first[1].split("\t") == list(PAIR_COLUMNS)
    examples = from_tsv(file, "wikiqa") if in_pairs else _examples(file)
    return (example for example in examples if any(example.relevant) or not clean)


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for id, group in groupby(tsv_rows(path, COLUMNS), key=lambda row: row[1]["QuestionID"]):
        rows = list(group)
        ids.once(id, rows[0][0], "QuestionID")
        sentences = Ids()
        passages = tuple(
            Passage(
                sentences.once(row["SentenceID"], place, "SentenceID"),
                row["DocumentID"],
                row["Sentence"],
                0,
                len(row["Sentence"]),
                row["DocumentTitle"],
            )
            for place, row in rows
        )
        relevant = tuple(binary(row["Label"], place) for place, row in rows)
        first = rows[0][1]
        yield Example(
            Question(id, first["Question"]), passages, relevant, answerable=any(relevant), article=first["DocumentID"]
        )
