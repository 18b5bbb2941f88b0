"""PDF files: lines become paragraphs again, and what is printed on every page is left out."""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

from wherefrom.errors import IngestError
from wherefrom.ingest.source import readable_name

if TYPE_CHECKING:
    from pypdf import PdfReader

_ENCRYPTED = "it is encrypted; remove the password first"
_DAMAGED = "it is damaged, or not a PDF file"
_NO_TEXT = "it holds no text, only pictures; run OCR on it first"


def read(data: bytes, name: str) -> tuple[str, str, list[int]]:
    """(title, text, unread): the title is the file's own if it is sensible, else a first line like a heading.

    `unread` are the numbers of pages that are damaged, where others could be read.
    """
    with _quiet():
        reader = _opened(data)
        pages, unread = _pages(reader)
        title = _own_title(reader)
    if not any(pages):
        raise IngestError(_NO_TEXT)
    pages = _without_running_lines(pages)
    return title or _heading(pages) or readable_name(name), _paragraphs(pages), unread


@contextmanager
def _quiet() -> Iterator[None]:
    """pypdf logs every flaw of a file; the reader of a library wants the text."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _opened(data: bytes) -> PdfReader:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, WrongPasswordError

    try:
        reader = PdfReader(BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise IngestError(_ENCRYPTED)
    except (FileNotDecryptedError, WrongPasswordError, DependencyError) as error:
        raise IngestError(_ENCRYPTED) from error
    except IngestError:
        raise
    except Exception as error:  # on a broken file pypdf raises whatever its own code trips over
        raise IngestError(_DAMAGED) from error
    return reader


# ----------------------------------------------------------------------------------------------- lines

# Fonts draw these as one sign; nobody asks a question with them.
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})

_LEADERS = re.compile(r"(?:[ \t]?\.){6,}[ \t]?")  # the dots of a table of contents


def _pages(reader: PdfReader) -> tuple[list[list[str]], list[int]]:
    """The lines of every page, and which pages could not be read; those are empty, unless none can be."""
    from pypdf.errors import FileNotDecryptedError

    pages: list[list[str]] = []
    unread: list[int] = []
    wrong: Exception | None = None
    try:
        count = len(reader.pages)
    except FileNotDecryptedError as error:
        raise IngestError(_ENCRYPTED) from error
    except Exception as error:  # on a broken file pypdf raises whatever its own code trips over
        raise IngestError(_DAMAGED) from error
    for number in range(count):
        try:
            text = reader.pages[number].extract_text()
        except Exception as error:  # noqa: BLE001  the other pages may still be readable
            wrong, text = error, ""
            unread.append(number + 1)
        text = _LEADERS.sub(" … ", text.translate(_LIGATURES))
        lines = (" ".join(line.split()) for line in text.splitlines())
        pages.append([line for line in lines if line])
    if not pages or (wrong is not None and not any(pages)):
        raise IngestError(_DAMAGED) from wrong
    return pages, unread


# ------------------------------------------------------------------------- headers, footers, page numbers

_EDGE = 3  # lines at the top and at the bottom of a page among which a header or footer may be
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|p\.|seite|página|pagina)\s*)?(\d{1,4})(?:\s*(?:/|of|von|de|di)\s*\d{1,4})?\W*", re.I
)


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """The pages without the lines that stand at the edge of most of them, and without page numbers."""
    counts = Counter(mark for lines in pages for mark in {_mark(line) for line in _edges(lines)})
    enough = max(3, (len(pages) + 1) // 2)
    running = {mark for mark, count in counts.items() if count >= enough}
    bodies: list[list[str]] = []
    for page, lines in enumerate(pages, start=1):
        # From the edge inward: a line below one that stays is no header.
        gone = [_mark(line) in running or _is_page_number(line, page) for line in lines]
        first = next((i for i, dropped in enumerate(gone[:_EDGE]) if not dropped), min(_EDGE, len(lines)))
        last = next((i for i, dropped in enumerate(gone[::-1][:_EDGE]) if not dropped), min(_EDGE, len(lines)))
        bodies.append(lines[first : len(lines) - last])
    return bodies if any(bodies) else pages  # every page says the same: then that is the text


def _edges(lines: list[str]) -> list[str]:
    return lines[:_EDGE] + lines[-_EDGE:]


def _is_page_number(line: str, page: int) -> bool:
    """Whether the line is the number of its page; another number alone may be content."""
    number = _PAGE_NUMBER.fullmatch(line)
    return number is not None and int(number[1]) == page


def _mark(line: str) -> str:
    """A line with its digits masked, for "page 3 of 9" is the same footer as "page 4 of 9"."""
    return _DIGITS.sub("0", line.casefold())


# ------------------------------------------------------------------------------------------ paragraphs

# The beginning of an item of a list, or of a numbered heading such as "2.1 Tools".
_ITEM = re.compile(r"(?:[•◦▪‣·–—*-]|\(?(?:\d{1,3}|[a-z])[.)]|\d{1,2}(?:\.\d{1,2})+\.?(?=\s+[A-Z]))\s")
_CONTENTS = re.compile(r" … \S+$")
_ENDS_SENTENCE = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*$")
_BROKEN_WORD = re.compile(r"[^\W\d_]+[-\u00ad‐]$")


def _paragraphs(pages: list[list[str]]) -> str:
    """The lines joined to paragraphs, which a page's end may cut but does not end."""
    text: list[str] = []
    known = _words(pages)
    before = ""
    for lines in pages:
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
            text.append(line)
            before = line
    return "".join(text).replace("\u00ad", "")


def _usual_width(lines: list[str]) -> int:
    """The length of a full line: nine of ten are no longer."""
    lengths = sorted(map(len, lines))
    return lengths[len(lengths) * 9 // 10] if lengths else 0


def _continues(before: str, line: str, width: int, page_begins: bool) -> bool:
    """Whether a line goes on with the sentence or paragraph of the line before it."""
    if _stands_alone(line) or _CONTENTS.search(before):
        return False
    if _ENDS_SENTENCE.search(before):
        return not page_begins and len(before) > width * 0.75
    if line[0].islower():
        return True
    return not page_begins and len(before) > width * 0.6


def _stands_alone(line: str) -> bool:
    """Whether a line begins an item of a list, or is one of a table of contents."""
    return bool(_ITEM.match(line) or _CONTENTS.search(line))


def _words(pages: list[list[str]]) -> frozenset[str]:
    """Every word that stands inside a line, with its hyphens: what mended words are checked against."""
    return frozenset(
        word.strip(".,;:!?()[]\"'“”‘’").casefold() for lines in pages for line in lines for word in line.split()
    )


def _mended(text: str, line: str, known: frozenset[str]) -> str:
    """The text without its last hyphen, unless the document writes the whole word with it elsewhere."""
    if not line[0].islower():  # Anglo-American
        return text
    head = text.split()[-1].strip("([\"'“‘").casefold()
    tail = line.split()[0].strip(".,;:!?)]\"'”’").casefold()
    if head[:-1] + "-" + tail in known and head[:-1] + tail not in known:
        return text[:-1] + "-"
    return text[:-1]


# ---------------------------------------------------------------------------------------------- titles

_NO_TITLE = re.compile(
    r"untitled.*|microsoft (?:word|powerpoint|excel)\b.*|(?:powerpoint|word) (?:presentation|document)|document\d*"
    r"|presentation\d*|slide \d+|title|none|null|about:blank|.*\.(?:docx?|pdf|tex|dvi|ps|indd|qxd|odt|rtf|pptx?|xlsx?"
    r"|txt|html?|wpd|pub|pages|md)|(?:https?|file):\S*",
    re.IGNORECASE,
)


def _own_title(reader: PdfReader) -> str:
    try:
        title = (reader.metadata.title if reader.metadata else None) or ""
    except Exception:  # noqa: BLE001  a broken title is no reason to lose the document
        return ""
    title = " ".join(str(title).split())
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
