"""Tables as plain text, .csv and .tsv: a row with its headings is a fact."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from wherefrom.ingest.outcome import Record
from wherefrom.ingest.sheets import SheetCell, SheetRow, SheetText
from wherefrom.ingest.source import decoded, readable_name

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_SAMPLE_LENGTH = 100_000
# Numbers, amounts and dates; what else may stand in a cell is a text.
_VALUE = re.compile(r"[-+(]?\s?[$€£¥]?\s?[-+]?\d[\d.,:/\s'-]*(?:e[-+]?\d+)?\s?[%$€£¥]?\)?|true|false", re.IGNORECASE)
_LONGEST_VALUE = 40


def read(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """Whatever parts its columns, in any encoding; an empty line parts tables."""
    text = decoded(data).removeprefix("\ufeff")
    declared = re.match(r"sep=(.)\r?\n", text)  # what Excel writes for itself
    if declared:
        text = text[declared.end() :]
    delimiter = declared[1] if declared else _delimiter(text)
    try:
        written = _written(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), limit_bytes)
    except csv.Error:  # a quotation mark that is never closed is a sign like any other
        written = _written((line.split(delimiter) for line in text.splitlines()), limit_bytes)
    return Record(None, readable_name(name), written.text, places=tuple(written.places))


def _written(lines: Iterable[list[str]], limit_bytes: int) -> SheetText:
    written = SheetText(limit_bytes, headings_likely=True)
    written.sheet(_rows(lines))
    return written


def _rows(lines: Iterable[list[str]]) -> Iterator[SheetRow]:
    for number, values in enumerate(lines, start=1):
        if not any(values):
            continue
        texts = {column: " ".join(value.split()) for column, value in enumerate(values, start=1)}
        cells = {column: SheetCell(text, not _is_value(text)) for column, text in texts.items() if text}
        if cells:
            yield SheetRow(number, cells)


def _is_value(text: str) -> bool:
    return len(text) <= _LONGEST_VALUE and _VALUE.fullmatch(text) is not None


def _delimiter(text: str) -> str:
    """The sign that parts the same number of columns in most of the first lines; a comma where none does."""
    sample = text[:_SAMPLE_LENGTH].splitlines()[:_SAMPLE_LINES]
    best, best_score = ",", (0, 0)
    for delimiter in _DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter) if row)
        except csv.Error:
            continue
        score = max(((lines, width) for width, lines in widths.items() if width > 1), default=(0, 0))
        if score > best_score:
            best, best_score = delimiter, score
    return best
