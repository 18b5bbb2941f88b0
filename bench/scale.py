"""Fill a library up to millions of passages and ask it on the way: python -m bench.scale --work DIR.

One library grows from size to size; at each it is searched and asked the same questions, and weighed. Before a larger
size is measured, it is predicted from the smaller ones, so that the growth curves are put to the test. Its text is
made (`bench.made`), but for SQuAD's paragraphs, which the questions are about. A run that was interrupted, however
hard, goes on where it was, and the time of before counts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from bench import corpus, facts, made, measure
from bench.measure import ROOT, MeasureFailed, folder_bytes, percentile
from bench.report import Verdict
from bench.running import count, exit_code, megabytes, milliseconds, row, write
from wherefrom.durable import write_text
from wherefrom.ingest.split import split
from wherefrom.origin import file_hash

WORK = ROOT / "bench" / "work" / "scale"
SIZES = (1_000_000, 3_000_000, 10_000_000)
_LIBRARY = "library"
_FILES = "files"
_STATE = "scale.json"
_SQUAD = "squad.jsonl"
_QUESTIONS = "questions.json"
_AT_A_TIME = 3  # files that a process ingests before another goes on: what is done need not be looked at again
_PROBED = 3_000  # documents that are cut to know how many passages a document has
# What is predicted: its name here, and how it is taken from a size's figures.
GROWING = {
    "ingest CPU s": ("cpu_seconds", "s"),
    "index MB": ("index_mb", "MB"),
    "store MB": ("store_mb", "MB"),
    "index p50 ms CPU": ("index_cpu_ms", "ms"),
    "index p99 ms CPU": ("index_p99_cpu_ms", "ms"),
    "search p50 ms CPU": ("search_cpu_ms", "ms"),
    "search p99 ms CPU": ("search_p99_cpu_ms", "ms"),
    "ask p50 ms CPU": ("ask_cpu_ms", "ms"),
    "one document in, ms CPU": ("put_cpu_ms", "ms"),
    "a part of it chosen, ms CPU": ("part_cpu_ms", "ms"),
    "peak memory MB": ("own_memory_mb", "MB"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How large, and how much is asked."""

    sizes: tuple[int, ...] = SIZES
    searched: int = 500  # questions that are searched for; the slowest hundredth of them is told too
    asked: int = 100  # ... and that are answered
    seed: int = made.SEED


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(tuple(sorted(options.passages)), options.searched, options.asked, options.seed)

    def measured() -> list[Verdict]:
        report = bench(plan, options.work)
        write(options.out, markdown(report), report)
        if not options.keep:
            shutil.rmtree(options.work / _LIBRARY, ignore_errors=True)
            shutil.rmtree(options.work / _FILES, ignore_errors=True)
        return []

    return exit_code(measured)


def bench(plan: Plan, work: Path) -> dict[str, Any]:
    """Grow the library from size to size; what was measured at each."""
    source = corpus.find_source()
    (work / _FILES).mkdir(parents=True, exist_ok=True)
    report = _begun(plan, work, source)
    maker = _Maker(source, work / _FILES, plan.seed)
    sizes = report["sizes"]
    for size in plan.sizes[len(sizes) :]:
        files = [work / _SQUAD, *maker.files(size)]
        before = sizes[-1] if sizes else {}
        predicted = predictions(sizes, size)
        sizes.append({"wanted": size, "predicted": predicted, **_measured(plan, work, files, before)})
        write_text(work / _STATE, json.dumps(report))
    report["exponents"] = {name: exponent(report["sizes"], field) for name, (field, _) in GROWING.items()}
    return report


def _begun(plan: Plan, work: Path, source: corpus.Source) -> dict[str, Any]:
    """The run so far; a new one begins with the questions and the paragraphs that they are about."""
    state = work / _STATE
    if state.exists():
        report: dict[str, Any] = json.loads(state.read_text(encoding="utf-8"))
        if report["seed"] != plan.seed:
            raise MeasureFailed(f"{work} holds a run with seed {report['seed']}; name another folder with --work")
        return report
    questions = corpus.squad_asked(source, work / _SQUAD, plan.searched)
    write_text(work / _QUESTIONS, json.dumps([asdict(each) | {"gold": sorted(each.gold)} for each in questions]))
    return {
        "growth": True,
        "facts": asdict(facts.collect()),
        "date": datetime.now(UTC).date().isoformat(),
        "seed": plan.seed,
        "questions": len(questions),
        "data_sha256": {
            file.relative_to(source.folder).as_posix(): file_hash(file) for file in [*source.wikipedia, source.squad]
        },
        "sizes": [],
    }


class _Maker:
    """Makes the files of documents that are not there yet."""

    def __init__(self, source: corpus.Source, folder: Path, seed: int) -> None:
        self._source = source
        self._folder = folder
        self._seed = seed
        self._material: made.SentencePool | None = None  # half a minute to read, and often not needed

    def files(self, passages: int) -> list[Path]:
        """As many whole files as hold these passages."""
        ((first, _, _),) = made.files(self._folder, made.DOCUMENTS_A_FILE)
        self._make(first, 0, made.DOCUMENTS_A_FILE)
        with first.open(encoding="utf-8") as lines:
            cut = [len(split(json.loads(line)["text"])) for line in islice(lines, _PROBED)]
        documents = math.ceil(passages * len(cut) / sum(cut))
        whole = math.ceil(documents / made.DOCUMENTS_A_FILE) * made.DOCUMENTS_A_FILE
        wanted = list(made.files(self._folder, whole))
        for file, start, number in wanted:
            self._make(file, start, number)
        return [file for file, _, _ in wanted]

    def _make(self, file: Path, first: int, number: int) -> None:
        if not file.exists():
            self._material = self._material or made.material(self._source)
            made.write_whole_file(file, self._material, first, number, self._seed)


def _measured(plan: Plan, work: Path, files: Sequence[Path], before: Mapping[str, Any]) -> dict[str, Any]:
    """One size: filled, weighed, searched and asked; `before` are the figures of the size before it."""
    library = work / _LIBRARY
    load = os.getloadavg()[0]
    fresh = files[before.get("files", 0) :]
    if not fresh:
        raise MeasureFailed("two of the --passages are so near to each other that one file of documents holds both")
    _say(f"ingesting {len(fresh):,} files")
    size = len(files)
    built, memory = _filled(work, files, size - len(fresh))
    _say(f"{built['passages']:,} passages; searching")
    searched, _ = _child("search", size, work)
    _say(f"search p50 {milliseconds(percentile(searched['cpu_seconds'], 50))}; asking")
    asked, ask_memory = _child("ask", size, work, asked=plan.asked)
    _say(f"ask p50 {milliseconds(percentile(asked['cpu_seconds'], 50))}")
    segments = _segments(library)
    changed, _ = _child("change", size, work)
    first_gold = searched["first_gold"]
    return {
        "passages": built["passages"],
        "documents": built["documents"],
        "files": len(files),
        "load_before": load,
        "seconds": built["seconds"] + before.get("seconds", 0.0),  # from an empty library to this size
        "cpu_seconds": built["cpu_seconds"] + before.get("cpu_seconds", 0.0),
        "last_seconds": built["seconds"],
        "last_passages": built["passages"] - before.get("passages", 0),
        "text_mb": sum(file.stat().st_size for file in files) / 1e6,
        "index_mb": folder_bytes(library / "index") / 1e6,
        "segments": segments,
        "store_mb": (folder_bytes(library) - folder_bytes(library / "index")) / 1e6,
        "memory_mb": memory.total / 1e6,
        "own_memory_mb": (memory.total - memory.mapped) / 1e6,  # without pages of files, which can be dropped
        "reopen_ms": 1000 * searched["open_seconds"],
        "search_ms": 1000 * percentile(searched["wall_seconds"], 50),
        "search_p99_ms": 1000 * percentile(searched["wall_seconds"], 99),
        "search_cpu_ms": 1000 * percentile(searched["cpu_seconds"], 50),
        "search_p99_cpu_ms": 1000 * percentile(searched["cpu_seconds"], 99),
        "index_cpu_ms": 1000 * percentile(searched["index_cpu_seconds"], 50),
        "index_p99_cpu_ms": 1000 * percentile(searched["index_cpu_seconds"], 99),
        "cold_ms": 1000 * percentile(searched["cold_seconds"], 50),
        "top_1": 100 * sum(rank == 1 for rank in first_gold) / len(first_gold),
        "top_20": 100 * sum(0 < rank <= 20 for rank in first_gold) / len(first_gold),
        "ask_ms": 1000 * percentile(asked["wall_seconds"], 50),
        "ask_p99_ms": 1000 * percentile(asked["wall_seconds"], 99),
        "ask_cpu_ms": 1000 * percentile(asked["cpu_seconds"], 50),
        "ask_memory_mb": ask_memory.total / 1e6,
        "put_cpu_ms": 1000 * changed["put"]["cpu_seconds"],
        "put_ms": 1000 * changed["put"]["seconds"],
        "remove_cpu_ms": 1000 * changed["remove"]["cpu_seconds"],
        "part_cpu_ms": 1000 * changed["part"]["cpu_seconds"],
        "asked": len(asked["wall_seconds"]),
        "stages_ms": asked["stages_ms"],
        "em": asked["em"],
        "f1": asked["f1"],
        "answered": asked["answered"],
    }


def _filled(work: Path, files: Sequence[Path], there: int) -> tuple[dict[str, Any], measure.Peak]:
    """Bring in the files after the first ones, which are there; the time of all, and the most memory that was taken."""
    sums = {"seconds": 0.0, "cpu_seconds": 0.0}
    peaks = []
    built: dict[str, Any] = {}
    for first in range(there, len(files), _AT_A_TIME):
        some = files[first : first + _AT_A_TIME]
        end = first + len(some)
        built, peak = _child(
            "ingest", end, work, files=[str(file) for file in some], so_far=str(work / f"ingest-{end}.so-far")
        )
        sums = {name: before + built[name] for name, before in sums.items()}
        peaks.append(peak)
        if end < len(files):
            _say(f"{built['passages']:,} passages; {sums['cpu_seconds']:.0f} s of CPU")
    return built | sums, max(peaks, key=lambda peak: peak.total - peak.mapped)


def _segments(library: Path) -> int:
    """The parts of the BM25 index, each of which is searched by itself."""
    meta = json.loads((library / "index" / "bm25" / "meta.json").read_text(encoding="utf-8"))
    return len(meta["segments"])


def _child(task: str, size: int, work: Path, **more: Any) -> tuple[dict[str, Any], measure.Peak]:
    """What a process of its own measured; or has measured, where the run was interrupted after that."""
    kept = work / f"{task}-{size}.json"
    if kept.exists():
        result, peak = json.loads(kept.read_text(encoding="utf-8"))
        return result, measure.Peak(*peak)
    job = {
        "task": task,
        "system": "wherefrom",
        "library": str(work / _LIBRARY),
        "questions": str(work / _QUESTIONS),
        **more,
    }
    result, memory = measure.child("bench.scale_child", job, f"scale-{task}", work)
    write_text(kept, json.dumps([result, [memory.total, memory.mapped]]))
    return result, memory


# Growth.


def exponent(sizes: Sequence[dict[str, Any]], field: str) -> float | None:
    """The slope of the figure against the passages, both as logarithms; None where there are fewer than two sizes."""
    points = [(math.log(each["passages"]), math.log(each[field])) for each in sizes if each[field] > 0]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def predictions(sizes: Sequence[dict[str, Any]], wanted: int) -> dict[str, float]:
    """What the sizes before let expect at `wanted` passages: a power law through the last two; nothing from one."""
    if len(sizes) < 2:
        return {}
    expected = {}
    for field, _ in GROWING.values():
        slope = exponent(sizes[-2:], field)
        assert slope is not None
        expected[field] = sizes[-1][field] * (wanted / sizes[-1]["passages"]) ** slope
    return expected


def markdown(report: dict[str, Any]) -> str:
    """The table for people."""
    sizes = report["sizes"]
    lines = [f"# A library that grows, {report['date']}", ""]
    lines += [row(["", *(f"{each['passages']:,}" for each in sizes), "exponent", "predicted", "error"])]
    lines += ["|" + "---|" * (len(sizes) + 4)]
    for name, (field, _unit) in GROWING.items():
        slope = report["exponents"][name]
        expected = sizes[-1]["predicted"].get(field)
        error = f"{100 * (expected / sizes[-1][field] - 1):+.0f} %" if expected else ""
        cells = [f"{each[field]:,.1f}" for each in sizes]
        slope_cell = "" if slope is None else f"{slope:.2f}"
        lines.append(row([name, *cells, slope_cell, f"{expected:,.1f}" if expected else "", error]))
    for name, field in (("ingest s", "seconds"), ("search p50 ms", "search_ms"), ("search p99 ms", "search_p99_ms")):
        lines.append(row([name, *(f"{each[field]:,.1f}" for each in sizes), "", "", ""]))
    for name, field in (("ask p50 ms", "ask_ms"), ("top 1", "top_1"), ("top 20", "top_20"), ("EM", "em"), ("F1", "f1")):
        lines.append(row([name, *(f"{each[field]:,.1f}" for each in sizes), "", "", ""]))
    lines += ["", f"Text of the largest: {megabytes(1e6 * sizes[-1]['text_mb'])}."]
    return "\n".join(lines) + "\n"


def _say(what: str) -> None:
    print(f"bench: {time.strftime('%H:%M:%S')}  {what}", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    plan = Plan()
    parser.add_argument("--passages", type=count, nargs="+", default=plan.sizes, help="(default %(default)s)")
    parser.add_argument("--searched", type=count, default=plan.searched, help="(default %(default)s)")
    parser.add_argument("--asked", type=count, default=plan.asked, help="(default %(default)s)")
    parser.add_argument("--seed", type=int, default=plan.seed, help="(default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep the files and the library")
    parser.add_argument("--work", type=Path, default=WORK, help="where all is made; 2 GB a million passages")
    parser.add_argument("--out", type=Path, default=WORK.parent / "scale.md", help="JSON goes beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
