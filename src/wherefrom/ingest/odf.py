"""OpenDocument files of LibreOffice and others: texts, spreadsheets and presentations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.archive import Archive, attribute, local
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import TextBlock, laid_out
from wherefrom.ingest.sheets import SheetCell, SheetRow, SheetText
from wherefrom.ingest.slides import Slide, slides_text
from wherefrom.ingest.source import readable_name
from wherefrom.ingest.tables import row_text

_CONTENT = "content.xml"
_NOTHING = "it has no content; it is damaged, or not an OpenDocument file"
_MOST_COLUMNS = 16_384
_MOST_COPIES = 100  # of one cell beside itself: a file can say "a million times"
# What is no text of the document: lists of its headings, what was deleted, how a picture or formula is made.
_PASSED_OVER = frozenset(
    "table-of-content alphabetical-index illustration-index table-index tracked-changes sequence-decls forms "
    "desc title object ruby-text bookmark-start".split()
)


def read_text(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """A text (.odt): headings, paragraphs, lists and tables in their order, notes behind their paragraphs."""
    archive, root = _opened(data, limit_bytes)
    blocks = list(_blocks(root))
    headings = (block.text for block in blocks if block.level)
    title = archive.title("meta.xml") or next(headings, "") or readable_name(name)
    text, places = laid_out(blocks, title)
    return Record(None, title, text, places=places)


def read_slides(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """A presentation (.odp): the slides with their notes."""
    archive, root = _opened(data, limit_bytes)
    pages = [element for element in root.iter() if local(element) == "page"]
    slides = [_slide(page, number) for number, page in enumerate(pages, start=1)]
    text, places = slides_text(slides)
    title = archive.title("meta.xml") or next((slide.title for slide in slides if slide.title), "")
    return Record(None, title or readable_name(name), text, places=places)


def read_sheets(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """A spreadsheet (.ods): every row with its headings, in the words that its cells show."""
    archive, root = _opened(data, limit_bytes)
    sheets = [(attribute(table, "name"), table) for table in root.iter() if local(table) == "table"]
    sheets = [(sheet, table) for sheet, table in sheets if next(table.iterancestors("{*}table"), None) is None]
    written = SheetText(limit_bytes)
    for sheet, table in sheets:
        named = sheet if len(sheets) > 1 else ""
        notes: list[tuple[str, str]] = []
        if named and any(True for _ in _sheet_rows(table, [])):
            written.heading(named)
        written.sheet(_sheet_rows(table, notes), named)
        for cell, note in notes:
            written.note(f"Comment on {cell}: {note}", f"{named}!{cell}" if named else cell)
    return Record(None, archive.title("meta.xml") or readable_name(name), written.text, places=tuple(written.places))


def _opened(data: bytes, limit_bytes: int) -> tuple[Archive, Any]:
    archive = Archive(data, limit_bytes, "an OpenDocument file")
    manifest = "META-INF/manifest.xml"
    if manifest in archive and any(local(each) == "encryption-data" for each in archive.tree(manifest).iter()):
        raise IngestError("it is encrypted; remove the password first")
    if _CONTENT not in archive:
        raise IngestError(_NOTHING)
    return archive, archive.tree(_CONTENT)


# ---------------------------------------------------------------------------------------------- texts


def _blocks(parent: Any, depth: int = 0) -> Iterator[TextBlock]:
    """The blocks of a part of a text; `depth` is that of the list it is in."""
    for element in parent:
        kind = local(element)
        if kind in ("p", "h"):
            notes: list[str] = []
            boxes: list[Any] = []
            text = _line(element, notes, boxes)
            level = _level(element) if kind == "h" else 0
            if text:
                yield TextBlock(text, level=level)
            for note in notes:
                yield TextBlock(note)
            for box in boxes:
                yield from _blocks(box, depth)
        elif kind == "list":
            yield from _list(element, depth)
        elif kind == "table":
            yield from _table(element)
        elif kind and kind not in _PASSED_OVER and kind != "annotation":
            yield from _blocks(element, depth)


def _list(parent: Any, depth: int) -> Iterator[TextBlock]:
    first = True
    for item in parent:
        if local(item) not in ("list-item", "list-header"):
            continue
        for place, block in enumerate(_blocks(item, depth + 1)):
            nested = block.text.lstrip(" ").startswith("- ")
            text = block.text if nested or block.level else "  " * depth + ("- " if place == 0 else "") + block.text
            yield TextBlock(text, close=depth > 0 or not first, level=block.level)
            first = False


def _table(table: Any) -> Iterator[TextBlock]:
    headings: list[str] = []
    first = True
    for row in table.iter("{*}table-row"):
        if next(row.iterancestors("{*}table")) is not table:
            continue
        cells = [
            " ".join(" ".join(block.text for block in _blocks(cell)).split())
            for cell in row
            if local(cell) == "table-cell"
        ]
        if any(cells):
            yield TextBlock(row_text(cells, headings), close=not first)
            first = False
        if next(row.iterancestors("{*}table-header-rows"), None) is not None:
            headings = cells


def _line(element: Any, notes: list[str], boxes: list[Any]) -> str:
    lines = "".join(_inline(element, notes, boxes)).split("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _inline(element: Any, notes: list[str], boxes: list[Any]) -> Iterator[str]:
    """The text of a paragraph; its notes, comments and boxes are set aside."""
    yield element.text or ""
    for child in element:
        kind = local(child)
        if kind in ("s", "tab"):
            yield " "
        elif kind == "line-break":
            yield "\n"
        elif kind == "note":
            notes += [f"Note: {text}" for text in _texts(child, "note-body")]
        elif kind == "annotation":
            notes += [_comment(child)]
        elif kind == "text-box":
            boxes.append(child)
        elif kind and kind not in _PASSED_OVER:
            yield from _inline(child, notes, boxes)
        yield child.tail or ""


def _texts(element: Any, name: str) -> Iterator[str]:
    for part in element:
        if local(part) == name:
            text = " ".join(block.text for block in _blocks(part))
            if text:
                yield " ".join(text.split())


def _comment(annotation: Any) -> str:
    author = next((each.text or "" for each in annotation if local(each) == "creator"), "")
    text = " ".join(block.text for block in _blocks(annotation))
    return f"Comment by {author}: {text}" if author else f"Comment: {text}"


def _level(heading: Any) -> int:
    level = attribute(heading, "outline-level")
    return int(level) if level in tuple("123456789") else 1


# ---------------------------------------------------------------------------------------------- slides


def _slide(page: Any, number: int) -> Slide:
    title = ""
    blocks: list[TextBlock] = []
    notes: list[str] = []
    for element in page:
        kind = attribute(element, "class")
        if local(element) == "notes":
            notes += [
                block.text for frame in element if attribute(frame, "class") == "notes" for block in _blocks(frame)
            ]
        elif kind == "title" and not title:
            title = " ".join(" ".join(block.text for block in _blocks(element)).split())
        elif kind not in ("footer", "date-time", "page-number", "header") and local(element):
            blocks += _blocks([element])
    return Slide(number, title, tuple(blocks), tuple(notes))


# ---------------------------------------------------------------------------------------------- sheets


def _sheet_rows(table: Any, notes: list[tuple[str, str]]) -> Iterator[SheetRow]:
    """Rows with something in them; one that is said to come again and again is there once."""
    number = 1
    for row in table.iter("{*}table-row"):
        cells = dict(_cells(row, number, notes))
        if cells:
            yield SheetRow(number, cells)
        number += _copies(row, "number-rows-repeated")


def _cells(row: Any, number: int, notes: list[tuple[str, str]]) -> Iterator[tuple[int, SheetCell]]:
    column = 1
    for element in row:
        if local(element) not in ("table-cell", "covered-table-cell"):
            continue
        copies = _copies(element, "number-columns-repeated")
        aside: list[str] = []
        boxes: list[Any] = []
        lines = [_line(each, aside, boxes) for each in element if local(each) == "p"]
        text = " ".join(" ".join(lines).split())
        comments = [_comment(each) for each in element if local(each) == "annotation"]
        notes += [(f"{_letters(column)}{number}", comment.partition(": ")[2]) for comment in comments]
        if text:
            kind = attribute(element, "value-type")
            for place in range(column, min(column + min(copies, _MOST_COPIES), _MOST_COLUMNS)):
                yield place, SheetCell(text, is_text=kind in ("", "string"))
        column += copies


def _copies(element: Any, name: str) -> int:
    text = attribute(element, name)
    return max(int(text), 1) if text.isascii() and text.isdigit() and len(text) < 8 else 1


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
