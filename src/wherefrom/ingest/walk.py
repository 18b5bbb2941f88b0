"""The files that a list of paths stands for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SENT = "sent:"  # begins the source of what came over a network


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


def walk(paths: Sequence[Path]) -> Iterator[InputFile]:
    """Files in a stable order, each once; hidden ones and libraries are passed over inside folders."""
    seen: set[Path] = set()
    for path in paths:
        files = (InputFile(path, path.name, named=True),) if not path.is_dir() else _inside(path)
        for file in files:
            absolute = file.path.absolute()
            if absolute not in seen:
                seen.add(absolute)
                yield file


def _inside(root: Path) -> Iterator[InputFile]:
    for folder, folders, files in os.walk(root):
        if "documents.sqlite" in files and "index" in folders:  # a library: its text is already in one
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                path = Path(folder) / name
                yield InputFile(path, path.relative_to(root).as_posix(), named=False)
