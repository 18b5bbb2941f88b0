"""Works on the jobs, one after the other, in one process of all that serve a library."""

from __future__ import annotations

import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from wherefrom.config import Settings, to_mapping
from wherefrom.errors import WherefromError
from wherefrom.server.folder import ServerFolder
from wherefrom.server.jobs import Job, Jobs

_LOOK_SECONDS = 0.2  # jobs that other processes took in are noticed this late, and so is a wish to cancel
_MOST_JOBS = 200  # of one child: what a parser leaks goes with it
_IDLE_SECONDS = 60.0  # a child without work for so long is sent home: it holds memory

log = logging.getLogger("wherefrom.server")


class IngestWorker:
    """A thread that waits for the lock on the jobs; with it, it works until it is stopped.

    The lock is the operating system's: it is free at once when its holder dies, and the next one takes over.
    """

    def __init__(self, library: Path, settings: Settings, folder: ServerFolder) -> None:
        self._jobs = Jobs(folder)
        self._lock = FileLock(folder.path / "jobs.lock")
        self._child = _Child(library, settings)
        self._seconds = settings.server.job_seconds
        self._stop = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wherefrom-jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def notify(self) -> None:
        """There is a new job."""
        self._news.set()

    def stop(self) -> None:
        """Give the job in hand back, unless it is just done: it is kept either way."""
        self._stop.set()
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._lock.acquire(timeout=0):
                    self._work()
            except Timeout:
                self._stop.wait(_LOOK_SECONDS)
            except (WherefromError, OSError) as error:  # a full disk, say: nothing is lost, and it may pass
                log.error("the jobs cannot be worked on (%s); trying again", type(error).__name__)
                self._stop.wait(1.0)
            finally:
                self._child.end()

    def _work(self) -> None:
        self._jobs.recover()
        idle_since = time.monotonic()
        while not self._stop.is_set():
            self._news.clear()
            taken = self._jobs.take()
            if taken is None:
                if time.monotonic() - idle_since > _IDLE_SECONDS:
                    self._child.end()
                self._news.wait(_LOOK_SECONDS)
                continue
            self._do(*taken)
            idle_since = time.monotonic()

    def _do(self, job: Job, files: list[Path]) -> None:
        begun = time.monotonic()
        self._child.send({"kind": job.kind, "names": job.names, "files": [str(path) for path in files]})
        while True:
            message = self._child.message(_LOOK_SECONDS) or {}
            if "done" in message:
                return self._finish(job, message["done"])
            if "failed" in message:
                self._child.end()  # its memory may be in pieces
                return self._jobs.finish(job.id, "failed", reason=message["failed"])
            if "progress" in message:
                if "waiting" in message["progress"]:
                    begun = time.monotonic()  # another process writes: that is not this job's time
                self._jobs.progressed(job.id, message["progress"])
            if self._jobs.cancel_wanted(job.id):
                self._child.end()
                return self._jobs.finish(job.id, "cancelled", reason="it was cancelled while it ran")
            if self._stop.is_set():
                self._child.end()
                return self._jobs.give_back(job.id)
            if time.monotonic() - begun > self._seconds:
                self._child.end()
                reason = f"it took more than {self._seconds:g} s; raise server.job_seconds, or send less at once"
                return self._jobs.finish(job.id, "failed", reason=reason)

    def _finish(self, job: Job, result: dict[str, Any]) -> None:
        failures = result.get("failures", [])
        taken = result.get("added", 0) + result.get("replaced", 0) + result.get("unchanged", 0)
        if failures and not taken:
            reason = "; ".join(f"{failure['name']}: {failure['reason']}" for failure in failures[:5])
            self._jobs.finish(job.id, "failed", result, reason)
        else:
            self._jobs.finish(job.id, "done", result)


class _Child:
    """The process that writes, started when there is work."""

    def __init__(self, library: Path, settings: Settings) -> None:
        start = "import sys; from wherefrom.server.ingest_child import main; main(*sys.argv[1:])"
        self._command = [sys.executable, "-c", start, str(library), json.dumps(to_mapping(settings))]
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._jobs_sent = 0

    def send(self, job: dict[str, Any]) -> None:
        self._jobs_sent += 1
        if self._process is None or self._process.poll() is not None or self._jobs_sent > _MOST_JOBS:
            self.end()
            self._jobs_sent = 1
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                # The index starts threads for every job; with glibc's arena for each, 70 MB become 240.
                env={**os.environ, "MALLOC_ARENA_MAX": "2"},
            )
            self._lines = queue.SimpleQueue()
            threading.Thread(target=_listen, args=(self._process, self._lines), daemon=True).start()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has just died; its listener says so
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()

    def message(self, seconds: float) -> dict[str, Any] | None:
        """The next message of the child, if one comes within so many seconds."""
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        """At once: the library survives it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
            self._process = None


def _listen(process: subprocess.Popen[str], lines: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass the child's messages on; that it has died becomes a message like the rest."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            lines.put(json.loads(line))
    except ValueError:  # closed under us: the child was ended on purpose
        return
    lines.put({"failed": "reading it ended the process that read it; the file is damaged, or was made to do that"})
