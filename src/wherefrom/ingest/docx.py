"""Word documents: paragraphs, lists and tables in their order."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import TextBlock, laid_out
from wherefrom.ingest.source import readable_name, too_long
from wherefrom.ingest.tables import row_text

_DAMAGED = "it is damaged, or not a Word document"
_OLE_MAGIC = b"\xd0\xcf\x11\xe0"


def read(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """The title is the document's own, else its first title or heading.

    `limit_bytes` is how large all the parts in the file may be together, unpacked.
    """
    _check(data, limit_bytes)
    document = _opened(data)
    try:
        blocks = list(_blocks(document.element.body, _style_names(document)))
        title = _own_title(document)
    except Exception as error:  # on a strange file python-docx raises whatever it trips over
        raise IngestError(_DAMAGED) from error
    heading = next((block.text for block in blocks if block.kind == "title"), "")
    heading = heading or next((block.text for block in blocks if block.kind == "heading"), "")
    title = title or heading or readable_name(name)
    text, places = laid_out((TextBlock(block.text, block.close, block.level) for block in blocks), title)
    return Record(None, title, text, places=places)


def _check(data: bytes, limit_bytes: int) -> None:
    if data.startswith(_OLE_MAGIC):
        raise IngestError("it is encrypted, or an old .doc file; remove the password, or save it as .docx, first")
    try:
        with zipfile.ZipFile(BytesIO(data)) as parts:
            size = sum(part.file_size for part in parts.infolist())
            locked = any(part.flag_bits & 1 for part in parts.infolist())
    except Exception as error:  # a broken archive raises many things, struct.error among them
        raise IngestError(_DAMAGED) from error
    if locked:
        raise IngestError("it is encrypted; remove the password first")
    if size > limit_bytes:
        raise IngestError(f"unpacked it is {too_long(limit_bytes)}")


def _opened(data: bytes) -> Any:
    import docx

    try:
        return docx.Document(BytesIO(data))
    except Exception as error:  # on a broken file python-docx raises whatever it trips over
        raise IngestError(_DAMAGED) from error


# -------------------------------------------------------------------------------------------- blocks

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE = f"{_WORD}p", f"{_WORD}tbl"
_ROW, _CELL = f"{_WORD}tr", f"{_WORD}tc"
# What is deleted or moved away, and the second copy of a text box that is there for old versions of Word.
_HIDDEN = frozenset(
    (f"{_WORD}del", f"{_WORD}moveFrom", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback")
)
_SIGNS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    kind: str  # text, title, heading, item or row
    close: bool = False  # whether it belongs right under the block before it
    level: int = 0  # of a title or heading


def _blocks(parent: Any, styles: dict[str, str]) -> Iterator[_Block]:
    """The blocks of the body, or of anything in it that holds blocks, such as a content control.

    The tree is walked here, not by python-docx, which passes over content controls and tracked insertions.
    """
    before = ""
    for element in parent:
        if element.tag == _PARAGRAPH:
            for block in _paragraph(element, styles):
                yield replace(block, close=block.kind == before == "item")
                before = block.kind
        elif element.tag == _TABLE:
            for index, row in enumerate(_rows(element, styles)):
                yield _Block(row, "row", close=index > 0)
            before = "row"
        elif element.tag not in _HIDDEN and isinstance(element.tag, str):
            yield from _blocks(element, styles)
            before = ""


def _paragraph(element: Any, styles: dict[str, str]) -> Iterator[_Block]:
    boxes: list[Any] = []
    text = "".join(_runs(element, boxes)).strip()
    if text:
        kind, level = _kind(element, styles)
        yield _Block(f"- {text}" if kind == "item" else text, kind, level=level)
    for box in boxes:
        yield from _blocks(box, styles)


def _runs(element: Any, boxes: list[Any]) -> Iterator[str]:
    """The text of a paragraph, of its links too; text boxes, which hold paragraphs, are set aside."""
    for child in element:
        if child.tag == f"{_WORD}t":
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag == f"{_WORD}txbxContent":
            boxes.append(child)
        elif child.tag not in _HIDDEN and child.tag != f"{_WORD}pPr":
            yield from _runs(child, boxes)


def _rows(table: Any, styles: dict[str, str]) -> Iterator[str]:
    headings: list[str] = []
    for row in table.iter(_ROW):
        if next(row.iterancestors(_TABLE)) is not table:  # the row of a table inside a cell
            continue
        cells = (cell for cell in row.iter(_CELL) if next(cell.iterancestors(_ROW)) is row)
        texts = [" ".join(" ".join(block.text for block in _blocks(cell, styles)).split()) for cell in cells]
        if any(texts):
            yield row_text(texts, headings)
        if row.find(f"{_WORD}trPr/{_WORD}tblHeader") is not None:
            headings = texts


_LEVELS = frozenset("123456789")  # that Word has


def _kind(paragraph: Any, styles: dict[str, str]) -> tuple[str, int]:
    """What a paragraph is, and its level if it is a heading."""
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        return "text", 0
    style = properties.find(f"{_WORD}pStyle")
    name = styles.get(style.get(f"{_WORD}val", ""), "") if style is not None else ""
    if name == "title":
        return "title", 1
    if name.startswith("heading"):
        number = name.removeprefix("heading").strip()
        return "heading", 1 + int(number) if number in _LEVELS else 2
    numbered = properties.find(f"{_WORD}numPr") is not None
    return "item" if numbered or name.startswith("list ") else "text", 0


def _style_names(document: Any) -> dict[str, str]:
    """The styles' own names by id, lower case: the ids differ between languages of Word."""
    names: dict[str, str] = {}
    for style in document.styles.element.iter(f"{_WORD}style"):
        name = style.find(f"{_WORD}name")
        if name is not None:
            names[style.get(f"{_WORD}styleId", "")] = name.get(f"{_WORD}val", "").lower()
    return names


_NO_TITLE = re.compile(
    r"word document|document\d*|untitled.*|microsoft word\b.*|title|.*\.(?:docx?|dotx?|rtf|odt|pdf)", re.IGNORECASE
)


def _own_title(document: Any) -> str:
    title = " ".join((document.core_properties.title or "").split())
    sensible = any(map(str.isalpha, title)) and not _NO_TITLE.fullmatch(title)
    return title if sensible else ""
