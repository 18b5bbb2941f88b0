"""Wikipedia articles as WikiExtractor writes them: <doc id="12" url="..." title="..."> to </doc>."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import BinaryIO

from wherefrom.ingest.outcome import IngestFailure, Record
from wherefrom.ingest.source import too_long

_END = b"</doc>"
_LONGEST_HEAD = 4096  # bytes; a title has 255 at most, and longer lines would be slow to match
# WikiExtractor does not escape quotes in titles: a value ends where the next attribute or the tag's end follows.
_ATTRIBUTE = re.compile(r'\s([A-Za-z]\w*)="(.{0,600}?)"(?=\s+[A-Za-z]\w*="|\s*/?>)')  # linear: of a head, cut off


@dataclass(slots=True)
class _Article:
    """An article whose end has not been seen yet."""

    attributes: dict[str, str]
    line: int
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    @property
    def label(self) -> str:
        name = self.attributes.get("id") or self.attributes.get("title")
        return f"article {name}" if name else "the article"


def read(lines: BinaryIO, name: str, limit_bytes: int) -> Iterator[Record | IngestFailure]:
    """A record for every article with a text; articles without one, such as redirects, are skipped."""
    article: _Article | None = None
    number = 0
    line_begins, strays = True, False
    while piece := lines.readline(limit_bytes + 1):
        if line_begins:
            number += 1
            if number == 1:
                piece = piece.removeprefix(codecs.BOM_UTF8)
        head = _head(piece) if line_begins else None
        line_begins = piece.endswith(b"\n")
        if head is not None:
            if article is not None:
                yield IngestFailure(f"{name}:{article.line}", f"{article.label} has no </doc>")
            article, strays = _Article(head, number), False
        elif article is None:
            if piece.strip() and not strays:  # said once, not for every line
                strays = True
                yield IngestFailure(f"{name}:{number}", "there is text outside <doc ...> and </doc>")
        else:
            stripped = piece.rstrip()
            ended = stripped.endswith(_END)
            _add(article, stripped.removesuffix(_END) if ended else piece, limit_bytes)
            if ended:
                outcome = _outcome(article, name, limit_bytes)
                if outcome is not None:
                    yield outcome
                article, strays = None, False
    if article is not None:
        yield IngestFailure(f"{name}:{article.line}", f"{article.label} has no </doc>; the file may be cut off")


def _head(line: bytes) -> dict[str, str] | None:
    """The attributes of a `<doc ...>` line; None for any other line."""
    line = line.strip()
    if not (line.startswith(b"<doc ") and line.endswith(b">") and len(line) <= _LONGEST_HEAD):
        return None
    attributes = {key.lower(): unescape(value) for key, value in _ATTRIBUTE.findall(line.decode("utf_8", "replace"))}
    return attributes if attributes.keys() & {"id", "title", "url"} else None


def _add(article: _Article, piece: bytes, limit_bytes: int) -> None:
    article.size += len(piece)
    if article.size <= limit_bytes:
        article.lines.append(piece)
    else:
        article.lines.clear()  # it will be refused: its text is only in the way


def _outcome(article: _Article, name: str, limit_bytes: int) -> Record | IngestFailure | None:
    if article.size > limit_bytes:
        return IngestFailure(f"{name}:{article.line}", f"{article.label} is {too_long(limit_bytes)}")
    title = article.attributes.get("title", "").strip()
    text = unescape(b"".join(article.lines).decode("utf_8", "replace")).strip()
    first, _, rest = text.partition("\n")
    if title and first.strip() == title:
        text = rest.strip()
    if not text:
        return None
    id_ = article.attributes.get("id", "").strip() or None
    return Record(id_, title, text, f"line {article.line}", article.attributes.get("url") or None)
