"""The files that a list of paths stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wherefrom.ingest.outcome import IngestFailure
from wherefrom.store.library import is_library

SENT = "sent:"  # begins the source of what came over a network
_NOT_UTF8 = "its name is not UTF-8, so it cannot be kept; rename it"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read; `name` is its path below the folder that was named, `named` whether it was itself named."""

    path: Path
    name: str
    named: bool
    sent: bool = False  # it was sent to us: its name is what counts, and where it lies is of no interest

    @property
    def source(self) -> str:
        return f"{SENT}{self.name}" if self.sent else str(self.path.absolute())


def walk(paths: Sequence[Path]) -> Iterator[InputFile | IngestFailure]:
    """Files in a stable order, each once; hidden ones and libraries are passed over inside folders.

    What cannot be looked into, or has a name that cannot be kept, is a failure in the place where it stands.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in _inside(path) if _is_folder(path) else (InputFile(path, path.name, named=True),):
            if isinstance(file, IngestFailure):
                yield file
                continue
            absolute = file.path.absolute()
            if absolute in seen:
                continue
            seen.add(absolute)
            yield file if _is_utf8(str(absolute)) else IngestFailure(shown_path(file.path), _NOT_UTF8)


def shown_path(path: Path) -> str:
    r"""A path that can be written down: bytes that are not UTF-8 as `\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # reading it says what is wrong
        return False


def _inside(root: Path) -> Iterator[InputFile | IngestFailure]:
    unread: list[OSError] = []
    for folder, folders, files in os.walk(root, onerror=unread.append):
        yield from _unreadable(unread)
        if "index" in folders and is_library(Path(folder)):  # a library: its text is already in one
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in [name for name in folders if not _is_utf8(name)]:
            folders.remove(name)
            yield IngestFailure(shown_path(Path(folder) / name), _NOT_UTF8)
        for name in sorted(files):
            if not name.startswith("."):
                path = Path(folder) / name
                yield InputFile(path, path.relative_to(root).as_posix(), named=False)
    yield from _unreadable(unread)


def _unreadable(unread: list[OSError]) -> Iterator[IngestFailure]:
    """The folders that could not be looked into since the last time."""
    while unread:
        error = unread.pop(0)
        why = "permission denied" if isinstance(error, PermissionError) else (error.strerror or str(error)).lower()
        yield IngestFailure(shown_path(Path(error.filename)), f"this folder cannot be looked into: {why}")
