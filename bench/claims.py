"""The pages docs/papers/*.md: what a paper claims, beside what it reports and what was measured here, with plots.

A page is written by hand but for what stands between its marks, which is made of runs/papers/<page>.toml, of the
tables of the papers and of the lines of runs/. Words are written for figures: where these have changed since, the page
says that the claim is to be read again, and a test fails, until somebody has.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from bench.measure import ROOT
from bench.runs import RUNS, RunFault, RunLine, read
from wherefrom.papers import compare, results, runner, table
from wherefrom.papers.compare import Cell, Comparison
from wherefrom.papers.measures import MEASURES
from wherefrom.plots import Bar, BarPair, bar_plot, pair_plot, standalone

Verdict = Literal["seen", "not seen", "cannot say yet"]
DOCS = ROOT / "docs"
LIST = "README"  # the page that names the others
_MARK = re.compile(r"(<!-- made: (\w+)(?: (\w+))? -->\n).*?(<!-- end -->)", re.DOTALL)
_SIGN = 6.2  # width of a letter in a plot


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of a topic of runs/, or with `minus` what two of its lines are apart."""

    topic: str
    over: str
    system: str
    metric: str
    minus: str = ""
    name: str = ""  # of a bar
    what: str = ""  # was measured, in words, for a table


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a paper says, and what we can say to it."""

    says: str
    verdict: Verdict
    because: str
    written_for: str  # the measured figures that the verdict was written for, as the page shows them
    rows: list[str] = []  # "row:measure" or "row:measure - row:measure"; "paper/row" where it is another paper's
    lines: list[Line] = []
    reported: str = ""  # where it is in no table of ours
    state: str = ""  # what else is to be known of the measured figure


class Plot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture: bars of lines, or pairs of what is reported and measured."""

    name: str
    title: str
    unit: str = ""
    pairs: dict[str, str] = {}  # a bar's name: "row:measure"
    bars: list[Line] = []
    across: Line | None = None  # pairs: a figure to look at both by


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where our setting differs from the source's, or the source is silent."""

    name: str
    published: str
    why: str
    path: str = ""  # of the settings that are trained with; `network.` is the network that reads passages
    ours: str = ""  # where it is no setting
    group: str = "all"  # which of the page's tables it stands in


class PaperPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What runs/papers/<page>.toml says."""

    place: int  # among the pages
    system: str
    idea: str  # in one sentence, for the list of all
    claim: list[Claim]
    plot: list[Plot] = []
    columns: dict[str, dict[str, str]] = {}  # of each table of settings: heading and "paper/file" that it shows
    setting: list[Setting] = []


def names(runs: Path = RUNS) -> list[str]:
    """Every page, in order."""
    there = [path.stem for path in (runs / "papers").glob("*.toml")]
    return sorted(there, key=lambda name: (given(name, runs).place, name))


@cache
def given(name: str, runs: Path = RUNS) -> PaperPage:
    text = (runs / "papers" / f"{name}.toml").read_text(encoding="utf-8")
    try:
        return msgspec.convert(tomllib.loads(text), PaperPage)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise RunFault(f"papers/{name}.toml: {error}") from error


def made_page(name: str, runs: Path = RUNS, docs: Path = DOCS) -> str:
    """The page as it stands, with all between its marks made anew."""
    page = given(name, runs) if name != LIST else None

    def filled(match: re.Match[str]) -> str:
        if page is None and match[2] == "list":
            made = list_table(runs)
        elif page is not None and match[2] == "claims":
            made = claims_table(name, page, runs)
        elif page is not None and match[2] == "settings":
            made = settings_table(page, match[3] or "all")
        else:
            raise RunFault(f"papers/{name}.md: nothing makes '{match[2]}'")
        return f"{match[1]}{made}{match[4]}"

    return _MARK.sub(filled, (docs / "papers" / f"{name}.md").read_text(encoding="utf-8"))


def list_table(runs: Path = RUNS) -> str:
    """Every page with its idea, and how many of its claims were seen here."""
    rows = [["system", "in one sentence", *get_args(Verdict)], ["---", "---", "--:", "--:", "--:"]]
    for name in names(runs):
        page = given(name, runs)
        counts = Counter(claim.verdict for claim in page.claim if not faults(name, claim, runs))
        rows.append([f"[{page.system}]({name}.md)", page.idea, *(str(counts[each]) for each in get_args(Verdict))])
    return "\n".join(_bar_of_cells(row) for row in rows) + "\n"


def picture(name: str, plot: Plot, runs: Path = RUNS) -> str:
    left = 16 + _SIGN * max(len(each) for each in [*plot.pairs, *(bar.name or bar.system for bar in plot.bars)])
    if plot.bars:
        bars = [_bar(line, runs) for line in plot.bars]
        return standalone(bar_plot(plot.title, bars, plot.unit, left))
    pairs = []
    for label, spec in plot.pairs.items():
        cell = _cell(name, spec, runs)[1]
        pairs.append(BarPair(label, float(cell.reported), cell.measured))
    digits = max(_digits(_cell(name, spec, runs)[1]) for spec in plot.pairs.values())
    line = _bar(plot.across, runs) if plot.across else None
    return standalone(pair_plot(plot.title, pairs, min(digits, 3), line, left))


# Claims.


def claims_table(name: str, page: PaperPage, runs: Path = RUNS) -> str:
    rows = [["it says", "reported", "measured here", "state", "verdict"], ["---"] * 5]
    for claim in page.claim:
        stale = faults(name, claim, runs)
        verdict = f"**{claim.verdict}**: {claim.because}"
        if stale:
            verdict = f"**to be read again**: {'; '.join(stale)}"
        rows.append(
            [claim.says, reported(name, claim, runs), measured(name, claim, runs), state(name, claim, runs), verdict]
        )
    return "\n".join(_bar_of_cells(row) for row in rows) + "\n"


def reported(name: str, claim: Claim, runs: Path = RUNS) -> str:
    shown = [_shown(name, spec, "reported", runs) for spec in claim.rows]
    return "; ".join([*shown, *([claim.reported] if claim.reported else [])]) or "no figure"


def measured(name: str, claim: Claim, runs: Path = RUNS) -> str:
    shown = [_shown(name, spec, "measured", runs) for spec in claim.rows]
    return "; ".join(dict.fromkeys([*shown, *(_line_shown(line, runs) for line in claim.lines)])) or "nothing"


def state(name: str, claim: Claim, runs: Path = RUNS) -> str:
    """Of the rows, as the table of the paper has it, and what the claim adds."""
    states = [_cell(name, side, runs)[0].state for spec in claim.rows for side in _sides(spec)]
    return "; ".join(dict.fromkeys([*states, *([claim.state] if claim.state else [])]))


def faults(name: str, claim: Claim, runs: Path = RUNS) -> list[str]:
    """Why the words of a claim no longer go with its figures; nothing where they do."""
    now = measured(name, claim, runs)
    found = []
    if now != claim.written_for:
        found.append(f"the words were written for {claim.written_for}")
    pairs = [_values(name, spec, runs) for spec in claim.rows]
    same = [ours is not None and theirs * ours > 0 for theirs, ours in pairs]
    if claim.verdict == "seen" and not (any(same) or claim.lines):
        found.append("it is called seen, and no measured figure has the sign of the reported one")
    if claim.verdict != "cannot say yet" and not claim.lines and all(ours is None for _, ours in pairs):
        found.append("nothing was measured")
    return found


def stale(runs: Path = RUNS) -> list[str]:
    """Every claim whose words are to be read again, in words."""
    return [
        f"{name}: {claim.says}: {fault}; now it is {measured(name, claim, runs)}"
        for name in names(runs)
        for claim in given(name, runs).claim
        for fault in faults(name, claim, runs)
    ]


# Figures.


@cache
def _comparisons(slug: str, runs: Path) -> Mapping[str, Comparison]:
    paper = table.paper(slug)
    return {each.row.id: each for each in compare.listing([paper], results.measured(runs, [paper]))}


@cache
def _lines(topic: str, runs: Path) -> Sequence[RunLine]:
    return read(topic, runs)


def _cell(name: str, spec: str, runs: Path) -> tuple[Comparison, Cell]:
    """A row and one measure of it: `row:measure`, of the page's own paper, or `paper/row:measure`."""
    place, _, measure = spec.strip().partition(":")
    slug, _, row = place.rpartition("/")
    comparison = _comparisons(slug or name, runs).get(row)
    cell = next((cell for cell in comparison.cells if cell.measure == measure), None) if comparison else None
    if comparison is None or cell is None:
        raise RunFault(f"papers/{name}.toml: {slug or name} has no row and measure '{spec.strip()}'")
    return comparison, cell


def _sides(spec: str) -> list[str]:
    return spec.split(" - ")


def _values(name: str, spec: str, runs: Path) -> tuple[float, float | None]:
    """What is reported and measured: the first minus the second, where there are two."""
    cells = [_cell(name, side, runs)[1] for side in _sides(spec)]
    ours = [cell.measured for cell in cells]
    theirs = float(cells[0].reported) - (float(cells[1].reported) if len(cells) > 1 else 0.0)
    if ours[0] is None or ours[-1] is None:
        return theirs, None
    return theirs, ours[0] - (ours[1] or 0.0 if len(ours) > 1 else 0.0)


def _shown(name: str, spec: str, side: Literal["reported", "measured"], runs: Path) -> str:
    """`R-L +1.57 (68.20 to 69.77)`: what two rows are apart, or the one's figure."""
    cells = [_cell(name, each, runs)[1] for each in _sides(spec)]
    value = _values(name, spec, runs)[side == "measured"]
    if value is None:
        return "not run"
    heading, digits = MEASURES[cells[0].measure].heading, max(map(_digits, cells))
    if len(cells) == 1:
        return f"{heading} {value:.{digits}f}"
    ends = [float(cell.reported) if side == "reported" else cell.measured or 0.0 for cell in reversed(cells)]
    return f"{heading} {_apart(ends[0], ends[1], digits)})"


def _apart(base: float, value: float, digits: int) -> str:
    """`+1.57 (68.20 to 69.77`: of the digits shown, so that a reader can check it."""
    change = round(value, digits) - round(base, digits)
    return f"{change:+.{digits}f} ({base:.{digits}f} to {value:.{digits}f}"


def _digits(cell: Cell) -> int:
    return max(0, -int(cell.reported.as_tuple().exponent))


def _line(line: Line, runs: Path) -> RunLine:
    return _line_of(line, line.system, runs)


def _line_of(line: Line, system: str, runs: Path) -> RunLine:
    matching = [each for each in _lines(line.topic, runs) if each.over == line.over and each.system == system]
    if len(matching) != 1 or line.metric not in matching[0].metrics:
        raise RunFault(
            f"{line.topic}: {len(matching)} lines of '{system}' over '{line.over}' with {line.metric}, not 1"
        )
    return matching[0]


def _bar(line: Line, runs: Path) -> Bar:
    found = _line(line, runs)
    low, high = found.intervals.get(line.metric, (None, None))
    return Bar(line.name or line.system, found.metrics[line.metric], low, high)


def _line_shown(line: Line, runs: Path) -> str:
    """`EM +11.7 (37.8 to 49.4), DrQA's reader`; with an interval of the difference where the line has one."""
    found = _line(line, runs)
    value, what = found.metrics[line.metric], line.what or line.metric
    change = found.intervals.get(f"{line.metric} change")
    interval = f", 95 % {change[0]:+.1f} to {change[1]:+.1f}" if change else ""
    digits = 3 if line.metric in ("map", "mrr") else 2
    if not line.minus:
        return f"{what} {value:.{digits}f}{interval}"
    base = _line_of(line, line.minus, runs).metrics[line.metric]
    return f"{what} {_apart(base, value, digits)}{interval})"


# Settings.


def settings_table(page: PaperPage, group: str = "all") -> str:
    """What is published, beside what our settings files say."""
    settings = {heading: _resolved(file) for heading, file in page.columns[group].items()}
    head = ["setting", "published", *(f"`{heading}`" for heading in settings), "why"]
    rows = [head, ["---"] * len(head)]
    for each in (each for each in page.setting if each.group == group):
        ours = [each.ours or _value(values, each.path) for values in settings.values()]
        rows.append([each.name, each.published, *ours, each.why])
    return "\n".join(_bar_of_cells(row) for row in rows) + "\n"


def _resolved(file: str) -> Any:
    slug, _, name = file.partition("/")
    return runner.resolved(table.paper(slug), name)


def _value(settings: Any, path: str) -> str:
    value: Any = settings
    for part in path.split("."):
        value = value.passage_network if part == "network" else getattr(value, part)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {each:g}" for key, each in value.items()) or "none"
    if isinstance(value, tuple | list):
        return " of ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def _bar_of_cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
