"""An index on a Qdrant server beside the one on disk, in one run: python -m bench.served [--passages N].

How fast passages go in, what they take, how long a search takes, and whether both find the same.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Protocol

import psutil

from bench import corpus, facts
from bench.measure import ROOT, folder_bytes, percentile
from bench.qdrant import HOW, QdrantProcess, program
from bench.report import Verdict
from bench.running import count, exit_code, write
from wherefrom.config import IndexSettings
from wherefrom.features.matching import Matcher
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.retrieve.qdrant import FusedSearch, QdrantIndex
from wherefrom.runtime.weights import Weights

WORK = ROOT / "bench" / "work"
_BATCH = 20_000  # as a library puts them
_K = 100  # as `retrieve.pool` has it


class Searching(Protocol):
    """What is asked."""

    def search(self, texts: Sequence[str], k: int) -> list[list[tuple[int, float]]]: ...


@dataclass(frozen=True, slots=True)
class Built:
    """What it took to put the passages in."""

    seconds: float
    cpu_seconds: float  # of this process
    server_cpu_seconds: float
    index_bytes: int  # on disk, the server's too
    server_memory: int  # bytes, when all is in


@dataclass(frozen=True, slots=True)
class Asked:
    """One way of searching: times a question, and what was found."""

    seconds: tuple[float, ...]
    cpu_seconds: float  # of this process, all questions
    server_cpu_seconds: float
    first_gold: tuple[int, ...]  # the rank of the first passage that answers, 0 where none is among the found
    same_first: float  # share of questions whose best hit is the embedded index's, ties aside
    overlap_10: float  # share of the embedded index's ten best that are among its ten best, ties aside


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run."""

    facts: facts.Facts
    date: str
    passages: int
    questions: int
    served_index: str  # which server, and its version
    data_sha256: dict[str, str]
    built: dict[str, Built]
    asked: dict[str, Asked]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.served", description=__doc__)
    parser.add_argument("--passages", type=count, default=20_000, help="of Wikipedia (default %(default)s)")
    parser.add_argument("--questions", type=count, default=1_000, help="(default %(default)s)")
    parser.add_argument("--dense", action="store_true", help="also with the matcher's vectors, fused")
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument("--out", type=Path, help="the JSON file (default in bench/work)")
    options = parser.parse_args(arguments)
    if program() is None:
        parser.error(f"there is no Qdrant server here: {HOW}")

    def measured() -> list[Verdict]:
        run = bench(options.passages, options.questions, options.work, options.dense)
        out = (options.out or WORK / f"served-{options.passages}.json").with_suffix(".md")
        write(out, markdown(run), asdict(run))
        return []

    return exit_code(measured)


def bench(passages: int, questions: int, work: Path, dense: bool) -> Run:
    """Prepare the passages, fill both indexes, ask both in turn, clean up."""
    source = corpus.find_source()
    machine = facts.collect(("wherefrom", "tantivy"))
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=work)).resolve()
    server = QdrantProcess(folder / "server")
    try:
        prepared = corpus.prepare(source, folder, passages, questions)
        _say(f"{len(prepared.ids):,} passages, {len(prepared.questions):,} questions")
        server.start()
        embedded = BM25Index(folder / "bm25", IndexSettings())
        served = QdrantIndex(folder / "qdrant", IndexSettings(), server.url)
        built = {
            "wherefrom": _built(embedded, folder, embedded.path, None),
            "qdrant": _built(served, folder, served.path, server),
        }
        ways: dict[str, Searching] = {"wherefrom": embedded, "qdrant": served}
        if dense:
            words = Matcher(Weights.named("matcher"))
            with_vectors = QdrantIndex(folder / "dense", IndexSettings(), server.url, "matcher", lambda _: words)
            built["qdrant, words and vectors"] = _built(with_vectors, folder, with_vectors.path, server)
            ways["qdrant, words and vectors"] = FusedSearch(with_vectors, _K)
            ways["qdrant, vectors"] = _Meaning(with_vectors)
        asked = _asked(ways, prepared, server)
        return Run(
            facts=machine,
            date=datetime.now(UTC).date().isoformat(),
            passages=len(prepared.ids),
            questions=len(prepared.questions),
            served_index=f"Qdrant {server.version()}",
            data_sha256=prepared.hashes,
            built=built,
            asked=asked,
        )
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


class _Meaning:
    def __init__(self, index: QdrantIndex) -> None:
        self.search: Callable[[Sequence[str], int], list[list[tuple[int, float]]]] = index.search_meaning


def _built(index: BM25Index | QdrantIndex, work: Path, own: Path, server: QdrantProcess | None) -> Built:
    process = psutil.Process(server.pid) if server else None
    stored_before = folder_bytes(server.folder) if server else 0
    server_before = sum(process.cpu_times()[:2]) if process else 0.0
    begun, cpu = time.perf_counter(), time.process_time()
    index.create()
    key = 0
    for texts in _batches(corpus.texts(work)):
        index.put(range(key, key + len(texts)), texts)
        index.commit()
        key += len(texts)
        _say(f"{index.path.name}: {key:,} passages, {key / (time.perf_counter() - begun):,.0f} a second")
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    if server:
        _settled(process)
    return Built(
        seconds,
        cpu,
        (sum(process.cpu_times()[:2]) - server_before) if process else 0.0,
        folder_bytes(own) + (folder_bytes(server.folder) - stored_before if server else 0),
        process.memory_info().rss if process else 0,
    )


def _settled(process: psutil.Process | None) -> None:
    """Wait until the server has built what it builds when it is left alone."""
    assert process is not None
    quiet = 0
    while quiet < 5:
        before = sum(process.cpu_times()[:2])
        time.sleep(1.0)
        quiet = quiet + 1 if sum(process.cpu_times()[:2]) - before < 0.05 else 0


def _asked(ways: dict[str, Searching], prepared: corpus.Corpus, server: QdrantProcess) -> dict[str, Asked]:
    """Each question of each way in turn, so that what else the machine does falls on all."""
    process = psutil.Process(server.pid)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    cpu, server_cpu = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
    hits: dict[str, list[list[tuple[int, float]]]] = {name: [] for name in ways}
    for question in prepared.questions[:20]:
        for way in ways.values():
            way.search([question.text], _K)
    for question in prepared.questions:
        for name, way in ways.items():
            before, server_before, begun = time.process_time(), sum(process.cpu_times()[:2]), time.perf_counter()
            (found,) = way.search([question.text], _K)
            seconds[name].append(time.perf_counter() - begun)
            cpu[name] += time.process_time() - before
            server_cpu[name] += sum(process.cpu_times()[:2]) - server_before
            hits[name].append(found)
    golds = [question.gold for question in prepared.questions]
    return {
        name: Asked(
            tuple(seconds[name]),
            cpu[name],
            server_cpu[name],
            tuple(_first_gold(found, gold, prepared.ids) for found, gold in zip(hits[name], golds, strict=True)),
            *(
                _mean([_shared(a, b, depth) for a, b in zip(hits["wherefrom"], hits[name], strict=True)])
                for depth in (1, 10)
            ),
        )
        for name in ways
    }


def _shared(first: Sequence[tuple[int, float]], second: Sequence[tuple[int, float]], k: int) -> float:
    """The share of the k best of one among the k best of the other; what ties with the last of them counts as one."""
    if not first:
        return float(not second)
    last = first[min(k, len(first)) - 1][1]
    allowed = {key for key, score in first if score >= last * (1 - 1e-5)}
    return sum(key in allowed for key, _ in second[:k]) / min(k, len(first))


def _first_gold(found: Sequence[tuple[int, float]], gold: frozenset[str] | Sequence[str], ids: Sequence[str]) -> int:
    return next((rank for rank, (key, _) in enumerate(found, start=1) if ids[key] in gold), 0)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(texts, _BATCH)):
        yield batch


def markdown(run: Run) -> str:
    """What was measured, as tables."""
    own = run.built["wherefrom"]
    own_p50 = percentile(run.asked["wherefrom"].seconds, 50)
    lines = [
        "# An index on a server beside the one on disk",
        "",
        f"{run.passages:,} passages, {run.questions:,} questions of squad/valid, {run.served_index}, {run.date}, "
        f"commit {run.facts.commit[:10]}, load before {run.facts.load_before:.1f}.",
        "",
        "| | passages/s | times | CPU s, here and there | bytes a passage | times | memory there, MB |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {name} | {run.passages / built.seconds:,.0f} | {own.seconds / built.seconds:.2f} | "
            f"{built.cpu_seconds:.1f} + {built.server_cpu_seconds:.1f} | {built.index_bytes / run.passages:.0f} | "
            f"{built.index_bytes / own.index_bytes:.2f} | {built.server_memory / 1e6:.0f} |"
            for name, built in run.built.items()
        ),
        "",
        f"| | p50 ms of {_K} hits | times | p95 | CPU ms, here and there | same first, % | overlap@10, % | top 1 "
        "| top 10 | top 100 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(
            f"| {name} | {1000 * percentile(asked.seconds, 50):.2f} | {percentile(asked.seconds, 50) / own_p50:.1f} | "
            f"{1000 * percentile(asked.seconds, 95):.2f} | {1000 * asked.cpu_seconds / run.questions:.2f} + "
            f"{1000 * asked.server_cpu_seconds / run.questions:.2f} | {100 * asked.same_first:.1f} | "
            f"{100 * asked.overlap_10:.2f} | "
            + " | ".join(f"{_top(asked, depth):.1f}" for depth in (1, 10, 100))
            + " |"
            for name, asked in run.asked.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _top(asked: Asked, depth: int) -> float:
    return 100 * sum(0 < rank <= depth for rank in asked.first_gold) / len(asked.first_gold)


def _say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
