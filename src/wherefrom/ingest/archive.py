"""Office files are zip archives of XML: their parts, read within bounds and without what XML can be made to do."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote

from wherefrom.errors import IngestError
from wherefrom.ingest.source import too_long

_OLE_MAGIC = b"\xd0\xcf\x11\xe0"
_LOCKED = "it is encrypted; remove the password first"


class Archive:
    """The parts of an office file, none of them unpacked before it is read; all of them are within the limit."""

    def __init__(self, data: bytes, limit_bytes: int, what: str) -> None:
        """`what` it is taken for: `a Word document`."""
        self._damaged = f"it is damaged, or not {what}"
        if data.startswith(_OLE_MAGIC):
            raise IngestError(
                "it is encrypted, or an old Office file; remove the password, or save it in today's format, first"
            )
        try:
            self._parts = zipfile.ZipFile(BytesIO(data))
            parts = self._parts.infolist()
        except Exception as error:  # a broken archive raises many things, struct.error among them
            raise IngestError(self._damaged) from error
        if any(part.flag_bits & 1 for part in parts):
            raise IngestError(_LOCKED)
        if sum(part.file_size for part in parts) > limit_bytes:
            raise IngestError(f"unpacked it is {too_long(limit_bytes)}")
        self._names = {part.filename.lower(): part.filename for part in parts}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._names

    def bytes(self, name: str) -> bytes:
        try:
            return self._parts.read(self._names[name.lower()])
        except Exception as error:  # likewise
            raise IngestError(self._damaged) from error

    def tree(self, name: str) -> Any:
        """The root of a part."""
        from lxml import etree

        try:
            root = etree.fromstring(self.bytes(name), etree.XMLParser(**_SAFE))
        except etree.XMLSyntaxError as error:
            raise IngestError(self._damaged) from error
        _refuse_entities(root)
        return root

    def each(self, name: str, tag: str) -> Iterator[Any]:
        """The elements of a part that have this name, as they end; what was yielded is forgotten."""
        from lxml import etree

        try:
            for _, element in etree.iterparse(BytesIO(self.bytes(name)), events=("end",), tag=f"{{*}}{tag}", **_SAFE):
                _refuse_entities(element)
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except etree.XMLSyntaxError as error:
            raise IngestError(self._damaged) from error

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """What a part of an Office file refers to: the last word of the kind, and the part, by the relation's id."""
        folder, _, file = name.rpartition("/")
        relations = f"{folder}/_rels/{file}.rels" if folder else f"_rels/{file}.rels"
        if relations not in self:
            return {}
        return {
            each.get("Id", ""): (each.get("Type", "").rpartition("/")[2], _target(name, each.get("Target", "")))
            for each in self.tree(relations)
            if isinstance(each.tag, str) and each.get("TargetMode") != "External"
        }

    def title(self, name: str) -> str:
        """The title in the part of properties, if it says anything."""
        if name not in self:
            return ""
        elements = [each for each in self.tree(name).iter() if local(each) == "title"]
        title = " ".join((elements[0].text or "").split()) if elements else ""
        return title if any(map(str.isalpha, title)) and not _NO_TITLE.fullmatch(title) else ""


# No entity is replaced, no file but the part itself is looked at, and depth and lengths have libxml2's bounds.
_SAFE: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "remove_comments": True}
_NO_TITLE = re.compile(
    r"(?:word|powerpoint) (?:document|presentation)|(?:document|presentation|book|slide|sheet)\s?\d*|untitled.*|title"
    r"|microsoft (?:word|powerpoint|excel)\b.*|.*\.(?:docx?|dotx?|rtf|od[tsp]|pdf|pptx?|xlsx?|csv)",
    re.IGNORECASE,
)


def local(element: Any) -> str:
    """The name of an element without its namespace: Office has two for the same thing; "" for what is none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute by its name without its namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _refuse_entities(element: Any) -> None:
    if element.getroottree().docinfo.internalDTD is not None:
        raise IngestError("it defines entities of its own, which no office program does; it is not read")


def _target(name: str, target: str) -> str:
    """The part that a relation points to, from the folder of the part that has it."""
    target = unquote(target)
    return normpath(target.lstrip("/") if target.startswith("/") else join(dirname(name), target))
