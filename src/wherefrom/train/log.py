"""The log of a training: one JSON line a report, the same lines however often training was interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from wherefrom.train.errors import CheckpointUnusable


class Log:
    """`log.jsonl`, cut back to where the checkpoint knew it and then appended to."""

    def __init__(self, path: Path, known_bytes: int) -> None:
        size = path.stat().st_size if path.exists() else 0
        if size < known_bytes:
            raise CheckpointUnusable(
                f"{path.name} has lost lines that the checkpoint counts on ({size} of {known_bytes} bytes are left); "
                "restore it, or train in an empty folder"
            )
        self._file = path.open("ab")
        self._file.truncate(known_bytes)
        self.size = known_bytes

    def append(self, row: Mapping[str, object]) -> None:
        """Add one line."""
        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        self._file.write(line)
        self._file.flush()
        self.size += len(line)

    def force(self) -> None:
        """Force the lines to the disk, before a checkpoint counts on them."""
        os.fsync(self._file.fileno())

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The rows of a log."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
