"""Measured results on disk: a file a paper, a line a row, with everything needed to repeat the run.

    RUNS/<slug>.jsonl

A file is replaced whole or not at all. It holds no path of the machine it was made on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from wherefrom.durable import write_whole
from wherefrom.papers import table
from wherefrom.papers.faults import ResultFault, meant
from wherefrom.papers.measures import MEASURES
from wherefrom.papers.table import Paper, Row


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that a run has read, by its name and its folder's."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Run:
    """How a result came about."""

    settings_file: str
    settings: Mapping[str, Any]  # what differs from the system's defaults of that commit
    seed: int
    data: tuple[DataFile, ...]
    as_printed: bool  # the paper's own data and weights, nothing stood in
    commit: str | None  # None outside a git checkout
    changed: bool  # the checkout differed from that commit
    wherefrom: str
    python: str
    date: str  # when it began, UTC
    seconds: float
    system: str = ""
    measure: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run measured for one row; shares are fractions from 0 to 1."""

    paper: str
    row_id: str
    metrics: Mapping[str, float]
    run: Run


def save(runs: Path, paper: Paper, result: Measured) -> Path:
    """Write a row's result among those of its paper, in the order of its table."""
    results = {**read(runs, paper), result.row_id: result}
    path = runs / f"{paper.slug}.jsonl"
    runs.mkdir(parents=True, exist_ok=True)
    lines = [msgspec.json.encode(results[row.id]) + b"\n" for row in paper.rows if row.id in results]
    write_whole(path, lambda unfinished: unfinished.write_bytes(b"".join(lines)))
    return path


def measured(runs: Path, papers: Iterable[Paper] | None = None) -> list[Measured]:
    """Every saved result of these papers (default: all), by paper and row; results of no paper at all are an error."""
    chosen = table.papers() if papers is None else list(papers)
    known = {*table.slugs(), *(paper.slug for paper in chosen)}
    for path in sorted(runs.glob("*.jsonl")):
        if path.stem not in known and _holds_results(path):
            raise ResultFault(f"{path}: there is no paper '{path.stem}', move the file away{meant(path.stem, known)}")
    return [result for paper in chosen for result in read(runs, paper).values()]


def read(runs: Path, paper: Paper) -> dict[str, Measured]:
    """The saved results of a paper by row, each checked against the row it is for."""
    path = runs / f"{paper.slug}.jsonl"
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
    except OSError as error:
        raise ResultFault(f"{path}: cannot be read: {error.strerror}") from error
    rows = {row.id: row for row in paper.rows}
    results: dict[str, Measured] = {}
    for number, line in enumerate(lines, start=1):
        where = f"{path}, line {number}"
        try:
            result = msgspec.json.decode(line, type=Measured)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ResultFault(f"{where}: is not a result: {error}") from error
        if result.paper != paper.slug:
            raise ResultFault(f"{where}: holds a result of {result.paper}; it was moved or renamed")
        if result.row_id not in rows:
            guess = meant(result.row_id, rows)
            raise ResultFault(f"{where}: {paper.slug} no longer has a row '{result.row_id}', take the line out{guess}")
        if result.row_id in results:
            raise ResultFault(f"{where}: a second result of {result.row_id}; take one of them out")
        if problem := fault_in(rows[result.row_id], result.metrics):
            raise ResultFault(f"{where}: {problem}")
        results[result.row_id] = result
    return results


def _holds_results(path: Path) -> bool:
    """Whether a file is one of ours; others may lie beside them."""
    with path.open("rb") as lines:
        try:
            msgspec.json.decode(lines.readline(), type=Measured)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
    return True


def fault_in(row: Row, metrics: Mapping[str, float]) -> str:
    """What keeps these numbers from being a result of that row, in words; nothing when they are one."""
    for name in row.reported:
        if name not in metrics:
            return f"{name} is reported but was not measured"
    for name, value in metrics.items():
        if name not in MEASURES:
            return f"{name} is not a measure{meant(name, MEASURES)}"
        if not MEASURES[name].possible(value):
            return f"{name} cannot be {value}; shares are fractions from 0 to 1"
    return ""
