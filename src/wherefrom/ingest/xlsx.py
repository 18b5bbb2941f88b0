"""Excel workbooks: the rows of every sheet that is shown, with numbers and dates as people see them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.archive import Archive, attribute, local
from wherefrom.ingest.number_format import BUILT_IN, shown
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.sheets import SheetCell, SheetRow, SheetText
from wherefrom.ingest.source import readable_name

_MOST_COLUMNS = 16_384  # that Excel has
_NO_SHEET = "it has no sheets; it is damaged, or not an Excel workbook"
_UNWORKED = "{:,} cells hold formulas whose values were never worked out; save it in a spreadsheet program first"


@dataclass(frozen=True, slots=True)
class _Style:
    format: str = "General"
    bold: bool = False


@dataclass(slots=True)
class _Book:
    """What the cells of all sheets refer to."""

    texts: list[str]
    styles: list[_Style]
    from_1904: bool
    unworked: int = 0  # formulas without a value


def read(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """Sheets in their order, comments behind the rows of theirs; formulas are what they came to."""
    archive = Archive(data, limit_bytes, "an Excel workbook")
    main = next((part for kind, part in archive.related("").values() if kind == "officeDocument"), "xl/workbook.xml")
    if main not in archive:
        raise IngestError(_NO_SHEET)
    related = archive.related(main)
    workbook = archive.tree(main)
    parts = dict(related.values())
    properties = next((each for each in workbook.iter() if local(each) == "workbookPr"), None)
    from_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    book = _Book(_shared(archive, parts.get("sharedStrings", "")), _styles(archive, parts.get("styles", "")), from_1904)
    sheets = [
        (sheet.get("name", ""), related[attribute(sheet, "id")][1])
        for sheet in workbook.iter()
        if local(sheet) == "sheet" and sheet.get("state", "visible") == "visible" and attribute(sheet, "id") in related
    ]
    sheets = list({part: (sheet, part) for sheet, part in reversed(sheets) if part in archive}.values())[::-1]
    if not sheets:
        raise IngestError(_NO_SHEET)
    written = SheetText(limit_bytes)
    for sheet, part in sheets:
        named = sheet if len(sheets) > 1 else ""
        rows = _rows(archive, part, book)
        first = next(rows, None)
        notes = list(_comments(archive, part))
        if named and (first or notes):
            written.heading(named)
        if first:
            written.sheet(_with(first, rows), named)
        for cell, comment in notes:
            written.note(f"Comment on {cell}: {comment}", f"{named}!{cell}" if named else cell)
    complaints = (("formulas", _UNWORKED.format(book.unworked)),) if book.unworked else ()
    title = archive.title("docProps/core.xml") or readable_name(name)
    return Record(None, title, written.text, places=tuple(written.places), complaints=complaints)


def _with(first: SheetRow, rows: Iterator[SheetRow]) -> Iterator[SheetRow]:
    yield first
    yield from rows


# ----------------------------------------------------------------------------------------------- cells


def _rows(archive: Archive, part: str, book: _Book) -> Iterator[SheetRow]:
    number = 0
    for row in archive.each(part, "row"):
        number = _whole(row.get("r")) or number + 1
        cells: dict[int, SheetCell] = {}
        column = 0
        for element in row:
            if local(element) != "c":
                continue
            column = _column(element.get("r", "")) or column + 1
            cell = _cell(element, book)
            if cell.text and column <= _MOST_COLUMNS:
                cells[column] = cell
        if cells:
            yield SheetRow(number, cells)


def _cell(element: Any, book: _Book) -> SheetCell:
    kind = element.get("t", "n")
    value, formula = "", False
    for child in element:
        if local(child) == "v":
            value = child.text or ""
        elif local(child) == "is":
            value = _text(child)
        elif local(child) == "f":
            formula = True
    place = _whole(element.get("s"))
    style = book.styles[place] if place < len(book.styles) else _Style()
    if formula and not value and kind != "str":
        book.unworked += 1
    if kind == "s":
        index = _whole(value)
        value = book.texts[index] if value and index < len(book.texts) else ""
    elif kind == "b":
        return SheetCell({"1": "TRUE", "0": "FALSE"}.get(value, ""), is_text=False, bold=style.bold)
    elif kind == "e":
        return SheetCell("")
    elif kind == "d":
        return SheetCell(value.removesuffix("T00:00:00"), is_text=False, bold=style.bold)
    elif kind == "n" and value:
        return _number(value, style, book.from_1904)
    return SheetCell(" ".join(value.split()), bold=style.bold)


def _number(value: str, style: _Style, from_1904: bool) -> SheetCell:
    try:
        number = float(value)
        text = shown(number, style.format, from_1904) if abs(number) < 1e300 else value
    except (ValueError, OverflowError):  # no number, or a day that no calendar has
        return SheetCell(" ".join(value.split()), bold=style.bold)
    return SheetCell(" ".join(text.split()), is_text=False, bold=style.bold)


_CELL = re.compile(r"\$?([A-Za-z]{1,3})\$?\d{1,7}")


def _column(reference: str) -> int:
    """B7 is in the second column; 0 for what names none."""
    match = _CELL.fullmatch(reference)
    column = 0
    for letter in match[1].upper() if match else "":
        column = 26 * column + ord(letter) - 64
    return column


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0


# ------------------------------------------------------------------------------------ what cells refer to


def _shared(archive: Archive, part: str) -> list[str]:
    return [_text(each) for each in archive.each(part, "si")] if part in archive else []


def _text(element: Any) -> str:
    """The text of runs, without how Japanese signs are spoken."""
    return "".join(
        each.text or ""
        for each in element.iter()
        if local(each) == "t" and not any(local(above) == "rPh" for above in each.iterancestors("{*}rPh"))
    )


def _styles(archive: Archive, part: str) -> list[_Style]:
    """The formats of cells, by their number in the file."""
    if part not in archive:
        return []
    root = archive.tree(part)
    formats = dict(BUILT_IN)
    bold: list[bool] = []
    styles: list[_Style] = []
    for group in root:
        if local(group) == "numFmts":
            formats |= {_whole(each.get("numFmtId")): each.get("formatCode", "") for each in group if local(each)}
        elif local(group) == "fonts":
            bold = [
                any(local(mark) == "b" and mark.get("val") not in ("0", "false") for mark in font) for font in group
            ]
        elif local(group) == "cellXfs":
            for each in group:
                font = _whole(each.get("fontId"))
                format = formats.get(_whole(each.get("numFmtId")), "General")
                styles.append(_Style(format, font < len(bold) and bold[font]))
    return styles


def _comments(archive: Archive, part: str) -> Iterator[tuple[str, str]]:
    """What people noted on cells of a sheet: (B7, text)."""
    for kind, comments in archive.related(part).values():
        if kind == "comments" and comments in archive:
            for each in archive.each(comments, "comment"):
                text = " ".join(_text(each).split())
                if text and _CELL.fullmatch(each.get("ref", "")):
                    yield each.get("ref"), text
