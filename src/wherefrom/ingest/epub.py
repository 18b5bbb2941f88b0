"""Electronic books: the chapters in the order in which they are read, without the tables of contents."""

from __future__ import annotations

import posixpath
import re
import zipfile
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from wherefrom.errors import IngestError
from wherefrom.ingest import html
from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import readable_name, too_long

_DAMAGED = "it is damaged, or not an electronic book"
_CONTAINER = "META-INF/container.xml"
_NO_CHAPTER = re.compile(r"\b(?:nav|toc|ncx|cover)\b", re.IGNORECASE)
_MOST_AUTHORS = 5


def read(data: bytes, name: str, limit_bytes: int = 64_000_000) -> Record:
    """A book; `limit_bytes` is how large the parts that are read may be together, unpacked."""
    with _Parts(data, limit_bytes) as parts:
        package = parts.xml(_package_path(parts))
        folder = posixpath.dirname(_package_path(parts))
        about = _about(package)
        blocks = Blocks()
        if about.authors:
            blocks.add(f"{about.title or readable_name(name)}, by {about.authors}.")
        names = _names(parts, package, folder)
        for number, path in enumerate(_spine(package, folder), 1):
            text = parts.page(path)
            if text is not None and text.strip():
                chapter = names.get(path, "")
                blocks.place(chapter or f"part {number}")
                if chapter and not text.lstrip().startswith(chapter):
                    blocks.heading(chapter)
                blocks.add(text)
    return blocks.record(about.title or readable_name(name), about.date)


@dataclass(frozen=True, slots=True)
class _About:
    title: str
    authors: str
    date: str


class _Parts:
    """The parts of the archive, unpacked up to a limit for all of them together."""

    def __init__(self, data: bytes, limit_bytes: int) -> None:
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
            self._infos = {info.filename: info for info in self._archive.infolist()}
        except Exception as error:  # a broken archive raises many things, struct.error among them
            raise IngestError(_DAMAGED) from error
        self._left = self._limit = limit_bytes

    def __enter__(self) -> _Parts:
        if any(info.flag_bits & 1 for info in self._infos.values()) or self._locked():
            raise IngestError("it is encrypted; remove the protection first")
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def __contains__(self, path: str) -> bool:
        return path in self._infos

    def bytes(self, path: str) -> bytes:
        info = self._infos.get(path)
        if info is None:
            raise IngestError(_DAMAGED)
        self._left -= info.file_size
        if self._left < 0:
            raise IngestError(f"unpacked it is {too_long(self._limit)}")
        try:
            with self._archive.open(info) as part:
                return part.read(info.file_size)
        except Exception as error:  # damaged in any of many ways
            raise IngestError(_DAMAGED) from error

    def xml(self, path: str) -> Any:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
        try:
            root = etree.fromstring(self.bytes(path), parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise IngestError(_DAMAGED) from error
        if root is None:
            raise IngestError(_DAMAGED)
        return root

    def page(self, path: str) -> str | None:
        """The readable text of a chapter; None where it is not in the archive."""
        return html.read(self.bytes(path), "").text if path in self._infos else None

    def _locked(self) -> bool:
        """Whether the chapters are encrypted: fonts alone often are, which is no harm."""
        if "META-INF/encryption.xml" not in self._infos:
            return False
        references = self.xml("META-INF/encryption.xml").iter("{*}CipherReference")
        return any(re.search(r"\.x?html?$", str(each.get("URI", "")), re.I) for each in references)


def _package_path(parts: _Parts) -> str:
    root = next(parts.xml(_CONTAINER).iter("{*}rootfile"), None)
    return unquote(str(root.get("full-path", ""))) if root is not None else ""


def _about(package: Any) -> _About:
    def texts(tag: str) -> list[str]:
        elements = package.iter(f"{{http://purl.org/dc/elements/1.1/}}{tag}")
        return list(filter(None, (" ".join("".join(each.itertext()).split()) for each in elements)))

    days = [text[:10] for text in texts("date") if re.match(r"\d{4}-\d\d-\d\d", text)]
    return _About(next(iter(texts("title")), ""), " and ".join(texts("creator")[:_MOST_AUTHORS]), max(days, default=""))


def _spine(package: Any, folder: str) -> list[str]:
    """The chapters in reading order, each once, without navigation and cover."""
    items = {str(item.get("id")): item for item in package.iter("{*}item")}
    paths: dict[str, None] = {}
    for reference in package.iter("{*}itemref"):
        item = items.get(str(reference.get("idref")))
        if item is None or "html" not in str(item.get("media-type", "html")):
            continue
        if "nav" in str(item.get("properties", "")).split() or _NO_CHAPTER.search(str(item.get("id", ""))):
            continue
        paths[_path(folder, str(item.get("href", "")))] = None
    return list(paths)


def _path(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _names(parts: _Parts, package: Any, folder: str) -> dict[str, str]:
    """What the table of contents calls each part of the book, by the part's path; its first name counts."""
    names: dict[str, str] = {}
    for item in package.iter("{*}item"):
        path = _path(folder, str(item.get("href", "")))
        is_nav = "nav" in str(item.get("properties", "")).split()
        if path not in parts or not (is_nav or "ncx" in str(item.get("media-type", ""))):
            continue
        root = parts.xml(path)
        base = posixpath.dirname(path)
        if is_nav:
            links = [(link.get("href", ""), "".join(link.itertext())) for link in root.iter("{*}a")]
        else:
            links = [_point(point) for point in root.iter("{*}navPoint")]
        for href, label in links:
            name = " ".join(label.split())
            if href and name and len(name) <= 200:
                names.setdefault(_path(base, str(href)), name)
    return names


def _point(point: Any) -> tuple[str, str]:
    content, text = point.find("{*}content"), point.find("{*}navLabel/{*}text")
    return (content.get("src", "") if content is not None else "", (text.text or "") if text is not None else "")
