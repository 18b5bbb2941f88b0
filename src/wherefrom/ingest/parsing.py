"""Files are read in a process of their own: one that was made to take for ever, or all memory, costs itself alone.

The process stays warm from file to file and from ingest to ingest; after a death, a breach of its bounds, or much
memory used, the next file gets a fresh one.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError, NotStarted
from wherefrom.ingest.messages import (
    ParsedRecord,
    ParseEnd,
    ParseFailure,
    ParseMessage,
    ParseProgress,
    ParseRequest,
    message_from,
    send,
)
from wherefrom.ingest.outcome import IngestFailure
from wherefrom.ingest.source import file_hash

_START_SECONDS = 300.0  # for the process to begin: minutes on a very busy machine; one that dies is noticed at once
_MOST_FILES = 2_000  # of one process: what a parser leaks goes with it
_MOST_MEGABYTES = 300.0  # that a process may have held; beyond, another follows it, for not all is given back
_WAITING_BYTES = 16_000_000  # of records that have been read and not yet been taken; the process waits then
_SOURCE = str(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True)
class Expected:
    """A file that an ingest is going to ask for."""

    path: Path
    known: bytes | None  # the hash by which it need not be read; None: it has to be
    by_kind: bool  # whether it is asked first which kind of file it is


class FilesReader(Protocol):
    """Reads the files of one ingest: hash, kind and text; what cannot be read is an IngestError."""

    def expect(self, files: Iterable[Expected], language: bool) -> None:
        """All files that will be asked for, in their order; one may still be left out."""
        ...

    def hash(self, path: Path) -> bytes: ...

    def kind(self, path: Path) -> str | None: ...

    def read(
        self, path: Path, reached: Callable[[int], None] = lambda _: None, language: bool = False
    ) -> Iterator[ParsedRecord | IngestFailure]: ...


class Parser:
    """Reads the files of one ingest, each when it is asked for; get one from `parser`."""

    def __init__(self, settings: IngestSettings, module: str = "wherefrom.ingest.parser_child") -> None:
        self._settings = settings
        self._module = module
        self._process: ParserProcess | None = None

    def expect(self, files: Iterable[Expected], language: bool) -> None:
        """Nothing is read ahead."""

    def hash(self, path: Path) -> bytes:
        return file_hash(path)

    def kind(self, path: Path) -> str | None:
        """The format of a file, None where it is none that is read; an IngestError where it breaks its reader."""
        request = self._request(path, only_kind=True)
        for message in self._messages(request):
            if isinstance(message, ParseEnd):
                return message.kind
        return None

    def read(
        self, path: Path, reached: Callable[[int], None] = lambda _: None, language: bool = False
    ) -> Iterator[ParsedRecord | IngestFailure]:
        """What is in a file, as it is read; an IngestError where it cannot be, or is over its bounds.

        `language`: whether each record comes with the language it is in, if not English.
        """
        for message in self._messages(self._request(path, language=language)):
            if isinstance(message, ParsedRecord):
                yield message
            elif isinstance(message, ParseFailure):
                yield message.failure
            elif isinstance(message, ParseProgress):
                reached(message.bytes)

    def end(self) -> None:
        """Leave the process to the next ingest, where it is fit for that."""
        process, self._process = self._process, None
        if process is not None:
            _give_back(process)

    def _request(self, path: Path, only_kind: bool = False, language: bool = False) -> ParseRequest:
        try:
            folder = b"" if path.is_absolute() else os.fsencode(Path.cwd())
        except OSError:  # the folder that we are in has gone
            folder = b""
        return ParseRequest(os.fsencode(path), folder, self._settings, only_kind, language)

    def _messages(self, request: ParseRequest) -> Iterator[ParseMessage]:
        """The messages on one file; what ends a process that has read other files before is tried with a fresh one."""
        again = True
        while again:
            again = False
            process = self._fit_process()
            last_try = process.files == 0
            process.request(request)
            try:
                for message in self._heeded(process):
                    if isinstance(message, _Breach):
                        if last_try or not message.may_pass:
                            raise IngestError(message.reason)
                        again = True
                    else:
                        yield message
                        last_try |= not isinstance(message, ParseProgress)  # a record cannot be taken back
            finally:
                if process.busy:
                    self._drop()

    def _heeded(self, process: ParserProcess) -> Iterator[ParseMessage | _Breach]:
        """Messages until the file's end, or until it is over its bounds."""
        left = self._settings.seconds_per_file
        while True:
            before = time.monotonic()
            message = process.message(left)
            left -= time.monotonic() - before  # time that we wait for: to write to the library is not the file's
            if message is None:
                yield self._took_too_long()
                return
            if isinstance(message, str):
                over = message == "SIGPROF"
                yield self._took_too_long() if over else _Breach(_ended(message), may_pass=True)
                return
            if isinstance(message, ParseEnd):
                if message.how == "memory":
                    most = self._settings.parse_megabytes
                    reason = f"reading it took more than {most:,} MB of memory; raise ingest.parse_megabytes"
                    yield _Breach(reason, may_pass=True)
                elif message.how == "refused":
                    process.done(message)
                    raise IngestError(message.reason)
                else:
                    process.done(message)
                    yield message
                return
            yield message
            if not isinstance(message, ParseProgress):
                left = self._settings.seconds_per_file

    def _took_too_long(self) -> _Breach:
        seconds = self._settings.seconds_per_file
        return _Breach(f"reading it took more than {seconds:g} s; raise ingest.seconds_per_file", may_pass=False)

    def _fit_process(self) -> ParserProcess:
        if self._process is not None and not self._process.fit:
            self._drop()
        if self._process is None:
            self._process = _idle_process(self._module) or ParserProcess(self._module)
        return self._process

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()


class _Breach:
    """What a file did to its reader; `may_pass`: it may have been the files before that did it."""

    def __init__(self, reason: str, may_pass: bool) -> None:
        self.reason = reason
        self.may_pass = may_pass


def _ended(how: str) -> str:
    by = f" ({how})" if how else ""
    return f"reading it ended the process that read it{by}; it is damaged, or made to do that"


@contextmanager
def parser(settings: IngestSettings, module: str = "wherefrom.ingest.parser_child") -> Iterator[Parser]:
    """A parser for one ingest, whose process comes from the one before and goes to the next."""
    one = Parser(settings, module)
    try:
        yield one
    finally:
        one.end()


# ------------------------------------------------------------------------------------------- the process


class ParserProcess:
    """A process that reads files, and what it has sent and nobody has taken yet."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.files = 0
        self.busy = False  # with a file
        self._peak_megabytes = 0.0
        self._inbox = _Inbox()
        # -P: the folder that a user is in may hold a json.py, and that must not run.
        start = f"import sys; sys.path.insert(0, sys.argv[1]); from {module} import main; main()"
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", start, _SOURCE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "MALLOC_ARENA_MAX": "2"},
            )
        except OSError as error:  # too many processes or open files, or no memory for one more
            raise NotStarted(f"the process that reads files could not be started ({error.strerror})") from error
        threading.Thread(target=self._listen, daemon=True).start()
        if not isinstance(self.message(_START_SECONDS), ParseEnd):
            self.end()
            raise NotStarted(
                "the process that reads files did not begin; `python -m wherefrom.ingest.parser_child` tells why"
            )

    @property
    def fit(self) -> bool:
        """Whether it may read another file."""
        fresh = self.files < _MOST_FILES and self._peak_megabytes < _MOST_MEGABYTES
        return fresh and self._process.poll() is None

    def request(self, request: ParseRequest) -> None:
        assert self._process.stdin is not None
        self.busy = True
        with suppress(OSError, ValueError):  # it has just died; the listener says so
            send(self._process.stdin, request)  # type: ignore[arg-type]

    def message(self, seconds: float) -> ParseMessage | str | None:
        """The next message; how the process ended, where it did; None where nothing comes within so many seconds."""
        return self._inbox.get(seconds)

    def done(self, end: ParseEnd) -> None:
        self.files += 1
        self.busy = False
        self._peak_megabytes = max(self._peak_megabytes, end.peak_megabytes)

    def end(self) -> None:
        self._inbox.close()
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError, ValueError):
                    pipe.close()

    def _listen(self) -> None:
        try:
            self._hear()
        finally:
            self._close()  # of one that died by itself nobody else may think

    def _hear(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):  # closed under us: the process was ended on purpose
            while (received := message_from(self._process.stdout)) is not None:  # type: ignore[arg-type]
                self._inbox.put(*received)
        with suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._inbox.put(_signal_name(self._process.wait(5.0)), 0)
            return
        self._inbox.put("", 0)


def _signal_name(code: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-code).name if code < 0 else ""
    return f"signal {-code}"


class _Inbox:
    """Messages that wait to be taken, no more than some bytes of them: whoever puts one in waits too, then."""

    def __init__(self) -> None:
        self._messages: deque[tuple[ParseMessage | str, int]] = deque()
        self._bytes = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, message: ParseMessage | str, size: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._bytes < _WAITING_BYTES or self._closed)
            self._messages.append((message, size))
            self._bytes += size
            self._changed.notify_all()

    def get(self, seconds: float) -> ParseMessage | str | None:
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._messages), max(seconds, 0.0)):
                return None
            message, size = self._messages.popleft()
            self._bytes -= size
            self._changed.notify_all()
            return message

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


# ------------------------------------------------------------------------------- between one ingest and the next

_MOST_IDLE = 2
_idle: list[ParserProcess] = []
_idle_lock = threading.Lock()


def _idle_process(module: str) -> ParserProcess | None:
    with _idle_lock:
        waiting = [process for process in _idle if process.module == module]
        for process in waiting:
            _idle.remove(process)
            if process.fit:
                return process
            process.end()
    return None


def _give_back(process: ParserProcess) -> None:
    with _idle_lock:
        if process.fit and len(_idle) < _MOST_IDLE:
            _idle.append(process)
            return
    process.end()


def _end_all() -> None:
    with _idle_lock:
        while _idle:
            _idle.pop().end()


def _forget() -> None:
    """In a fork: the processes are the other one's, and so are the pipes to them."""
    global _idle_lock
    _idle_lock = threading.Lock()
    _forked.extend(_idle)  # kept, unused: to let go of them would wait for them
    _idle.clear()


_forked: list[ParserProcess] = []
atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
