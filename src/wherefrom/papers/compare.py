"""Reported and measured numbers side by side, and what to call the difference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from wherefrom.papers.measures import MEASURES
from wherefrom.papers.results import Measured
from wherefrom.papers.table import Paper, Row

State = Literal["reproduced", "different", "stand-in", "not run"]
STATES: tuple[State, ...] = get_args(State)
# reproduced: every measure within its tolerance. different: at least one is not, be it lower or higher.
# stand-in: measured on other data or from other weights than the paper's, so that nearness would prove nothing.
# not run: no measured result; prior work stays so.


@dataclass(frozen=True, slots=True)
class Cell:
    """One measure of one row, in the units the paper prints."""

    measure: str
    reported: Decimal
    tolerance: float
    measured: float | None = None

    @property
    def difference(self) -> float | None:
        """Measured minus reported: above 0 where we are higher."""
        return None if self.measured is None else self.measured - float(self.reported)

    @property
    def within(self) -> bool | None:
        """Whether the difference, either way, is within the tolerance."""
        if self.difference is None:
            return None
        return abs(self.difference) <= self.tolerance + 1e-9  # 69.27 is half a point below 69.77, whatever floats say


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row: what the paper reports, what we measured, and how they stand to each other."""

    row: Row
    state: State
    cells: tuple[Cell, ...]
    measured: Measured | None = None


def listing(papers: Iterable[Paper], measured: Iterable[Measured] = ()) -> list[Comparison]:
    """Every row of the papers, in their order, with its measured result where there is one."""
    results = {(result.paper, result.row_id): result for result in measured}
    return [compare(row, results.get((row.paper, row.id))) for paper in papers for row in paper.rows]


def compare(row: Row, measured: Measured | None) -> Comparison:
    """A row beside what we measured for it."""
    cells = tuple(
        Cell(name, reported, row.tolerance[name], _printed(row, name, measured))
        for name, reported in row.reported.items()
    )
    return Comparison(row, _state(row, cells, measured), cells, measured)


def _printed(row: Row, measure: str, measured: Measured | None) -> float | None:
    if measured is None:
        return None
    return MEASURES[measure].printed(measured.metrics[measure], row.scale)


def _state(row: Row, cells: Iterable[Cell], measured: Measured | None) -> State:
    if measured is None:
        return "not run"
    if row.stands_in and not measured.run.as_printed:
        return "stand-in"
    return "reproduced" if all(cell.within for cell in cells) else "different"
