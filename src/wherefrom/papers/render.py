"""Comparisons to look at: aligned text, Markdown, objects for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import groupby

import msgspec

from wherefrom.papers.compare import STATES, Cell, Comparison
from wherefrom.papers.measures import MEASURES
from wherefrom.papers.table import Row

HEADINGS = ("paper", "row", "table", "model", "on", "reported", "measured", "state")


def lines(comparisons: Iterable[Comparison]) -> list[tuple[str, ...]]:
    """One line of cells for every comparison, under `HEADINGS`: for pipes, where each row stands alone."""
    return [
        (
            comparison.row.paper,
            comparison.row.id,
            comparison.row.table,
            comparison.row.model,
            _on(comparison.row),
            ", ".join(f"{_heading(cell.measure)} {cell.reported}" for cell in comparison.cells),
            ", ".join(
                f"{_heading(cell.measure)} {_shown(cell)} ({_difference(cell)})"
                for cell in comparison.cells
                if cell.measured is not None
            ),
            comparison.state,
        )
        for comparison in comparisons
    ]


def as_text(comparisons: Sequence[Comparison]) -> str:
    """Every table of every paper, aligned, and how many rows are in which state."""
    drawn: list[str] = []
    for title, grid in _grids(comparisons):
        widths = [max(len(cell) for cell in column) for column in zip(*grid, strict=True)]
        ruled = [grid[0], ["-" * width for width in widths], *grid[1:]]
        drawn += [title, ""]
        drawn += [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in ruled
        ]
        drawn += [""]
    return "\n".join([*drawn, counted(comparisons)]) + "\n"


def as_markdown(comparisons: Sequence[Comparison]) -> str:
    """Every table of every paper, then the stand-ins and notes, each with the rows it goes for."""
    drawn: list[str] = []
    for title, grid in _grids(comparisons):
        drawn += [
            f"### {title}",
            "",
            _bar(grid[0]),
            _bar(["---"] * len(grid[0])),
            *(_bar(line) for line in grid[1:]),
            "",
        ]
    remarks: dict[str, list[str]] = {}  # one sentence often goes for many rows
    for comparison in comparisons:
        for sentence in _remarks(comparison.row):
            remarks.setdefault(sentence, []).append(f"{comparison.row.paper}/{comparison.row.id}")
    below = [f"- {sentence} ({', '.join(ids)})" for sentence, ids in remarks.items()]
    return "\n".join([*drawn, counted(comparisons), *(["", *below] if below else [])]) + "\n"


def as_objects(comparisons: Iterable[Comparison]) -> list[dict[str, object]]:
    """What JSON can hold; reported and measured are in the units the paper prints, and never mixed."""
    return [
        {
            "paper": comparison.row.paper,
            "row": comparison.row.id,
            "table": comparison.row.table,
            "model": comparison.row.model,
            "dataset": comparison.row.dataset,
            "split": comparison.row.split,
            "group": comparison.row.group,
            "scale": comparison.row.scale,
            "ours": comparison.row.ours,
            "state": comparison.state,
            "reported": {cell.measure: float(cell.reported) for cell in comparison.cells},
            "measured": {cell.measure: cell.measured for cell in comparison.cells if cell.measured is not None},
            "difference": {cell.measure: cell.difference for cell in comparison.cells if cell.difference is not None},
            "tolerance": {cell.measure: cell.tolerance for cell in comparison.cells},
            "settings": comparison.row.recipe.file if comparison.row.recipe else None,
            "planned": list(comparison.row.recipe.planned) if comparison.row.recipe else [],
            "data": comparison.row.data,
            "weights": comparison.row.weights,
            "note": comparison.row.note,
            "run": msgspec.to_builtins(comparison.measured.run) if comparison.measured else None,
        }
        for comparison in comparisons
    ]


def counted(comparisons: Iterable[Comparison]) -> str:
    """How many rows are in which state, in words."""
    counts = Counter(comparison.state for comparison in comparisons)
    states = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    return f"{counts.total()} rows: {states}" if states else "no rows"


def _grids(comparisons: Iterable[Comparison]) -> Iterable[tuple[str, list[list[str]]]]:
    """Each table under its title: a column a measure, and what we measured below what is reported."""
    for (slug, table), members in groupby(comparisons, lambda comparison: (comparison.row.paper, comparison.row.table)):
        group = list(members)
        measures = list(dict.fromkeys(cell.measure for comparison in group for cell in comparison.cells))
        grid = [["row", "model", "on", "", *map(_heading, measures), "state"]]
        for comparison in group:
            row, cells = comparison.row, {cell.measure: cell for cell in comparison.cells}
            reported = [str(cells[name].reported) if name in cells else "-" for name in measures]
            grid.append([row.id, row.model, _on(row), "reported", *reported, comparison.state])
            if comparison.measured:
                ours = [_shown(cells[name]) if name in cells else "-" for name in measures]
                off = [_difference(cells[name]) if name in cells else "-" for name in measures]
                grid += [["", "", "", "measured", *ours, ""], ["", "", "", "difference", *off, ""]]
        yield f"{slug}, {table}", grid


def _on(row: Row) -> str:
    return ", ".join(part for part in (row.dataset, row.split, row.group) if part)


def _heading(measure: str) -> str:
    return MEASURES[measure].heading


def _rounded(cell: Cell) -> Decimal:
    """The measured value with as many decimals as the paper prints."""
    exponent = cell.reported.as_tuple().exponent
    return Decimal(f"{cell.measured:.{max(0, -int(exponent))}f}")


def _shown(cell: Cell) -> str:
    return str(_rounded(cell))


def _difference(cell: Cell) -> str:
    """Of the digits shown, so that a reader can check it; `!` where it is beyond the tolerance."""
    return f"{_rounded(cell) - cell.reported:+}{'' if cell.within else '!'}"


def _remarks(row: Row) -> list[str]:
    return [sentence for sentence in (row.data, row.weights, row.note) if sentence]


def _bar(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
