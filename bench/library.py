"""Measure a library beside raw tantivy, bm25s and SQLite FTS5: python -m bench.library [--full]."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import corpus, facts, measure
from bench.measure import ROOT, Build, FirstSearch, Job, MeasureFailed, Search
from bench.report import TARGET_PASSAGES, Measured, Plan, Quality, Run, Verdict, as_json, markdown, verdicts
from bench.running import count, exit_code, write
from bench.systems import SYSTEMS

SYSTEM_NAMES = ("wherefrom", "tantivy", "bm25s", "fts5")
WORK = ROOT / "bench" / "work"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(TARGET_PASSAGES if options.full else options.passages, options.questions, options.k)

    def measured() -> list[Verdict]:
        run = bench(plan, options.work)
        write(options.out or WORK / f"library-{plan.passages}.md", markdown(run), as_json(run))
        return verdicts(run)

    return exit_code(measured)


def bench(plan: Plan, work: Path) -> Run:
    """Prepare the passages, measure every system, clean up."""
    source = corpus.find_source()
    found = facts.collect()
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=work)).resolve()  # its own: two runs at a time do not meet
    try:
        return _Bench(plan, folder).run(source, found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Bench:
    """One run in one work folder."""

    def __init__(self, plan: Plan, work: Path) -> None:
        self._plan = plan
        self._work = work
        self._begun = time.perf_counter()

    def run(self, source: corpus.Source, found: facts.Facts) -> Run:
        plan = self._plan
        self._say(f"preparing {plan.passages:,} passages of Wikipedia and those of SQuAD")
        prepared = corpus.prepare(source, self._work, plan.passages, plan.questions)
        self._say(f"{len(prepared.ids):,} passages, {len(prepared.questions):,} questions")
        systems = {name: self._system(name, prepared) for name in SYSTEM_NAMES}
        index_search = self._search("wherefrom-index", prepared)
        same_words = _quality(self._search("tantivy-same-words", prepared), prepared)
        self._say("wherefrom --help")
        return Run(
            plan=plan,
            facts=found,
            date=datetime.now(UTC).date().isoformat(),
            passages=len(prepared.ids),
            documents=prepared.documents,
            wikipedia_passages=prepared.wikipedia_passages,
            squad_passages=prepared.squad_passages,
            questions_left_out=prepared.left_out,
            data_sha256=prepared.hashes,
            systems=systems,
            index_search=index_search,
            same_words=same_words,
            help_seconds=measure.command_seconds([sys.executable, "-m", "wherefrom", "--help"], plan.help_runs),
            python_seconds=measure.command_seconds([sys.executable, "-c", "pass"], plan.help_runs),
        )

    def _system(self, name: str, prepared: corpus.Corpus) -> Measured:
        built = self._build(name)
        if built.passages != len(prepared.ids):
            raise MeasureFailed(f"{name} took in {built.passages:,} passages of {len(prepared.ids):,}")
        first = self._first_search(name, prepared)
        search = self._search(name, prepared)
        return Measured(built, first, search, _quality(search, prepared))

    def _build(self, name: str) -> Build:
        self._say(f"{name}: building")
        system = SYSTEMS[name](self._work, self._plan.k)
        job = Job("build", name, str(self._work), self._plan.k)
        built = measure.build(job, system.folder, system.folder / system.index_folder)
        self._say(f"{name}: built in {built.seconds:.1f} s, {built.passages / built.seconds:,.0f} passages/s")
        return built

    def _first_search(self, name: str, prepared: corpus.Corpus) -> FirstSearch:
        self._say(f"{name}: first searches")
        job = Job("first", name, str(self._work), self._plan.k, (prepared.questions[0].text,))
        return measure.first_search(job, self._plan.first_searches)

    def _search(self, name: str, prepared: corpus.Corpus) -> Search:
        count = len(prepared.questions)
        some = min(self._plan.fts5_questions, count) if name == "fts5" else count
        asked = [place * count // some for place in range(some)]
        self._say(f"{name}: {some:,} questions")
        questions = tuple(prepared.questions[place].text for place in asked)
        search = measure.search(Job("search", name, str(self._work), self._plan.k, questions), asked)
        self._say(f"{name}: p50 {measure.percentile(search.cpu_seconds, 50) * 1000:.2f} ms CPU")
        return search

    def _say(self, what: str) -> None:
        print(f"bench: {time.perf_counter() - self._begun:6.1f} s  {what}", file=sys.stderr, flush=True)


def _quality(search: Search, prepared: corpus.Corpus) -> Quality:
    """Where the first gold passage of each question was found."""
    places: list[int] = []
    for place, found in zip(search.asked, search.found, strict=True):
        gold = prepared.questions[place].gold
        ids = [prepared.ids[hit] if isinstance(hit, int) else hit for hit in found]
        places.append(next((rank for rank, id in enumerate(ids, start=1) if id in gold), 0))
    return Quality(tuple(places))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.library", description=__doc__)
    plan = Plan()
    parser.add_argument("--passages", type=count, default=plan.passages, help="of Wikipedia (default %(default)s)")
    parser.add_argument("--full", action="store_true", help=f"{TARGET_PASSAGES} passages, as the targets ask")
    parser.add_argument("--questions", type=count, default=plan.questions, help="(default %(default)s)")
    parser.add_argument("--k", type=count, default=plan.k, help="passages to find (default %(default)s)")
    parser.add_argument("--out", type=Path, help="the Markdown file; JSON goes beside it (default bench/work)")
    parser.add_argument("--work", type=Path, default=WORK, help="where indexes are built (default bench/work)")
    options = parser.parse_args(arguments)
    if options.k < 10:
        parser.error(f"--k must be at least 10 to tell hit@10, not {options.k}")
    return options


if __name__ == "__main__":
    sys.exit(main())
