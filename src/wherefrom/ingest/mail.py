"""E-mail: a message with its subject, people and date, what it says, and the files that came with it."""

from __future__ import annotations

import binascii
import quopri
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import BinaryIO

from wherefrom.errors import IngestError
from wherefrom.ingest import html
from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import IngestFailure, Record
from wherefrom.ingest.source import decoded, readable_name, too_long
from wherefrom.types import Place

ReadAttachment = Callable[[bytes, str], Iterator[Record | IngestFailure]]
"""Reads a file that came with a message; an IngestError says that it is of no kind that is read."""

_DEEPEST = 20  # parts in parts; people's mail has four
_MOST_PARTS = 1_000  # of a message
_MOST_PEOPLE = 400  # characters of a line of addresses
_LONGEST_HEADER = 2_000  # characters that are looked at: decoding takes the square of their number
_MOST_HEADERS = 400
_MOST_REMEMBERED = 1_000_000  # paragraphs of a mailbox


def is_message(head: bytes) -> bool:
    """Whether the first bytes are the head of a message: fields that every one has, and nothing else before them."""
    lines = re.split(rb"\r?\n", head[:20_000].lstrip(b"\r\n"))
    names: set[bytes] = set()
    for line in lines:
        match = re.match(rb"([A-Za-z][A-Za-z0-9-]{1,60}):\s|[ \t]", line)
        if match is None:
            break
        names.add((match[1] or b"").lower())
    return b"from" in names and len(names & _TELLING) >= 2


_TELLING = frozenset((b"date", b"subject", b"message-id", b"received", b"to", b"mime-version", b"return-path"))


def is_mailbox(head: bytes) -> bool:
    """Whether the first bytes are those of a mailbox: a line of its own before each message."""
    first, newline, rest = head.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")
    return bool(newline) and _FROM.match(first) is not None and re.match(rb"[\w-]+:\s", rest) is not None


def read(data: bytes, name: str, attachment: ReadAttachment) -> Iterator[Record | IngestFailure]:
    """A message, and then the files that came with it, as documents of their own."""
    yield from _message(data, name, "", attachment, _Quotes())


_FROM = re.compile(rb"From \S.*\d{2}:\d{2}.*\d{4}|From \S+ .*\d{4}")


def read_mailbox(
    lines: BinaryIO, name: str, limit_bytes: int, attachment: ReadAttachment
) -> Iterator[Record | IngestFailure]:
    """The messages of a mailbox, one after another; what one quotes of an earlier one is left out."""
    quotes = _Quotes()
    for number, data in enumerate(_messages(lines, limit_bytes), 1):
        place = f"message {number}"
        if data is None:
            yield IngestFailure(f"{name}:{number}", f"the message is {too_long(limit_bytes)}")
            continue
        try:
            yield from _message(data, name, place, attachment, quotes)
        except IngestError as error:
            yield IngestFailure(f"{name}:{number}", str(error))


def _messages(lines: BinaryIO, limit_bytes: int) -> Iterator[bytes | None]:
    """The messages as they stand; None for one over the limit."""
    message: list[bytes] | None = None
    size, blank_before = 0, True
    while line := lines.readline(min(limit_bytes, 1_000_000) + 1):
        if blank_before and line.startswith(b"From ") and _FROM.match(line[:500]):
            if message is not None:
                yield b"".join(message) if size <= limit_bytes else None
            message, size = [], 0
        elif message is not None:
            size += len(line)
            if size <= limit_bytes:
                message.append(line[1:] if line[:1] == b">" and re.match(rb">+From ", line) else line)
            else:
                message.clear()
        blank_before = line in (b"\n", b"\r\n")
    if message is not None:
        yield b"".join(message) if size <= limit_bytes else None


def _message(
    data: bytes, name: str, place: str, attachment: ReadAttachment, quotes: _Quotes
) -> Iterator[Record | IngestFailure]:
    contents = _Contents()
    head, body = _split(data)
    if not any(head.get(name) for name in ("From", "To", "Subject", "Date", "Received")):
        raise IngestError("it is empty" if not data.strip() else "it is no message: it has neither sender nor subject")
    _walk(head, body, contents, 0)
    subject = _header(head, "Subject")
    blocks = Blocks()
    people = [f"{label}: {value}" for label in ("From", "To", "Cc", "Date") if (value := _header(head, label))]
    blocks.add("\n".join(_shortened(line) for line in people))
    for paragraph in quotes.once("\n\n".join(contents.texts or contents.pages)):
        blocks.add(paragraph)
    outcomes: list[Record | IngestFailure] = []
    names: list[str] = []
    for number, (file_name, file_data) in enumerate(contents.files, 1):
        own_place = f"{place}.{number}" if place else f"attachment {number}"
        try:
            outcomes += _attached(attachment(file_data, file_name), f"{name}:{own_place}", own_place)
            names.append(file_name)
        except IngestError as error:
            names.append(f"{file_name} (not read: {error})")
    if names:
        blocks.add(f"Attachments: {'; '.join(names)}.")
    title = subject or (readable_name(name) if not place else "No subject")
    places = (Place(0, place),) if place else ()
    yield Record(None, title, blocks.text(), place, date=_date(head), places=places)
    yield from outcomes


def _attached(outcomes: Iterator[Record | IngestFailure], name: str, place: str) -> Iterator[Record | IngestFailure]:
    """What reading a file that came with a message gave, told by the message."""
    for number, outcome in enumerate(outcomes, 1):
        if isinstance(outcome, IngestFailure):
            yield IngestFailure(name, outcome.reason)
        else:
            yield replace(outcome, id=None, place=place if number == 1 else f"{place}.{number}")


# ------------------------------------------------------------------------------------------ the parts


@dataclass
class _Contents:
    """What a message holds: its text, the same as web pages where there is no other, and files."""

    texts: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    files: list[tuple[str, bytes]] = field(default_factory=list)
    parts: int = 0


def _split(data: bytes) -> tuple[Message, bytes]:
    """The head of a part and its body."""
    data = data.lstrip(b"\r\n")
    end = re.search(rb"\r?\n\r?\n", data)
    head = data[: end.start()] if end else data
    body = data[end.end() :] if end else b""
    fields = re.split(rb"\r?\n(?![ \t])", head, maxsplit=_MOST_HEADERS)[:_MOST_HEADERS]
    short = b"\n".join(each[:_LONGEST_HEADER] for each in fields)
    return BytesHeaderParser().parsebytes(short + b"\n\n"), body


def _walk(head: Message, body: bytes, contents: _Contents, depth: int) -> None:
    """Sort a part and those in it; they are taken apart here, for the standard parser takes long over deep ones."""
    contents.parts += 1
    if depth > _DEEPEST or contents.parts > _MOST_PARTS:
        raise IngestError("its parts are nested too deeply, or too many")
    kind = head.get_content_type()
    boundary = head.get_param("boundary")
    if head.get_content_maintype() == "multipart" and isinstance(boundary, str) and boundary:
        before = len(contents.texts)
        for part in _parts(body, boundary.encode("utf-8", "replace")):
            _walk(*_split(part), contents, depth + 1)
            if kind == "multipart/alternative" and len(contents.texts) > before:
                contents.pages.clear()
        return
    data = _decoded_body(head, body)
    file_name = _file_name(head, kind, contents)
    if file_name:
        contents.files.append((file_name, data))
    elif kind == "text/html":
        contents.pages.append(html.read(data, "").text)
    elif kind.startswith("text/"):
        contents.texts.append(_characters(head, data))


def _parts(body: bytes, boundary: bytes) -> Iterator[bytes]:
    pieces = re.split(rb"(?:\A|\r?\n)--" + re.escape(boundary) + rb"(--)?[ \t]*(?:\r?\n|\Z)", body)
    for end, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if end is not None:
            return
        yield piece


def _file_name(head: Message, kind: str, contents: _Contents) -> str:
    """What an attached file is called; nothing for what is text to be read with the message."""
    name = head.get_filename() or ""
    attached = str(head.get("Content-Disposition", "")).strip().lower().startswith("attachment")
    if kind == "message/rfc822":
        return name or f"message {len(contents.files) + 1}.eml"
    if name and (attached or not kind.startswith("text/")):
        return re.split(r"[/\\]", _words(name))[-1].strip() or "file"
    if attached or not kind.startswith("text/"):
        return f"{kind.replace('/', '.')}"
    return "" if kind in ("text/plain", "text/html") or not attached else kind


def _decoded_body(head: Message, body: bytes) -> bytes:
    encoding = str(head.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding == "quoted-printable":
        return quopri.decodestring(body)
    if encoding == "base64":
        try:
            return b64decode(re.sub(rb"[^A-Za-z0-9+/]", b"", body) + b"==")
        except binascii.Error:
            return b""
    return body


def _characters(head: Message, data: bytes) -> str:
    charset = head.get_content_charset("") or ""
    try:
        return data.decode(charset, "replace") if charset else decoded(data)
    except (LookupError, ValueError):
        return decoded(data)


# --------------------------------------------------------------------------------------------- fields


def _header(head: Message, name: str) -> str:
    return _words(str(head.get(name, "")))


def _words(value: str) -> str:
    """A field as people read it: its encoded words decoded, on one line."""
    with suppress(MessageError, LookupError, ValueError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.split())


def _shortened(line: str) -> str:
    if len(line) <= _MOST_PEOPLE:
        return line
    shown = line[:_MOST_PEOPLE].rpartition(",")[0] or line[:_MOST_PEOPLE]
    more = line[len(shown) :].count("@")
    return f"{shown} and {more} more" if more else f"{shown}…"


def _date(head: Message) -> str:
    try:
        sent = parsedate_to_datetime(str(head.get("Date", ""))[:100])
        return (sent.astimezone(UTC) if sent.tzinfo else sent).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError, OverflowError):
        return ""


# --------------------------------------------------------------------------------------------- quotes

_QUOTED = re.compile(r"^[ \t]?(?:>[ \t]?)+")


class _Quotes:
    """Keeps in mind which paragraphs there were, so that what a message quotes of them is kept once."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def once(self, text: str) -> Iterator[str]:
        """The paragraphs of a message; a quoted one that is known already is left out."""
        for lines in _paragraphs(text):
            quoted = bool(_QUOTED.match(lines[0]))
            plain = [_QUOTED.sub("", line) for line in lines] if quoted else lines
            key = blake2b(" ".join(" ".join(plain).split()).encode("utf-8", "replace"), digest_size=8).digest()
            if quoted and key in self._known:
                continue
            if len(self._known) < _MOST_REMEMBERED:
                self._known.add(key)
            yield "> " + " ".join(line.strip() for line in plain) if quoted else "\n".join(line for line in plain)


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Lines between blank ones; where quoting begins or ends, so does a paragraph."""
    lines: list[str] = []
    quoted = False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = line.rstrip()
        if not line:  # of these there may be millions
            if lines:
                yield lines
                lines = []
            continue
        mark = _QUOTED.match(line)
        blank = not (line[mark.end() :] if mark else line).strip()
        if lines and (blank or bool(mark) != quoted):
            yield lines
            lines = []
        if not blank:
            lines.append(line)
            quoted = bool(mark)
    if lines:
        yield lines
