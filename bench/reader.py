"""Measure the reader network beside torch and 32-bit ONNX, and a whole answer: python -m bench.reader."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import corpus, facts, measure
from bench.measure import Peak
from bench.reader_child import Job, System, Task
from bench.reader_report import AnswerTimes, Level, Network, Plan, Run, Ten, as_json, markdown, verdicts
from bench.report import Verdict
from bench.running import answering_options, exit_code, rounded, write
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights

PACKAGES = ("wherefrom", "onnxruntime", "torch", "tokenizers", "tantivy", "numpy")
ASKED_SYSTEMS: tuple[System, ...] = ("int8", "torch")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(options.passages, options.questions, options.threads)

    def measured() -> list[Verdict]:
        run = bench(plan, options.work, options.weights, options.torch_weights, options.library)
        write(options.out, markdown(run), as_json(run))
        return verdicts(run)

    return exit_code(measured)


def bench(plan: Plan, work: Path, weights: str, torch_weights: Path | None, library: Path | None) -> Run:
    """Find or make a library, measure, clean up."""
    source = corpus.find_source()
    folder = Weights.named(weights).file("model.onnx").parent
    Weights(folder).file("judge.json")
    machine = facts.collect(PACKAGES)
    work.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=work)).resolve()  # its own: two runs at a time do not meet
    try:
        return _Bench(plan, place, folder.resolve(), torch_weights).run(source, machine, library)
    finally:
        shutil.rmtree(place, ignore_errors=True)


class _Bench:
    """One run in one work folder."""

    def __init__(self, plan: Plan, work: Path, weights: Path, torch_weights: Path | None) -> None:
        self._plan = plan
        self._work = work
        self._weights = weights
        self._torch_weights = torch_weights
        self._library = work / "wherefrom"
        self._begun = time.perf_counter()

    def run(self, source: corpus.Source, machine: facts.Facts, library: Path | None) -> Run:
        plan = self._plan
        hashes = self._prepare(source, library)
        questions, squad = corpus.squad_questions(source, plan.all_questions)
        texts = list(questions)
        networks = self._networks(texts)
        ten = self._ten(texts)
        first, whole = self._answer_times(texts[: plan.asked_questions])
        levels = self._levels(texts[plan.asked_questions :])
        counts = tomllib.loads((self._library / "library.toml").read_text(encoding="utf-8"))
        return Run(
            plan=plan,
            facts=machine,
            date=datetime.now(UTC).date().isoformat(),
            passages=counts["passages"],
            documents=counts["documents"],
            data_sha256={**hashes, corpus.SQUAD: squad},
            weights_sha256=file_hash(self._weights / "model.onnx"),
            torch_weights_sha256=file_hash(self._torch_weights) if self._torch_weights else None,
            networks=networks,
            ten=ten,
            first=first,
            asked=whole,
            levels=levels,
        )

    def _prepare(self, source: corpus.Source, library: Path | None) -> dict[str, str]:
        """A library of the planned size, or the one that was named; the hashes of the files it was made of."""
        if library is not None:
            if not (library / "library.toml").is_file():
                raise corpus.DataMissing(f"{library} is not a library; name a folder that `wherefrom ingest` has made")
            self._library = library.resolve()
            return {}
        self._say(f"preparing {self._plan.passages:,} passages of Wikipedia and those of SQuAD")
        prepared = corpus.prepare(source, self._work, self._plan.passages, 1)
        self._say("ingesting")
        measure.build(measure.Job("build", "wherefrom", str(self._work), 10), self._library, self._library / "index")
        return prepared.hashes

    def _networks(self, questions: Sequence[str]) -> dict[str, Network]:
        """Size and memory of the network, as each system has it."""
        self._say("exporting the network in 32 bits")
        sizes = {
            "int8": sum(file.stat().st_size for file in self._weights.glob("*.onnx")),
            "onnx": int(self._child("export", "onnx", questions[:1])[0]["file_bytes"]),
        }
        networks: dict[str, Network] = {}
        for system in ("int8", "onnx", "torch"):
            result, _ = self._child("weights", system, questions[:1])
            size = sizes.get(system)
            networks[system] = Network(size, result["memory_bytes"], result["ready_seconds"])
        return networks

    def _ten(self, questions: Sequence[str]) -> Ten:
        plan = self._plan
        self._say(f"{plan.passages_read} passages of {plan.passage_tokens} tokens, {plan.questions} questions")
        result, _ = self._child("ten", "int8", questions)
        return Ten(
            question_tokens=tuple(result["question_tokens"]),
            wall_seconds={name: rounded(times["wall"]) for name, times in result["times"].items()},
            cpu_seconds={name: rounded(times["cpu"]) for name, times in result["times"].items()},
            differences=result["differences"] if self._torch_weights else None,
            same_best_span=result["same_best_span"] if self._torch_weights else None,
        )

    def _answer_times(self, questions: Sequence[str]) -> tuple[dict[str, tuple[float, ...]], dict[str, AnswerTimes]]:
        """Whole answers, and the first of a process; the systems take turns, a few questions at a time."""
        plan = self._plan
        first: dict[str, list[float]] = {name: [] for name in ASKED_SYSTEMS}
        times: dict[str, list[dict[str, float]]] = {name: [] for name in ASKED_SYSTEMS}
        peaks: dict[str, Peak] = {name: Peak(0, 0) for name in ASKED_SYSTEMS}
        share = len(questions) // plan.rounds
        for number in range(plan.rounds):
            for system in ASKED_SYSTEMS:
                self._say(f"{system}: first answer, then {share - 2} more, round {number + 1} of {plan.rounds}")
                part = questions[number * share : (number + 1) * share]
                begun = time.perf_counter()
                self._child("first", system, part[:1], watch=False)
                first[system].append(round(time.perf_counter() - begun, 6))
                result, peak = self._child("ask", system, part)
                times[system] += result["times"]
                peaks[system] = max(peaks[system], peak, key=lambda peak: peak.total)
        stages = {
            system: {stage: rounded([taken[stage] for taken in answers]) for stage in answers[0]}
            for system, answers in times.items()
        }
        return (
            {system: tuple(seconds) for system, seconds in first.items()},
            {system: AnswerTimes(stages[system], peaks[system]) for system in ASKED_SYSTEMS},
        )

    def _levels(self, questions: Sequence[str]) -> tuple[Level, ...]:
        self._say(f"{', '.join(map(str, self._plan.levels))} threads at once")
        result, _ = self._child("load", "int8", questions)
        return tuple(
            Level(level["threads"], level["wall"], level["cpu"], rounded(level["seconds"]))
            for level in result["levels"]
        )

    def _child(
        self, task: Task, system: System, questions: Sequence[str], watch: bool = True
    ) -> tuple[dict[str, Any], Peak]:
        plan = self._plan
        job = Job(
            task,
            system,
            work=str(self._work),
            library=str(self._library),
            weights=str(self._weights),
            torch_weights=str(self._torch_weights.resolve()) if self._torch_weights else None,
            questions=tuple(questions),
            threads=plan.threads,
            passages=plan.passages_read,
            tokens=plan.passage_tokens,
            question_tokens=plan.question_tokens,
            asked=plan.questions,
            levels=plan.levels,
            rounds=plan.rounds,
        )
        return measure.child("bench.reader_child", asdict(job), f"{task}-{system}", self._work, watch)

    def _say(self, what: str) -> None:
        print(f"bench: {time.perf_counter() - self._begun:6.1f} s  {what}", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.reader", description=__doc__)
    answering_options(parser, Plan(), "reader")
    parser.add_argument(
        "--torch-weights",
        type=Path,
        metavar="FILE",
        help="the same network in 32 bits (safetensors); without it, random weights of its shape are timed",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
