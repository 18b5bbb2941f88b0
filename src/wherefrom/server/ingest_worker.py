"""Works on the jobs, one after the other, in one process of all that serve a library.

The files of an upload are read together first, which is quickest. If that does not come to a good end, whatever the
reason, they are read one by one: the file that is at fault is found, named and given up, and the others get in.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from wherefrom.config import Settings, to_mapping
from wherefrom.errors import WherefromError, is_full
from wherefrom.server.folder import ServerFolder
from wherefrom.server.jobs import Fate, Job, Jobs, Taken
from wherefrom.server.seldom import seldom
from wherefrom.server.space import FULL

_LOOK_SECONDS = 0.2  # jobs that other processes took in are noticed this late, and so is a wish to cancel
_MOST_JOBS = 200  # of one child: what a parser leaks goes with it
_IDLE_SECONDS = 60.0  # a child without work for so long is sent home: it holds memory
_PAUSES = (0.1, 1.0, 3.0, 0.0)  # seconds after each death of the child; after the last, what it worked on is given up
_MOST_BEGUN = 20  # a file's, when it is not the child that dies but this process: hardly the file, yet it shall end
_FULL_SECONDS = 2.0  # until a full disk, or a machine without room for a process, is tried again
_UNREADY = "the server cannot read files at the moment; what was sent is kept, and read once it can"
_TROUBLE = "the library could not be written to; whoever runs the server can see why with `wherefrom check`"

log = logging.getLogger("wherefrom.server")


class IngestWorker:
    """A thread that waits for the lock on the jobs; with it, it works until it is stopped.

    The lock is the operating system's: it is free at once when its holder dies, and the next one takes over.
    """

    def __init__(
        self, library: Path, settings: Settings, folder: ServerFolder, child: str = "wherefrom.server.ingest_child"
    ) -> None:
        self._jobs = Jobs(folder)
        self._lock = FileLock(folder.path / "jobs.lock")
        self._child = _Child(child, library, settings)
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
                why = "the disk is full" if is_full(error) else type(error).__name__
                seldom(log, logging.ERROR, f"the jobs cannot be worked on ({why}); trying again")
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
            self._do(taken)
            idle_since = time.monotonic()

    def _do(self, taken: Taken) -> None:
        job = taken.job
        if job.kind == "remove":
            end = self._removed(job)
        elif taken.attempts == 1 and len(taken.files) > 1:
            end = self._sent(job, job.names, taken.files)
            if end.how not in _OVER:
                end = self._one_by_one(taken)
        else:
            end = self._one_by_one(taken)
        match end.how:
            case "stopped":
                self._jobs.give_back(job.id)
            case "cancelled":
                self._jobs.finish(job.id, "cancelled", reason=end.reason)
            case "done":
                self._finish(job, end.result)
            case _:
                self._jobs.finish(job.id, "failed", reason=end.reason)

    def _removed(self, job: Job) -> _End:
        """Removing reads nothing of what was sent: what ends its process may pass."""
        for pause in _PAUSES:
            end = self._sent(job, job.names, ())
            if end.how not in ("died", "trouble"):
                return end
            self._stop.wait(pause)
        return end

    def _one_by_one(self, taken: Taken) -> _End:
        job, fates = taken.job, dict(taken.fates)
        results: list[dict[str, Any]] = []
        for number, (name, file) in enumerate(zip(job.names, taken.files, strict=True)):
            end = self._alone(job, name, file, fates, number)
            if end.how in ("stopped", "cancelled"):
                return end
            results.append(end.result)
        return _End("done", _together(results))

    def _alone(self, job: Job, name: str, file: Path, fates: dict[str, Fate], number: int) -> _End:
        """Read one file, again where its process dies; a file that is given up is a failure among the results."""
        fate = fates.get(name, Fate())
        while not fate.reason:
            if fate.begun - fate.deaths >= _MOST_BEGUN:
                fate = replace(fate, reason=f"the server ended {_MOST_BEGUN} times while it was read")
                break
            fate = fates[name] = replace(fate, begun=fate.begun + 1)
            self._jobs.set_fates(job.id, fates)
            end = self._sent(job, (name,), (file,), number)
            if end.how == "stopped":
                fates[name] = replace(fate, begun=fate.begun - 1)
                self._jobs.set_fates(job.id, fates)
            if end.how in _OVER:
                return end
            if end.how == "failed":
                fate = replace(fate, reason=end.reason)
            else:
                fate = replace(fate, deaths=fate.deaths + 1)
                if fate.deaths >= len(_PAUSES):
                    fate = replace(fate, reason=end.reason)
                else:
                    self._stop.wait(_PAUSES[fate.deaths - 1])
            fates[name] = fate
            self._jobs.set_fates(job.id, fates)
        return _End("done", {"failures": [{"name": name, "reason": fate.reason}]})

    def _sent(self, job: Job, names: Sequence[str], files: Sequence[Path], number: int | None = None) -> _End:
        """Have the child do it, watching over it; a full disk is waited for. `number` is that of a single file."""
        message = {"kind": job.kind, "names": list(names), "files": [str(path) for path in files]}
        begun = time.monotonic()
        self._child.send(message)
        while True:
            heard = self._child.message(_LOOK_SECONDS) or {}
            if "done" in heard:
                return _End("done", heard["done"])
            if "failed" in heard:
                self._child.end()  # its memory may be in pieces
                return _End("failed", reason=heard["failed"])
            if "died" in heard:
                self._child.end()
                return _End("died", reason=heard["died"])
            if "trouble" in heard:
                self._child.end()
                log.error("the library cannot be written to: %s", heard["trouble"])
                return _End("trouble", reason=_TROUBLE)
            if "full" in heard or "unready" in heard:
                self._child.end()
                self._wait_for_better(job, heard)
                begun = time.monotonic()
                if not self._stop.is_set():
                    self._child.send(message)
            if "progress" in heard:
                if "waiting" in heard["progress"]:
                    begun = time.monotonic()  # another process writes: that is not this job's time
                self._jobs.progressed(job.id, _of_all(heard["progress"], job, number))
            if self._jobs.cancel_wanted(job.id):
                self._child.end()
                return _End("cancelled", reason="it was cancelled while it ran")
            if self._stop.is_set():
                self._child.end()
                return _End("stopped")
            if time.monotonic() - begun > self._seconds:
                self._child.end()
                return _End(
                    "failed", reason=f"it took more than {self._seconds:g} s; raise server.job_seconds, or send less"
                )

    def _wait_for_better(self, job: Job, heard: dict[str, Any]) -> None:
        """The machine is at fault and no file is: what was sent is kept for as long as that takes."""
        if "full" in heard:
            seldom(log, logging.ERROR, "the disk is full: what was sent is kept, and waits for room")
            self._jobs.progressed(job.id, {"waiting": FULL})
        else:
            seldom(log, logging.ERROR, f"{heard['unready']}: what was sent is kept, and read once that is possible")
            self._jobs.progressed(job.id, {"waiting": _UNREADY})
        self._stop.wait(_FULL_SECONDS)

    def _finish(self, job: Job, result: dict[str, Any]) -> None:
        failures = result.get("failures", [])
        taken = result.get("added", 0) + result.get("replaced", 0) + result.get("unchanged", 0)
        if failures and not taken:
            reason = "; ".join(f"{failure['name']}: {failure['reason']}" for failure in failures[:5])
            self._jobs.finish(job.id, "failed", result, reason)
        else:
            self._jobs.finish(job.id, "done", result)


@dataclass(frozen=True, slots=True)
class _End:
    """How it ended that a child was given something to do."""

    how: Literal["done", "failed", "died", "trouble", "cancelled", "stopped"]
    result: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


_OVER = ("done", "cancelled", "stopped")  # there is nothing to be tried again


def _together(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The reports on single files, as one on all of them."""
    whole: dict[str, Any] = {
        "added": 0, "replaced": 0, "unchanged": 0, "removed": [], "failures": [], "warnings": [], "seconds": 0.0
    }  # fmt: skip
    for result in results:
        for name, value in result.items():
            adds_up = name in whole
            whole[name] = whole[name] + value if adds_up else value  # else: how many the library holds now
    return whole


def _of_all(progress: dict[str, Any], job: Job, number: int | None) -> dict[str, Any]:
    """The progress of one file, as a part of the whole job's."""
    if number is None or "files" not in progress:
        return progress
    return {**progress, "files": number + progress["files"], "files_in_all": len(job.names)}


class _Child:
    """The process that writes, started when there is work."""

    def __init__(self, module: str, library: Path, settings: Settings) -> None:
        start = f"import sys; from {module} import main; main(*sys.argv[1:])"
        # -P: the folder that the server was started in may hold a json.py, and that must not run.
        self._command = [sys.executable, "-P", "-c", start, str(library), json.dumps(to_mapping(settings))]
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
    except ValueError:  # closed under us: the child was ended on purpose; or its last line is half a line
        pass
    lines.put({"died": f"reading it ended the process that read it{_how(process)}; it is damaged, or made to do that"})


def _how(process: subprocess.Popen[str]) -> str:
    """By which signal, where it was one."""
    with suppress(subprocess.TimeoutExpired, ValueError):
        code = process.wait(1.0)
        if code < 0:
            return f" ({signal.Signals(-code).name})"
    return ""
