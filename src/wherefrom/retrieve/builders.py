"""Processes that make segments of texts, side by side.

Each is a Python that runs `work` of this module, and is spoken to through its pipes. Not `multiprocessing`: that would
run the user's own script again in each process, or fork beside other threads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from wherefrom.config import IndexSettings
from wherefrom.errors import LibraryError
from wherefrom.retrieve.ngrams import NGrams
from wherefrom.retrieve.segment import SegmentFacts, written

_HEAD = 8  # bytes that say how long a message is


class _Job(msgspec.Struct, frozen=True):
    folder: str
    keys: list[int]
    texts: list[bytes]  # UTF-8, with whatever surrogates a text may hold


class _Reply(msgspec.Struct, frozen=True):
    facts: SegmentFacts | None
    error: str = ""


class Builders:
    """At most `processes` of them, started when needed; close them when done."""

    def __init__(self, settings: IndexSettings, processes: int) -> None:
        self.processes = processes
        self._settings = settings
        self._idle: list[subprocess.Popen[bytes]] = []
        self._busy: deque[subprocess.Popen[bytes]] = deque()  # longest at work first
        self._finished: list[SegmentFacts] = []

    @property
    def running(self) -> bool:
        return bool(self._idle or self._busy)

    def build(self, folder: Path, keys: Sequence[int], texts: Sequence[str]) -> None:
        """Have a segment made; waits only while all processes are at work."""
        if not self._idle and len(self._busy) < self.processes:
            self._idle.append(self._started())
        if not self._idle:
            self._wait_for_one()
        process = self._idle.pop()
        self._busy.append(process)
        assert process.stdin is not None
        try:
            _send(
                process.stdin, _Job(str(folder), list(keys), [text.encode("utf-8", "surrogatepass") for text in texts])
            )
        except OSError as error:
            raise _ended(process) from error

    def finished(self) -> list[SegmentFacts]:
        """Wait until all is done; the segments finished since the last call."""
        while self._busy:
            self._wait_for_one()
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """End the processes; what they were making is lost."""
        for process in self._busy:
            process.kill()
        for process in (*self._idle, *self._busy):
            with suppress(OSError), process:  # closes the pipes, then waits: a process whose input ends is done
                pass
        self._idle.clear()
        self._busy.clear()
        self._finished.clear()

    def _wait_for_one(self) -> None:
        process = self._busy[0]
        assert process.stdout is not None
        data = _received(process.stdout)
        if data is None:
            raise _ended(process)
        reply = msgspec.msgpack.decode(data, type=_Reply)
        self._idle.append(self._busy.popleft())
        if reply.facts is None:
            raise LibraryError(f"the index cannot be built: {reply.error}")
        self._finished.append(reply.facts)

    def _started(self) -> subprocess.Popen[bytes]:
        package = str(Path(__file__).parents[2])  # where this very wherefrom lies, however it was found
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(
            [sys.executable, "-c", "from wherefrom.retrieve.builders import work; work()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        assert process.stdin is not None
        _send(process.stdin, self._settings)
        return process


def _ended(process: subprocess.Popen[bytes]) -> LibraryError:
    return LibraryError(
        f"a process that builds the index has ended (code {process.poll()}), perhaps for lack of memory; try again"
    )


def _send(pipe: IO[bytes], message: object) -> None:
    data = msgspec.msgpack.encode(message)
    pipe.write(len(data).to_bytes(_HEAD, "little"))
    pipe.write(data)
    pipe.flush()


def _received(pipe: IO[bytes]) -> bytes | None:
    """The next message; None where there are no more."""
    head = pipe.read(_HEAD)
    if len(head) < _HEAD:
        return None
    size = int.from_bytes(head, "little")
    data = pipe.read(size)
    return data if len(data) == size else None


def _serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Make segments until there are no more requests."""
    data = _received(requests)
    if data is None:
        return
    ngrams = NGrams(msgspec.msgpack.decode(data, type=IndexSettings))
    while data := _received(requests):
        job = msgspec.msgpack.decode(data, type=_Job)
        texts = [text.decode("utf-8", "surrogatepass") for text in job.texts]
        try:
            reply = _Reply(written(Path(job.folder), ngrams, job.keys, texts))
        except (OSError, MemoryError) as error:
            reply = _Reply(None, str(error) or type(error).__name__)
        _send(replies, reply)


def work() -> None:
    """What a process does: make segments until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    _serve(sys.stdin.buffer, sys.stdout.buffer)
