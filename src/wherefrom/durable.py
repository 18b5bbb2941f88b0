"""Files that are whole or absent, whatever instant the process dies."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_UNFINISHED = "unfinished-"  # begins the name of a folder in which a file is being written


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` make the file elsewhere, force it to the disk, then give it its place.

    Elsewhere is a folder of its own, since what writes may leave temporary files of its own when killed.
    """
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=path.parent) as workplace:
        unfinished = Path(workplace) / path.name
        unfinished.touch()
        mode = unfinished.stat().st_mode  # as the user's umask has it; safetensors makes files for their owner alone
        write(unfinished)
        unfinished.chmod(mode)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    force_names(path.parent)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process was writing into this folder."""
    for leftover in folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(leftover)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8", newline="\n"))


def force_names(folder: Path) -> None:
    """Force a folder's names to the disk; Windows has no way to, and does so by itself."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
