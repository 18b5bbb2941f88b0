"""One measurement of a growing library in a process of its own: python -m bench.scale_child JOB-FILE."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from bench.measure import high_water
from wherefrom import Library
from wherefrom.durable import write_text
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.types import Document, Filter, Question

_WARM = 10  # questions before the clock runs
_STAGES = ("retrieve", "rank", "read", "rerank", "judge", "write")


def main(job_file: Path) -> None:
    job = json.loads(job_file.read_text(encoding="utf-8"))
    result = _TASKS[job["task"]](job)
    result["high_water_bytes"] = high_water()
    job_file.with_suffix(".result").write_text(json.dumps(result), encoding="utf-8")


def _ingest(job: dict[str, Any]) -> dict[str, Any]:
    """Bring files in, as `wherefrom ingest` does; the time is that of all processes, and of before an interruption."""
    kept = Path(job["so_far"])
    before = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"seconds": 0.0, "cpu_seconds": 0.0}
    begun = time.perf_counter()

    def so_far() -> dict[str, float]:
        return {
            "seconds": before["seconds"] + time.perf_counter() - begun,
            "cpu_seconds": before["cpu_seconds"] + _cpu_seconds(),
        }

    with Library(job["library"]) as library:
        report = library.ingest(job["files"], acknowledged=lambda _: write_text(kept, json.dumps(so_far())))
    if report.failures:
        first = report.failures[0]
        raise RuntimeError(f"{len(report.failures)} records were not ingested; {first.name}: {first.reason}")
    return {"passages": report.passages, "documents": report.documents, **so_far()}


def _search(job: dict[str, Any]) -> dict[str, Any]:
    """Find passages for every question: the first time, when little of the index is in memory, and once more.

    All but the network: words are mended, the index is searched, and of what it finds the nearest in meaning are kept.
    """
    questions = _questions(job)
    begun = time.perf_counter()
    library = Library(job["library"])
    pipeline, index = library.pipeline(20), library.folder().index("bm25")
    pipeline.find_many([Question("", questions[0]["text"])])
    opened = time.perf_counter() - begun
    cold, wall, cpu = [], [], []
    first_gold = []
    for question in questions:
        begun = time.perf_counter()
        pipeline.find_many([Question("", question["text"])])
        cold.append(time.perf_counter() - begun)
    for question in questions:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        (trace,) = pipeline.find_many([Question("", question["text"])])
        cpu.append(time.process_time() - cpu_begun)
        wall.append(time.perf_counter() - begun)
        ids = [hit.passage.id for hit in trace.hits]
        first_gold.append(next((rank for rank, id in enumerate(ids, start=1) if id in question["gold"]), 0))
    index_cpu = []
    for question in questions:
        cpu_begun = time.process_time()
        index.search([question["text"]], 20)
        index_cpu.append(time.process_time() - cpu_begun)
    return {
        "open_seconds": opened,
        "index_cpu_seconds": index_cpu,
        "cold_seconds": cold,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "first_gold": first_gold,
    }


def _ask(job: dict[str, Any]) -> dict[str, Any]:
    """Ask questions one by one, as a person does, with the settings as they come."""
    questions = _questions(job)
    step = max(len(questions) // job["asked"], 1)
    chosen = questions[::step][: job["asked"]]
    library = Library(job["library"])
    for question in questions[1 : 1 + _WARM]:
        library.ask(question["text"])
    wall, cpu, stages = [], [], []
    exact = overlap = answered = 0.0
    for question in chosen:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        trace = library.ask(question["text"], style="short")
        cpu.append(time.process_time() - cpu_begun)
        wall.append(time.perf_counter() - begun)
        stages.append(dict(trace.timings))
        text = (trace.answer.text or "") if trace.answer else ""
        answered += bool(text)
        exact += exact_match(text, question["answers"], "1.1")
        overlap += token_f1(text, question["answers"], "1.1")
    return {
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "stages_ms": {
            name: 1000 * median(each.get(name, 0.0) for each in stages)
            for name in _STAGES
            if any(name in each for each in stages)
        },
        "em": 100 * exact / len(chosen),
        "f1": 100 * overlap / len(chosen),
        "answered": 100 * answered / len(chosen),
    }


def _change(job: dict[str, Any]) -> dict[str, Any]:
    """Bring one document in and take it out again, as somebody does who notes something; and ask of a part of it all.

    Of each the first time, which is what a command costs.
    """
    library = Library(job["library"])
    times = {}

    def timed(name: str, done: Callable[[], object]) -> None:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        done()
        times[name] = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - cpu_begun}

    timed("put", lambda: library.put([Document("a-note", "The garden opens at nine.")]))
    timed("remove", lambda: library.remove(["a-note"]))
    timed("part", lambda: library.check_fits(Filter(since="2000")))
    return times


_TASKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "ingest": _ingest,
    "search": _search,
    "ask": _ask,
    "change": _change,
}


def _questions(job: dict[str, Any]) -> list[dict[str, Any]]:
    questions: list[dict[str, Any]] = json.loads(Path(job["questions"]).read_text(encoding="utf-8"))
    return questions


def _cpu_seconds() -> float:
    """Of this process and of the one that reads files, whether it has ended or waits for more."""
    times = os.times()
    seconds = time.process_time() + times.children_user + times.children_system
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            used = process.cpu_times()
            seconds += used.user + used.system
    return seconds


if __name__ == "__main__":
    main(Path(sys.argv[1]))
