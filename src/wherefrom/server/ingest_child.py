"""The process that writes to the library for the server; the ingest worker starts it and gives it jobs.

Files from elsewhere are read here and nowhere else: a file that was made to take for ever, or to need all memory,
ends this process and not the server. It takes jobs as JSON lines on its standard input and reports on them on its
standard output; when its input ends, so does it, at once: whatever instant it dies, the library is whole.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wherefrom.config import Settings, from_mapping
from wherefrom.errors import LibraryBusy, LibraryError, NotStarted, WherefromError, is_full
from wherefrom.ingest.outcome import IngestFailure
from wherefrom.ingest.run import IngestProgress, IngestReport
from wherefrom.library import Library
from wherefrom.server.kept_files import KeptFiles
from wherefrom.server.uploads import unpacked_too_long

_REPORT_SECONDS = 0.1  # between two reports of progress
_BUSY_SECONDS = 0.3  # until the library is tried again


def main(path: str, settings_json: str, opened: Callable[[str, Settings], Library] = Library) -> None:
    settings = from_mapping(json.loads(settings_json))
    _limit(settings.server.job_megabytes)
    library = opened(path, settings)
    for job in _jobs():
        try:
            _send(done=_work(library, job, settings))
        except MemoryError:
            _send(failed=f"it needs more than {settings.server.job_megabytes} MB of memory; raise server.job_megabytes")
        except Exception as error:  # noqa: BLE001 - sent to the worker, which tells whom it concerns
            _send(**_trouble(error))


def _trouble(error: Exception) -> dict[str, Any]:
    """What went wrong: the machine is full, or the library has trouble, which may pass; or the job itself."""
    if is_full(error):
        return {"full": str(error)}
    if isinstance(error, NotStarted):
        return {"unready": str(error)}
    if isinstance(error, LibraryError | OSError):
        return {"trouble": str(error)}
    if isinstance(error, WherefromError):
        return {"failed": str(error)}
    return {"failed": f"reading it failed in a way that nobody foresaw ({type(error).__name__})"}


def _work(library: Library, job: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Write, waiting for another process that writes."""
    while True:
        try:
            if job["kind"] == "remove":
                result: dict[str, Any] = {"removed": library.remove(job["names"])}
            else:
                result = _take_in(library, dict(zip(job["names"], map(Path, job["files"]), strict=True)), settings)
            KeptFiles(library.path).drop_others(library.sent_hashes())
            return result
        except LibraryBusy as error:
            _send(progress={"waiting": str(error)})
            time.sleep(_BUSY_SECONDS)


def _take_in(library: Library, files: dict[str, Path], settings: Settings) -> dict[str, Any]:
    limit = int(settings.server.unpacked_megabytes * 1_000_000)
    bombs = [name for name, path in files.items() if unpacked_too_long(path, limit)]
    reporter = _ProgressReporter()
    report = library.ingest_sent(
        {name: path for name, path in files.items() if name not in bombs}, reporter.progress, reporter.acknowledged
    )
    for path in files.values():
        KeptFiles(library.path).keep(path)
    refused = f"unpacked it is longer than {settings.server.unpacked_megabytes:g} MB; raise server.unpacked_megabytes"
    return _plain(
        report, {path: name for name, path in files.items()}, [IngestFailure(name, refused) for name in bombs]
    )


class _ProgressReporter:
    """Sends progress to the server, not too often."""

    def __init__(self) -> None:
        self._at = 0.0
        self._safe = 0

    def acknowledged(self, ids: Sequence[str]) -> None:
        self._safe += len(ids)

    def progress(self, progress: IngestProgress) -> None:
        now = time.monotonic()
        if now - self._at >= _REPORT_SECONDS:
            self._at = now
            _send(progress={**msgspec.to_builtins(progress), "safe": self._safe})


def _plain(report: IngestReport, names: dict[Path, str], refused: Sequence[IngestFailure]) -> dict[str, Any]:
    """The report without the places where uploads lay."""
    failures = [
        {"name": names.get(Path(failure.name), Path(failure.name).name), "reason": failure.reason}
        for failure in (*report.failures, *refused)
    ]
    warnings = [
        {"name": names.get(Path(warning.name), Path(warning.name).name), "reason": warning.reason}
        for warning in report.warnings
    ]
    return {
        "added": report.added,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "removed": list(report.removed),
        "failures": failures,
        "warnings": warnings,
        "documents": report.documents,
        "passages": report.passages,
        "seconds": report.seconds,
    }


def _jobs() -> Iterator[dict[str, Any]]:
    """Jobs as they come in; the end of the input ends the process, even in the middle of a job."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield json.loads(lines.get())


def _send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _limit(megabytes: int) -> None:
    """Bound the memory, and let questions go first."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    # Data, not address space: files that are mapped, as the index is, cost nothing.
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 1_000_000, megabytes * 1_000_000))
    os.nice(10)
