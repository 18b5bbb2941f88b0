"""Rich Text Format: the words of its paragraphs and the rows of its tables."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace

from wherefrom.errors import IngestError
from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import readable_name
from wherefrom.ingest.tables import row_text

_MAGIC = b"{\\rtf"
_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)
_LONGEST_MARKER = 20  # characters of an item's number or bullet
_UNSEEN = frozenset(
    b"fonttbl colortbl stylesheet pict object header headerl headerr headerf footer footerl footerr footerf listtable "
    b"listoverridetable rsidtbl generator themedata colorschememapping latentstyles datastore xmlnstbl fldinst filetbl "
    b"revtbl objdata objclass shpinst nonshppict bkmkstart bkmkend annotation atnid atnauthor mmathPr wgrffmtfilter "
    b"pnseclvl operator author keywords comment company subject category doccomm manager hlinkbase ftnsep ftnsepc "
    b"aftnsep aftnsepc".split()
)
_SIGNS = {
    b"tab": "\t", b"line": "\n", b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“",
    b"rdblquote": "”", b"bullet": "•", b"emspace": " ", b"enspace": " ", b"qmspace": " ", b"nestcell": " ",
}  # fmt: skip
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


def read(data: bytes, name: str) -> Record:
    """A document; its title is its own, else made of the file's name."""
    start = data.find(_MAGIC, 0, 1024)
    if start < 0:
        raise IngestError("it is not rich text, whatever its name says")
    reader = _Reader(data[start:])
    reader.read()
    return reader.blocks.record(reader.title or readable_name(name))


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds inside a pair of braces."""

    destination: bytes = b""
    encoding: str = "cp1252"
    skip: int = 1  # characters that stand for a Unicode one before them, for readers that know none
    listed: bool = False


class _Reader:
    """Goes through the tokens once; groups are on a stack, however deep they are."""

    def __init__(self, data: bytes) -> None:
        self.blocks = Blocks()
        self.title = ""
        self._data = data
        self._group = _Group()
        self._stack: list[_Group] = []
        self._text: list[str] = []
        self._bytes = bytearray()  # characters of the code page that are not decoded yet
        self._title: list[str] = []
        self._cells: list[str] | None = None
        self._row_before = False
        self._to_skip = 0
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._marker = ""
        self._high = 0  # the first half of a character beyond the first plane

    def read(self) -> None:
        at = 0
        while match := _TOKEN.match(self._data, at):
            at = match.end()
            word, number, code, symbol, brace, text = match.groups()
            if word == b"bin" and number:
                at += max(int(number), 0)
            elif word:
                self._word(word, int(number) if number else None)
            elif code:
                self._character(bytes((int(code, 16),)))
            elif text:
                self._character(text)
            elif brace:
                self._brace(brace)
            elif symbol:
                self._symbol(symbol)
        self._end_paragraph()
        self.title = " ".join("".join(self._title).split())

    def _brace(self, brace: bytes) -> None:
        self._decode()
        self._to_skip = 0
        if brace == b"{":
            self._stack.append(self._group)
        elif self._stack:
            self._group = self._stack.pop()

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._group = replace(self._group, destination=b"*")
        elif symbol in (b"\\", b"{", b"}"):
            self._character(symbol)
        elif symbol in (b"~", b"_"):
            self._add(" " if symbol == b"~" else "-")
        elif symbol in (b"\r", b"\n"):
            self._end_paragraph()

    def _word(self, word: bytes, number: int | None) -> None:
        self._decode()
        if word == b"fonttbl":
            self._group = replace(self._group, destination=word)
        elif self._group.destination == b"fonttbl":
            if word == b"f":
                self._font = number or 0
            elif word == b"fcharset":
                self._fonts[self._font] = _CHARSETS.get(number or 0, "")
        elif word in _UNSEEN or (self._group.destination == b"*" and word not in (b"shppict", b"shptxt", b"pn")):
            self._group = replace(self._group, destination=b"unseen")
        elif word == b"title":
            self._group = replace(self._group, destination=b"title")
        elif word in (b"pntext", b"listtext"):
            self._group = replace(self._group, destination=b"marker")
        elif word == b"ansicpg" and number:
            self._page = _known(f"cp{number}") or "cp1252"
            self._group = replace(self._group, encoding=self._page)
        elif word == b"f":
            self._group = replace(self._group, encoding=self._fonts.get(number or 0) or self._page)
        elif word == b"uc":
            self._group = replace(self._group, skip=min(max(number or 0, 0), 8))
        elif word == b"u" and number is not None:
            self._unicode(number % 65536)
        elif not self._group.destination or self._group.destination == b"title":
            self._layout(word)

    def _layout(self, word: bytes) -> None:
        if word in (b"par", b"sect", b"page"):
            self._end_paragraph()
        elif word == b"cell":
            self._cells = [] if self._cells is None else self._cells
            self._cells.append(self._taken())
        elif word == b"row":
            if self._cells and any(self._cells):
                self.blocks.add(row_text(self._cells), close=self._row_before)
                self._row_before = True
            self._cells = None
        elif word == b"intbl":
            self._cells = [] if self._cells is None else self._cells
        elif word == b"pard":
            self._marker = ""
        elif word in _SIGNS:
            self._add(_SIGNS[word])

    def _unicode(self, code: int) -> None:
        self._to_skip = self._group.skip
        if 0xD800 <= code < 0xDC00:
            self._high = code
        elif 0xDC00 <= code < 0xE000:
            if self._high:
                self._add(chr(0x10000 + ((self._high - 0xD800) << 10) + code - 0xDC00))
            self._high = 0
        else:
            self._add(chr(code))

    def _character(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        if data := data[skipped:]:
            self._bytes += data

    def _decode(self) -> None:
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            self._add(data.decode(self._group.encoding, "replace"))

    def _add(self, text: str) -> None:
        if self._bytes:
            self._decode()
        if not self._group.destination:
            self._text.append(text)
        elif self._group.destination == b"title":
            self._title.append(text)
        elif self._group.destination == b"marker":
            self._marker = (self._marker + text)[:_LONGEST_MARKER]

    def _taken(self) -> str:
        self._decode()
        text, self._text = " ".join("".join(self._text).split()), []
        return text

    def _end_paragraph(self) -> None:
        self._decode()
        if self._cells is not None and self._stack:
            self._text.append(" ")  # paragraphs of one cell
            return
        lines = [" ".join(line.split()) for line in "".join(self._text).split("\n")]
        text, self._text = "\n".join(filter(None, lines)), []
        marker, self._marker = self._marker.strip(), ""
        if text and marker:
            self.blocks.item(f"{marker if marker[0].isdigit() else '-'} {text}")
        elif text:
            self.blocks.add(text)
        self._row_before = False


def _known(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""
