"""A run of the reader's benchmark as a Markdown page for people and as JSON with every raw number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.facts import Facts
from bench.measure import Peak, median, percentile
from bench.report import Verdict
from bench.running import megabytes, milliseconds, origin, row, verdict_table

TITLES = {"int8": "wherefrom, 8 bits", "onnx": "onnxruntime, 32 bits", "torch": "torch, 32 bits"}
STAGES = ("whole", "whole, CPU", "retrieve", "rank", "read", "rerank", "judge", "write")
TARGET_PASSAGES = 300_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how often."""

    passages: int = 300_000  # of the library, where one is made
    questions: int = 60  # of a measurement
    threads: int = 2
    passages_read: int = 10
    passage_tokens: int = 128
    question_tokens: int = 12
    rounds: int = 3  # processes that share the questions of a measurement, systems taking turns
    levels: tuple[int, ...] = (1, 2, 4, 8)  # threads that ask at once
    warming: int = 2  # questions of a process that are not counted

    @property
    def asked_questions(self) -> int:
        """For whole answers, those that warm up included."""
        return (max(self.questions // self.rounds, 1) + self.warming) * self.rounds

    @property
    def load_questions(self) -> int:
        """A share for every level: no question twice, because its passages would be remembered."""
        share = max(self.questions // 2 // self.rounds, 2 * max(self.levels))
        return share * self.rounds * len(self.levels) + self.warming

    @property
    def all_questions(self) -> int:
        return self.asked_questions + self.load_questions


@dataclass(frozen=True, slots=True)
class Network:
    """One form of the network."""

    file_bytes: int | None  # None where it has no file of its own
    memory_bytes: int  # what a process grows by, its libraries included, once it has read
    ready_seconds: float  # from nothing imported to the first passage read


@dataclass(frozen=True, slots=True)
class Ten:
    """Ten passages ranked, read and judged; seconds a question, by system."""

    question_tokens: tuple[int, ...]
    wall_seconds: Mapping[str, tuple[float, ...]]
    cpu_seconds: Mapping[str, tuple[float, ...]]
    differences: Mapping[str, Mapping[str, float]] | None  # of logits, 8 bits against 32; None without 32-bit weights
    same_best_span: int | None  # questions


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """Whole answers: seconds a question, by stage."""

    seconds: Mapping[str, tuple[float, ...]]
    memory: Peak


@dataclass(frozen=True, slots=True)
class Level:
    """Several threads asking at once."""

    threads: int
    wall_seconds: float  # for all questions
    cpu_seconds: float  # the same; time that other programs take is not in it
    seconds: tuple[float, ...]  # a question

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.wall_seconds


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run."""

    plan: Plan
    facts: Facts
    date: str
    passages: int
    documents: int
    data_sha256: Mapping[str, str]
    weights_sha256: str
    torch_weights_sha256: str | None
    networks: Mapping[str, Network]
    ten: Ten
    first: Mapping[str, tuple[float, ...]]  # seconds of a whole process that answers one question
    asked: Mapping[str, AnswerTimes]
    levels: tuple[Level, ...]


def verdicts(run: Run) -> list[Verdict]:
    """Every target beside what was measured."""
    ten = percentile(run.ten.wall_seconds["int8"], 50)
    whole = percentile(run.asked["int8"].seconds["whole"], 50)
    memory = run.asked["int8"].memory.total
    size = run.networks["int8"].file_bytes or 0
    kept = min(level.rate for level in run.levels) / run.levels[0].rate
    what = f"{run.plan.passages_read} passages of {run.plan.passage_tokens} tokens ranked and read, p50"
    return [
        Verdict(what, "at most 200 ms", milliseconds(ten), ten <= 0.2),
        Verdict("a whole short answer, warm, p50", "at most 300 ms", milliseconds(whole), whole <= 0.3),
        Verdict("peak memory of a process that answers", "below 700 MB", megabytes(memory), memory < 700e6),
        Verdict("the network's file", "at most 30 MB", megabytes(size), size <= 30e6),
        Verdict("answers a second, many threads asking", "at least 0.9× of one thread's", f"{kept:.2f}×", kept >= 0.9),
    ]


def as_json(run: Run) -> dict[str, Any]:
    value = asdict(run)
    value["seed"] = None  # every n-th question; random weights, where there are any, are always the same
    value["verdicts"] = [asdict(verdict) for verdict in verdicts(run)]
    return value


def markdown(run: Run) -> str:
    parts = [
        _head(run),
        _ten(run),
        _whole_answers(run),
        _load(run),
        _weights(run),
        verdict_table(verdicts(run), run.passages, TARGET_PASSAGES),
        _origin(run),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(run: Run) -> list[str]:
    with_weights = run.torch_weights_sha256 is not None
    same = "with the same weights" if with_weights else "with random weights of the same shape, because none were given"
    return [
        "# The reader network, and a whole answer",
        "",
        f"Peers run the same network in 32 bits {same}; all have {run.plan.threads} threads, in one run. "
        "× is a system's number divided by wherefrom's. On a shared machine read the ratios, and CPU time.",
    ]


def _ten(run: Run) -> list[str]:
    ten, plan = run.ten, run.plan
    lines = [
        "",
        f"## {plan.passages_read} passages of {plan.passage_tokens} tokens",
        "",
        f"`ReaderRanker.rank`, `SpanReader.read`, `CalibratedJudge.judge`; {len(ten.question_tokens)} questions of "
        f"{min(ten.question_tokens)} to {max(ten.question_tokens)} tokens, no passage twice; the systems take turns, "
        "question by question. torch reads the passages in one batch, which is the fastest there.",
        "",
        "| system | p50 | × | p90 | × | CPU p50 | × |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in TITLES:
        cells = [TITLES[name]]
        for times, percent in ((ten.wall_seconds, 50), (ten.wall_seconds, 90), (ten.cpu_seconds, 50)):
            cells += _beside(percentile(times[name], percent), percentile(times["int8"], percent))
        lines.append(row(cells))
    return lines


def _whole_answers(run: Run) -> list[str]:
    lines = [
        "",
        "## A whole short answer",
        "",
        f"`Library.ask` over {run.passages:,} passages of {run.documents:,} documents, "
        f"{len(run.asked['int8'].seconds['whole'])} questions after {run.plan.warming} that warm up, in "
        f"{run.plan.rounds} processes a system, taking turns. The network's pass is paid in `rank`; `read` and `judge` "
        "use what it said. torch reads all passages of a question in one padded batch, as plain code does.",
        "",
        "| stage | wherefrom p50 | p90 | torch p50 | × | p90 | × |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    ours, theirs = run.asked["int8"], run.asked["torch"]
    for stage in STAGES:
        cells = [stage, *(milliseconds(percentile(ours.seconds[stage], percent)) for percent in (50, 90))]
        for percent in (50, 90):
            cells += _beside(percentile(theirs.seconds[stage], percent), percentile(ours.seconds[stage], percent))
        lines.append(row(cells))
    first = {name: median(seconds) for name, seconds in run.first.items()}
    for label, mine, peer, form in (
        ("first answer of a process, start to end", first["int8"], first["torch"], milliseconds),
        ("peak memory", float(ours.memory.total), float(theirs.memory.total), megabytes),
        ("... of it pages of files", float(ours.memory.mapped), float(theirs.memory.mapped), megabytes),
    ):
        lines.append(row([label, form(mine), "", form(peer), _ratio(peer, mine), "", ""]))
    return lines


def _load(run: Run) -> list[str]:
    lines = [
        "",
        "## Many threads asking at once",
        "",
        "One `Library` and one network in one process; the levels take turns, each with questions of its own.",
        "",
        "| threads | answers/s | × of one thread's | CPU an answer | p50 | p95 |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for level in run.levels:
        cells = [str(level.threads), f"{level.rate:.2f}", f"{level.rate / run.levels[0].rate:.2f}"]
        cells.append(milliseconds(level.cpu_seconds / len(level.seconds)))
        lines.append(row([*cells, *(milliseconds(percentile(level.seconds, percent)) for percent in (50, 95))]))
    slowest = min(run.levels, key=lambda level: level.rate)
    stalls = slowest.rate < 0.9 * run.levels[0].rate
    verdict = f"It stalls: {slowest.threads} threads get less done than one." if stalls else "No level stalls."
    return [*lines, "", f"{verdict} Waiting grows with the queue, because the same cores do all the work."]


def _weights(run: Run) -> list[str]:
    lines = [
        "",
        "## The weights",
        "",
        "Memory is what a process grows by until it has read, libraries and tokenizer included.",
        "",
        "| system | file | memory | from nothing imported to the first passage read |",
        "|---|--:|--:|--:|",
    ]
    for name, network in run.networks.items():
        size = megabytes(network.file_bytes) if network.file_bytes is not None else "–"
        cells = [TITLES[name], size, megabytes(network.memory_bytes), milliseconds(network.ready_seconds)]
        lines.append(row(cells))
    if run.ten.differences is None or run.ten.same_best_span is None:
        return [
            *lines,
            "",
            "8 bits against 32: not measured, because no 32-bit weights were given (`--torch-weights`).",
        ]
    lines += [
        "",
        "8 bits against 32, on the passages above:",
        "",
        "| logit | mean difference | greatest |",
        "|---|--:|--:|",
    ]
    lines += [row([name, f"{at['mean']:.4f}", f"{at['max']:.3f}"]) for name, at in run.ten.differences.items()]
    count = len(run.ten.question_tokens)
    return [*lines, "", f"The best span of ten passages is the same for {run.ten.same_best_span} of {count} questions."]


def _origin(run: Run) -> list[str]:
    whole = f"; in 32 bits {run.torch_weights_sha256[:12]}…" if run.torch_weights_sha256 else ""
    return origin(run.date, run.facts, f"sha256 {run.weights_sha256[:12]}…{whole}", run.data_sha256)


def _beside(value: float, ours: float) -> list[str]:
    return [milliseconds(value), _ratio(value, ours)]


def _ratio(value: float, ours: float) -> str:
    return f"{value / ours:.2f}" if ours else "–"
