"""A benchmark run as a Markdown table for people and as JSON with every raw number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from bench.facts import Facts
from bench.measure import Build, FirstSearch, Search, median, percentile

TARGET_PASSAGES = 300_000  # what the targets are about
TITLES = {"wherefrom": "wherefrom", "tantivy": "raw tantivy", "bm25s": "bm25s", "fts5": "SQLite FTS5"}

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and how often."""

    passages: int = 30_000  # of Wikipedia; SQuAD's come on top
    questions: int = 1_000  # hit@10 is then known to about a point; all of SQuAD valid (8,367) to half a point
    k: int = 10
    fts5_questions: int = 50  # FTS5 needs up to a second for one
    first_searches: int = 5
    help_runs: int = 7


@dataclass(frozen=True, slots=True)
class Quality:
    """For each question asked, the place of the first gold passage among the hits; 0 where there is none."""

    first_gold: tuple[int, ...]

    def hit_at(self, k: int) -> float:
        """The share of questions with a gold passage among the best k, in percent."""
        return 100 * sum(0 < place <= k for place in self.first_gold) / len(self.first_gold)


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything about one system."""

    build: Build
    first: FirstSearch
    search: Search
    quality: Quality


@dataclass(frozen=True, slots=True)
class Run:
    """One benchmark run: `systems` by name, wherefrom first."""

    plan: Plan
    facts: Facts
    date: str
    passages: int
    documents: int
    wikipedia_passages: int
    squad_passages: int
    questions_left_out: int
    data_sha256: Mapping[str, str]
    systems: Mapping[str, Measured]
    index_search: Search  # wherefrom's index alone
    same_words: Quality  # raw tantivy's, asked without function words, as wherefrom asks
    help_seconds: tuple[float, ...]
    python_seconds: tuple[float, ...]  # `python -c pass`, the least that any command needs


@dataclass(frozen=True, slots=True)
class Verdict:
    """One target."""

    what: str
    asked: str
    measured: str
    met: bool


# ------------------------------------------------------------------------------------------------ targets


def verdicts(run: Run) -> list[Verdict]:
    """Every target beside what was measured. Search is compared by CPU time, on the questions both were asked."""
    own, tantivy, fts5 = run.systems["wherefrom"], run.systems["tantivy"], run.systems["fts5"]
    rate = own.build.passages / own.build.seconds
    memory = max(own.build.memory.total, own.search.memory.total, run.index_search.memory.total)
    opened = median(own.first.open_seconds)
    helped = median(run.help_seconds)
    difference, error = hit_difference(own.quality, tantivy.quality, 10)
    same, same_error = hit_difference(own.quality, run.same_words, 10)
    listed = [
        Verdict("whole ingest", "at least 5,000 passages/s", f"{rate:,.0f} passages/s", rate >= 5_000),
        Verdict("peak memory, ingest and search", "below 500 MB", f"{memory / 1e6:,.0f} MB", memory < 500e6),
        Verdict("reopen and first search", "below 0.5 s", f"{opened:.3f} s", opened < 0.5),
    ]
    for what, search in (("index search", run.index_search), ("search with texts", own.search)):
        slower = _p50_ratio(search, tantivy.search)
        faster = 1 / _p50_ratio(search, fts5.search)
        listed += [
            Verdict(f"{what}, p50", "at most 2× raw tantivy's", f"{slower:.2f}×", slower <= 2),
            Verdict(f"{what}, p50", "at least 20× faster than FTS5", f"{faster:.1f}×", faster >= 20),
        ]
    return [
        *listed,
        Verdict("`wherefrom --help`", "below 0.3 s", f"{helped:.3f} s", helped < 0.3),
        Verdict(
            "hit@10, raw tantivy asked the same words",
            "within 0.5 points, either way",
            f"{same:+.1f} points (standard error {same_error:.1f})",
            abs(same) <= 0.5,
        ),
        Verdict(
            "hit@10, raw tantivy asked every word",
            "at most 0.5 points below",
            f"{difference:+.1f} points (standard error {error:.1f})",
            difference >= -0.5,
        ),
    ]


def hit_difference(one: Quality, other: Quality, k: int) -> tuple[float, float]:
    """hit@k of one system less that of another on the same questions, and its standard error; both in points.

    With b and c the questions that only the one or only the other hits, of n: the difference is (b - c) / n
    and its standard error sqrt(b + c - (b - c)² / n) / n, as for any difference of paired proportions (the
    pairs of McNemar's test).
    """
    hits = [(0 < first <= k, 0 < second <= k) for first, second in zip(one.first_gold, other.first_gold, strict=True)]
    count, only_one, only_other = len(hits), hits.count((True, False)), hits.count((False, True))
    difference = only_one - only_other
    error = math.sqrt(only_one + only_other - difference**2 / count)
    return 100 * difference / count, 100 * error / count


def _p50_ratio(one: Search, other: Search) -> float:
    """The p50 CPU time of one system over that of another, on the questions that both were asked."""
    return percentile(_on(one, one.cpu_seconds, other.asked), 50) / percentile(other.cpu_seconds, 50)


def _on(search: Search, values: Sequence[_Value], places: Sequence[int]) -> list[_Value]:
    """Of the values for all questions of a search, those for the questions at these places."""
    at = dict(zip(search.asked, values, strict=True))
    return [at[place] for place in places]


# --------------------------------------------------------------------------------------------------- JSON


def as_json(run: Run) -> dict[str, Any]:
    """Everything, with what was found left out: `quality` says where the gold was."""
    value = asdict(run)
    value["seed"] = None  # nothing is drawn at random: every n-th question, files in order of their names
    value["verdicts"] = [asdict(verdict) for verdict in verdicts(run)]
    for search in (value["index_search"], *(measured["search"] for measured in value["systems"].values())):
        del search["hits"]
    return value


# ----------------------------------------------------------------------------------------------- Markdown


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    value: Callable[[Measured], float]
    form: Callable[[float], str]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.2f} ms"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.3f} s"


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def _percent(share: float) -> str:
    return f"{share:.1f} %"


_BUILD_ROWS = [
    _Row("passages/s, wall", lambda m: m.build.passages / m.build.seconds, lambda rate: f"{rate:,.0f}"),
    _Row("seconds, wall", lambda m: m.build.seconds, lambda seconds: f"{seconds:,.1f} s"),
    _Row("seconds, CPU", lambda m: m.build.cpu_seconds, lambda seconds: f"{seconds:,.1f} s"),
    _Row("peak memory while building", lambda m: m.build.memory.total, _megabytes),
    _Row("peak memory while searching", lambda m: m.search.memory.total, _megabytes),
    _Row("index on disk", lambda m: m.build.index_bytes, _megabytes),
    _Row("everything on disk", lambda m: m.build.folder_bytes, _megabytes),
    _Row("open + first search", lambda m: median(m.first.open_seconds), _seconds),
    _Row("... as a whole process", lambda m: median(m.first.process_seconds), _seconds),
]
_CLOCKS: dict[str, Callable[[Search], Sequence[float]]] = {
    "CPU": lambda search: search.cpu_seconds,
    "wall": lambda search: search.wall_seconds,
}
_FIGURES: dict[str, Callable[[Sequence[float]], float]] = {
    "p50": lambda values: percentile(values, 50),
    "p95": lambda values: percentile(values, 95),
    "mean": statistics.fmean,
}


def markdown(run: Run) -> str:
    return "\n".join([*_head(run), *_table(run), *_notes(run), *_verdict_table(run), *_origin(run)]) + "\n"


def _head(run: Run) -> list[str]:
    wanted, short = run.plan.passages, run.wikipedia_passages < run.plan.passages
    return [
        f"# The library on {run.passages:,} passages",
        "",
        f"{run.wikipedia_passages:,} passages of Wikipedia and {run.squad_passages:,} of SQuAD paragraphs "
        f"({run.documents:,} documents), {len(run.index_search.asked):,} questions, best {run.plan.k}. "
        "The same passages and questions for every system, in one run, each measurement in a process of its own. "
        "× is a system's number divided by wherefrom's.",
        *([f"The data has fewer passages than the {wanted:,} that were asked for."] if short else []),
        "",
    ]


def _table(run: Run) -> list[str]:
    heads = "".join(f" {TITLES[name]} | × |" for name in _peers(run))
    return [
        f"| | {TITLES['wherefrom']} |{heads}",
        "|---|--:|" + "--:|--:|" * len(_peers(run)),
        *_build_lines(run),
        *_search_lines(run),
        *_quality_lines(run),
    ]


def _peers(run: Run) -> dict[str, Measured]:
    return {name: measured for name, measured in run.systems.items() if name != "wherefrom"}


def _build_lines(run: Run) -> Iterator[str]:
    for row in _BUILD_ROWS:
        own = row.value(run.systems["wherefrom"])
        yield _line(row.label, row.form, own, [(row.value(peer), own) for peer in _peers(run).values()])


def _search_lines(run: Run) -> Iterator[str]:
    texts, index, peers = run.systems["wherefrom"].search, run.index_search, _peers(run).values()
    for kind, clock in _CLOCKS.items():
        for name, figure in _FIGURES.items():
            cells = [
                (figure(clock(peer.search)), figure(_on(index, clock(index), peer.search.asked))) for peer in peers
            ]
            yield _line(f"index search {name}, {kind}", _milliseconds, figure(clock(index)), cells)
            yield _line(f"search with texts {name}, {kind}", _milliseconds, figure(clock(texts)), [None] * len(peers))


def _quality_lines(run: Run) -> Iterator[str]:
    own = run.systems["wherefrom"]
    for k in (1, 10):
        cells = [(peer.quality.hit_at(k), _same_questions(own, peer).hit_at(k)) for peer in _peers(run).values()]
        yield _line(f"hit@{k}", _percent, own.quality.hit_at(k), cells)


def _same_questions(own: Measured, peer: Measured) -> Quality:
    """Our quality on the questions that a peer was asked."""
    return Quality(tuple(_on(own.search, own.quality.first_gold, peer.search.asked)))


def _line(label: str, form: Callable[[float], str], own: float, cells: Sequence[tuple[float, float] | None]) -> str:
    """A line of the table; a cell is a peer's number and ours on the same questions, from which comes the ratio."""
    filled = "".join(
        " — | — |" if cell is None else f" {form(cell[0])} | {_ratio(cell[0], cell[1])} |" for cell in cells
    )
    return f"| {label} | {form(own)} |{filled}"


def _ratio(value: float, own: float) -> str:
    return f"{value / own:.2f}" if own else "—"


def _notes(run: Run) -> list[str]:
    plan = run.plan
    own, tantivy, fts5 = run.systems["wherefrom"], run.systems["tantivy"], run.systems["fts5"]
    shared = _same_questions(own, fts5)
    helps, bare = median(run.help_seconds), median(run.python_seconds)
    (ones, ones_error), (tens, tens_error) = (hit_difference(own.quality, tantivy.quality, k) for k in (1, 10))
    return [
        "",
        f"`wherefrom --help`: {_seconds(helps)}, beside {_seconds(bare)} for `python -c pass` "
        f"(medians of {plan.help_runs} runs).",
        "",
        f"wherefrom less raw tantivy, in points: hit@1 {ones:+.1f} (standard error {ones_error:.1f}), "
        f"hit@10 {tens:+.1f} (standard error {tens_error:.1f}).",
        "",
        "How to read this:",
        "",
        "- Building: wherefrom reads packed articles, cuts, stores and indexes them; the others only index passages "
        "that are cut already, and keep no texts.",
        "- Peak memory: resident pages of the process and its children, looked at every 50 ms with psutil, or the "
        "kernel's high-water mark of the process (VmHWM) where that is higher. Pages of mapped files count; for "
        f"wherefrom they were {_megabytes(own.build.memory.mapped)} at the peak of building and "
        f"{_megabytes(own.search.memory.mapped)} at the peak of searching.",
        "- Open + first search: a fresh process, its files still in the page cache; the clock starts before "
        "`Library(path)` (or the peer's own open), after the system's module was imported. As a whole process: from "
        f"the start of the interpreter to its end. Medians of {plan.first_searches} processes.",
        "- Index search gives keys and scores (`BM25Index.search`); search with texts gives passages through the "
        "pipeline. CPU time is of all threads of the process. bm25s searches with one thread.",
        "- Raw tantivy and FTS5 search for every word of the question, and raw tantivy counts all matches, as their "
        "plain calls do; wherefrom and bm25s leave out function words, and wherefrom counts nothing.",
        "- bm25s is the plain install, without numba or JAX. It then picks the best k with numpy's argpartition, which "
        "is slow on scores that are mostly zero: scoring alone took 0.3 ms of its 47 ms p50 when looked into at "
        "300,000 passages (numpy 2.4). Its times fall into two groups for that reason: compare the mean "
        "too, and do not take its × for the speed of its scoring.",
        f"- A hit is a passage of the question's own paragraph that holds an answer. {run.questions_left_out:,} "
        "questions whose answer no passage holds whole were left out before every n-th was taken.",
        f"- SQLite FTS5 was asked {len(fts5.search.asked):,} of the questions, evenly spread, because it is slow. "
        "Its × are on these questions alone, where wherefrom's hit@1 and hit@10 are "
        f"{_percent(shared.hit_at(1))} and {_percent(shared.hit_at(10))}.",
    ]


def _verdict_table(run: Run) -> list[str]:
    lines = ["", "## Asked / measured / verdict", ""]
    if run.passages < TARGET_PASSAGES:
        lines += [f"The targets are for {TARGET_PASSAGES:,} passages; this run has {run.passages:,}.", ""]
    lines += ["| what | asked | measured | verdict |", "|---|---|--:|---|"]
    for verdict in verdicts(run):
        word = "met" if verdict.met else "**FAILED**"
        lines.append(f"| {verdict.what} | {verdict.asked} | {verdict.measured} | {word} |")
    return [
        *lines,
        "",
        "Searches are compared by their p50 of CPU time, on the questions that both systems were asked.",
    ]


def _origin(run: Run) -> list[str]:
    facts = run.facts
    versions = ", ".join(f"{name} {version}" for name, version in facts.versions.items())
    changed = " with uncommitted changes" if facts.uncommitted_changes else ""
    return [
        "",
        "## Where the numbers come from",
        "",
        f"- {run.date}, commit {facts.commit}{changed}; nothing is drawn at random",
        f"- {facts.cpu}, {facts.cores} cores, {facts.memory_bytes / 2**30:.0f} GiB memory, {facts.system}, "
        f"Python {facts.python}; load average {facts.load_before:.1f} before the run",
        f"- {versions}",
        "- data: " + ", ".join(f"{name} (sha256 {digest[:12]}…)" for name, digest in run.data_sha256.items()),
    ]
