"""Measured figures on disk: runs/<topic>.jsonl, a line a system and what it was asked, as runs/README.md describes.

The page docs/reference/results.md is made of these lines; `python -m bench.record` adds to them. The files of papers
(runs/<paper>.jsonl) lie beside them in a format of their own: wherefrom.papers.results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import ROOT
from wherefrom.durable import write_text
from wherefrom.errors import WherefromError

RUNS = ROOT / "runs"


class RunFault(WherefromError):
    """A line that is not what runs/README.md describes; the message names file and line."""


class RunLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one system scored on one set of questions, and how it came about."""

    topic: str  # the file it stands in, and the section of the page
    system: str  # what was measured: the name of the row
    dataset: str
    split: str
    over: str  # what the system was given beside the questions: passages, a library
    n: int  # questions; 0 where a row is put together from several
    metrics: Mapping[str, float]  # named and scaled as by `wherefrom score`; other names say their unit
    baseline: bool  # a trivial system or a peer: what the others are to be read beside
    settings: Mapping[str, Any]  # what differs from the defaults of that commit
    seed: int | None  # None: nothing is drawn at random
    commit: str | None  # None: not known
    date: str
    command: str
    note: str = ""
    intervals: Mapping[str, tuple[float, float]] = {}  # 95 %; `metric change`: of the difference from the base row
    files: Mapping[str, str] = {}  # data and weights by name, each with its sha256

    @property
    def asked(self) -> tuple[str, str, str]:
        """Lines that agree in this are rows of one table."""
        return self.dataset, self.split, self.over

    @property
    def key(self) -> tuple[str, ...]:
        """There is one line of each."""
        return self.topic, *self.asked, self.system


def read(topic: str, runs: Path = RUNS) -> list[RunLine]:
    """The lines of a topic, checked."""
    path = runs / f"{topic}.jsonl"
    lines: dict[tuple[str, ...], RunLine] = {}
    for number, text in enumerate(path.read_bytes().splitlines() if path.exists() else [], start=1):
        where = f"{path.name}, line {number}"
        try:
            line = msgspec.json.decode(text, type=RunLine)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RunFault(f"{where}: {error}") from error
        if line.topic != topic:
            raise RunFault(f"{where}: is of the topic {line.topic}")
        if not line.metrics:
            raise RunFault(f"{where}: has no metrics")
        if line.key in lines:
            raise RunFault(f"{where}: a second line of {line.system} on {', '.join(line.asked)}")
        lines[line.key] = line
    return list(lines.values())


def record(lines: Iterable[RunLine], runs: Path = RUNS) -> None:
    """Write lines among those of their topics; a line takes the place of an earlier one of the same key."""
    by_topic: dict[str, dict[tuple[str, ...], RunLine]] = {}
    for line in lines:
        by_topic.setdefault(line.topic, {})[line.key] = line
    runs.mkdir(parents=True, exist_ok=True)
    for topic, fresh in by_topic.items():
        kept = {line.key: line for line in read(topic, runs)}
        text = "".join(msgspec.json.encode(rounded(line)).decode() + "\n" for line in {**kept, **fresh}.values())
        write_text(runs / f"{topic}.jsonl", text)


def rounded(line: RunLine) -> RunLine:
    """Five significant digits: more than any page shows."""
    metrics = {name: _short(value) for name, value in line.metrics.items()}
    intervals = {name: (_short(low), _short(high)) for name, (low, high) in line.intervals.items()}
    return msgspec.structs.replace(line, metrics=metrics, intervals=intervals)


def _short(value: float) -> float:
    return value if float(value).is_integer() else float(f"{value:.5g}")
