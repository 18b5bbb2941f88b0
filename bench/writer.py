"""Measure the writer network beside torch, and a whole written answer: python -m bench.writer."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import corpus, facts, measure
from bench.measure import Peak, percentile
from bench.report import Verdict
from bench.running import (
    answering_options,
    exit_code,
    megabytes,
    milliseconds,
    origin,
    rounded,
    row,
    verdict_table,
    write,
)
from bench.writer_child import Job, System, Task
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights

PACKAGES = ("wherefrom", "onnxruntime", "torch", "tokenizers", "tantivy", "numpy")
TITLES = {"int8": "wherefrom, 8 bits", "torch": "torch, 32 bits"}
KINDS = {"masque": "written", "verbatim": "quoted"}
STAGES = ("whole", "whole, CPU", "retrieve", "rank", "read", "rerank", "judge", "write")
TARGET_PASSAGES = 300_000
WARMING = 2  # questions of a process that are not counted


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how often."""

    passages: int = TARGET_PASSAGES  # of the library, where one is made
    questions: int = 40  # of a measurement
    threads: int = 2
    written_from: tuple[int, ...] = (10, 3)  # passages; 3 is the default of `write.passages`
    passage_tokens: int = 128
    written: int = 19  # tokens of a sentence of 15 words


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence from so many passages: seconds a question."""

    passages: int
    system: str
    wall_seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    memory: Peak


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Whole answers: seconds a question, by stage."""

    kind: str
    seconds: Mapping[str, tuple[float, ...]]
    words: tuple[int, ...]
    counts: Mapping[str, int]  # how answers came about
    memory: Peak


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run."""

    plan: Plan
    facts: facts.Facts
    date: str
    passages: int
    data_sha256: Mapping[str, str]
    weights_bytes: int
    weights_sha256: Mapping[str, str]
    written: tuple[Written, ...]
    asked: tuple[AnswerTimes, ...]

    def of(self, passages: int, system: str) -> Written | None:
        matching = (one for one in self.written if (one.passages, one.system) == (passages, system))
        return next(matching, None)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(options.passages, options.questions, options.threads)

    def measured() -> list[Verdict]:
        run = bench(plan, options.work, options.weights, options.reader, options.trained, options.library)
        write(options.out, markdown(run), as_json(run))
        return verdicts(run)

    return exit_code(measured)


def bench(plan: Plan, work: Path, weights: str, reader: str, trained: Path | None, library: Path | None) -> Run:
    """Find or make a library, measure, clean up."""
    source = corpus.find_source()
    folder = Weights.named(weights).file("step.onnx").parent
    machine = facts.collect(PACKAGES)
    work.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=work)).resolve()  # its own: two runs at a time do not meet
    try:
        return _Bench(plan, place, folder.resolve(), reader, trained).run(source, machine, library)
    finally:
        shutil.rmtree(place, ignore_errors=True)


class _Bench:
    """One run in one work folder."""

    def __init__(self, plan: Plan, work: Path, weights: Path, reader: str, trained: Path | None) -> None:
        self._plan = plan
        self._work = work
        self._weights = weights
        self._reader = reader
        self._trained = trained
        self._library = work / "wherefrom"
        self._begun = time.perf_counter()

    def run(self, source: corpus.Source, machine: facts.Facts, library: Path | None) -> Run:
        hashes = self._prepare(source, library)
        questions, squad = corpus.squad_questions(source, 2 * (self._plan.questions + WARMING))
        first, second = questions[: len(questions) // 2], questions[len(questions) // 2 :]
        written = tuple(
            self._written(passages, system, first)
            for passages in self._plan.written_from
            for system in (("int8", "torch") if self._trained else ("int8",))
        )
        answers = tuple(self._answer_times(kind, second) for kind in KINDS)
        counts = tomllib.loads((self._library / "library.toml").read_text(encoding="utf-8"))
        files = sorted(path for path in self._weights.iterdir() if path.suffix in (".onnx", ".npy"))
        return Run(
            plan=self._plan,
            facts=machine,
            date=datetime.now(UTC).date().isoformat(),
            passages=counts["passages"],
            data_sha256={**hashes, corpus.SQUAD: squad},
            weights_bytes=measure.folder_bytes(self._weights),
            weights_sha256={path.name: file_hash(path) for path in files},
            written=written,
            asked=answers,
        )

    def _prepare(self, source: corpus.Source, library: Path | None) -> dict[str, str]:
        """A library of the planned size, or the one that was named; the hashes of the files it was made of."""
        if library is not None:
            if not (library / "library.toml").is_file():
                raise corpus.DataMissing(f"{library} is not a library; name a folder that `wherefrom ingest` has made")
            self._library = library.resolve()
            return {}
        self._say(f"preparing {self._plan.passages:,} passages of Wikipedia and those of SQuAD, and ingesting them")
        prepared = corpus.prepare(source, self._work, self._plan.passages, 1)
        measure.build(measure.Job("build", "wherefrom", str(self._work), 10), self._library, self._library / "index")
        return prepared.hashes

    def _written(self, passages: int, system: System, questions: Sequence[str]) -> Written:
        self._say(f"{system}: {self._plan.written} tokens from {passages} passages, {len(questions)} questions")
        result, memory = self._child("write", system, questions, passages)
        times = result["times"]
        return Written(passages, system, rounded(times["wall"]), rounded(times["cpu"]), memory)

    def _answer_times(self, kind: str, questions: Sequence[str]) -> AnswerTimes:
        self._say(f"whole answers, {KINDS[kind]}, {len(questions)} questions")
        result, memory = self._child("ask", "int8", questions, 0, kind)
        times = result["times"]
        stages = {stage: rounded([taken[stage] for taken in times]) for stage in times[0]}
        return AnswerTimes(kind, stages, tuple(result["words"]), result["counts"], memory)

    def _child(
        self, task: Task, system: System, questions: Sequence[str], passages: int, kind: str = "masque"
    ) -> tuple[dict[str, Any], Peak]:
        plan = self._plan
        job = Job(
            task,
            system,
            library=str(self._library),
            weights=str(self._weights),
            trained=str(self._trained.resolve()) if self._trained else None,
            reader=self._reader,
            questions=tuple(questions),
            threads=plan.threads,
            passages=passages,
            tokens=plan.passage_tokens,
            written=plan.written,
            kind=kind,
        )
        return measure.child("bench.writer_child", asdict(job), f"{task}-{system}-{passages}-{kind}", self._work)

    def _say(self, what: str) -> None:
        print(f"bench: {time.perf_counter() - self._begun:6.1f} s  {what}", file=sys.stderr, flush=True)


# The report ----------------------------------------------------------------------------------------------------------


def verdicts(run: Run) -> list[Verdict]:
    """Every target beside what was measured."""
    ten = run.of(10, "int8") or run.written[0]
    writing = percentile(ten.wall_seconds, 50)
    (answers,) = (one for one in run.asked if one.kind == "masque")
    whole = percentile(answers.seconds["whole"], 50)
    return [
        Verdict(
            f"a sentence from {ten.passages} passages, p50", "at most 350 ms", milliseconds(writing), writing <= 0.35
        ),
        Verdict("a whole written answer, warm, p50", "at most 700 ms", milliseconds(whole), whole <= 0.7),
        Verdict("a whole written answer, warm, p50", "aim: 350 ms", milliseconds(whole), whole <= 0.35),
        Verdict("the writer's files", "at most 45 MB", megabytes(run.weights_bytes), run.weights_bytes <= 45e6),
    ]


def as_json(run: Run) -> dict[str, Any]:
    value = asdict(run)
    value["seed"] = None  # every n-th question
    value["verdicts"] = [asdict(verdict) for verdict in verdicts(run)]
    return value


def markdown(run: Run) -> str:
    parts = [
        _head(run),
        _sentences(run),
        _whole(run),
        verdict_table(verdicts(run), run.passages, TARGET_PASSAGES),
        _origin(run),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(run: Run) -> list[str]:
    return [
        "# The writer network, and a whole written answer",
        "",
        f"torch runs the same network in 32 bits; both have {run.plan.threads} threads. × is a system's number divided "
        "by wherefrom's. On a shared machine read the ratios, and CPU time.",
    ]


def _sentences(run: Run) -> list[str]:
    plan = run.plan
    lines = [
        "",
        f"## A sentence of {plan.written} tokens",
        "",
        f"`WriterSession.write`: passages of {plan.passage_tokens} tokens are read, none of them read before, and a "
        f"sentence is written from them, word by word; {plan.questions} questions after {WARMING} that warm up.",
        "",
        "| passages | system | p50 | × | p90 | × | CPU p50 | × | peak memory |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in run.written:
        ours = run.of(one.passages, "int8")
        assert ours is not None
        cells = [str(one.passages), TITLES[one.system]]
        pairs = (
            (one.wall_seconds, ours.wall_seconds, 50),
            (one.wall_seconds, ours.wall_seconds, 90),
            (one.cpu_seconds, ours.cpu_seconds, 50),
        )
        for theirs, mine, percent in pairs:
            value = percentile(theirs, percent)
            cells += [milliseconds(value), f"{value / percentile(mine, percent):.2f}"]
        lines.append(row([*cells, megabytes(one.memory.total)]))
    return lines


def _whole(run: Run) -> list[str]:
    lines = [
        "",
        "## A whole answer in a sentence",
        "",
        f"`Library.ask(question, style='sentence')` over {run.passages:,} passages, {run.plan.questions} questions, "
        "all answered; written from `write.passages` passages, or quoted.",
        "",
        "| stage | " + " | ".join(f"{KINDS[one.kind]} p50 | p90" for one in run.asked) + " |",
        "|---|" + "--:|" * (2 * len(run.asked)),
    ]
    for stage in STAGES:
        times = [one.seconds.get(stage, (0.0,)) for one in run.asked]
        lines.append(
            row([stage, *(milliseconds(percentile(seconds, percent)) for seconds in times for percent in (50, 90))])
        )
    lines.append(row(["peak memory", *(cell for one in run.asked for cell in (megabytes(one.memory.total), ""))]))
    (written,) = (one for one in run.asked if one.kind == "masque")
    counts = ", ".join(f"{count} {name}" for name, count in sorted(written.counts.items()) if count)
    return [*lines, "", f"{percentile(written.words, 50)} words and signs p50; of all answers {counts}."]


def _origin(run: Run) -> list[str]:
    weights = ", ".join(f"{name} (sha256 {digest[:12]}…)" for name, digest in run.weights_sha256.items())
    return origin(run.date, run.facts, weights, run.data_sha256)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.writer", description=__doc__)
    answering_options(parser, Plan(), "writer")
    parser.add_argument("--reader", default="reader", help="weights of the reader (default %(default)s)")
    parser.add_argument(
        "--trained",
        type=Path,
        metavar="FOLDER",
        help="the same network in 32 bits (model.safetensors, settings.json, common.json); without it, no torch",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
