"""Rows of spreadsheets as text: each a fact of its own, with the headings of its columns, at its row of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from wherefrom.errors import IngestError
from wherefrom.ingest.source import too_long
from wherefrom.types import Place

_LONGEST_HEADING = 40  # characters of a column's, to be repeated in each row
_LOOKED_AT = 3  # rows from which it is told whether the first one has headings
_PARAGRAPH_WORDS = 80  # rows stand together up to so many: a passage then begins and ends with whole rows


@dataclass(frozen=True, slots=True)
class SheetCell:
    """What people see in a cell; `is_text` tells names from numbers and dates."""

    text: str
    is_text: bool = True
    bold: bool = False


@dataclass(frozen=True, slots=True)
class SheetRow:
    """The cells of a row that are not empty, by their columns; rows and columns count from 1."""

    number: int
    cells: Mapping[int, SheetCell]


@dataclass(slots=True)
class SheetText:
    """The text of a workbook while it is written, with the place of every row."""

    limit_bytes: int
    headings_likely: bool = False  # where there are two columns of text: in a file of values, not so in a form
    places: list[Place] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _words: int = 0  # of the paragraph

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def heading(self, name: str) -> None:
        """The name of a sheet, as a paragraph of its own."""
        self._add(name, "", close=False)
        self._words = _PARAGRAPH_WORDS

    def sheet(self, rows: Iterable[SheetRow], name: str = "") -> None:
        """The rows of a sheet; `name` is in their places."""
        headings: dict[int, str] = {}
        for block in _blocks(rows):
            first, *others = block
            own = _headings([first, *others], self.headings_likely)
            goes_on = not own and len(first.cells) > 1 and first.cells.keys() <= headings.keys()  # behind an empty row
            headings = own if not goes_on else headings
            self._words = _PARAGRAPH_WORDS  # a new table begins a paragraph
            for row in chain([first, *others], block.rest):
                place = f"{name}, row {row.number}" if name else f"row {row.number}"
                text = fact(row.cells, {} if row is first and own else headings)
                words = text.count(" ") + 1
                close = self._words + words <= _PARAGRAPH_WORDS
                self._words = self._words + words if close else words
                self._add(text, place, close)

    def note(self, text: str, place: str) -> None:
        """Something that stands beside the cells, such as a comment."""
        self._add(text, place, close=False)

    def _add(self, text: str, place: str, close: bool) -> None:
        if self._pieces:
            self._pieces.append("\n" if close else "\n\n")
            self._length += len(self._pieces[-1])
        if place:
            self.places.append(Place(self._length, place))
        self._pieces.append(text)
        self._length += len(text)
        if self._length > self.limit_bytes:  # a few kB can name the same long text a million times
            raise IngestError(f"its text is {too_long(self.limit_bytes)}")


class _Block(list[SheetRow]):
    """The first rows of a table, and an iterator over the others."""

    rest: Iterator[SheetRow]


def _blocks(rows: Iterable[SheetRow]) -> Iterator[_Block]:
    """Tables are parted by empty rows, and from a line above them that has one cell."""
    waiting = iter(rows)
    row = next(waiting, None)
    while row is not None:
        block = _Block([row])
        following: list[SheetRow] = []  # the first row of the next block, once it is reached

        def others(last: SheetRow, following: list[SheetRow] = following) -> Iterator[SheetRow]:
            for each in waiting:
                if each.number > last.number + 1 or (len(last.cells) == 1 and len(each.cells) > 1):
                    following.append(each)
                    return
                yield each
                last = each

        block.rest = others(row)
        while len(block) < _LOOKED_AT and (each := next(block.rest, None)) is not None:
            block.append(each)
        yield block
        for _ in block.rest:
            pass
        row = following[0] if following else None


def _headings(first_rows: list[SheetRow], likely: bool) -> dict[int, str]:
    """The names of the columns, if the first row has them."""
    first, *others = first_rows
    texts = [cell.text for cell in first.cells.values()]
    fit = (
        len(texts) > 1
        and len(set(texts)) == len(texts)
        and bool(others)
        and all(cell.is_text and len(cell.text) <= _LONGEST_HEADING for cell in first.cells.values())
    )
    if not fit:
        return {}
    stands_out = all(cell.bold for cell in first.cells.values()) and not all(
        cell.bold for row in others for cell in row.cells.values()
    )
    over_values = any(not cell.is_text for row in others for column, cell in row.cells.items() if column in first.cells)
    over_texts = len(first_rows) == _LOOKED_AT and (likely or len(texts) > 2)
    named = stands_out or over_values or over_texts
    return {column: cell.text.rstrip(":") for column, cell in first.cells.items()} if named else {}


def fact(cells: Mapping[int, SheetCell], headings: Mapping[int, str]) -> str:
    """A row as one fact: `Rent | Amount: 500 €`. What it is about, the table's first column, needs no heading."""
    about = min(headings, default=min(cells, default=0))
    named = (
        f"{headings[column]}: {cell.text}" if column in headings and column != about else cell.text
        for column, cell in sorted(cells.items())
    )
    return " | ".join(named)
