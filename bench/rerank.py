"""Measure re-ranking: 40 candidates of a question put in order, by RankQA and by votes: python -m bench.rerank."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from bench import facts
from bench.corpus import DataMissing
from bench.measure import ROOT, median, percentile
from bench.report import Verdict
from bench.running import exit_code, write
from wherefrom.features.tags import Tagger
from wherefrom.origin import file_hash
from wherefrom.rerank.rankqa import MODEL, RankQAReranker, spans_marked
from wherefrom.rerank.vote import VoteReranker
from wherefrom.runtime.weights import Weights
from wherefrom.systems.rankqa.material import KeptQuestion, kept_questions
from wherefrom.types import Candidate, Question

WORK = ROOT / "bench" / "work"
MOST_MS = 5.0  # for 40 candidates
CANDIDATES = 40
_WARM = 5  # questions before the clock runs: weights load, words become known


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds, a question each."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured, and with what."""

    facts: facts.Facts
    date: str
    questions: int
    candidates: int
    candidates_sha256: str
    weights_sha256: str
    tagged: bool  # whether the weights look at parts of speech and entities
    times: dict[str, Times]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)

    def measured() -> list[Verdict]:
        run = bench(options.candidates, Weights.named(options.weights), Weights.named("tagger"), options.questions)
        write(options.out, markdown(run), asdict(run))
        return [verdict(run)]

    return exit_code(measured)


def bench(file: Path, weights: Weights, tagger: Weights, count: int) -> Run:
    """Re-rank the candidates of questions, one question at a time, as a person asks."""
    lines = list(islice((line for line in kept_questions(file) if len(line.places) == CANDIDATES), count))
    if len(lines) <= _WARM:
        raise DataMissing(
            f"{file} holds {len(lines)} questions with {CANDIDATES} candidates; more than {_WARM} are needed, make it "
            "with `wherefrom train rankqa --stage candidates`"
        )
    machine = facts.collect(("wherefrom", "numpy"))
    tags = Tagger(tagger)
    rankqa = RankQAReranker(weights, tags, str(weights.settings["reader"]))
    tagged = "tags" in weights.settings["groups"]
    ways: dict[str, Callable[[Question, list[Candidate]], object]] = {
        "rankqa": lambda question, candidates: rankqa.rerank([question], [candidates]),
        "vote": lambda question, candidates: VoteReranker().rerank([question], [candidates]),
    }
    if tagged:
        ways["rankqa, its tags alone"] = lambda _, candidates: spans_marked(candidates, tags)
    return Run(
        facts=machine,
        date=datetime.now(UTC).date().isoformat(),
        questions=len(lines) - _WARM,
        candidates=CANDIDATES,
        candidates_sha256=file_hash(file),
        weights_sha256=file_hash(weights.file(MODEL)),
        tagged=tagged,
        times={name: timed(way, lines) for name, way in ways.items()},
    )


def timed(way: Callable[[Question, list[Candidate]], object], lines: Sequence[KeptQuestion]) -> Times:
    wall, cpu = [], []
    for place, line in enumerate(lines):
        candidates = line.candidates()
        began, used = time.perf_counter(), time.process_time()
        way(line.as_question(), candidates)
        if place >= _WARM:
            wall.append(round(1000 * (time.perf_counter() - began), 4))
            cpu.append(round(1000 * (time.process_time() - used), 4))
    return Times(tuple(wall), tuple(cpu))


def verdict(run: Run) -> Verdict:
    """Processor time: on a shared machine the clock on the wall measures the neighbours."""
    spent = median(run.times["rankqa"].cpu)
    what = f"re-ranking {run.candidates} candidates"
    return Verdict(what, f"under {MOST_MS:g} ms", f"{spent:.2f} ms CPU, p50", spent < MOST_MS)


def markdown(run: Run) -> str:
    rows = [
        f"| {name} | {median(times.cpu):.2f} | {percentile(times.cpu, 95):.2f} | {median(times.wall):.2f} | "
        f"{percentile(times.wall, 95):.2f} |"
        for name, times in run.times.items()
    ]
    judged = verdict(run)
    about = f"{run.facts.cpu}, {run.facts.cores} cores, load before the run {run.facts.load_before:.1f}"
    return "\n".join(
        [
            "# Re-ranking",
            "",
            f"`python -m bench.rerank`, {run.date}, commit {run.facts.commit[:12]}"
            f"{' with changes' if run.facts.uncommitted_changes else ''}, {about}.",
            f"{run.questions} questions with {run.candidates} candidates each, one at a time; milliseconds.",
            "",
            "| system | CPU p50 | CPU p95 | wall p50 | wall p95 |",
            "|---|---|---|---|---|",
            *rows,
            "",
            f"{'Met' if judged.met else 'Missed'}: {judged.what} {judged.asked}: {judged.measured}.",
            "",
        ]
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rerank", description=__doc__)
    parser.add_argument("--candidates", type=Path, required=True, help="candidates.jsonl of `wherefrom train rankqa`")
    parser.add_argument("--weights", default="rankqa", help="a shipped name or a folder (default %(default)s)")
    parser.add_argument("--questions", type=int, default=300, help="at most (default %(default)s)")
    parser.add_argument("--out", type=Path, default=WORK / "rerank.md", help="JSON goes beside it")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
