"""Files that are sent to us: their names, their kinds and their sizes are not believed."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from wherefrom.durable import force_names
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import borne_out
from wherefrom.ingest.source import opened, packed

_LONGEST_NAME = 200  # bytes, as file systems count


class Refused(IngestError):
    """An upload that is not taken; the message says why, in the sender's words."""


class WrongKind(Refused):
    """... because its bytes are of no kind that is read."""


def document_name(name: str) -> str:
    """The document id that an upload's name stands for: a relative path, such as `reports/2019.pdf`.

    It never becomes a path of ours; it is refused all the same where it tries to be one that leads elsewhere.
    """
    name = unicodedata.normalize("NFC", name)
    parts = name.split("/")
    if not name.strip() or name.endswith("/"):
        raise Refused("an upload needs a file name")
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise Refused(f"'{name[:40]}…' is too long a name; use up to {_LONGEST_NAME} bytes")
    if "\\" in name or any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise Refused(f"{name!a} holds characters that file names may not; rename it")
    if any(part in ("", ".", "..") or part != part.strip() for part in parts):
        raise Refused(f"'{name}' is not a plain relative name; send it as folder/name.txt")
    return name


def keep(file: BinaryIO, folder: Path, number: int, name: str) -> Path:
    """Write an upload below `folder`, where it is safe from a power cut; its place.

    It lies in a numbered folder of its own under the last part of its name, which readers use as a title.
    """
    own_folder = folder / str(number)
    own_folder.mkdir(mode=0o700, parents=True)
    last = re.sub(r"[^\w. ()-]", "_", PurePosixPath(name).name).lstrip(".") or "upload"
    path = own_folder / last
    with path.open("xb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())
    for changed in (own_folder, folder, folder.parent):
        force_names(changed)
    return path


def check_kind(path: Path, name: str) -> str:
    """The kind of an upload, by its bytes; one that is not what its name says is refused."""
    try:
        return borne_out(path)
    except IngestError as error:
        raise WrongKind(f"'{name}' is not taken: {error}") from error


def unpacked_too_long(path: Path, limit_bytes: int) -> bool:
    """Whether a .gz or .xz holds more than so many bytes; it is unpacked into nothing to find out."""
    try:
        with opened(path) as file:
            if not packed(path):
                return False
            size = 0
            while piece := file.read(1 << 18):
                size += len(piece)
                if size > limit_bytes:
                    return True
    except IngestError:
        return False  # damaged: reading it will say so
    return False
