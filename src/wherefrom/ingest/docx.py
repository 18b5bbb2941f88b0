"""Word documents: paragraphs, lists and tables in their order, notes and comments behind their paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.archive import Archive
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import TextBlock, laid_out
from wherefrom.ingest.source import readable_name
from wherefrom.ingest.tables import row_text

_DAMAGED = "it is damaged, or not a Word document"


def read(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """The title is the document's own, else its first title or heading.

    `limit_bytes` is how large all the parts in the file may be together, unpacked.
    """
    archive = Archive(data, limit_bytes, "a Word document")
    main = next((part for kind, part in archive.related("").values() if kind == "officeDocument"), "word/document.xml")
    if main not in archive:
        raise IngestError(_DAMAGED)
    body = archive.tree(main).find(f"{_WORD}body")
    if body is None:
        raise IngestError(_DAMAGED)
    blocks = list(_blocks(body, _Word(_style_names(archive, main), dict(_asides(archive, main)))))
    heading = next((block.text for block in blocks if block.kind == "title"), "")
    heading = heading or next((block.text for block in blocks if block.kind == "heading"), "")
    title = archive.title("docProps/core.xml") or heading or readable_name(name)
    text, places = laid_out((TextBlock(block.text, block.close, block.level) for block in blocks), title)
    return Record(None, title, text, places=places)


# -------------------------------------------------------------------------------------------- blocks

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PARAGRAPH, _TABLE = f"{_WORD}p", f"{_WORD}tbl"
_ROW, _CELL = f"{_WORD}tr", f"{_WORD}tc"
# What is deleted or moved away, and the second copy of a text box that is there for old versions of Word.
_HIDDEN = frozenset(
    (f"{_WORD}del", f"{_WORD}moveFrom", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback")
)
_SIGNS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}
_ASIDES = {"footnotes": ("footnote", "Note"), "endnotes": ("endnote", "Note"), "comments": ("comment", "Comment")}
_REFERENCES = frozenset(f"{_WORD}{tag}Reference" for tag, _ in _ASIDES.values())


@dataclass(frozen=True, slots=True)
class _Word:
    """What the paragraphs of a document refer to."""

    styles: dict[str, str]  # the names of styles, by their ids
    asides: dict[tuple[str, str], str]  # notes and comments, by the tag and the id of what refers to them


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    kind: str  # text, title, heading, item or row
    close: bool = False  # whether it belongs right under the block before it
    level: int = 0  # of a title or heading


def _blocks(parent: Any, word: _Word) -> Iterator[_Block]:
    """The blocks of the body, or of anything in it that holds blocks, such as a content control.

    Those of content controls and tracked insertions too.
    """
    before = ""
    for element in parent:
        if element.tag == _PARAGRAPH:
            for block in _paragraph(element, word):
                yield replace(block, close=block.kind == before == "item")
                before = block.kind
        elif element.tag == _TABLE:
            for index, row in enumerate(_rows(element, word)):
                yield _Block(row, "row", close=index > 0)
            before = "row"
        elif element.tag not in _HIDDEN and isinstance(element.tag, str):
            yield from _blocks(element, word)
            before = ""


def _paragraph(element: Any, word: _Word) -> Iterator[_Block]:
    boxes: list[Any] = []
    text = "".join(_runs(element, boxes)).strip()
    if text:
        kind, level = _kind(element, word)
        yield _Block(f"- {text}" if kind == "item" else text, kind, level=level)
    for box in boxes:
        if box.tag.endswith("Reference"):
            aside = word.asides.get((box.tag, box.get(f"{_WORD}id", "")))
            if aside:
                yield _Block(aside, "text")
        else:
            yield from _blocks(box, word)


def _runs(element: Any, boxes: list[Any]) -> Iterator[str]:
    """The text of a paragraph, of its links too; text boxes, which hold paragraphs, and notes are set aside."""
    for child in element:
        if child.tag == f"{_WORD}t":
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag == f"{_WORD}txbxContent" or child.tag in _REFERENCES:
            boxes.append(child)
        elif child.tag not in _HIDDEN and child.tag != f"{_WORD}pPr":
            yield from _runs(child, boxes)


def _rows(table: Any, word: _Word) -> Iterator[str]:
    headings: list[str] = []
    for row in table.iter(_ROW):
        if next(row.iterancestors(_TABLE)) is not table:  # the row of a table inside a cell
            continue
        cells = (cell for cell in row.iter(_CELL) if next(cell.iterancestors(_ROW)) is row)
        texts = [" ".join(" ".join(block.text for block in _blocks(cell, word)).split()) for cell in cells]
        if any(texts):
            yield row_text(texts, headings)
        if row.find(f"{_WORD}trPr/{_WORD}tblHeader") is not None:
            headings = texts


_LEVELS = frozenset("123456789")  # that Word has


def _kind(paragraph: Any, word: _Word) -> tuple[str, int]:
    """What a paragraph is, and its level if it is a heading."""
    properties = paragraph.find(f"{_WORD}pPr")
    if properties is None:
        return "text", 0
    style = properties.find(f"{_WORD}pStyle")
    name = word.styles.get(style.get(f"{_WORD}val", ""), "") if style is not None else ""
    if name == "title":
        return "title", 1
    if name.startswith("heading"):
        number = name.removeprefix("heading").strip()
        return "heading", 1 + int(number) if number in _LEVELS else 2
    numbered = properties.find(f"{_WORD}numPr") is not None
    return "item" if numbered or name.startswith("list ") else "text", 0


def _style_names(archive: Archive, main: str) -> dict[str, str]:
    """The styles' own names by id, lower case: the ids differ between languages of Word."""
    names: dict[str, str] = {}
    part = next((part for kind, part in archive.related(main).values() if kind == "styles"), "")
    for style in archive.tree(part).iter(f"{_WORD}style") if part in archive else ():
        name = style.find(f"{_WORD}name")
        if name is not None:
            names[style.get(f"{_WORD}styleId", "")] = name.get(f"{_WORD}val", "").lower()
    return names


def _asides(archive: Archive, main: str) -> Iterator[tuple[tuple[str, str], str]]:
    """What stands aside of the text, by the tag and the id of what refers to it."""
    parts = {kind: part for kind, part in archive.related(main).values() if part in archive}
    for kind in parts.keys() & _ASIDES.keys():
        tag, label = _ASIDES[kind]
        for aside in archive.tree(parts[kind]):
            if aside.tag != f"{_WORD}{tag}" or aside.get(f"{_WORD}type", "normal") != "normal":
                continue  # the lines above footnotes are some too
            text = " ".join(" ".join(block.text for block in _blocks(aside, _Word({}, {}))).split())
            by = f" by {aside.get(f'{_WORD}author')}" if aside.get(f"{_WORD}author") else ""
            if text:
                yield (f"{_WORD}{tag}Reference", aside.get(f"{_WORD}id", "")), f"{label}{by}: {text}"
