"""PDF files: lines become paragraphs again; running heads, tables of contents and indexes are left out."""

from __future__ import annotations

import itertools
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from wherefrom.errors import IngestError
from wherefrom.ingest.ocr import REMEDY, PictureReader, unread
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import readable_name
from wherefrom.types import Place

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_ENCRYPTED = "it is encrypted; remove the password first"
_DAMAGED = "it is damaged, or not a PDF file"
_NO_TEXT = f"it holds no text, only pictures; {REMEDY}"
_NO_WRITING = "it holds no text, and no writing was seen on its pictures"
_SCANNED = "{} of its pages hold pictures alone; {}"
_MOST_PICTURES = 0.1  # of the pages, that are taken for pictures; with more, some of the text is likely to be on them
_BROKEN = "its text looks broken ({}); it was taken as it is, and OCR may read it better"
_ONE_AT_A_TIME = threading.Lock()  # pdfium is not made for threads


def read(data: bytes, name: str, pictures: PictureReader | None = None) -> Record:
    """The title is the file's own if it is sensible, else a first line like a heading; its places are the pages.

    Complaints name pages that cannot be loaded, where others could be, and text that is there but looks broken. A page
    that loads and shows nothing is taken to be blank: pdfium does not tell what it could not draw. What is written on
    pages that are pictures is read by `pictures`.
    """
    with _ONE_AT_A_TIME:
        document = _opened(data)
        try:
            pages, damaged = _pages(document)
            complaints = [(f"page {page}", "the page is damaged; the other pages were read") for page in damaged]
            complaints += _read_scans(document, pages, pictures)
            title = _own_title(document)
        finally:
            document.close()
    if not any(pages):
        raise IngestError(_NO_WRITING if pictures else _NO_TEXT)
    if trouble := _looks_broken(pages):
        complaints.append(("text", _BROKEN.format(trouble)))
    pages = _without_running_lines(pages)
    title = title or _heading(pages) or readable_name(name)
    text, places = _paragraphs(_without_lists_of_pages(pages))
    return Record(None, title, text, places=places, complaints=tuple(complaints))


def _opened(data: bytes) -> PdfDocument:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        raise IngestError(_ENCRYPTED if "password" in str(error).lower() else _DAMAGED) from error
    except (ValueError, TypeError) as error:
        raise IngestError(_DAMAGED) from error
    return document


# ---------------------------------------------------------------------------------------------- scans

_INCH = 72  # points
_DOTS = 200  # an inch, of a page that is drawn to be read
_LARGEST = 2_500  # pixels of its longer side


def _read_scans(document: PdfDocument, pages: list[list[str]], pictures: PictureReader | None) -> list[tuple[str, str]]:
    """Put what is written on pages that are pictures among the lines of the others; what could not be read, and why."""
    all_scanned = not any(pages)
    scans = [place for place, lines in enumerate(pages) if not lines and (all_scanned or _has_picture(document, place))]
    if pictures is None:
        many = len(scans) > _MOST_PICTURES * len(pages) and not all_scanned
        return [("pages", _SCANNED.format(len(scans), REMEDY))] if many else []
    for place in scans:
        if not pictures.has_time:
            return [unread(place + 1, scans[-1] + 1)]
        if (picture := _drawn(document, place)) is not None:
            pages[place] = [line for line in pictures.lines(picture) if line]
    return []


def _has_picture(document: PdfDocument, place: int) -> bool:
    from pypdfium2 import PdfiumError, raw

    try:
        return any(True for _ in document[place].get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    except PdfiumError:
        return False


def _drawn(document: PdfDocument, place: int) -> Any | None:
    """The pixels of a page; None where it cannot be drawn."""
    from pypdfium2 import PdfiumError

    try:
        page = document[place]
        scale = min(_DOTS / _INCH, _LARGEST / max(*page.get_size(), 1))
        return page.render(scale=scale, rev_byteorder=True).to_numpy()[:, :, :3].copy()
    except PdfiumError:
        return None


# ----------------------------------------------------------------------------------------------- lines

# Fonts draw these as one sign; nobody asks a question with them.
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_HYPHEN_AT_LINE_END = "\ufffe"  # what pdfium puts where a word went on in the next line, and joins the two
_PARTED = re.compile(rf"(?<!\S)(\S+){_HYPHEN_AT_LINE_END}\s*(\S+)")  # a word begins after white space, and nowhere else
_LEADERS = re.compile(r"(?:[ \t]?[.·]){5,}[ \t]?")  # the dots of a table of contents


def _pages(document: PdfDocument) -> tuple[list[list[str]], list[int]]:
    """The lines of every page, and which pages could not be read; those are empty, unless none can be."""
    from pypdfium2 import PdfiumError

    texts: list[str] = []
    damaged: list[int] = []
    for number in range(len(document)):
        try:
            text = document[number].get_textpage().get_text_range()
        except PdfiumError:  # the other pages may still be readable
            text = ""
            damaged.append(number + 1)
        texts.append(text.translate(_LIGATURES))
    if not texts or (len(damaged) == len(texts)):
        raise IngestError(_DAMAGED)
    known = frozenset(_bare(word) for text in texts for word in text.split())
    return [_lines(text, known) for text in texts], damaged


def _lines(text: str, known: frozenset[str]) -> list[str]:
    """The lines of a page with single blanks; words that a line's end had parted are whole again."""
    rejoined = _PARTED.sub(lambda parts: _rejoined(parts[1], parts[2], known), text)
    shortened = _LEADERS.sub(" … ", rejoined.replace(_HYPHEN_AT_LINE_END, ""))
    lines = (" ".join(line.split()) for line in shortened.splitlines())
    return [line for line in lines if line]


def _rejoined(head: str, tail: str, known: frozenset[str]) -> str:
    """`under` and `taking` are one word; `well` and `known` keep their hyphen where the document has it elsewhere."""
    whole, hyphened = _bare(head + tail), _bare(f"{head}-{tail}")
    keeps = not tail[:1].islower() or (hyphened in known and whole not in known)
    return f"{head}-{tail}" if keeps else head + tail


def _bare(word: str) -> str:
    return word.strip(".,;:!?()[]\"'“”‘’").casefold()


_LETTERS = re.compile(r"[A-Za-z]+")


def _looks_broken(pages: list[list[str]]) -> str:
    """What is wrong with the text of a page on which words cannot be told apart; nothing where all is well."""
    text = " ".join(line for lines in pages for line in lines)
    letters = sum(map(str.isalpha, text))
    if letters < 500:
        return ""
    latin = _LETTERS.findall(text)
    if sum(map(len, latin)) > letters / 2:
        glued = sum(len(word) for word in latin if len(word) > 24)
        if glued > letters / 10:
            return "words run together"
        if len(latin) > 4 and sum(len(word) == 1 for word in latin) > 0.6 * len(latin):
            return "words fall apart into letters"
    strange = sum(character == "\ufffd" or "\ue000" <= character <= "\uf8ff" for character in text)
    return "letters are not known" if strange > len(text) / 20 else ""


# ------------------------------------------------------------------------- headers, footers, page numbers

_EDGE = 3  # lines at the top and at the bottom of a page among which a header or footer may be
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]{1,7}", re.I)
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|p\.|seite|página|pagina)\s*)?(\d{1,4})(?:\s*(?:/|of|von|de|di)\s*\d{1,4})?\W*", re.I
)
_NUMBER_AT_AN_END = re.compile(r"^(\d{1,4}) \D|\D (\d{1,4})$")  # of a line with single blanks
_NEIGHBOURS = 3  # pages; a running head of a chapter comes back within so many


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """The pages without the lines that stand at the edge of most of them, and without page numbers."""
    running = _running_marks(pages)
    shift = _shift_of_numbers(pages)
    kept: list[list[str]] = []
    for page, lines in enumerate(pages, start=1):
        # From the edge inward: a line below one that stays is no header.
        gone = [_mark(line) in running or _is_page_number(line, page, shift) for line in lines]
        for place in {0, len(lines) - 1} if shift is not None and len(lines) > 2 else ():
            gone[place] |= any(number - page == shift for number in _end_numbers(lines[place]))
        first = next((i for i, dropped in enumerate(gone[:_EDGE]) if not dropped), min(_EDGE, len(lines)))
        last = next((i for i, dropped in enumerate(gone[::-1][:_EDGE]) if not dropped), min(_EDGE, len(lines)))
        kept.append(lines[first : len(lines) - last])
    return kept if any(kept) else pages  # every page says the same: then that is the text


def _running_marks(pages: list[list[str]]) -> set[str]:
    """The marks of lines at the edge of half of the pages, or of three pages close together."""
    counts = Counter(mark for lines in pages for mark in {_mark(line) for line in _edges(lines)})
    enough = max(3, (len(pages) + 1) // 2)
    running = {mark for mark, count in counts.items() if count >= enough}
    outermost: dict[str, list[int]] = {}
    for page, lines in enumerate(pages):
        for mark in {_mark(line) for line in (*lines[:1], *lines[-1:])}:
            outermost.setdefault(mark, []).append(page)
    for mark, seen in outermost.items():
        close = sum(after - before <= _NEIGHBOURS for before, after in itertools.pairwise(seen))
        if close >= 3 and close >= len(seen) / 2:
            running.add(mark)
    return running


def _shift_of_numbers(pages: list[list[str]]) -> int | None:
    """What is added to the place of a page to get the number that is printed on most of them."""
    shifts = Counter(
        number - page
        for page, lines in enumerate(pages, start=1)
        for number in {n for line in (*lines[:1], *lines[-1:]) for n in _end_numbers(line)}
    )
    if not shifts:
        return None
    shift, count = shifts.most_common(1)[0]
    return shift if count >= 5 and count >= len(pages) / 2 else None


def _end_numbers(line: str) -> list[int]:
    """The number that a line begins or ends with: `Chapter 2: Getting Started 25`."""
    alone = _PAGE_NUMBER.fullmatch(line)
    if alone:
        return [int(alone[1])]
    return [int(number) for match in _NUMBER_AT_AN_END.finditer(line) for number in match.groups() if number]


def _edges(lines: list[str]) -> list[str]:
    return lines[:_EDGE] + lines[-_EDGE:]


def _is_page_number(line: str, page: int, shift: int | None) -> bool:
    """Whether the line is the number of its page; another number alone may be content."""
    number = _PAGE_NUMBER.fullmatch(line)
    if number is None:
        return shift is not None and page <= -shift and bool(_ROMAN.fullmatch(line))  # before the first numbered one
    return int(number[1]) in (page, page + (shift or 0))


def _mark(line: str) -> str:
    """A line with its digits masked, for "page 3 of 9" is the same footer as "page 4 of 9"."""
    return _DIGITS.sub("0", line.casefold())


# ------------------------------------------------------------------- tables of contents, and indexes

_CONTENTS = re.compile(r" … ?\S{0,8}$")
_INDEX_ENTRY = re.compile(r"\D{1,80}[,\s…]\s?(?:\d{1,4}(?:[-–]\d{1,4})?)(?:, ?\d{1,4}(?:[-–]\d{1,4})?)*")
_ENDS_IN_PAGE = re.compile(r".*\s(?:\d{1,4}|[ivxlc]{1,6})")  # a chapter in a table of contents has no dots
_CONTENTS_HEADING = re.compile(
    r"(?:short |full |table of )?contents|list of (?:figures|tables|examples)|(?:concept |general |function )?index",
    re.I,
)


def _without_lists_of_pages(pages: list[list[str]]) -> list[list[str]]:
    """The pages without what only says on which page something stands: that answers no question."""
    kept: list[list[str]] = []
    for place, lines in enumerate(pages):
        if _is_index(lines, place, len(pages)):
            kept.append([])
        elif _is_contents(lines):
            kept.append([line for line in lines if not _is_entry(line)])
        else:
            kept.append(lines)
    return kept if any(kept) else pages


def _is_entry(line: str) -> bool:
    return bool(_CONTENTS.search(line) or _ENDS_IN_PAGE.fullmatch(line) or _CONTENTS_HEADING.fullmatch(line))


def _is_contents(lines: list[str]) -> bool:
    """Whether a third of the lines of a page, at least three, end in dots and a number."""
    count = sum(bool(_CONTENTS.search(line)) for line in lines)
    return count >= 3 and count >= len(lines) / 3


def _is_index(lines: list[str], place: int, pages: int) -> bool:
    """Whether most lines of one of the last pages are words with page numbers."""
    if len(lines) < 15 or place < pages * 0.8:
        return False
    return sum(bool(_INDEX_ENTRY.fullmatch(line)) for line in lines) > 0.6 * len(lines)


# ------------------------------------------------------------------------------------------ paragraphs

# The beginning of an item of a list, or of a numbered heading such as "2.1 Tools".
_ITEM = re.compile(r"(?:[•◦▪‣·–—*-]|\(?(?:\d{1,3}|[a-z])[.)]|\d{1,2}(?:\.\d{1,2})+\.?(?=\s+[A-Z]))\s")
_SECTION = re.compile(
    r"(?:(?:chapter|appendix|part|section)\s+\S{1,6}|\d{1,2}(?:\.\d{1,2})*\.?|[A-Z](?:\.\d{1,2})+)\s+[A-Z]", re.I
)
_ENDS_SENTENCE = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*$")
_BROKEN_WORD = re.compile(r"[^\W\d_][-\u00ad‐]$")


def _paragraphs(pages: list[list[str]]) -> tuple[str, tuple[Place, ...]]:
    """The lines joined to paragraphs, which a page's end may cut but does not end; and where each page begins."""
    text: list[str] = []
    begins: dict[int, int] = {}  # the piece of the text that a page begins with
    known = frozenset(_bare(word) for lines in pages for line in lines for word in line.split())
    before = ""
    for page, lines in enumerate(pages, start=1):
        width = _usual_width(lines)
        for index, line in enumerate(lines):
            if not before:
                pass
            elif _BROKEN_WORD.search(before) and line[0].isalpha():
                text[-1] = _mended(text[-1], line, known)
            elif _continues(before, line, width, page_begins=index == 0):
                text.append(" ")
            else:
                text.append("\n" if _stands_alone(line) and _stands_alone(before) else "\n\n")
            begins.setdefault(page, len(text))
            text.append(line)
            before = line
    text = [piece.replace("\u00ad", "") for piece in text]
    starts = list(itertools.accumulate(map(len, text), initial=0))
    places = tuple(Place(starts[piece], f"page {page}", page) for page, piece in begins.items())
    return "".join(text), places


def _usual_width(lines: list[str]) -> int:
    """The length of a full line: nine of ten are no longer."""
    lengths = sorted(map(len, lines))
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _continues(before: str, line: str, width: int, page_begins: bool) -> bool:
    """Whether a line goes on with the sentence or paragraph of the line before it."""
    if _stands_alone(line) or _CONTENTS.search(before) or _is_section(before, width) or _is_section(line, width):
        return False
    if _ENDS_SENTENCE.search(before):
        return not page_begins and len(before) > width * 0.75
    if line[0].islower():
        return True
    return not page_begins and len(before) > width * 0.6


def _stands_alone(line: str) -> bool:
    """Whether a line begins an item of a list, or is one of a table of contents."""
    return bool(_ITEM.match(line) or _CONTENTS.search(line))


def _is_section(line: str, width: int) -> bool:
    """Whether a line is a numbered heading, such as `2.4 Command Line Editing`."""
    return len(line) < min(80, width * 0.8) and bool(_SECTION.match(line)) and not _ENDS_SENTENCE.search(line)


def _mended(text: str, line: str, known: frozenset[str]) -> str:
    """The text without its last hyphen, unless the document writes the whole word with it elsewhere."""
    head, tail = text.split()[-1].strip("([\"'“‘"), line.split()[0]
    return text[:-1] + "-" if _rejoined(head[:-1], tail, known) != head[:-1] + tail else text[:-1]


# ---------------------------------------------------------------------------------------------- titles

_NO_TITLE = re.compile(
    r"untitled.*|microsoft (?:word|powerpoint|excel)\b.*|(?:powerpoint|word) (?:presentation|document)|document\d*"
    r"|presentation\d*|slide \d+|title|none|null|about:blank|.*\.(?:docx?|pdf|tex|dvi|ps|indd|qxd|odt|rtf|pptx?|xlsx?"
    r"|txt|html?|wpd|pub|pages|md)|(?:https?|file):\S*",
    re.IGNORECASE,
)


def _own_title(document: PdfDocument) -> str:
    title = " ".join(document.get_metadata_dict().get("Title", "").split())
    sensible = len(title) > 2 and any(map(str.isalpha, title)) and not _NO_TITLE.fullmatch(title)
    return title if sensible else ""


def _heading(pages: list[list[str]]) -> str:
    """The first line, if it reads like a heading and something follows it."""
    lines = next((lines for lines in pages if lines), [])
    if len(lines) < 2:
        return ""
    line = lines[0]
    letters = sum(map(str.isalpha, line))
    is_heading = len(line) <= 100 and letters >= 3 and letters > len(line) / 2 and line[-1] not in ".,;:-"
    return line if is_heading and not line[0].islower() else ""
