"""The process that libFuzzer watches: python -m attack.coverage_child SUFFIX FOLDER CORPUS RUNS SEED.

What is imported before Atheris looks is not watched, so that the readers are imported by `main` alone.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import random
import sys
import time
import zipfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from attack.files import FORMATS, sample_files

MOST_BYTES = 20_000
CPU_SECONDS = 2.0  # of one input
_HANG_SECONDS = 20  # of the clock: libFuzzer then ends the process
_MEGABYTES = 1500
_NOTED_EVERY = 50  # inputs
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(ValueError, KeyError, NotImplementedError, RuntimeError, EOFError, OSError),
)


def main(suffix: str, folder: str, corpus: str, runs: str, seed: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["wherefrom.ingest", "wherefrom.text"]):
        from attack.fuzz import examined
    notes, path = Notes(Path(folder)), Path(folder) / f"input{suffix}"

    def one(inner: bytes) -> None:
        data = packed(suffix, inner)
        path.write_bytes(data)
        before = time.process_time()
        for line in examined(path):
            notes.hear(line, data)
        notes.took(time.process_time() - before, suffix, data)
        if notes.done >= int(runs):
            notes.count()
            os._exit(0)

    limits = [f"-timeout={_HANG_SECONDS}", f"-rss_limit_mb={_MEGABYTES}", f"-max_len={MOST_BYTES}", f"-seed={seed}"]
    # `-runs` counts its own trials alone, not the corpus that is read first.
    atheris.Setup(["coverage", *limits, f"-artifact_prefix={folder}/", "-detect_leaks=0", corpus], one)
    atheris.Fuzz()


class Notes:
    """What was found, a line each as it is found: the process may be ended at any input."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()
        self._read = 0
        self._slowest_ms = 0.0
        self.done = 0

    def hear(self, line: str, data: bytes) -> None:
        """What `fuzz.examined` says of an input."""
        what, _, rest = line.partition("\t")
        if what == "read":
            self._read += 1
        else:
            kind, _, about = rest.partition("\t")
            self.wrong(kind, about, data)

    def took(self, seconds: float, suffix: str, data: bytes) -> None:
        """An input is done."""
        self._slowest_ms = max(self._slowest_ms, 1000 * seconds)
        if seconds > CPU_SECONDS:
            self.wrong(f"over {CPU_SECONDS:g} s in {suffix}", f"{seconds:.1f} s", data)
        self.done += 1
        if self.done % _NOTED_EVERY == 0:
            self.count()

    def wrong(self, kind: str, what: str, data: bytes) -> None:
        if kind in self._known:
            return
        self._known.add(kind)
        name = f"input{len(self._known)}"
        (self._folder / name).write_bytes(data)
        self._line({"kind": kind, "what": what, "file": name})

    def count(self) -> None:
        self._line({"done": self.done, "read": self._read, "slowest_ms": self._slowest_ms})

    def _line(self, note: dict[str, object]) -> None:
        with (self._folder / "notes").open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")


def unpacked(data: bytes) -> bytes:
    """Of an archive the member that is read for its text; of other files all."""
    if data.startswith(b"PK"):
        with suppress(*_BROKEN), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(_text_of(archive))
    return data


def packed(suffix: str, inner: bytes) -> bytes:
    """The archive of the sample of a packed format with this in place of its text; other formats as they are."""
    sound = template(suffix)
    if sound is None:
        return inner
    members, text = sound
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, inner if name == text else data)
    return out.getvalue()


@cache
def template(suffix: str) -> tuple[dict[str, bytes], str] | None:
    """Of a packed format a sound file, a sample or by its grammar: its members, and which of them is the text."""
    chance = random.Random(1)
    for data in (*sample_files().get(suffix, []), *(FORMATS[suffix](chance) for _ in range(20))):
        if data.startswith(b"PK"):
            with suppress(*_BROKEN), zipfile.ZipFile(io.BytesIO(data)) as archive:
                return {name: archive.read(name) for name in archive.namelist()}, _text_of(archive)
    return None


def _text_of(archive: zipfile.ZipFile) -> str:
    """The longest member of markup."""
    markup = [info for info in archive.infolist() if info.filename.endswith((".xml", ".xhtml", ".html"))]
    return max(markup or archive.infolist(), key=lambda info: info.file_size).filename


if __name__ == "__main__":
    main(*sys.argv[1:])
