"""Measure ingesting by one worker and by several, in turns: python -m bench.workers FOLDER [--workers 1 2].

The time of a run is the wall clock's, so ask for it on a machine that does nothing else. Beside it stands whose CPU
time it was: the workers' reading can be shared out, the writing cannot. `least_s` is the time that follows from that on
cores of one's own: the longest of the writing, each worker's share of the reading, and all of it over the cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from bench import facts
from bench.running import WORK, count, row, write
from wherefrom import Library
from wherefrom.scale.ingest import ingest
from wherefrom.scale.workers import cluster


@dataclass(frozen=True, slots=True)
class IngestTimes:
    """One ingest, in seconds; reading is all that the workers and their reading processes used."""

    workers: int
    seconds: float
    writing_cpu: float
    reading_cpu: float
    passages: int
    load_before: float

    @property
    def least(self) -> float:
        cores = os.cpu_count() or 1
        together = (self.writing_cpu + self.reading_cpu) / cores
        return max(self.writing_cpu, self.reading_cpu / self.workers, together)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    runs = [
        _ingested(options.folder, workers) for _ in range(options.rounds) for workers in options.workers
    ]  # in turns, so that what else the machine does hits all alike
    report = {
        "by_workers": [asdict(run) | {"least": run.least} for run in runs],
        "facts": asdict(facts.collect()),
        "date": datetime.now(UTC).date().isoformat(),
        "folder_mb": sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file()) / 1e6,
    }
    write(options.out, markdown(runs), report)
    return 0


def markdown(runs: Sequence[IngestTimes]) -> str:
    lines = [row(["workers", "wall s", "CPU s writing", "CPU s reading", "s with cores of its own"]), "|--:" * 5 + "|"]
    for workers in sorted({run.workers for run in runs}):
        own = [run for run in runs if run.workers == workers]
        cells = [
            median(getattr(run, name) for run in own) for name in ("seconds", "writing_cpu", "reading_cpu", "least")
        ]
        lines.append(row([str(workers), *(f"{cell:.1f}" for cell in cells)]))
    return "\n".join(lines) + "\n"


def _ingested(folder: Path, workers: int) -> IngestTimes:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as work, cluster(workers):
        own = time.process_time()
        begun = time.perf_counter()
        with Library(Path(work) / "library") as library, _Watch() as watch:
            report = ingest(library, [folder], workers)
        seconds = time.perf_counter() - begun
        done = IngestTimes(workers, seconds, time.process_time() - own, watch.seconds, report.passages, load)
    print(json.dumps(asdict(done)), file=sys.stderr, flush=True)
    return done


class _Watch:
    """Looks once a second at what the processes that read have used: Ray ends them before the ingest returns."""

    def __init__(self) -> None:
        self._used: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @property
    def seconds(self) -> float:
        return sum(self._used.values())

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(1.0):
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    command = " ".join(process.cmdline())
                    if "MapWorker" in command or "parser_child" in command:
                        times = process.cpu_times()
                        self._used[process.pid] = times.user + times.system


def lines_of(report: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """A line for each number of workers, the median of its rounds."""
    runs = report["by_workers"]
    lines = []
    for workers in sorted({run["workers"] for run in runs}):
        own = [run for run in runs if run["workers"] == workers]
        names = {
            "seconds": "ingest_s",
            "writing_cpu": "writing_cpu_s",
            "reading_cpu": "reading_cpu_s",
            "least": "least_s",
        }
        lines.append((f"by {workers} workers", {to: median(run[name] for run in own) for name, to in names.items()}))
    return lines


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.workers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="files that take long to read, such as PDF")
    parser.add_argument("--workers", type=count, nargs="+", default=(1, 2), help="(default 1 2)")
    parser.add_argument("--rounds", type=count, default=2, help="of each (default %(default)s)")
    parser.add_argument("--out", type=Path, default=WORK / "workers.md", help="JSON goes beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
