"""Plain text, kept whole; light markup that is called plain is read as what it is."""

from __future__ import annotations

from pathlib import PurePath

from wherefrom.ingest import asciidoc, markdown, rst
from wherefrom.ingest.markup import markup_of
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import PACKED_SUFFIXES, decoded, readable_name

_LONGEST_TITLE = 100  # characters; a longer first line is a paragraph
_MARKED_UP = {
    "asciidoc": asciidoc.read,
    "rst": rst.read,
    ".adoc": asciidoc.read,
    ".md": markdown.read,
    ".rst": rst.read,
}


def read(data: bytes, name: str) -> Record:
    """The title is a short first line that stands alone, else made of the file's name."""
    text = decoded(data)
    marked_up = _MARKED_UP.get(_suffix_before(name) or markup_of(text) or "")
    if marked_up is not None:
        return marked_up(data, name)
    return Record(None, _first_line(text) or readable_name(name), text)


def _first_line(text: str) -> str:
    """The first line, if it is short, is no sentence, and a blank line parts it from what follows."""
    lines = text.lstrip("\ufeff \t\r\n")[: _LONGEST_TITLE * 4].splitlines()
    if len(lines) < 3 or lines[1].strip():
        return ""
    line = lines[0].strip(" \t#*=")  # signs that make it stand out are no part of it
    if not line:
        return ""
    is_title = len(line) <= _LONGEST_TITLE and any(map(str.isalnum, line)) and line[-1] not in ".,;:"
    return line if is_title else ""


def _suffix_before(name: str) -> str:
    """That of a source as documentation is published with: `.rst` of `index.rst.txt`."""
    suffixes = [each for each in PurePath(name.lower()).suffixes if each not in PACKED_SUFFIXES]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-2] in _MARKED_UP else ""
