"""Run campaigns: python -m attack [--only NAME ...] [--scale 0.01] [--seed 1] [--jobs 1] [--work DIR] [--record]."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from bench.facts import git
from bench.measure import ROOT
from bench.runs import RUNS, RunLine, record

from attack.campaign import Campaign, Summary, run
from attack.every import CAMPAIGNS

_WORK = ROOT / "attack" / "work"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    chosen = [campaign for campaign in CAMPAIGNS if not options.only or campaign.name in options.only]
    broke = False
    for campaign in chosen:
        label = _commit()
        try:
            summary = run(campaign, options.work, options.seed, options.scale, options.jobs, label, _show, options.size)
        except KeyboardInterrupt:
            print("\ninterrupted; the same command goes on from here", file=sys.stderr)
            return 130
        print(file=sys.stderr)
        _tell(campaign, summary)
        broke = broke or bool(summary.breaks)
        line = _line(campaign, summary, options, label)
        options.work.mkdir(parents=True, exist_ok=True)
        with (options.work / "attack.jsonl").open("ab") as lines:
            lines.write(msgspec.json.encode(line) + b"\n")
        if options.record:
            record([line], RUNS)
    return 1 if broke else 0


def _tell(campaign: Campaign, summary: Summary) -> None:
    counts = ", ".join(f"{name} {value:,.6g}" for name, value in sorted(summary.counts.items()) if name != "breaks")
    highest = ", ".join(f"{name} {value:,.4g}" for name, value in sorted(summary.highest.items()))
    told = "; ".join(part for part in (counts, highest) if part)
    print(f"{campaign.name}: {summary.tried:,} {campaign.unit}, {summary.breaks:,} broke something. {told}")
    for kind, times, example in summary.kinds:
        print(f"  {times:>5} x {kind}\n          {example.what}")
        if example.again:
            print(f"          again: {example.again}")


def _line(campaign: Campaign, summary: Summary, options: argparse.Namespace, commit: str) -> RunLine:
    """What is kept of a run: its figures, and the kinds of holes that it found."""
    counts = {name: float(value) for name, value in summary.counts.items() if name != "breaks"}
    return RunLine(
        topic="attack",
        system=campaign.name,
        dataset="",
        split="",
        over="what the campaigns tried, and how often something gave way",
        n=summary.tried,
        metrics={"tried": float(summary.tried), "broke": float(summary.breaks), **counts, **summary.highest},
        baseline=False,
        settings={"scale": options.scale, **({"size": options.size} if options.size != 1 else {})},
        seed=options.seed,
        commit=commit,
        date=datetime.now(UTC).date().isoformat(),
        command=f"python -m attack --only {campaign.name} --scale {options.scale:g} --seed {options.seed}",
        note="; ".join([campaign.over, *(f"{kind} ({times} times)" for kind, times, _ in summary.kinds[:8])]),
    )


def _commit() -> str:
    """The commit that is attacked; marked where it is not quite that one."""
    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    return f"{commit}+" if git("status", "--porcelain", "--", "src") else commit


def _show(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m attack", description=__doc__)
    parser.add_argument("--only", action="append", choices=[campaign.name for campaign in CAMPAIGNS])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the attempts of a full run")
    parser.add_argument("--size", type=float, default=1.0, help="share of what one attempt does, for trying it out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="attempts at a time")
    parser.add_argument("--work", type=Path, default=_WORK, help="where attempts are noted; run again, it goes on")
    parser.add_argument("--record", action="store_true", help="write the figures to runs/attack.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
