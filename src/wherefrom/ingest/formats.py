"""Any file that wherefrom reads, whatever its format, as records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError
from wherefrom.ingest import (
    asciidoc,
    code,
    config_file,
    csv,
    docx,
    epub,
    html,
    info,
    jsonl,
    mail,
    man,
    markdown,
    notebook,
    ocr,
    odf,
    org,
    pdf,
    picture,
    pptx,
    rst,
    rtf,
    tex,
    txt,
    wikipedia,
    xlsx,
)
from wherefrom.ingest.outcome import IngestFailure, Record
from wherefrom.ingest.places import cleaned_places
from wherefrom.ingest.source import PACKED_SUFFIXES, decoded, opened, readable_name, too_long, whole
from wherefrom.text import clean

__all__ = ["SUFFIXES", "IngestFailure", "Record", "kind_of", "read"]

SUFFIXES = {
    ".txt": "txt",
    ".text": "txt",
    ".md": "markdown",
    ".markdown": "markdown",
    ".htm": "html",
    ".html": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".docm": "docx",
    ".pptx": "pptx",
    ".pptm": "pptx",
    ".ppsx": "pptx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".odt": "odt",
    ".ods": "ods",
    ".odp": "odp",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".rst": "rst",
    ".rest": "rst",
    ".org": "org",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".tex": "tex",
    ".ltx": "tex",
    ".rtf": "rtf",
    ".epub": "epub",
    ".ipynb": "notebook",
    ".eml": "message",
    ".mbox": "mailbox",
}
_MACHINES = dict.fromkeys(code.LANGUAGES, "code") | dict.fromkeys(
    (".json", ".jsonc", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".env", ".service"),
    "configuration",
)

_Streamed = Callable[[BinaryIO, str, int], Iterator[Record | IngestFailure]]
# What is written on them is read where the extra is installed.
PICTURES = frozenset((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"))
_DRAWN: dict[str, Callable[[bytes, str, ocr.PictureReader | None], Record]] = {"pdf": pdf.read, "picture": picture.read}
_STREAMED: dict[str, _Streamed] = {"jsonl": jsonl.read, "wikipedia": wikipedia.read}
_WHOLE: dict[str, Callable[[bytes, str], Record]] = {
    "rst": rst.read,
    "org": org.read,
    "asciidoc": asciidoc.read,
    "tex": tex.read,
    "rtf": rtf.read,
    "man": man.read,
    "info": info.read,
    "notebook": notebook.read,
    "code": code.read,
    "generated": code.read,
    "configuration": config_file.read,
    "txt": txt.read,
    "markdown": markdown.read,
    "html": html.read,
}
_PARTS: dict[str, Callable[[bytes, str, int], Record]] = {  # archives; the limit is for all parts together, unpacked
    "docx": docx.read,
    "pptx": pptx.read,
    "xlsx": xlsx.read,
    "csv": csv.read,  # bounded likewise: headings are repeated in each row
    "odt": odf.read_text,
    "ods": odf.read_sheets,
    "odp": odf.read_slides,
    "epub": epub.read,
}
_OFFICE = frozenset(("docx", "pptx", "xlsx", "odt", "ods", "odp"))

_EMPTY = "it is empty"
_LONGEST_TITLE = 300  # characters; a title is repeated with every passage


def read(
    path: Path, settings: IngestSettings, reached: Callable[[int], None] | None = None
) -> Iterator[Record | IngestFailure]:
    """The records of a file, one for most formats, as they are read.

    A file that cannot be read at all is an IngestError, raised when the first record is wanted (or later,
    if packed data breaks off); a bad record among others is an IngestFailure, and the rest follows.
    `reached` is called from time to time with how many bytes of the file have been read.
    """
    limit_bytes = int(settings.max_megabytes * 1_000_000)
    with opened(path) as file:  # says why, if it cannot be
        if not file.read(1):
            raise IngestError(_EMPTY)
    kind = kind_of(path, settings.ocr)
    if kind is None and _suffix(path) in PICTURES:
        remedy = "`--set ingest.ocr=true` reads what is written on it" if ocr.available() else ocr.REMEDY
        raise IngestError(f"it is a picture; {remedy}")
    if kind is None:
        raise IngestError("it is in no format that wherefrom reads")
    if kind in _STREAMED or kind == "mailbox":
        with opened(path, reached) as file:
            yield from _streamed(file, kind, path.name, limit_bytes, settings)
    else:
        for outcome in _single(whole(path, limit_bytes, reached), kind, path.name, limit_bytes, settings):
            yield replace(outcome, title=in_folder(outcome.title, path)) if isinstance(outcome, Record) else outcome


_ALIKE = re.compile(  # files that every project has; which one it is of, only the folder tells
    r"(?:readme|changelog|changes|history|news|release[-_ ]?notes|migrat\w*|upgrad\w*|contributing|security|install\w*"
    r"|faq|usage|index|manual|guide|overview|introduction)\b.*",
    re.IGNORECASE,
)
_ALIKE_CODE = re.compile(r"(?:__init__|__main__|index|main|mod|lib|setup|conf|config|types|utils|test)\.\w+")
_NO_NAME = {
    "doc",
    "docs",
    "documentation",
    "html",
    "man",
    "en",
    "src",
    "lib",
    "files",
    "download",
    "downloads",
    "tmp",
    "package",
}


def in_folder(title: str, path: Path) -> str:
    """The title; of a file that is called as in every other folder, with what its folder is called."""
    folder = next((part for part in reversed(path.parent.parts) if part.lower() not in _NO_NAME), "")
    is_code = _suffix(path) in code.LANGUAGES
    alike = (_ALIKE_CODE if is_code else _ALIKE).fullmatch(path.name) and any(map(str.isalpha, folder))
    if not alike or readable_name(folder).casefold() in readable_name(title).casefold():
        return title
    return f"{folder}: {title}"


def kind_of(path: Path, pictures: bool = True) -> str | None:
    """Which format the file is in: by its suffix, and by its first bytes where the suffix does not tell.

    None means that it is nothing to read. Text without a known suffix is read only if the file has no
    suffix at all, or is called README or the like: what has one is a log or data.
    """
    suffix = _suffix(path)
    kind = SUFFIXES.get(suffix) or _MACHINES.get(suffix)
    if pictures and suffix in PICTURES and ocr.available():
        kind = "picture"
    try:
        with opened(path) as file:
            head = file.read(_HEAD_BYTES)
    except IngestError as error:
        # What may be ours is not passed over in silence: reading it will say what is wrong.
        forbidden = isinstance(error.__cause__, PermissionError)
        return kind or ("txt" if forbidden and not suffix else None)
    return _kind(head, kind, suffix, path.name)


def _kind(head: bytes, kind: str | None, suffix: str, name: str) -> str | None:
    """The format of a file that begins so, `kind` being the one that its suffix stands for."""
    sniffed = _sniffed(head)
    if kind in ("code", "configuration"):
        if sniffed is not None:
            return sniffed
        if b"\0" in head:  # a video is called .ts too
            return None
        return "generated" if kind == "code" and code.is_generated(head) else kind
    if kind is not None:
        # A suffix may lie about what cannot be mistaken; .txt is what people call anything.
        return sniffed if sniffed in _SURE or (sniffed and kind == "txt") else kind
    if sniffed is not None:
        return sniffed
    if not suffix or _MANUAL_SUFFIX.fullmatch(suffix):
        if man.is_link(head):
            return "link"
        if man.is_manual(head):
            return "man"
    if not suffix and head.startswith(b"#!"):
        return "code"
    if not suffix and mail.is_mailbox(head):
        return "mailbox"
    if not suffix and mail.is_message(head):
        return "message"
    named_so = not suffix or _READ_ME.match(name)
    return "txt" if named_so and not name.startswith(".") and _is_plain_text(head) else None


_MANUAL_SUFFIX = re.compile(r"\.(?:[1-9][a-z]{0,4}|man|mdoc|roff)")
_READ_ME = re.compile(r"(?:readme|news|todo|install|faq|hacking|howto|upgrading|release[-_]?notes)\b", re.IGNORECASE)


def borne_out(path: Path) -> str:
    """The format of a file from elsewhere: what its name says must be borne out by its first bytes."""
    kind = kind_of(path)
    with opened(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise IngestError(_EMPTY)
    if kind is None:
        raise IngestError(f"it is in no format that wherefrom reads ({', '.join(sorted(SUFFIXES))})")
    if kind in _SURE:
        is_archive = kind in _ARCHIVES and head.startswith((_ENCRYPTED_OFFICE, _ZIP_MAGIC))
        if _sniffed(head) not in (kind, None) or not (_sniffed(head) or is_archive):
            raise IngestError(f"it is not {kind}, whatever its name says")
    elif kind == "picture":
        if not _PICTURE.match(head):
            raise IngestError("it is not a picture, whatever its name says")
    else:
        decoded(head)  # says so, if it is not text
    return kind


def _streamed(
    file: BinaryIO, kind: str, name: str, limit_bytes: int, settings: IngestSettings
) -> Iterator[Record | IngestFailure]:
    any_record = False
    if kind == "mailbox":
        outcomes = mail.read_mailbox(file, name, limit_bytes, _attachment(limit_bytes, settings))
    else:
        outcomes = _STREAMED[kind](file, name, limit_bytes)
    for outcome in outcomes:
        any_record = True
        if isinstance(outcome, Record):
            outcome = _cleaned(outcome)
            if not outcome.text.strip():
                outcome = IngestFailure(f"{name}:{outcome.place.removeprefix('line ')}", "its text is empty")
        yield outcome
    if not any_record and kind in ("jsonl", "mailbox"):
        raise IngestError(_EMPTY)


def _single(
    data: bytes, kind: str, name: str, limit_bytes: int, settings: IngestSettings
) -> Iterator[Record | IngestFailure]:
    """The one record of a file, or those of a message; then what of it could not be read."""
    if kind == "message":
        for outcome in mail.read(data, name, _attachment(limit_bytes, settings)):
            if isinstance(outcome, Record):
                outcome = _cleaned(outcome)
                if not outcome.text.strip():
                    outcome = IngestFailure(f"{name}:{outcome.place}" if outcome.place else name, _EMPTY)
            yield outcome
        return
    if kind == "link":
        raise IngestError("it only names another page, which is to be read in its place")
    if kind in _DRAWN:
        reader = ocr.PictureReader(settings.seconds_per_file) if settings.ocr and ocr.available() else None
        record = _DRAWN[kind](data, name, reader)
    else:
        record = _PARTS[kind](data, name, limit_bytes) if kind in _PARTS else _WHOLE[kind](data, name)
    record = _cleaned(record)
    if record.text.strip():
        yield record if record.title else replace(record, title=readable_name(name))
    elif kind != "picture":  # an icon is not empty, and nobody misses its text
        raise IngestError(_EMPTY)
    for place, complaint in record.complaints:
        yield IngestFailure(f"{name}:{place}", complaint)


_NOT_ATTACHED = frozenset(("mailbox", "link", "generated", "code", "configuration"))
_MOST_ATTACHED = 3  # messages in messages


def _attachment(limit_bytes: int, settings: IngestSettings, depth: int = 0) -> mail.ReadAttachment:
    """What reads a file that came with a message: as any other file, by its name and its first bytes."""

    def read_it(data: bytes, name: str) -> Iterator[Record | IngestFailure]:
        kind = _kind(data[:_HEAD_BYTES], SUFFIXES.get(_suffix(Path(name))), _suffix(Path(name)), name)
        if kind is None or kind in _STREAMED or kind in _NOT_ATTACHED:
            raise IngestError("of no kind that is read")
        if kind == "message" and depth == _MOST_ATTACHED:
            raise IngestError("too many messages in one another")
        if len(data) > limit_bytes:
            raise IngestError(too_long(limit_bytes))
        if kind == "message":
            return iter(list(mail.read(data, name, _attachment(limit_bytes, settings, depth + 1))))
        return iter(list(_single(data, kind, name, limit_bytes, settings)))

    return read_it


def _cleaned(record: Record) -> Record:
    title = " ".join(clean(record.title).split())
    if len(title) > _LONGEST_TITLE:
        title = title[:_LONGEST_TITLE].rstrip() + "…"
    text, places = cleaned_places(record.text, record.places)
    return replace(record, title=title, text=text, places=places)


# -------------------------------------------------------------------------------------------- sniffing

_HEAD_BYTES = 65_536
_PICTURE = re.compile(rb"\x89PNG|\xff\xd8\xff|II\*\x00|MM\x00\*|RIFF....WEBP|BM", re.DOTALL)
_ZIP_MAGIC = b"PK\x03\x04"
_OPEN_DOCUMENT = re.compile(rb"mimetypeapplication/vnd\.oasis\.opendocument\.([a-z]+)")
_OPEN_KINDS = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
_OFFICE_PART = re.compile(rb"PK\x03\x04.{26}(word|ppt|xl)/", re.DOTALL)
_FOLDERS = {b"word": "docx", b"ppt": "pptx", b"xl": "xlsx"}
_ARCHIVES = _OFFICE | {"epub"}
_SURE = _ARCHIVES | {"pdf"}  # what the first bytes cannot be mistaken for
_ENCRYPTED_OFFICE = b"\xd0\xcf\x11\xe0"  # reading it will say what to do
# Nothing that was matched is given back: thousands of comments before something else would take for ever.
_HTML = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_EPUB = re.compile(rb"PK\x03\x04.{26}mimetype(?:.{0,40})?application/epub\+zip", re.DOTALL)
# Text that a machine reads: scripts, PostScript, XML and JSON.
_FOR_MACHINES = (b"#!", b"%!", b"<?xml", b"<svg", b"{", b"[{")


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED_SUFFIXES:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    return "" if re.search(r"\s", suffix) else suffix  # "Dr. Smith" has none


def _sniffed(head: bytes) -> str | None:
    """The format that the first bytes give away."""
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(_ZIP_MAGIC):
        return _of_archive(head)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"{\\rtf"):
        return "rtf"
    if re.match(rb"<doc\s[^>]*\bid=", start):
        return "wikipedia"
    if _HTML.match(start):
        return "html"
    if info.is_info(head):
        return "info"
    return "jsonl" if _is_json_lines(start) else None


def _of_archive(head: bytes) -> str | None:
    """The kind of an office file, by what it says itself or by the folder of its first parts."""
    if _EPUB.match(head):
        return "epub"
    declared = _OPEN_DOCUMENT.search(head[:200])
    if declared:
        return _OPEN_KINDS.get(declared[1])
    folder = _OFFICE_PART.search(head)
    return _FOLDERS[folder[1]] if folder else None


def _is_json_lines(start: bytes) -> bool:
    line, newline, _ = start.partition(b"\n")
    if not line.startswith(b"{") or not re.search(rb'"text"\s*:', line):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return not newline  # the line goes on beyond what was read


def _is_plain_text(head: bytes) -> bool:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start or start.lower().startswith(_FOR_MACHINES):
        return False
    try:
        decoded(head)
    except IngestError:
        return False
    return True
