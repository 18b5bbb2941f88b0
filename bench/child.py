"""One measurement in a process of its own: python -m bench.child JOB-FILE.

The job file is JSON (see `bench.measure.Job`); the result is written as JSON beside it, because a system
may print what it likes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import high_water
from bench.systems import SYSTEMS, System


def main(job_file: Path) -> None:
    job = json.loads(job_file.read_text(encoding="utf-8"))
    system = SYSTEMS[job["system"]](Path(job["work"]), job["k"])
    result = _TASKS[job["task"]](system, job["questions"])
    result["high_water_bytes"] = high_water()
    job_file.with_suffix(".result").write_text(json.dumps(result), encoding="utf-8")


def _build(system: System, _: list[str]) -> dict[str, Any]:
    system.load()
    begun, cpu_begun = time.perf_counter(), _cpu_seconds()
    passages = system.build()
    return {"passages": passages, "seconds": time.perf_counter() - begun, "cpu_seconds": _cpu_seconds() - cpu_begun}


def _first(system: System, questions: list[str]) -> dict[str, Any]:
    """Open and search once."""
    begun = time.perf_counter()
    system.load()
    loaded = time.perf_counter()
    system.open()
    hits = system.search(questions[0])
    done = time.perf_counter()
    if not hits:
        raise RuntimeError(f"nothing was found for {questions[0]!r}")
    return {"import_seconds": loaded - begun, "open_seconds": done - loaded}


def _search(system: System, questions: list[str]) -> dict[str, Any]:
    """Search for every question, after a few that warm up."""
    system.load()
    system.open()
    for question in questions[:10]:
        system.search(question)
    wall: list[float] = []
    cpu: list[float] = []
    all_hits: list[list[int | str]] = []
    for question in questions:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        hits = system.search(question)
        cpu.append(time.process_time() - cpu_begun)
        wall.append(time.perf_counter() - begun)
        all_hits.append(hits)
    return {"wall_seconds": wall, "cpu_seconds": cpu, "hits": all_hits}


_TASKS = {"build": _build, "first": _first, "search": _search}


def _cpu_seconds() -> float:
    """Of all threads, and of child processes that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


if __name__ == "__main__":
    main(Path(sys.argv[1]))
