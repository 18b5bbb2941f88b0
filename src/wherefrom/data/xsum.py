"""XSum: BBC articles with a summary of one sentence (Narayan et al. 2018); there is no question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, json_records, split_file
from wherefrom.types import Question

FILES: Files = {
    "train": ("train.jsonl", "xsum_train.jsonl"),
    "validation": ("validation.jsonl", "xsum_validation.jsonl"),
    "test": ("test.jsonl", "xsum_test.jsonl"),
    "sample": ("xsum.jsonl",),
}


class _Record(msgspec.Struct):
    """Either form; which fields there must be is checked by hand, to name the missing one."""

    document: str | None = None
    summary: str | None = None
    id: str | None = None
    input: str | None = None
    target: str | None = None
    comment: str | None = None


def load(path: Path, split: str) -> Iterator[Example]:
    """XSum as JSON lines of `document`, `summary`, `id`, or of `input`, `target`, `comment`."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, record in json_records(path, _Record):
        document = record.document if record.document is not None else record.input
        summary = record.summary if record.summary is not None else record.target
        if document is None:
            raise place.fault("expected a field document (or input)")
        if summary is None:
            raise place.fault("expected a field summary (or target)")
        id = ids.distinct(record.id or record.comment or f"xsum-{place.number}")
        yield Example(Question(id, ""), (whole(id, document),), summaries=(summary.strip(),))
