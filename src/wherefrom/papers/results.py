"""Measured results on disk: one JSON file a row, with everything needed to repeat the run.

    runs/<slug>/<row id>.json

A file appears whole or not at all. It holds no path of the machine it was made on.
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
    settings: Mapping[str, Mapping[str, Any]]  # resolved: every setting, also those left at their defaults
    seed: int
    data: tuple[DataFile, ...]
    as_printed: bool  # the paper's own data and weights, nothing stood in
    commit: str | None  # None outside a git checkout
    changed: bool  # the checkout differed from that commit
    wherefrom: str
    python: str
    date: str  # when it began, UTC
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run measured for one row; shares are fractions from 0 to 1."""

    paper: str
    row_id: str
    metrics: Mapping[str, float]
    run: Run


def path_of(runs: Path, row: Row) -> Path:
    """Where a row's result lies."""
    return runs / row.paper / f"{row.id}.json"


def save(runs: Path, row: Row, result: Measured) -> Path:
    """Write a row's result, whole or not at all."""
    path = path_of(runs, row)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"
    write_whole(path, lambda unfinished: unfinished.write_bytes(text))
    return path


def measured(runs: Path, papers: Iterable[Paper] | None = None) -> list[Measured]:
    """Every saved result, by paper and row; a file that fits no row of `papers` (default: all) is an error."""
    known = {paper.slug: paper for paper in (table.papers() if papers is None else papers)}
    return [read(path, known) for path in sorted(runs.glob("*/*.json")) if not path.name.startswith(".")]


def read(path: Path, papers: Mapping[str, Paper]) -> Measured:
    """One saved result, checked against the row it is for."""
    slug, row_id = path.parent.name, path.stem
    if slug not in papers:
        raise ResultFault(f"{path}: there is no paper '{slug}', move the folder away{meant(slug, papers)}")
    rows = {row.id: row for row in papers[slug].rows}
    if row_id not in rows:
        raise ResultFault(f"{path}: {slug} no longer has a row '{row_id}', move the file away{meant(row_id, rows)}")
    try:
        result = msgspec.json.decode(path.read_bytes(), type=Measured)
    except OSError as error:
        raise ResultFault(f"{path}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ResultFault(f"{path}: is not a result: {error}") from error
    if (result.paper, result.row_id) != (slug, row_id):
        raise ResultFault(f"{path}: holds the result of {result.paper} {result.row_id}; it was moved or renamed")
    if problem := fault_in(rows[row_id], result.metrics):
        raise ResultFault(f"{path}: {problem}")
    return result


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
