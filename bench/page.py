"""The page of results: every line of runs/ under the question it answers, as runs/tables.toml orders them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from bench.runs import RUNS, RunFault, RunLine, read
from wherefrom.papers import compare, render, results
from wherefrom.papers import table as papers

_HEAD = """# Results

*Generated from `runs/` by `make docs`.* Every row is a line of `runs/<topic>.jsonl` with its command, settings, seed,
commit and the hashes of data and weights (`runs/README.md`). Validation files only; in per cent unless a heading says
otherwise. Rows in *italics* are baselines: what trivial systems, or peers, score on the same questions
(`python -m bench.baselines`). Figures of earlier weights are in [the history](../decisions/history.md).
"""
_PAPERS = """## What are the papers' systems worth here?

*Reported* is what a paper prints, *measured* is ours; neither stands in for the other. Where data or weights are not
the paper's own, the row is a stand-in and never counts as reproduced. `wherefrom reproduce PAPER --list` shows all
rows, `wherefrom reproduce PAPER --work DIR --train` runs them. DrQA has no table of its own: its reader and its
retriever are rows of the tables above.
"""


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A section of the page."""

    name: str
    title: str
    columns: list[str]
    text: str
    quality: bool = True  # figures of quality need a baseline in every table
    leave_out: str = ""  # systems that begin so are not shown


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What runs/tables.toml says."""

    metrics: dict[str, tuple[str, int]]
    topic: list[Topic]


def tables(runs: Path = RUNS) -> Tables:
    return msgspec.convert(tomllib.loads((runs / "tables.toml").read_text(encoding="utf-8")), Tables)


def results_page(runs: Path = RUNS) -> str:
    """The whole page; a topic without lines, or lines without a topic, are an error."""
    layout = tables(runs)
    slugs = {paper.slug for paper in papers.papers()}
    strange = {path.stem for path in runs.glob("*.jsonl")} - {topic.name for topic in layout.topic} - slugs
    if strange:
        raise RunFault(f"runs/tables.toml has no topic for {', '.join(sorted(strange))}")
    parts = [_HEAD]
    for topic in layout.topic:
        parts.append(f"## {topic.title}\n\n{topic.text.strip()}\n")
        lines = [line for line in read(topic.name, runs) if not _left_out(line, topic)]
        if not lines:
            raise RunFault(f"runs/{topic.name}.jsonl has no lines")
        parts += [table_of(group, topic, layout.metrics) for group in grouped(lines)]
    return "\n".join([*parts, _PAPERS, *_papers(runs)])


def grouped(lines: Iterable[RunLine]) -> list[list[RunLine]]:
    """The lines of each table, baselines last; tables in the order of their first lines."""
    groups: dict[tuple[str, str, str], list[RunLine]] = {}
    for line in lines:
        groups.setdefault(line.asked, []).append(line)
    return [sorted(group, key=lambda line: line.baseline) for group in groups.values()]


def _left_out(line: RunLine, topic: Topic) -> bool:
    return bool(topic.leave_out) and line.system.startswith(topic.leave_out)


def table_of(lines: Sequence[RunLine], topic: Topic, metrics: Mapping[str, tuple[str, int]]) -> str:
    shown = [name for name in topic.columns if any(name in line.metrics for line in lines)]
    noted = any(line.note for line in lines)
    head = ["", *(["questions"] if topic.quality else []), *(metrics[name][0] for name in shown), *(["note"] * noted)]
    rows = []
    for line in lines:
        name = f"*{line.system}*" if line.baseline else line.system
        cells = [value_of(line, metric, metrics[metric][1]) for metric in shown]
        rows.append(
            [name, *([f"{line.n:,}" if line.n else ""] if topic.quality else []), *cells, *([line.note] * noted)]
        )
    bars = ["---", *("--:" for _ in head[1 : len(head) - noted]), *(["---"] * noted)]
    return "\n".join([f"**{_asked(lines[0])}**\n", _bar(head), _bar(bars), *(_bar(row) for row in rows), ""])


def _asked(line: RunLine) -> str:
    """`squad/valid: the gold paragraph`."""
    joint = " " if " " in line.split else "/"
    data = joint.join(part for part in (line.dataset, line.split) if part)
    return f"{data}: {line.over}" if data else f"{line.over[0].upper()}{line.over[1:]}"


def value_of(line: RunLine, metric: str, digits: int) -> str:
    if metric not in line.metrics:
        return ""
    value = f"{line.metrics[metric]:,.{digits}f}"
    change = line.intervals.get(f"{metric} change")
    return f"{value} ({change[0]:+.1f} to {change[1]:+.1f})" if change else value


def _bar(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# The papers.


def _papers(runs: Path) -> list[str]:
    parts = []
    for paper in papers.papers():
        measured = compare.listing([paper], results.measured(runs, [paper]))
        run = [each for each in measured if each.measured is not None]
        if not run:
            continue
        parts.append(f"### {paper.title}\n\n{render.counted(measured)}. `wherefrom reproduce {paper.slug} --list`\n")
        parts.append(_paper_table([each for each in run if not each.row.group]))
    waiting = [paper.slug for paper in papers.papers() if not results.measured(runs, [paper])]
    return [*parts, f"Not run yet: {', '.join(waiting)}.\n"] if waiting else parts


def _paper_table(rows: Sequence[compare.Comparison]) -> str:
    """A row a comparison; tables of the paper follow each other. Rows of single question types are left to --list."""
    lines = [_bar(["table", "model", "on", "reported", "measured", "state"]), _bar(["---"] * 6)]
    for table, group in groupby(zip(rows, render.lines(rows), strict=True), lambda pair: pair[0].row.table):
        for number, (_, cells) in enumerate(group):
            _, _, _, model, on, reported, measured, state = cells
            lines.append(_bar([table if number == 0 else "", model, on, reported, measured, state]))
    return "\n".join([*lines, ""])


def checked(runs: Path = RUNS) -> list[str]:
    """Tables with figures of quality and no baseline, in words; none where all is well."""
    return [
        f"{topic.name}: {', '.join(group[0].asked)} has no baseline"
        for topic in tables(runs).topic
        for group in grouped(read(topic.name, runs))
        if topic.quality and not any(line.baseline for line in group)
    ]
