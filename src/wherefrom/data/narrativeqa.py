"""NarrativeQA: questions on stories, answered from their summaries, with two free answers each.

Kočiský et al. 2018; 32,747 / 3,461 / 10,557 questions. The full stories are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.cutting import overlapping
from wherefrom.data.detokenize import detokenized
from wherefrom.data.examples import Example
from wherefrom.data.faults import choice
from wherefrom.data.opening import Files, csv_rows, named_files, split_name
from wherefrom.types import Passage, Question

FILES: Files = dict.fromkeys(("train", "valid", "test"), ("qaps.csv", "summaries.csv"))
PASSAGES = ("one", "ten")


def load(path: Path, split: str, *, passages: str = "one", detokenize: bool = False) -> Iterator[Example]:
    """NarrativeQA from the folder with `qaps.csv` and `summaries.csv`.

    `passages="ten"` cuts each summary into ten passages of up to 130 words of whole sentences (masque A.2);
    fewer where it is shorter than one, more where it is longer than ten. `detokenize` puts the tokenised text of
    some releases back together.
    """
    choice("passages", passages, PASSAGES)
    split = split_name(split, FILES)
    return _examples(
        named_files(path, ["qaps.csv"])[0],
        named_files(path, ["summaries.csv"])[0],
        split,
        passages == "ten",
        detokenize,
    )


def _examples(qaps: Path, summaries: Path, split: str, ten: bool, detokenize: bool) -> Iterator[Example]:
    printed = detokenized if detokenize else str
    stories = {
        row["document_id"]: _cut(row["document_id"], printed(row["summary"].strip()), ten)
        for _, row in csv_rows(summaries, ["document_id", "set", "summary"])
        if row["set"] == split
    }
    questions: Counter[str] = Counter()
    for place, row in csv_rows(qaps, ["document_id", "set", "question", "answer1", "answer2"]):
        if row["set"] not in FILES:
            raise place.fault(f"set: expected {', '.join(FILES)}, not {row['set']!r}")
        if row["set"] != split:
            continue
        story = row["document_id"]
        if story not in stories:
            raise place.fault(f"document_id: expected a story of the set {split} in {summaries}, not {story!r}")
        questions[story] += 1
        yield Example(
            Question(f"{story}-{questions[story]}", printed(row["question"].strip())),
            stories[story],
            answers=(printed(row["answer1"].strip()), printed(row["answer2"].strip())),
            article=story,
        )


def _cut(story: str, summary: str, ten: bool) -> tuple[Passage, ...]:
    spans = overlapping(summary) if ten else [(0, len(summary))]
    return tuple(
        Passage(f"{story}#{index}", story, summary[start:end], start, end) for index, (start, end) in enumerate(spans)
    )
