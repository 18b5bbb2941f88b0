"""Functions run in forked processes of their own, killed at an instant of our choice, and what they said until then."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from select import select

from attack.campaign import PATIENCE

Say = Callable[[str], None]

# Calls that change the disk, by what they do; a process is killed as it makes the n-th of one kind.
CALLS = {
    "rename": "rename,renameat,renameat2",
    "sync": "fsync,fdatasync",
    "remove": "unlink,unlinkat,rmdir",
    "write": "write,pwrite64,writev,pwritev",
    "cut": "ftruncate",
    "make": "mkdir,mkdirat",
    "open": "openat",
}


_STRACE_SECONDS = 5.0 * PATIENCE  # in which it lets go of what it watches


@dataclass(frozen=True)
class Ended:
    """What a process said, and how it ended."""

    lines: list[str]
    killed: bool  # by us, before it had ended by itself
    status: int
    seconds: float


@dataclass(frozen=True)
class Instant:
    """When to kill: after so many seconds, or at the n-th call of a kind, or never."""

    seconds: float | None = None
    call: str = ""
    nth: int = 0


NEVER = Instant()


def ran(function: Callable[[Say], None], instant: Instant = NEVER, most_seconds: float = 60.0 * PATIENCE) -> Ended:
    """Run `function` in a fork of this process, which must have no threads; it is given a way to say lines."""
    said, saying = os.pipe()
    waiting, go = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        os.close(said)
        os.close(go)
        os.read(waiting, 1)
        _work(function, saying)
    os.close(saying)
    os.close(waiting)
    try:
        with _watched(process, instant):
            begun = time.monotonic()
            os.write(go, b"!")
            return _followed(process, said, instant, begun, most_seconds)
    finally:
        os.close(go)
        os.close(said)


def _work(function: Callable[[Say], None], saying: int) -> None:
    def say(line: str) -> None:
        os.write(saying, line.encode("utf-8", "backslashreplace") + b"\n")  # short lines are written whole

    status = 0
    try:
        function(say)
    except BaseException as error:  # noqa: BLE001 - the other side tells what it makes of it
        say(f"raised {type(error).__module__}.{type(error).__qualname__}: {str(error)[:300]!r}")
        say(f"where {_place(error)}")
        status = 1
    os._exit(status)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "wherefrom" in frame.filename and "attack" not in frame.filename] or frames
    return " < ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in ours[:-4:-1])


def _followed(process: int, said: int, instant: Instant, begun: float, most_seconds: float) -> Ended:
    output = b""
    until = begun + (most_seconds if instant.seconds is None else instant.seconds)
    late = False
    while True:
        ready, _, _ = select([said], [], [], max(until - time.monotonic(), 0.0))
        if ready:
            piece = os.read(said, 1 << 16)
            if not piece:
                break
            output += piece
        elif not late:
            late = True
            os.kill(process, signal.SIGKILL)
            until = time.monotonic() + 10.0
        else:
            break
    _, status = os.waitpid(process, 0)
    seconds = time.monotonic() - begun
    whole, _, _ = output.decode("utf-8", "replace").rpartition("\n")
    lines = whole.split("\n") if whole else []
    if late and instant.seconds is None:
        lines.append(f"raised Hang: it had not ended after {most_seconds:g} s")
    return Ended(lines, os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status, seconds)


@contextmanager
def _watched(process: int, instant: Instant) -> Iterator[None]:
    """With a call to be killed at, strace stands beside the process and does it."""
    if not instant.call:
        yield
        return
    command = ["strace", "-f", "-o", "/dev/null", "-p", str(process), "-e", f"trace={CALLS[instant.call]}"]
    command += ["-e", f"inject={CALLS[instant.call]}:signal=KILL:when={instant.nth}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as strace:
        assert strace.stderr is not None
        strace.stderr.readline()  # "Process N attached"
        try:
            yield
        finally:
            _ended(strace)


def _ended(strace: subprocess.Popen[bytes]) -> None:
    """Have it let go and end; it waits for ever for a process that died while one of its threads was still watched."""
    with suppress(ProcessLookupError):
        strace.terminate()
    try:
        strace.communicate(timeout=_STRACE_SECONDS)
    except subprocess.TimeoutExpired:
        strace.kill()
        strace.communicate()


def can_watch() -> bool:
    """Whether strace is there and may look at our processes."""
    if shutil.which("strace") is None:
        return False

    def work(_say: Say) -> None:
        Path("/nowhere-at-all").rename("/nowhere-either")

    return ran(work, Instant(call="rename", nth=1), 10.0).killed


def some_instant(chance: random.Random, usual: float, calls: bool) -> Instant:
    """Any moment of something that takes about so long; half of them at a call that changes the disk."""
    if calls and chance.random() < 0.5:
        return Instant(call=chance.choice(list(CALLS)), nth=int(2 ** chance.uniform(0, 6)))
    return Instant(seconds=chance.uniform(0.0, 1.1 * usual))
