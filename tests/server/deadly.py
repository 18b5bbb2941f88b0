"""A child that ingests, and dies, stops or fails of files with such names; started in place of the usual one."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wherefrom import Library
from wherefrom.config import Settings
from wherefrom.errors import LibraryDamaged, NotStarted
from wherefrom.ingest.run import IngestProgress, IngestReport
from wherefrom.server import ingest_child


class DeadlyLibrary(Library):
    """Does what a file's name says before it takes files in; `once` in a name: only the first time."""

    def ingest_sent(
        self,
        files: Mapping[str, Path],
        report: Callable[[IngestProgress], None] = lambda _: None,
        acknowledged: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> IngestReport:
        first = {name: path for name, path in files.items() if name < "m"}
        taken = super().ingest_sent(first, report, acknowledged) if first else None
        for name in files:
            mark = self.path / f"{name}.seen"
            if "once" in name and mark.exists():
                continue
            for word, happens in DEADLY.items():
                if word in name:
                    mark.touch()
                    happens()
        rest = {name: path for name, path in files.items() if name not in first}
        return super().ingest_sent(rest, report, acknowledged) if rest or taken is None else taken


def _raise(error: Exception) -> Callable[[], None]:
    def happens() -> None:
        raise error

    return happens


DEADLY: dict[str, Callable[[], None]] = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "segv": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda: os._exit(3),
    "memory": _raise(MemoryError()),
    "value": _raise(ValueError("of a parser")),
    "damaged": _raise(LibraryDamaged("/secret/place is damaged")),
    "full": _raise(OSError(errno.ENOSPC, "No space left on device")),
    "unready": _raise(NotStarted("of a busy machine")),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


def main(*arguments: str) -> None:
    def opened(path: str, settings: Settings) -> Library:
        return DeadlyLibrary(path, settings)

    ingest_child.main(*arguments, opened=opened)


if __name__ == "__main__":
    main(*sys.argv[1:])
