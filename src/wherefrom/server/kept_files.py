"""The PDF files that were sent, kept by their hash as long as the library holds them, so that pages can be shown."""

from __future__ import annotations

import os
import shutil
from collections.abc import Set
from contextlib import suppress
from pathlib import Path

from wherefrom.ingest.original import digest_of

_HEAD_BYTES = 1024  # among which a PDF file says that it is one


class KeptFiles:
    """A folder of them; it is made with the first, and only its owner may look inside."""

    def __init__(self, library: Path) -> None:
        self.folder = library / "server" / "originals"

    def keep(self, path: Path) -> None:
        """Keep a file, if it is a PDF: under another name where that goes, else as a copy."""
        with path.open("rb") as file:
            if b"%PDF-" not in file.read(_HEAD_BYTES):
                return
        place = self.folder / digest_of(path.read_bytes()).hex()
        if place.exists():
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError:
            half = place.with_suffix(".part")
            shutil.copyfile(path, half)
            half.replace(place)

    def drop_others(self, digests: Set[bytes]) -> None:
        """Drop those that no document is from any more."""
        with suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                if path.name not in {digest.hex() for digest in digests}:
                    path.unlink(missing_ok=True)
