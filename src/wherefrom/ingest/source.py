"""The bytes of a file, unpacked, and the text in them, whatever its encoding."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, Protocol

from wherefrom.errors import IngestError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PACKED_SUFFIXES = (".gz", ".xz")

_GZIP_MAGIC = b"\x1f\x8b\x08"
_XZ_MAGIC = b"\xfd7zXZ\x00"
_BUFFER_BYTES = 262_144  # read at a time; progress is reported as often
_PIECE_BYTES = 1 << 20
_HASH_BYTES = 1 << 20  # read at a time


# ---------------------------------------------------------------------------------------------- bytes


@contextmanager
def opened(path: Path, reached: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
    """The file as a binary stream, unpacked on the way if its first bytes say gz or xz.

    The suffix does not matter: a packed file that lost its `.gz` and a plain one that gained it both work.
    `reached` is called from time to time with how many bytes of the file, as it lies on disk, have been read.
    """
    with ordinary(path) as file:
        yield _unpacked(file, path, reached)


_KINDS = (  # of what is no file, as people call them
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextmanager
def ordinary(path: Path) -> Iterator[io.BufferedReader]:
    """The file as it lies on disk; what is none is an IngestError: a pipe would wait for ever, a device never ends."""
    try:
        _check_ordinary(path.stat().st_mode)  # before it is opened: to open a device may do something to it
        file = io.FileIO(os.open(path, os.O_RDONLY | _DO_NOT_WAIT))
    except OSError as error:
        raise _refusal(error, path) from error
    with file:
        status = os.fstat(file.fileno())
        _check_ordinary(status.st_mode)  # it may have become another meanwhile
        yield io.BufferedReader(_UpTo(file, status.st_size), _BUFFER_BYTES)


_DO_NOT_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # for somebody to write into a pipe


def _check_ordinary(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "something else")
        raise IngestError(f"it is {kind}, not a file")


class _UpTo(io.RawIOBase):
    """A file as long as it was when it was opened: one that is being written to might never end."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= count or 0
        return count or 0

    def tell(self) -> int:
        return self._file.tell()


def file_hash(path: Path) -> bytes:
    """By which a file that has not changed is known."""
    digest = hashlib.blake2b(digest_size=16)
    with ordinary(path) as file:
        try:
            while piece := file.read(_HASH_BYTES):
                digest.update(piece)
        except OSError as error:
            raise IngestError(f"it cannot be read: {(error.strerror or str(error)).lower()}") from error
    return digest.digest()


def packed(path: Path) -> bool:
    """Whether the first bytes say gz or xz."""
    with path.open("rb") as file:
        return file.read(len(_XZ_MAGIC)).startswith((_GZIP_MAGIC, _XZ_MAGIC))


def whole(path: Path, limit_bytes: int, reached: Callable[[int], None] | None = None) -> bytes:
    """All bytes of the file, unpacked; refused, soon after `limit_bytes` of them, if there are more."""
    pieces: list[bytes] = []
    left = limit_bytes
    with opened(path, reached) as file:
        while piece := file.read(_PIECE_BYTES):  # to ask for all at once would take memory for the limit
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise IngestError(f"it is {too_long(limit_bytes)}")
    return b"".join(pieces)


def too_long(limit_bytes: int) -> str:
    """The words for something over the limit, with the setting that moves it."""
    return f"longer than {limit_bytes / 1e6:g} MB; raise ingest.max_megabytes to read it"


def readable_name(name: str) -> str:
    """A file's name as a title: `annual_report-2019.txt.gz` is `annual report 2019`."""
    path = PurePath(name)
    if path.suffix.lower() in PACKED_SUFFIXES:
        path = path.with_suffix("")
    # "Dr. Smith" has no suffix: what follows the dot is a word of its own.
    stem = path.name if re.search(r"\s", path.suffix) else path.stem
    return " ".join(re.sub(r"[_-]", " ", stem).split()) or name


class _Unpacking(io.RawIOBase):
    """A stream over a file, packed or plain, that reports damage in plain words."""

    def __init__(self, file: BinaryIO, path: Path, kind: str, reached: Callable[[int], None] | None) -> None:
        self._file = file
        self._path = path
        self._kind = kind
        self._reached = reached
        openers: dict[str, Callable[[BinaryIO], _Readable]] = {"gz": _gzip, "xz": lzma.LZMAFile}
        self._plain = openers[kind](file) if kind in openers else file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._plain.read(len(view))
            if self._reached is not None:
                self._reached(self._file.tell())
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise IngestError(f"its {self._kind} data is damaged or cut off") from error
        except OSError as error:
            raise _refusal(error, self._path) from error
        view[: len(data)] = data
        return len(data)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _gzip(file: BinaryIO) -> gzip.GzipFile:
    return gzip.GzipFile(fileobj=file)


def _unpacked(file: io.BufferedReader, path: Path, reached: Callable[[int], None] | None) -> BinaryIO:
    try:
        magic = file.peek(len(_XZ_MAGIC))
    except OSError as error:
        raise _refusal(error, path) from error
    kind = "gz" if magic.startswith(_GZIP_MAGIC) else "xz" if magic.startswith(_XZ_MAGIC) else ""
    return io.BufferedReader(_Unpacking(file, path, kind, reached), _BUFFER_BYTES)


def _refusal(error: OSError, path: Path) -> IngestError:
    if isinstance(error, PermissionError):
        return IngestError("it may not be read: permission denied")
    if isinstance(error, FileNotFoundError):
        dangling = path.is_symlink()
        return IngestError("it is a link to a file that is not there" if dangling else "it is not there")
    return IngestError(f"it cannot be read: {(error.strerror or str(error)).lower()}")


# ----------------------------------------------------------------------------------------------- text

_NOT_TEXT = "it is not text, or its encoding is unknown; save it as UTF-8 if it is text"

_MARKS = (  # the longer first: the mark of UTF-32-LE begins with that of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf_32"),
    (codecs.BOM_UTF32_BE, "utf_32"),
    (codecs.BOM_UTF8, "utf_8_sig"),
    (codecs.BOM_UTF16_LE, "utf_16"),
    (codecs.BOM_UTF16_BE, "utf_16"),
)
_WIDE = ("utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be")

# Bytes that text does not hold; tab, line ends, form feed and escape (of ISO-2022) are text.
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B}))
_NON_ASCII_BYTES = bytes(range(0x80, 0x100))
_NON_ASCII = re.compile(rb"[\x80-\xff]")

# What people's files are in, if not Unicode. The guess is better among these than among all of Python's.
_LEGACY = [
    "cp1252",
    "cp1250",
    "iso8859_2",
    "cp1251",
    "koi8_r",
    "cp866",
    "iso8859_5",
    "cp1253",
    "iso8859_7",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp874",
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
]
_SAMPLE_BYTES = 32_768


def decoded(data: bytes) -> str:
    """The text in the bytes: by its mark, as UTF-8, as UTF-16 without a mark, or by the best guess.

    A stray wrong byte in UTF-8 costs that character, not the document. Binary data is an IngestError.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _plausible(data.decode(encoding, "replace"))
    controls = len(data) - len(data.translate(None, _CONTROLS))
    binary = controls > 1 + len(data) // 50
    if not binary:
        try:
            text = data.decode("utf_8")
        except UnicodeDecodeError:
            pass
        else:
            return _unescaped_japanese(data, text)
    if b"\0" in data[:_SAMPLE_BYTES] and (wide := _wide_encoding(data)):
        return data.decode(wide, "replace")
    if binary:
        raise IngestError(_NOT_TEXT)
    return _mostly_utf8(data) or data.decode(_legacy_encoding(data), "replace")


def _plausible(text: str) -> str:
    """The text, unless its mark was a coincidence at the head of binary data."""
    sample = text[:_SAMPLE_BYTES]
    if sum(map(_is_odd, sample)) > len(sample) // 10 + 1:
        raise IngestError(_NOT_TEXT)
    return text


def _is_odd(character: str) -> bool:
    """Whether a character has no place in text: a control, unassigned, private or a replaced one."""
    if character in "\t\n\v\f\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs")


def _unescaped_japanese(data: bytes, text: str) -> str:
    """ISO-2022-JP is valid ASCII to the eye of a decoder, but for its escapes."""
    if b"\x1b$" in data:
        try:
            return data.decode("iso2022_jp")
        except UnicodeDecodeError:
            return text
    return text


def _wide_encoding(data: bytes) -> str | None:
    """The UTF-16 or UTF-32 in which the data reads as text: the one that gives most ASCII characters.

    Every language's files have spaces or line ends; in the wrong byte order they become rare characters.
    """
    best, best_score = None, 0
    for encoding in _WIDE:
        sample = data[:_SAMPLE_BYTES]
        sample = sample[: len(sample) // 4 * 4] or sample[: len(sample) // 2 * 2]
        # A sample may end in the middle of a pair of surrogates.
        text = codecs.getincrementaldecoder(encoding)("replace").decode(sample)
        score = sum(character.isascii() and not _is_odd(character) for character in text)
        if score > best_score and sum(map(_is_odd, text)) <= len(text) // 50:
            best, best_score = encoding, score
    return best


def _mostly_utf8(data: bytes) -> str | None:
    """The data as UTF-8 with its few wrong bytes replaced; None when it is something else.

    By chance, bytes of another encoding form UTF-8 sequences less than one time in three.
    """
    text = data.decode("utf_8", "replace")
    wrong = text.count("\ufffd")
    right = len(text) - len(data.translate(None, _NON_ASCII_BYTES)) - wrong
    return text if right > 2 * wrong else None


def _legacy_encoding(data: bytes) -> str:
    from charset_normalizer import from_bytes

    sample = _telling_sample(data)
    if _is_euc_japanese(sample):
        return "euc_jp"
    matches = list(from_bytes(sample, cp_isolation=_LEGACY))
    if not matches:  # a sample cut in the middle of a two-byte character fits no two-byte encoding
        matches = list(from_bytes(sample[:-1], cp_isolation=_LEGACY))
    if not matches:
        ascii_share = len(data.translate(None, _NON_ASCII_BYTES)) / len(data)
        if ascii_share < 0.7:
            raise IngestError(_NOT_TEXT)
        return "cp1252"
    best = matches[0]
    # Equally good guesses come in alphabetical order; among those, western European is the likeliest.
    for match in matches:
        as_good = match.chaos <= best.chaos + 0.02 and match.coherence >= best.coherence - 0.05
        if as_good and "cp1252" in match.could_be_from_charset:
            return "cp1252"
    return best.encoding


def _is_euc_japanese(sample: bytes) -> bool:
    """Whether it reads as EUC-JP with many kana: the guess below takes short texts of it for Korean."""
    text = sample.decode("euc_jp", "replace")
    kana = sum("\u3041" <= character <= "\u30fa" for character in text)
    return kana > len(text) // 6 and text.count("\ufffd") <= 1  # the sample's last character may be cut


def _telling_sample(data: bytes) -> bytes:
    """The lines that are not ASCII, up to a few pages: they alone tell encodings apart."""
    lines: list[bytes] = []
    size = position = 0
    while size < _SAMPLE_BYTES and (match := _NON_ASCII.search(data, position)):
        start = max(position, match.start() - 200)  # all ASCII from there, so no character is cut
        end = data.find(b"\n", match.start())
        end = len(data) if end < 0 else end + 1
        position = end
        if end - start > _SAMPLE_BYTES:
            end = start + _SAMPLE_BYTES
            end = data.rfind(b" ", start, end) + 1 or end
        lines.append(data[start:end])
        size += end - start
    return b"".join(lines)
