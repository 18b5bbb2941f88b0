"""Time, memory and disk space of a system, each taken in a process that does nothing else."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import psutil

ROOT = Path(__file__).resolve().parent.parent
_SAMPLE_SECONDS = 0.05  # between two looks at a process's memory; short peaks are caught by the high-water mark


class MeasureFailed(Exception):
    """A measured process ended with an error: there is no number for it."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a child process is to measure."""

    task: Literal["build", "first", "search"]
    system: str
    work: str
    k: int
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Peak:
    """The most memory resident at one time, in bytes; `mapped` of it were pages of files at that moment."""

    total: int
    mapped: int


@dataclass(frozen=True, slots=True)
class Build:
    passages: int
    seconds: float
    cpu_seconds: float
    memory: Peak
    folder_bytes: int
    index_bytes: int


@dataclass(frozen=True, slots=True)
class FirstSearch:
    """One number a repetition; `process_seconds` is the whole process from its start to its end."""

    import_seconds: tuple[float, ...]
    open_seconds: tuple[float, ...]
    process_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """One number a question, to the microsecond; `asked` are the places of the questions among all of the run."""

    asked: tuple[int, ...]
    cpu_seconds: tuple[float, ...]
    wall_seconds: tuple[float, ...]
    hits: tuple[tuple[int | str, ...], ...]
    memory: Peak


def build(job: Job, folder: Path, index_folder: Path) -> Build:
    result, memory = _run(job)
    return Build(
        passages=result["passages"],
        seconds=result["seconds"],
        cpu_seconds=result["cpu_seconds"],
        memory=memory,
        folder_bytes=folder_bytes(folder),
        index_bytes=folder_bytes(index_folder),
    )


def first_search(job: Job, repeats: int) -> FirstSearch:
    imports: list[float] = []
    opens: list[float] = []
    processes: list[float] = []
    for _ in range(repeats):
        begun = time.perf_counter()
        result, _memory = _run(job, watch=False)
        processes.append(time.perf_counter() - begun)
        imports.append(result["import_seconds"])
        opens.append(result["open_seconds"])
    return FirstSearch(tuple(imports), tuple(opens), tuple(processes))


def search(job: Job, places: Sequence[int]) -> Search:
    result, memory = _run(job)
    return Search(
        asked=tuple(places),
        cpu_seconds=tuple(round(seconds, 6) for seconds in result["cpu_seconds"]),
        wall_seconds=tuple(round(seconds, 6) for seconds in result["wall_seconds"]),
        hits=tuple(tuple(hits) for hits in result["hits"]),
        memory=memory,
    )


def command_seconds(command: Sequence[str], repeats: int) -> tuple[float, ...]:
    """How long a command takes from start to end, one number a repetition."""
    times: list[float] = []
    for _ in range(repeats):
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - begun)
        if done.returncode:
            raise MeasureFailed(f"`{' '.join(command[1:])}` failed:\n{done.stderr[-2000:]}")
    return tuple(times)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(math.ceil(len(ordered) * percent / 100) - 1, 0)]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def folder_bytes(folder: Path) -> int:
    """The sizes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def child(
    module: str, job: Mapping[str, Any], name: str, work: Path, watch: bool = True
) -> tuple[dict[str, Any], Peak]:
    """Run `python -m module JOB-FILE` in a process of its own; its result and the most memory it took.

    The job is written to the work folder as JSON under `name`; the module writes its result beside it, with
    `high_water_bytes`.
    """
    job_file = work / f"{name}.job"
    job_file.write_text(json.dumps(job), encoding="utf-8")
    result_file = job_file.with_suffix(".result")
    result_file.unlink(missing_ok=True)
    command = [sys.executable, "-m", module, str(job_file)]
    error_file = job_file.with_suffix(".errors")
    with error_file.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            if watch:
                with _Watch(process.pid) as watched:
                    process.wait()
                sampled = watched.peak
            else:
                process.wait()
                sampled = Peak(0, 0)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode:
        message = error_file.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise MeasureFailed(f"{job['system']}: {job['task']} failed:\n{message}")
    result: dict[str, Any] = json.loads(result_file.read_text(encoding="utf-8"))
    return result, Peak(max(sampled.total, result["high_water_bytes"]), sampled.mapped)


def high_water() -> int:
    """The most memory this process has had resident, as Linux counts it; 0 elsewhere.

    Not getrusage: its ru_maxrss begins with the memory of the process that started this one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def _run(job: Job, watch: bool = True) -> tuple[dict[str, Any], Peak]:
    return child("bench.child", asdict(job), f"{job.task}-{job.system}", Path(job.work), watch)


class _Watch:
    """Looks at the resident memory of a process and its children until it is left."""

    def __init__(self, pid: int) -> None:
        self.peak = Peak(0, 0)
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(_SAMPLE_SECONDS):
            try:
                root = psutil.Process(self._pid)
                infos = [process.memory_info() for process in [root, *root.children(recursive=True)]]
            except psutil.NoSuchProcess:  # one of them has just ended
                continue
            total = sum(info.rss for info in infos)
            if total > self.peak.total:
                # Linux alone says how much of it are pages of files, which it can drop at any time.
                self.peak = Peak(total, sum(getattr(info, "shared", 0) for info in infos))
