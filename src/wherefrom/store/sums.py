"""Checksums of rows and of index files, by which damage shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_REWRITTEN = ".json"  # what an index writes anew with each commit; all its other files are written once
# Held by readers and writers, and empty; and a database, which is changed in place and looks after itself.
_PASSED_OVER = (".lock", ".sqlite", ".sqlite-journal")


class FileSum(NamedTuple):
    """What a file was when it was written."""

    size: int
    sum: bytes


def row_sum(values: Sequence[object]) -> bytes:
    """The checksum of a row's values, or of rows that belong together."""
    return _digest(json.dumps(values, default=_plain, separators=(",", ":")).encode())


def file_sums(folder: Path, known: Mapping[str, FileSum]) -> dict[str, FileSum]:
    """The checksum of each file of an index.

    A file that is written once keeps the checksum it is known by: damage since then must not become the truth.
    """
    return {
        name: known[name] if name in known and not name.endswith(_REWRITTEN) else _file_sum(folder / name)
        for name in _files(folder)
    }


def differing(folder: Path, known: Mapping[str, FileSum], deep: bool, rewritten: bool = True) -> list[str]:
    """The files of an index that are not what was written, or not there.

    Unless `deep`, only sizes are compared, and whole files where they are small and say what the index consists of.
    Without `rewritten`, those are passed over.
    """
    return [
        name
        for name, written in sorted(known.items())
        if (rewritten or not name.endswith(_REWRITTEN)) and _differs(folder / name, written, deep)
    ]


def _differs(path: Path, written: FileSum, deep: bool) -> bool:
    try:
        if path.stat().st_size != written.size:
            return True
        return (deep or path.name.endswith(_REWRITTEN)) and _file_sum(path) != written
    except (OSError, ValueError):  # gone, a disk that cannot read it any more, or a damaged row without a name
        return True


def _files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(_PASSED_OVER):
            yield path.relative_to(folder).as_posix()


def _file_sum(path: Path) -> FileSum:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
        return FileSum(file.tell(), digest)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=12).digest()


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else repr(value)
