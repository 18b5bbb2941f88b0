"""SubjQA: questions on reviews, half of them without an answer there (Bjerva et al. 2020)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.examples import Example, GoldSpan, whole
from wherefrom.data.faults import RecordPlace
from wherefrom.data.opening import Files, csv_rows, split_files
from wherefrom.types import Question

FILES: Files = {split: (f"*.{split}.csv",) for split in ("train", "dev", "test")}
_COLUMNS = ("domain", "question", "review_id", "review", "human_ans_spans", "human_ans_indices")
_NONE = "ANSWERNOTFOUND"  # stands at the end of every review, and as the answer where there is none
_INDICES = re.compile(r"\((\d+), (\d+)\)")


def load(path: Path, split: str = "train") -> Iterator[Example]:
    """SubjQA; `article` is the review, `kind` the domain. A question may come again with another answer."""
    for file in split_files(path, split, FILES):
        yield from _examples(file)


def _examples(path: Path) -> Iterator[Example]:
    for number, (place, row) in enumerate(csv_rows(path, _COLUMNS), start=1):
        review = row["review"].removesuffix(_NONE).rstrip()
        passage = whole(f"subjqa-{row['review_id']}", review)
        span = _span(row, review, passage.id, place)
        yield Example(
            Question(f"subjqa-{path.name.partition('.')[0]}-{number}", row["question"]),
            (passage,),
            (span is not None,),
            answers=(span.text,) if span else (),
            spans=(span,) if span else (),
            answerable=span is not None,
            kind=row["domain"],
            article=passage.id,
        )


def _span(row: dict[str, str], review: str, passage_id: str, place: RecordPlace) -> GoldSpan | None:
    if row["human_ans_spans"] == _NONE:
        return None
    indices = _INDICES.fullmatch(row["human_ans_indices"])
    if indices is None:
        raise place.fault(f"human_ans_indices: expected (start, end), not {row['human_ans_indices']!r}")
    start, end = int(indices[1]), int(indices[2])
    return GoldSpan(passage_id, start, end, review[start:end]) if end <= len(review) and start < end else None
