"""The table of what was answered, and its lines for runs/: figures are made anew of the kept answers each time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from bench.facts import Facts
from bench.peers import sets
from bench.peers.child import Line
from bench.peers.configurations import Configuration
from bench.peers.scoring import Scored, at, best_threshold, figures, intervals, scored, texts_of
from bench.running import row
from bench.runs import RunLine

SETS = ("real", "open")
_COLUMNS = {
    "right_share": "right of answerable",
    "precision": "precision",
    "absent_declined": "absent declined",
    "near_declined": "near misses declined",
    "outcomes": "outcomes right",
    "em": "EM",
    "f1": "F1",
    "exact_source": "exact place",
    "in_source": "in a source",
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "cpu_ms": "CPU p50, ms",
}
_COSTS = {
    "passages": "passages",
    "passages_per_cpu_s": "ingested a CPU second",
    "passages_per_s": "a second",
    "memory_mb": "peak memory, MB",
    "first_s": "start to first answer, s",
    "install_mb": "installed, MB",
}
_WITH_INTERVAL = ("right_share", "precision", "absent_declined", "outcomes")
_DATASETS = {"tune": "bench/real", "test": "bench/real", "squad": "squad", "nq": "nqopen"}
_SPLITS = {"squad": "valid", "nq": "oracle, which our reader learnt from"}
_BASELINE = "first-sentence"

Sizes = Mapping[str, Mapping[str, float]]


class Answered(Protocol):
    """Where answers lie."""

    @property
    def work(self) -> Path: ...
    def set_folder(self, name: str, configuration: Configuration) -> Path: ...
    def answers(self, name: str, configuration: Configuration) -> Path: ...


@dataclass(frozen=True, slots=True)
class Result:
    """What one system answered of one set."""

    configuration: Configuration
    folder: Path
    parts: Mapping[str, Sequence[Scored]]
    costs: Mapping[str, float]


def results(
    plan: Answered, configurations: Sequence[Configuration], installed: Sizes, names: Sequence[str] = SETS
) -> Iterator[Result]:
    """Everything that was answered of these sets, in the order of the table."""
    texts: dict[Path, dict[str, dict[str, str]]] = {}
    for name in names:
        for configuration in configurations:
            file, folder = plan.answers(name, configuration), plan.set_folder(name, configuration)
            if not file.exists():
                continue
            if folder not in texts:
                texts[folder] = {
                    library: texts_of(list(sets.passages_of(path)))
                    for library, path in sets.libraries_of(folder).items()
                }
            lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
            answers = {line["id"]: line for line in lines if "id" in line}
            parts: dict[str, list[Scored]] = {}
            for asked in sets.questions_of(folder):
                if asked.id in answers:
                    rows = parts.setdefault(asked.part, [])
                    rows.append(scored(asked, answers[asked.id], texts[folder][asked.library]))
            costs = {**_costs(lines), **installed.get(configuration.environment, {})}
            if parts:
                yield Result(configuration, folder, parts, costs)


def _costs(lines: Sequence[Line]) -> dict[str, float]:
    """Of what was ingested, the last time of each library; the first answer of the first start."""
    ingested = {line["ingested"]: line for line in lines if "ingested" in line}
    passages = sum(line["passages"] for line in ingested.values())
    told = {"passages": float(passages)}
    for name, key in (("passages_per_s", "seconds"), ("passages_per_cpu_s", "cpu")):
        if spent := sum(line[key] for line in ingested.values()):
            told[name] = passages / spent
    if peaks := [line["high_water_bytes"] for line in lines if "high_water_bytes" in line]:
        told["memory_mb"] = max(peaks) / 1e6
    if first := [line["first_s"] for line in lines if "first_s" in line]:
        told["first_s"] = min(first)
    return told


# ---------------------------------------------------------------------------------------------- table


def table(
    plan: Answered, configurations: Sequence[Configuration], installed: Sizes, names: Sequence[str] = SETS
) -> str:
    """Markdown: what is right for every part of every set, what it costs, and what thresholds could do."""
    made = list(results(plan, configurations, installed, names))
    lines: list[str] = []
    for folder in dict.fromkeys(result.folder for result in made):
        of_set = [result for result in made if result.folder == folder]
        for part in dict.fromkeys(part for result in of_set for part in result.parts):
            lines += _part(folder.name, part, of_set)
        lines += _cost_table(folder.name, of_set)
        lines += _thresholds(of_set)
    return "\n".join(lines) + "\n"


def _part(name: str, part: str, made: Sequence[Result]) -> list[str]:
    told = [(result, figures(result.parts[part])) for result in made if result.parts.get(part)]
    columns = {key: title for key, title in _COLUMNS.items() if any(key in each for _, each in told)}
    lines = [f"**{name}, {part}**", "", row(["system", "questions", *columns.values()])]
    lines.append("|---|" + "--:|" * (len(columns) + 1))
    for result, values in told:
        rows = result.parts[part]
        bounds = intervals(rows)
        cells = [_cell(key, values.get(key), bounds.get(key)) for key in columns]
        lines.append(row([result.configuration.told, str(len(rows)), *cells]))
    return [*lines, ""]


def _cell(key: str, value: float | None, bounds: tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    if key.endswith("_ms"):
        return f"{value:,.0f}"
    return f"{value:.1f}" + (f" ({bounds[0]:.0f}-{bounds[1]:.0f})" if bounds and key in _WITH_INTERVAL else "")


def _cost_table(name: str, made: Sequence[Result]) -> list[str]:
    lines = [f"**{name}, costs**", "", row(["system", *_COSTS.values()]), "|---|" + "--:|" * len(_COSTS)]
    for result in made:
        cells = [
            f"{result.costs[key]:,.1f}"
            if key == "first_s"
            else f"{result.costs[key]:,.0f}"
            if key in result.costs
            else "-"
            for key in _COSTS
            if key != "first_s" or key in result.costs
        ]
        if len(cells) < len(_COSTS):
            cells.insert(list(_COSTS).index("first_s"), "-")
        lines.append(row([result.configuration.told, *cells]))
    return [*lines, ""]


def _thresholds(made: Sequence[Result]) -> list[str]:
    """What declining below the score that is best on `tune` would do on `test`, for whoever has scores."""
    names = ("right_share", "precision", "absent_declined", "outcomes")
    lines = []
    for result in made:
        tune, test = result.parts.get("tune"), result.parts.get("test")
        threshold = best_threshold(tune) if tune and test else None
        if threshold is None or not tune or not test:
            continue
        for half, rows, least in (
            ("tune, chosen on it", tune, threshold),
            ("test", test, threshold),
            ("test", test, 0.0),
        ):
            values = figures(at(rows, least))
            cells = [_cell(key, values.get(key), None) for key in names]
            lines.append(row([result.configuration.told, f"{least:.3f}" if least else "none", half, *cells]))
    if not lines:
        return []
    head = row(["system", "least score", "half", *(_COLUMNS[name] for name in names)])
    return ["**Declining below the score that is best on `tune`**", "", head, "|---|--:|---|" + "--:|" * 4, *lines, ""]


# ---------------------------------------------------------------------------------------------- lines


def lines(
    plan: Answered, configurations: Sequence[Configuration], installed: Sizes, facts: Facts, names: Sequence[str] = SETS
) -> list[RunLine]:
    """A line a system and part."""
    made = []
    for result in results(plan, configurations, installed, names):
        libraries = len({each.asked.library for rows in result.parts.values() for each in rows})
        passages = f"{result.costs['passages']:,.0f} passages"
        over = passages if libraries == 1 else f"{libraries} libraries, {passages}"
        for part, rows in result.parts.items():
            costs = {name: value for name, value in result.costs.items() if name != "passages"}
            made.append(
                RunLine(
                    topic="peers",
                    system=result.configuration.told,
                    dataset=_DATASETS.get(part, part),
                    split=_SPLITS.get(part, part),
                    over=over,
                    n=len(rows),
                    metrics={**figures(rows), **costs},
                    baseline=result.configuration.peer or result.configuration.name == _BASELINE,
                    settings={"cpu": facts.cpu, "cores": facts.cores, "load_before": round(facts.load_before, 1)},
                    seed=sets.SEED,
                    commit=facts.commit,
                    date=datetime.now(UTC).date().isoformat(),
                    command="python -m bench.peers.run WORK --real DIR --record",
                    intervals=intervals(rows),
                )
            )
    return made
