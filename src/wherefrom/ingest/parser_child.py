"""The process that reads files for an ingest, one after the other, within bounds of time and memory.

Whatever a file was made to do to its reader, it does it here: the ingest notices, names the file, and has the next
one read by a fresh process. When its input ends, so does the process, at once; without work it ends after a while.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from wherefrom.errors import IngestError
from wherefrom.features.language import foreign_document
from wherefrom.ingest.formats import kind_of, read
from wherefrom.ingest.messages import (
    ParsedRecord,
    ParseEnd,
    ParseFailure,
    ParseProgress,
    ParseRequest,
    request_from,
    send,
)
from wherefrom.ingest.outcome import Record

_IDLE_SECONDS = 60.0  # without a request; the next ingest starts another process


def main() -> None:
    # A library that prints must not end up between our messages.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(ValueError, AttributeError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the ingest, which then ends this process
    send(out, ParseEnd("ready"))
    requests = _requests(sys.stdin.buffer)
    while True:
        try:
            request = requests.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            return
        _bound_memory(request.settings.parse_megabytes)
        end = _parsed(request, out)
        _bound_time(0)
        send(out, end)


def _requests(stream: BinaryIO) -> queue.SimpleQueue[ParseRequest]:
    """Requests as they come in; the end of the input ends the process, even in the middle of a file."""
    requests: queue.SimpleQueue[ParseRequest] = queue.SimpleQueue()

    def listen() -> None:
        while request := request_from(stream):
            requests.put(request)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return requests


def _parsed(request: ParseRequest, out: BinaryIO) -> ParseEnd:
    """Send what is in a file; how it ended."""
    path, settings = Path(os.fsdecode(request.path)), request.settings
    _bound_time(settings.seconds_per_file)
    try:
        if request.folder:
            os.chdir(request.folder)
        if request.only_kind:
            return ParseEnd("done", kind=kind_of(path, settings.ocr), peak_megabytes=_peak_megabytes())
        for outcome in read(path, settings, lambda consumed: send(out, ParseProgress(consumed))):
            if isinstance(outcome, Record):
                send(out, ParsedRecord(outcome, foreign_document(outcome.text) if request.language else None))
            else:
                send(out, ParseFailure(outcome))
            _bound_time(settings.seconds_per_file)
    except Exception as error:  # noqa: BLE001 - whatever a parser trips over, the file is named and the rest is read
        return _end(error)
    return ParseEnd("done", peak_megabytes=_peak_megabytes())


def _end(error: BaseException) -> ParseEnd:
    cause: BaseException | None = error
    while cause is not None:  # parsers wrap what they trip over
        if isinstance(cause, MemoryError) or "memory allocation failed" in str(cause).lower():
            return ParseEnd("memory")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, IngestError):
        return ParseEnd("refused", str(error), peak_megabytes=_peak_megabytes())
    if isinstance(error, OSError):
        reason = f"it cannot be read: {(error.strerror or type(error).__name__).lower()}"
    else:
        reason = f"reading it failed in a way that nobody foresaw ({type(error).__name__}); please report it"
    return ParseEnd("refused", reason, peak_megabytes=_peak_megabytes())


def _bound_time(seconds: float) -> None:
    """End this process after so many seconds of work, even if its ingest has died and cannot do so; 0: never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # the system's doing: no expression in hand can hold it up


def _bound_memory(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system: time alone is bounded
        return
    # Data, not address space: files that are mapped, as libraries are, cost nothing.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = megabytes * 1_000_000
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def _peak_megabytes() -> float:
    """The most that this program has held; elsewhere than on Linux its parent, when it was started, counts too."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024  # Linux counts kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
