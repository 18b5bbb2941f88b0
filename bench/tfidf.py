"""Measure the TF-IDF index beside tantivy and scikit-learn: python -m bench.tfidf [--passages N]."""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import corpus, facts, measure
from bench.corpus import DataMissing
from bench.measure import ROOT, Job, MeasureFailed, Search
from bench.report import Measured, Quality, Verdict
from bench.running import exit_code, write
from bench.systems import SYSTEMS

TITLES = {
    "wherefrom-tfidf": "wherefrom tfidf",
    "wherefrom-bm25": "wherefrom bm25",
    "tantivy": "raw tantivy",
    "sklearn": "scikit-learn",
}
OWN = "wherefrom-tfidf"
DEPTHS = (1, 5, 20)
WORK = ROOT / "bench" / "work"
OUT = ROOT / "bench" / "work" / "tfidf.md"


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run."""

    facts: facts.Facts
    date: str
    passages: int
    questions: int
    data_sha256: Mapping[str, str]
    systems: Mapping[str, Measured]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)

    def measured() -> list[Verdict]:
        run = bench(options.passages, options.questions, options.work)
        write(options.out, markdown(run), as_json(run))
        return []  # nothing was promised of it: the tables tell

    return exit_code(measured)


def bench(passages: int, questions: int, work: Path) -> Run:
    """Prepare the passages, measure every system, clean up."""
    source = corpus.find_source()
    if importlib.util.find_spec("sklearn") is None:
        raise DataMissing("scikit-learn is not installed; it comes with the development tools: pip install -e '.[dev]'")
    found = facts.collect(("wherefrom", "tantivy", "scikit-learn", "scipy", "numpy", "PyStemmer"))
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=work)).resolve()
    try:
        prepared = corpus.prepare(source, folder, passages, questions)
        return Run(
            facts=found,
            date=datetime.now(UTC).date().isoformat(),
            passages=len(prepared.ids),
            questions=len(prepared.questions),
            data_sha256=prepared.hashes,
            systems={name: _measured(name, prepared, folder) for name in TITLES},
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measured(name: str, prepared: corpus.Corpus, work: Path) -> Measured:
    begun = time.perf_counter()
    k = max(DEPTHS)
    folder = SYSTEMS[name](work, k).folder
    texts = tuple(question.text for question in prepared.questions)
    built = measure.build(Job("build", name, str(work), k), folder, folder)
    if built.passages != len(prepared.ids):
        raise MeasureFailed(f"{name} took in {built.passages:,} passages of {len(prepared.ids):,}")
    first = measure.first_search(Job("first", name, str(work), k, texts[:1]), 5)
    search = measure.search(Job("search", name, str(work), k, texts), range(len(texts)))
    print(f"bench: {name}, {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return Measured(built, first, search, _quality(search, prepared))


def _quality(search: Search, prepared: corpus.Corpus) -> Quality:
    places: list[int] = []
    for question, found in zip(prepared.questions, search.found, strict=True):
        ids = [prepared.ids[int(key)] for key in found]
        places.append(next((rank for rank, id in enumerate(ids, start=1) if id in question.gold), 0))
    return Quality(tuple(places))


def as_json(run: Run) -> dict[str, Any]:
    """Every number, but for the passages that were found."""
    data = asdict(run)
    for system in data["systems"].values():
        del system["search"]["found"], system["search"]["asked"]
    return data


def markdown(run: Run) -> str:
    """What was measured, as tables."""
    own = run.systems[OWN]
    lines = [
        "# TF-IDF beside tantivy and scikit-learn",
        "",
        f"{run.passages:,} passages of Wikipedia and SQuAD, {run.questions:,} questions of squad/valid, {run.date}, "
        f"commit {run.facts.commit[:10]}{' with changes' if run.facts.uncommitted_changes else ''}, "
        f"{run.facts.cores} cores ({run.facts.cpu}), load before {run.facts.load_before:.1f}: times on a shared "
        "machine are noisy, read the ratios.",
        "",
        "| | build, s | CPU, s | passages/s | peak memory, MB | of it mapped, MB | index, MB | import, s "
        "| open + first search, s | search p50, ms CPU | p95 |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(_row(TITLES[name], measured) for name, measured in run.systems.items()),
        "",
        "Ratios to wherefrom tfidf (above 1: more of it):",
        "",
        "| | build CPU | peak memory | index size | search p50 |",
        "|---|---|---|---|---|",
        *(_ratios(TITLES[name], measured, own) for name, measured in run.systems.items() if name != OWN),
        "",
        "Share of questions whose gold passage is among the first, in percent:",
        "",
        f"| | {' | '.join(f'top {depth}' for depth in DEPTHS)} |",
        "|---|" + "---|" * len(DEPTHS),
        *(
            f"| {TITLES[name]} | {' | '.join(f'{measured.quality.hit_at(depth):.1f}' for depth in DEPTHS)} |"
            for name, measured in run.systems.items()
        ),
        "",
        "wherefrom tfidf is built in processes, one a core up to four; its memory is that of all of them. scikit-learn "
        "holds the counts of all texts in memory, the others stream. "
        + ", ".join(f"{name} {version}" for name, version in run.facts.versions.items())
        + f", Python {run.facts.python}.",
        "",
    ]
    return "\n".join(lines)


def _row(title: str, measured: Measured) -> str:
    build, search = measured.build, measured.search
    numbers = [
        f"{build.seconds:.1f}",
        f"{build.cpu_seconds:.1f}",
        f"{build.passages / build.seconds:,.0f}",
        f"{build.memory.total / 1e6:,.0f}",
        f"{build.memory.mapped / 1e6:,.0f}",
        f"{build.index_bytes / 1e6:,.0f}",
        f"{measure.median(measured.first.import_seconds):.3f}",
        f"{measure.median(measured.first.open_seconds):.3f}",
        f"{measure.percentile(search.cpu_seconds, 50) * 1000:.2f}",
        f"{measure.percentile(search.cpu_seconds, 95) * 1000:.2f}",
    ]
    return f"| {title} | {' | '.join(numbers)} |"


def _ratios(title: str, measured: Measured, own: Measured) -> str:
    ratios = [
        measured.build.cpu_seconds / own.build.cpu_seconds,
        measured.build.memory.total / own.build.memory.total,
        measured.build.index_bytes / own.build.index_bytes,
        measure.percentile(measured.search.cpu_seconds, 50) / measure.percentile(own.search.cpu_seconds, 50),
    ]
    return f"| {title} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.tfidf", description=__doc__)
    parser.add_argument("--passages", type=int, default=30_000, help="of Wikipedia (default %(default)s)")
    parser.add_argument(
        "--questions", type=int, default=837, help="of squad/valid, spread evenly (default %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="the Markdown file; JSON goes beside it")
    parser.add_argument("--work", type=Path, default=WORK, help="where indexes are built (default bench/work)")
    options = parser.parse_args(arguments)
    if options.passages < 1 or options.questions < 1:
        parser.error("--passages and --questions must be above 0")
    return options


if __name__ == "__main__":
    sys.exit(main())
