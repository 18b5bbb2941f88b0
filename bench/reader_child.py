"""One measurement of the reader network in a process of its own: python -m bench.reader_child JOB-FILE.

The job file is JSON (see `Job`); the result is written as JSON beside it.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import psutil

from bench.measure import high_water

if TYPE_CHECKING:
    from wherefrom import Library
    from wherefrom.networks.spans import ReaderNetwork
    from wherefrom.pipeline import Pipeline
    from wherefrom.runtime.reader import PassageReading, ReaderSession
    from wherefrom.types import Candidate, Hit, Question, Trace
    from wherefrom.wordpieces import Wordpieces

Task = Literal["export", "weights", "ten", "first", "ask", "load"]
System = Literal["int8", "onnx", "torch"]


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure. Paths are text, because a job travels as JSON."""

    task: Task
    system: System
    work: str
    library: str
    weights: str  # the folder that is shipped
    torch_weights: str | None  # the same network in 32 bits; None: random weights of its shape
    questions: tuple[str, ...]
    threads: int
    passages: int = 10  # of the task `ten`, each of ...
    tokens: int = 128
    question_tokens: int = 12  # ... for the questions nearest to this length
    asked: int = 60
    levels: tuple[int, ...] = ()  # of the task `load`: how many ask at once
    rounds: int = 1


def main(job_file: Path) -> None:
    fields = json.loads(job_file.read_text(encoding="utf-8"))
    job = Job(**fields | {"questions": tuple(fields["questions"]), "levels": tuple(fields["levels"])})
    result = _TASKS[job.task](job)
    result["high_water_bytes"] = high_water()
    job_file.with_suffix(".result").write_text(json.dumps(result), encoding="utf-8")


# The systems ---------------------------------------------------------------------------------------------------------


def session(job: Job, system: System) -> ReaderSession:
    """The same network three ways: as shipped, in onnxruntime in 32 bits, in plain torch."""
    from wherefrom.runtime.reader import ReaderSession
    from wherefrom.runtime.weights import Weights

    if system == "torch":
        return _torch_session(job)
    folder = Path(job.weights) if system == "int8" else whole_folder(Path(job.work))
    return ReaderSession(Weights(folder), job.threads, skim=False)  # by all layers, as torch reads


def whole_folder(work: Path) -> Path:
    """Where the task `export` leaves the network in 32 bits."""
    return work / "fp32"


def _torch_session(job: Job) -> ReaderSession:
    """A session that runs torch: all passages of a question in one batch, which is the fastest there."""
    import torch

    from wherefrom.networks.spans import ReaderOutput
    from wherefrom.runtime.reader import ReaderSession, _Window
    from wherefrom.runtime.weights import Weights

    network = _network(job)

    class TorchSession(ReaderSession):
        batch_tokens = 8192

        def _in_parts(self) -> bool:
            return False

        def _run(self, batch: Sequence[_Window], *_: object) -> dict[str, Any]:
            torch.set_num_threads(job.threads)  # here, because OpenMP keeps it for each thread
            inputs = {name: torch.from_numpy(array) for name, array in self._inputs(batch, {}).items()}
            with torch.inference_mode():
                outputs = network(**inputs)
            return {name: getattr(outputs, name).numpy() for name in ReaderOutput._fields}

    return TorchSession(Weights(Path(job.weights)), threads=1)


def _network(job: Job) -> ReaderNetwork:
    from safetensors.torch import load_file

    from wherefrom.networks.encoder import EncoderSettings
    from wherefrom.networks.spans import ReaderNetwork
    from wherefrom.runtime.weights import Weights
    from wherefrom.train.seeds import seed_everything

    seed_everything("bench reader")
    settings = Weights(Path(job.weights)).settings
    if "encoder" not in settings:
        raise RuntimeError(f"{job.weights}/settings.toml does not say the encoder's shape; export the weights again")
    network = ReaderNetwork(EncoderSettings(**settings["encoder"])).eval()
    if job.torch_weights:
        saved = load_file(job.torch_weights)
        names = {name.removeprefix("model.").removeprefix("weights/"): name for name in saved}
        kept = [name for name in names if not name.startswith("match.")]  # maps to a teacher: for training alone
        network.load_state_dict({name: saved[names[name]].float() for name in kept})
    return network


# The tasks -----------------------------------------------------------------------------------------------------------


def _export(job: Job) -> dict[str, Any]:
    """The network in 32 bits, as onnxruntime takes it."""
    from wherefrom.systems.reader.export import to_onnx

    folder = whole_folder(Path(job.work))
    folder.mkdir()
    to_onnx(_network(job), folder / "model.onnx")
    for name in ("tokenizer.json", "settings.toml", "judge.json"):
        shutil.copyfile(Path(job.weights) / name, folder / name)
    return {"file_bytes": (folder / "model.onnx").stat().st_size}


def _weights(job: Job) -> dict[str, Any]:
    """How much memory the network takes once it has read, beside its tokenizer; importing it included."""
    from wherefrom.data.examples import whole

    process = psutil.Process()
    before = process.memory_info().rss
    begun = time.perf_counter()
    opened = session(job, job.system)
    opened.read(["Who?"], [[whole("p", "Nobody.")]])
    ready = time.perf_counter() - begun
    text = "The lighthouse was painted by its keeper in the year of the flood, and again by his daughter. " * 4
    opened.read([f"Who painted lighthouse {number}?" for number in range(10)], [[whole("p", text)]] * 10)
    return {"memory_bytes": process.memory_info().rss - before, "ready_seconds": ready}


def _ten(job: Job) -> dict[str, Any]:
    """Rank, read and judge ten passages with each system in turn, question by question, in changing order."""
    order: list[System] = ["int8", "onnx", "torch"]
    questions = list(_ten_passages(job))
    sessions = {system: session(job, system) for system in order}
    for opened in sessions.values():  # a question that is not counted
        _rank_read_judge(opened, questions[0][0], questions[0][1][:2])
    times: dict[str, dict[str, list[float]]] = {system: {"wall": [], "cpu": []} for system in order}
    best: dict[str, list[tuple[str, int, int] | None]] = {system: [] for system in order}
    differences = _Differences()
    for question, hits in questions:
        for system in order:
            begun, cpu_begun = time.perf_counter(), time.process_time()
            candidates = _rank_read_judge(sessions[system], question, hits)
            times[system]["cpu"].append(time.process_time() - cpu_begun)
            times[system]["wall"].append(time.perf_counter() - begun)
            best[system].append(
                (candidates[0].passage.id, candidates[0].start, candidates[0].end) if candidates else None
            )
        order = [*order[1:], order[0]]
        passages = [[hit.passage for hit in hits]]
        (ours,), (theirs,) = (sessions[name].read([question.text], passages) for name in ("int8", "onnx"))
        differences.add(ours, theirs)
    return {
        "question_tokens": [_length(sessions["int8"].weights.tokenizer, question.text) for question, _ in questions],
        "times": times,
        "differences": differences.summary(),
        "same_best_span": sum(a == b for a, b in zip(best["int8"], best["onnx"], strict=True)),
        "torch_same_best_span": sum(a == b for a, b in zip(best["torch"], best["onnx"], strict=True)),
    }


def _rank_read_judge(opened: ReaderSession, question: Question, hits: Sequence[Hit]) -> list[Candidate]:
    """What the pipeline does with given hits; its settings are the defaults."""
    from wherefrom.config import Settings
    from wherefrom.judge.calibrated import CalibratedJudge
    from wherefrom.rank.reader import ReaderRanker
    from wherefrom.read.span import SpanReader

    settings = Settings()
    ranked = ReaderRanker(opened, settings.rank.keep).rank([question], [hits])
    reader = SpanReader(opened, settings.read.candidates, settings.read.max_tokens, settings.read.relevance)
    read = reader.read([question], ranked)
    CalibratedJudge(opened).judge([question], ranked, read)
    return read[0]


def _ten_passages(job: Job) -> Iterator[tuple[Question, list[Hit]]]:
    """For each question passages of exactly so many tokens, cut from what the library finds for it."""
    from wherefrom import Library
    from wherefrom.data.examples import whole
    from wherefrom.runtime.weights import Weights
    from wherefrom.types import Hit, Question

    tokenizer = Weights(Path(job.weights)).tokenizer
    with Library(job.library) as library:
        nearest = sorted(job.questions, key=lambda text: abs(_length(tokenizer, text) - job.question_tokens))
        for number, question in enumerate(nearest[: job.asked]):
            nearest_hits = library.search(question, k=4 * job.passages).hits
            if not nearest_hits:
                continue
            text = "\n".join(hit.passage.text for hit in nearest_hits)
            while len(offsets := tokenizer.encode(text).offsets) < job.passages * job.tokens:
                text = f"{text}\n{text}"  # a small library finds little
            cuts = [
                text[offsets[job.tokens * place][0] : offsets[job.tokens * (place + 1) - 1][1]]
                for place in range(job.passages)
            ]
            hits = [Hit(whole(f"q{number}p{place}", cut), 1.0) for place, cut in enumerate(cuts)]
            yield Question(f"q{number}", question), hits


def _length(tokenizer: Wordpieces, text: str) -> int:
    return len(tokenizer.ids(text))


class _Differences:
    """How far the logits of two sessions are apart."""

    def __init__(self) -> None:
        self._apart: dict[str, list[float]] = {"relevance": [], "no answer": [], "start": [], "end": []}

    def add(self, ours: Sequence[PassageReading], theirs: Sequence[PassageReading]) -> None:
        for one, other in zip(ours, theirs, strict=True):
            self._apart["relevance"].append(abs(one.relevance - other.relevance))
            self._apart["no answer"].append(abs(one.no_answer - other.no_answer))
            self._apart["start"] += abs(one.start - other.start).tolist()
            self._apart["end"] += abs(one.end - other.end).tolist()

    def summary(self) -> dict[str, dict[str, float]]:
        return {name: {"mean": sum(apart) / len(apart), "max": max(apart)} for name, apart in self._apart.items()}


def _first(job: Job) -> dict[str, Any]:
    """One question in a process that has just begun."""
    begun = time.perf_counter()
    with _opened(job) as library:
        _ask(job, library)(job.questions[0])
        return {"seconds": time.perf_counter() - begun}


def _ask_all(job: Job) -> dict[str, Any]:
    """Every question once, after two that are not counted."""
    with _opened(job) as library:
        ask = _ask(job, library)
        for question in job.questions[:2]:
            ask(question)
        times: list[dict[str, float]] = []
        for question in job.questions[2:]:
            begun, cpu_begun = time.perf_counter(), time.process_time()
            trace = ask(question)
            whole, cpu = time.perf_counter() - begun, time.process_time() - cpu_begun
            times.append({"whole": whole, "whole, CPU": cpu, **trace.timings})
    return {"times": times}


def _load(job: Job) -> dict[str, Any]:
    """The same pipeline asked by several threads at once; the levels take turns, each with questions of its own."""
    turns = job.levels * job.rounds
    share = (len(job.questions) - 2) // len(turns)
    levels: dict[int, dict[str, Any]] = {threads: {"wall": 0.0, "cpu": 0.0, "seconds": []} for threads in job.levels}
    with _opened(job) as library:
        ask = _ask(job, library)
        for question in job.questions[:2]:
            ask(question)

        def timed(question: str) -> float:
            begun = time.perf_counter()
            ask(question)
            return time.perf_counter() - begun

        for turn, threads in enumerate(turns):
            questions = job.questions[2 + turn * share : 2 + (turn + 1) * share]
            begun, cpu_begun = time.perf_counter(), time.process_time()
            with ThreadPoolExecutor(threads) as pool:
                levels[threads]["seconds"] += list(pool.map(timed, questions))
            levels[threads]["wall"] += time.perf_counter() - begun
            levels[threads]["cpu"] += time.process_time() - cpu_begun
    return {"levels": [{"threads": threads, **level} for threads, level in levels.items()]}


def _opened(job: Job) -> Library:
    from wherefrom import Library
    from wherefrom.config import resolve

    chosen = ["rank.kind=reader", "read.kind=span", "judge.kind=calibrated", f"runtime.threads={job.threads}"]
    return Library(job.library, resolve(overrides=[*chosen, f"runtime.reader={job.weights}"]))


def _ask(job: Job, library: Library) -> Callable[[str], Trace]:
    """`library.ask`, or the same pipeline with torch inside."""
    if job.system == "int8":
        return lambda question: library.ask(question, style="short")
    from wherefrom.types import Question

    pipeline = _with_session(library.pipeline(), session(job, job.system), library)

    def ask(question: str) -> Trace:
        return pipeline.ask_many([Question("", question)], "short")[0]

    return ask


def _with_session(pipeline: Pipeline, opened: ReaderSession, library: Library) -> Pipeline:
    from wherefrom.judge.calibrated import CalibratedJudge
    from wherefrom.rank.reader import ReaderRanker
    from wherefrom.read.span import SpanReader

    settings = library.settings()
    read = settings.read
    return replace(
        pipeline,
        ranker=ReaderRanker(opened, settings.rank.keep),
        reader=SpanReader(opened, read.candidates, read.max_tokens, read.relevance),
        judge=CalibratedJudge(opened),
    )


_TASKS = {"export": _export, "weights": _weights, "ten": _ten, "first": _first, "ask": _ask_all, "load": _load}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
