"""CuratedTREC: factoid questions of TREC whose answers are regular expressions (Baudiš and Šedivý 2015)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wherefrom.data.examples import Example
from wherefrom.data.faults import Ids
from wherefrom.data.opening import Files, split_file, tsv_rows
from wherefrom.types import Question

FILES: Files = {"train": ("curated-train.tsv",), "test": ("curated-test.tsv",)}
COLUMNS = ("id", "kind", "question", "pattern")


def load(path: Path, split: str) -> Iterator[Example]:
    """CuratedTREC; the patterns are meant without regard to case."""
    return _examples(split_file(path, split, FILES))


def _examples(path: Path) -> Iterator[Example]:
    ids = Ids()
    for place, row in tsv_rows(path, COLUMNS, header=False):
        try:
            re.compile(row["pattern"])
        except re.error as error:
            raise place.fault(f"pattern: expected a regular expression, not {row['pattern']!r} ({error})") from error
        yield Example(
            Question(ids.once(row["id"], place, "id"), row["question"].strip()),
            patterns=(row["pattern"],),
            kind=row["kind"],
        )
