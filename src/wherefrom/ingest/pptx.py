"""PowerPoint presentations: titles, text, tables and diagrams of every slide, and the speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wherefrom.errors import IngestError
from wherefrom.ingest.archive import Archive, attribute, local
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import TextBlock
from wherefrom.ingest.slides import Slide, slides_text
from wherefrom.ingest.source import readable_name
from wherefrom.ingest.tables import row_text

_NO_SLIDES = "it has no slides; it is damaged, or not a PowerPoint presentation"
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("dt", "ftr", "sldNum", "hdr", "sldImg")  # the same on every slide: date, footer, number
_BODIES = ("body", "subTitle", "obj", "")


def read(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """Slides in the order they are shown in, hidden ones too; the title is the file's own, else the first slide's."""
    archive = Archive(data, limit_bytes, "a PowerPoint presentation")
    main = next(
        (part for kind, part in archive.related("").values() if kind == "officeDocument"), "ppt/presentation.xml"
    )
    if main not in archive:
        raise IngestError(_NO_SLIDES)
    related = archive.related(main)
    ids = [attribute_id(each) for each in archive.tree(main).iter() if local(each) == "sldId"]
    parts = list(dict.fromkeys(related[id][1] for id in ids if id in related))  # each once, however often it is named
    if not parts:
        raise IngestError(_NO_SLIDES)
    slides: list[Slide] = []
    complaints: list[tuple[str, str]] = []
    for number, part in enumerate(parts, start=1):
        try:
            slides.append(_slide(archive, part, number))
        except IngestError as error:
            complaints.append((f"slide {number}", str(error)))
    if not slides:
        raise IngestError(complaints[0][1])
    text, places = slides_text(slides)
    title = archive.title("docProps/core.xml") or next((slide.title for slide in slides if slide.title), "")
    return Record(None, title or readable_name(name), text, places=places, complaints=tuple(complaints))


def attribute_id(element: Any) -> str:
    """The id of the relation: an element has an `id` of its own beside it."""
    return next((value for key, value in element.attrib.items() if key.endswith("}id")), "")


def _slide(archive: Archive, part: str, number: int) -> Slide:
    title: list[str] = []
    blocks: list[TextBlock] = []
    related = archive.related(part)
    for shape in _shapes(archive.tree(part)):
        if local(shape) == "graphicFrame":
            blocks += _frame(archive, shape, related)
            continue
        placeholder = _placeholder(shape)
        if placeholder in _FURNITURE:
            continue
        if placeholder in _TITLES and not title:
            title = [" ".join(" ".join(text for text, _ in _paragraphs(shape)).split())]
        else:
            blocks += _text_blocks(list(_paragraphs(shape)), items=placeholder in _BODIES)
    notes = next((target for kind, target in related.values() if kind == "notesSlide"), "")
    return Slide(number, "".join(title), tuple(blocks), tuple(_notes(archive, notes)))


def _shapes(root: Any) -> Iterator[Any]:
    """Shapes with text, tables and diagrams, those in groups too; what is there for old programs is a second copy."""
    for element in root.iter():
        if local(element) in ("sp", "graphicFrame") and next(element.iterancestors("{*}Fallback"), None) is None:
            yield element


def _placeholder(shape: Any) -> str | None:
    """What the slide's layout has the shape for; None for a text box of its own."""
    for element in shape.iter():
        if local(element) == "ph":
            return str(element.get("type", ""))
        if local(element) == "txBody":
            return None
    return None


def _paragraphs(shape: Any) -> Iterator[tuple[str, int]]:
    """The paragraphs of a shape that are not empty, with their level in a list."""
    for paragraph in shape.iter("{*}p"):
        text = "".join("\n" if local(each) == "br" else each.text or "" for each in paragraph.iter("{*}t", "{*}br"))
        lines = "\n".join(filter(None, (" ".join(line.split()) for line in text.replace("\x0b", "\n").split("\n"))))
        if lines:
            level = next((each.get("lvl", "0") for each in paragraph if local(each) == "pPr"), "0")
            yield lines, int(level) if level in tuple("012345678") else 0


def _text_blocks(paragraphs: list[tuple[str, int]], items: bool) -> Iterator[TextBlock]:
    if not items or len(paragraphs) == 1:
        for text, _ in paragraphs:
            yield TextBlock(text)
        return
    for index, (text, level) in enumerate(paragraphs):
        yield TextBlock("  " * level + "- " + text, close=index > 0)


def _frame(archive: Archive, frame: Any, related: dict[str, tuple[str, str]]) -> Iterator[TextBlock]:
    """A table, or a diagram made of words."""
    for element in frame.iter():
        if local(element) == "tbl":
            yield from _table(element)
            return
        if local(element) == "relIds":
            part = related.get(attribute(element, "dm"), ("", ""))[1]
            if part in archive:
                points = [each for each in archive.tree(part).iter() if local(each) == "pt"]
                texts = [paragraph for point in points for paragraph in _paragraphs(point)]
                yield from _text_blocks(texts, items=True)
            return


def _table(table: Any) -> Iterator[TextBlock]:
    properties = next((each for each in table if local(each) == "tblPr"), None)
    with_headings = properties is not None and properties.get("firstRow") in ("1", "true")
    headings: list[str] = []
    first = True
    for row in (each for each in table if local(each) == "tr"):
        cells = [
            " ".join(" ".join(text for text, _ in _paragraphs(cell)).split()) for cell in row if local(cell) == "tc"
        ]
        if any(cells):
            yield TextBlock(row_text(cells, headings), close=not first)
            headings = cells if first and with_headings else headings
            first = False


def _notes(archive: Archive, part: str) -> Iterator[str]:
    if part in archive:
        for shape in _shapes(archive.tree(part)):
            if _placeholder(shape) == "body":
                yield from (text for text, _ in _paragraphs(shape))
