"""Plain text, kept whole."""

from __future__ import annotations

from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded, readable_name

_LONGEST_TITLE = 100  # characters; a longer first line is a paragraph


def read(data: bytes, name: str) -> Record:
    """The title is a short first line that stands alone, else made of the file's name."""
    text = decoded(data)
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
