"""A process that reads files, and does what their first words say; started in place of the usual one."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from wherefrom.config import IngestSettings
from wherefrom.ingest import parser_child
from wherefrom.ingest.outcome import IngestFailure, Record

kept: list[bytearray] = []


def main() -> None:
    honest = parser_child.read

    def read(
        path: Path, settings: IngestSettings, reached: Callable[[int], None] | None = None
    ) -> Iterator[Record | IngestFailure]:
        for word in path.read_text().split("\n", 1)[0].split():
            match word:
                case "sleep":
                    time.sleep(600)
                case "spin":  # an expression that holds the interpreter, so that no Python can end it
                    re.match(r"(a|a)*b", "a" * 60)
                case "eat":
                    kept.append(bytearray(10**12))
                case "swell":  # held from now on: the file after it has little room
                    kept.append(bytearray(10**8))
                case "need":
                    kept.append(bytearray(15 * 10**7))
                case "die":
                    os.kill(os.getpid(), signal.SIGSEGV)
                case "print":
                    print("a parser that prints", flush=True)
                case "raise":
                    raise ValueError("of a parser")
                case "record":
                    yield Record(f"{path.name}:1", "First", "The first record of the file.", "line 1")
        yield from honest(path, settings, reached)

    parser_child.read = read
    parser_child.main()
