"""What every bench does around its measuring: exit codes, cells, verdicts, result files whole or absent."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from bench.corpus import DataMissing
from bench.facts import Facts
from bench.measure import ROOT, MeasureFailed
from bench.report import Verdict
from wherefrom.durable import write_text
from wherefrom.runtime.weights import WeightsError

WORK = ROOT / "bench" / "work"


class AnsweringPlan(Protocol):
    """What a bench of whole answers is asked to do."""

    @property
    def passages(self) -> int: ...
    @property
    def questions(self) -> int: ...
    @property
    def threads(self) -> int: ...


def exit_code(measure: Callable[[], Sequence[Verdict]]) -> int:
    """0 done, whatever the verdicts; 1 a measurement failed; 2 no data or weights; 130 interrupted."""
    try:
        verdicts = measure()
    except (DataMissing, WeightsError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except MeasureFailed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bench: interrupted; no results were written", file=sys.stderr)
        return 130
    for verdict in verdicts:
        print(f"{'met   ' if verdict.met else 'FAILED'}  {verdict.what}: {verdict.measured} ({verdict.asked})")
    return 0


def write(out: Path, markdown: str, data: Mapping[str, Any]) -> None:
    """The Markdown file and the JSON beside it, each whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, markdown)
    write_text(out.with_suffix(".json"), json.dumps(data) + "\n")


def count(text: str) -> int:
    """A number above 0, as an option of a command."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def verdict_table(verdicts: Sequence[Verdict], passages: int, wanted: int) -> list[str]:
    """What was asked and what was measured; a library smaller than the targets are meant for is named."""
    lines = ["", "## Asked / measured / verdict", ""]
    if passages < wanted:
        lines += [f"The targets are for {wanted:,} passages; this run has {passages:,}.", ""]
    lines += ["| what | asked | measured | verdict |", "|---|---|--:|---|"]
    for verdict in verdicts:
        lines.append(row([verdict.what, verdict.asked, verdict.measured, "met" if verdict.met else "**FAILED**"]))
    return lines


def origin(date: str, facts: Facts, weights: str, data: Mapping[str, str]) -> list[str]:
    """Where the numbers come from: commit, machine, versions, weights, hashes of the data."""
    changed = " with uncommitted changes" if facts.uncommitted_changes else ""
    return [
        "",
        "## Where the numbers come from",
        "",
        f"- {date}, commit {facts.commit}{changed}",
        f"- {facts.cpu}, {facts.cores} cores, {facts.memory_bytes / 2**30:.0f} GiB memory, {facts.system}, "
        f"Python {facts.python}; load average {facts.load_before:.1f} before the run",
        "- " + ", ".join(f"{name} {version}" for name, version in facts.versions.items()),
        f"- weights: {weights}",
        "- data: " + ", ".join(f"{name} (sha256 {digest[:12]}…)" for name, digest in data.items()),
    ]


def rounded(seconds: Sequence[float]) -> tuple[float, ...]:
    """To the microsecond, for the JSON file."""
    return tuple(round(second, 6) for second in seconds)


def answering_options(parser: argparse.ArgumentParser, plan: AnsweringPlan, weights: str) -> None:
    """The options that benches of a network and of whole answers share; `weights`: the network's shipped name."""
    parser.add_argument("--library", type=Path, help="one there is, instead of making one; it is only read")
    parser.add_argument("--passages", type=count, default=plan.passages, help="to make one of (default %(default)s)")
    parser.add_argument("--questions", type=count, default=plan.questions, help="a measurement (default %(default)s)")
    parser.add_argument("--threads", type=count, default=plan.threads, help="of every system (default %(default)s)")
    parser.add_argument("--weights", default=weights, help="a shipped name or a folder (default %(default)s)")
    parser.add_argument("--out", type=Path, default=WORK / f"{weights}.md", help="JSON goes beside it")
    parser.add_argument("--work", type=Path, default=WORK, help="where a library is made (default bench/work)")
