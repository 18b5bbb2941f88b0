"""Documents in PostgreSQL beside documents in the folder: python -m bench.shared_store --work DIR [--record].

The same passages of Wikipedia and SQuAD are ingested into both, searched with the same questions, and moved from one to
the other. What is counted is CPU, of this process and of the database server together: it does not depend on what else
the machine does. The server is a private one on the same machine, without a network between.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from attack.private_postgres import PrivatePostgres, private_postgres

from bench import corpus, facts
from bench.measure import ROOT, median, percentile
from bench.runs import RUNS, RunLine, record
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.types import Question

_WARM = 20  # questions that are not counted


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.shared_store", description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "work" / "shared")
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--record", action="store_true", help="write the figures to runs/sharing.jsonl")
    options = parser.parse_args(arguments)
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    prepared = corpus.prepare(corpus.find_source(), options.work, options.passages, options.questions)
    files = json.loads((options.work / corpus.FILES).read_text(encoding="utf-8"))
    questions = [Question(str(number), each.text) for number, each in enumerate(prepared.questions)]
    with private_postgres() as server:
        rows = measured(options.work, files, questions, server)
    print(json.dumps(rows, indent=2))
    if options.record:
        record([line(name, values, prepared, options) for name, values in rows.items()], RUNS)
    return 0


def measured(
    work: Path, files: Sequence[str], questions: Sequence[Question], server: PrivatePostgres
) -> dict[str, dict[str, float]]:
    """What ingesting, searching and moving cost, by where the documents are."""
    cpu = clock(server)
    shared = resolve(overrides=["store.kind=postgres", f"store.url={server.url()}"])
    rows: dict[str, dict[str, float]] = {}
    hits: list[list[list[tuple[str, float]]]] = []
    libraries = {"in the folder": Library(work / "embedded"), "in PostgreSQL": Library(work / "shared", shared)}
    for name, library in libraries.items():
        begun = cpu()
        library.ingest(files)
        rows[name] = {"ingest_cpu_s": cpu() - begun, "passages": float(library.counts()[1])}
        server.execute("ANALYZE")  # as the server does by itself within a minute; before, it plans for empty tables
        rows[name] |= searched(library, questions, cpu)
        hits.append(
            [
                [(hit.passage.id, hit.score) for hit in trace.hits]
                for trace in library.pipeline().find_many(list(questions))
            ]
        )
        library.close()
    if hits[0] != hits[1]:
        raise SystemExit("the two do not find the same passages with the same scores")
    server.execute("CREATE SCHEMA moved")
    begun = cpu()
    with Library(work / "embedded") as library:
        library.move(server.url(schema="moved"))
    rows["in PostgreSQL"]["move_cpu_s"] = cpu() - begun
    begun = cpu()
    settings = resolve(overrides=["store.kind=postgres", f"store.url={server.url(schema='moved')}"])
    with Library(work / "second", settings) as library:
        library.search("anything")
    rows["in PostgreSQL"]["second_folder_cpu_s"] = cpu() - begun
    return rows


def searched(library: Library, questions: Sequence[Question], cpu: Callable[[], float]) -> dict[str, float]:
    pipeline = library.pipeline()
    for question in questions[:_WARM]:
        pipeline.find_many([question])
    own: list[float] = []
    begun = cpu()
    for question in questions:
        before = time.process_time()
        pipeline.find_many([question])
        own.append((time.process_time() - before) * 1000)
    both = (cpu() - begun) * 1000 / len(questions)
    return {
        "search_both_cpu_ms": both,
        "search_own_p50_cpu_ms": median(own),
        "search_own_p99_cpu_ms": percentile(own, 99),
    }


def clock(server: PrivatePostgres) -> Callable[[], float]:
    """Seconds of CPU, of this process with the processes that read files, and of the server with its sessions."""
    postmaster = psutil.Process(int((server.folder / "data" / "postmaster.pid").read_text().split()[0]))
    this = psutil.Process()

    def now() -> float:
        total = 0.0
        for process in (this, postmaster):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
        for session in postmaster.children():
            times = session.cpu_times()
            total += times.user + times.system
        return total

    return now


def line(name: str, values: dict[str, float], prepared: corpus.Corpus, options: Any) -> RunLine:
    return RunLine(
        topic="sharing",
        system=f"documents {name}",
        dataset="",
        split="",
        over=f"{values['passages']:,.0f} passages of Wikipedia and SQuAD, CPU of both sides",
        n=len(prepared.questions),
        metrics={key: value for key, value in values.items() if key != "passages"},
        baseline=name == "in the folder",
        settings={"passages": options.passages},
        seed=None,
        commit=facts.git("rev-parse", "--short", "HEAD") or "unknown",
        date=datetime.now(UTC).date().isoformat(),
        command=f"python -m bench.shared_store --passages {options.passages} --questions {options.questions} --record",
        note="",
        files=prepared.hashes,
    )


if __name__ == "__main__":
    sys.exit(main())
