"""The process that draws one page of a PDF file, with a place on it marked; the server starts it, a page each.

A file that was made to take for ever, or to need all memory, ends this process and not the server. It reads a line of
JSON and the file's bytes on its standard input, and writes a line of JSON and the picture on its standard output.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

MOST_PIXELS = 4_000_000
_MARK = (255, 228, 120)  # behind the letters, which stay as dark as they were
_CONTEXT = 120  # letters before and after the place that tell it from another like it
_ENOUGH = 60  # of them: then no other page is looked at
_LONGEST_PAGE = 60_000  # letters; a page of more is not searched


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page: by its number, or by the text that stands on it; how wide it shall be, in pixels."""

    width: int
    page: int | None = None  # from 1
    quote: str = ""
    before: str = ""
    after: str = ""
    share: float = 0.0  # where about in the document the quote stands, from 0 to 1


def main(megabytes: int, seconds: int) -> None:
    _limit(megabytes, seconds)
    head, _, data = sys.stdin.buffer.read().partition(b"\n")
    facts, picture = drawn(data, WantedPage(**json.loads(head)))
    sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n" + picture)


def drawn(data: bytes, wanted: WantedPage) -> tuple[dict[str, Any], bytes]:
    """What the page is, and its picture as PNG; the picture is empty where there is none, and `trouble` says why."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
        pages = len(document)
        quote = Quote(wanted.quote, wanted.before, wanted.after)
        number = wanted.page or _page_of(document, quote, wanted.share)
        if number is None or not 1 <= number <= pages:
            return {"trouble": "no page", "pages": pages}, b""
        page = document[number - 1]
        rows, top = _picture(page, wanted.width, quote)
    except (PdfiumError, ValueError, TypeError, OSError):
        return {"trouble": "damaged"}, b""
    return {"page": number, "pages": pages, "top": top}, png(rows)


# ---------------------------------------------------------------------------------------- the place on the page


def squeezed(text: str) -> str:
    """The letters and digits of a text: lines, hyphens and ligatures differ between a page and what was read of it."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


class Quote:
    """A text with what stands around it, to be looked for where only letters count."""

    def __init__(self, quote: str, before: str, after: str) -> None:
        self.quote = squeezed(quote)
        self._before = squeezed(before)[-_CONTEXT:]
        self._after = squeezed(after)[:_CONTEXT]

    def within(self, letters: str) -> tuple[int, int] | None:
        """(where, how well): the start of the occurrence whose surroundings are most alike."""
        best = None
        for at in _occurrences(letters, self.quote):
            end = at + len(self.quote)
            alike = _alike(letters[:at][::-1], self._before[::-1]) + _alike(letters[end:], self._after)
            if best is None or alike > best[1]:
                best = (at, alike)
        return best


def _occurrences(letters: str, quote: str) -> Iterator[int]:
    at = letters.find(quote) if quote else -1
    while at >= 0:
        yield at
        at = letters.find(quote, at + 1)


def _alike(one: str, other: str) -> int:
    """How many letters two texts have in common at their beginning."""
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))


def _page_of(document: PdfDocument, place: Quote, share: float) -> int | None:
    """The page on which the place stands, looked for from where it should be outward; a text over two pages by its
    beginning."""
    guess = min(int(share * len(document)), len(document) - 1)
    best: tuple[int, int] | None = None
    for number in sorted(range(len(document)), key=lambda number: abs(number - guess)):
        letters = squeezed(document[number].get_textpage().get_text_range())[:_LONGEST_PAGE]
        at = place.within(letters)
        if at and (best is None or at[1] > best[1]):
            best = (number + 1, at[1])
            if at[1] >= _ENOUGH:
                break
    if best is None and len(place.quote) > _CONTEXT // 2:
        return _page_of(document, Quote(place.quote[: _CONTEXT // 4], "", place.quote[_CONTEXT // 4 :]), share)
    return best[0] if best else None


def _rectangles(text: PdfTextPage, place: Quote) -> list[tuple[float, float, float, float]]:
    """(left, bottom, right, top) of the lines of the place, on the page."""
    from pypdfium2 import raw

    letters: list[str] = []
    indices: list[int] = []
    for index in range(min(text.count_chars(), _LONGEST_PAGE)):
        code = raw.FPDFText_GetUnicode(text, index)
        character = squeezed(chr(code)) if 0 < code <= 0x10FFFF else ""
        letters.append(character)
        indices += [index] * len(character)
    at = place.within("".join(letters))
    if at is None:
        return []
    first, last = indices[at[0]], indices[at[0] + len(place.quote) - 1]
    return [text.get_rect(number) for number in range(text.count_rects(first, last - first + 1))]


# ----------------------------------------------------------------------------------------------------- drawing


def _picture(page: PdfPage, width: int, place: Quote) -> tuple[Any, float]:
    """The pixels of a page, (height, width, 3), its place marked, and how far down the mark is, from 0 to 1."""
    import numpy
    from pypdfium2 import raw

    across, down = page.get_size()
    if not (0 < across < 100_000 and 0 < down < 100_000):
        raise ValueError("a page without a size")
    scale = min(width / across, (MOST_PIXELS / (across * down)) ** 0.5)
    bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
    pixels = numpy.array(bitmap.to_numpy())
    pixels = pixels[:, :, :3] if pixels.ndim == 3 else numpy.repeat(pixels[:, :, None], 3, axis=2)
    height, breadth = pixels.shape[:2]
    tops: list[int] = []
    for left, bottom, right, top in _rectangles(page.get_textpage(), place) if place.quote else ():
        corners = []
        for x, y in ((left, top), (right, bottom)):
            at_x, at_y = ctypes.c_int(), ctypes.c_int()
            raw.FPDF_PageToDevice(page, 0, 0, breadth, height, 0, x, y, at_x, at_y)
            corners.append((at_x.value, at_y.value))
        (x0, x1), (y0, y1) = sorted((corners[0][0], corners[1][0])), sorted((corners[0][1], corners[1][1]))
        part = pixels[max(0, y0 - 1) : y1 + 2, max(0, x0 - 1) : x1 + 2]
        numpy.minimum(part, numpy.array(_MARK, part.dtype), out=part)
        tops.append(max(0, y0))
    return pixels, (min(tops) / height if tops else 0.0)


def png(pixels: Any) -> bytes:
    """The pixels, (height, width, 3) of 8 bits, as a PNG file."""
    import numpy

    height, width = pixels.shape[:2]
    rows = numpy.ascontiguousarray(pixels).reshape(height, width * 3)
    filtered = numpy.zeros((height, width * 3 + 1), numpy.uint8)  # each row begins with its filter: 2, what is above
    filtered[:, 0] = 2
    filtered[0, 1:] = rows[0]
    filtered[1:, 1:] = rows[1:] - rows[:-1]
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(filtered.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, body) for name, body in parts)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _limit(megabytes: int, seconds: int) -> None:
    """Bound memory and time, and let questions go first."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 1_000_000, megabytes * 1_000_000))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    os.nice(5)
