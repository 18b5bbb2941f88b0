"""Debatepedia: a query, a short text from a debate and a one-sentence summary, on parallel lines.

Nema et al. 2017; ten folds of 10,859 / 1,357 / 1,357 triples: name the folder of one fold. The marks `<s>` and
`<eos>` around every line are taken off.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from wherefrom.data.examples import Example, whole
from wherefrom.data.faults import DatasetError
from wherefrom.data.opening import Files, named_files, split_name, text_lines
from wherefrom.types import Question

PARTS = ("content", "query", "summary")
FILES: Files = {split: tuple(f"{split}_{part}" for part in PARTS) for split in ("train", "valid", "test")}


def load(path: Path, split: str) -> Iterator[Example]:
    """Debatepedia from the folder with `valid_content`, `valid_query` and `valid_summary`."""
    split = split_name(split, FILES)
    return _examples(*(named_files(path, [name])[0] for name in FILES[split]))


def _examples(contents: Path, queries: Path, summaries: Path) -> Iterator[Example]:
    files = (contents, queries, summaries)
    rows = zip_longest(*(text_lines(file) for file in files))
    for number, lines in enumerate(rows, start=1):
        for file, line in zip(files, lines, strict=True):
            if line is None:
                raise DatasetError(f"{file} ends after {number - 1} lines; expected as many as in the other two")
        (first, _), *others = lines
        for place, _ in others:
            if place.number != first.number:
                raise place.fault(f"expected it beside line {first.number} of {contents}; a line before it is blank")
        content, query, summary = (_bare(text) for _, text in lines)
        id = f"debatepedia-{number}"
        yield Example(Question(id, query), (whole(f"{id}#0", content),), summaries=(summary,))


def _bare(line: str) -> str:
    return line.strip().removeprefix("<s>").removesuffix("<eos>").strip()
