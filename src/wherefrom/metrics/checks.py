"""What a metric refuses to score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized

from wherefrom.errors import WherefromError


class MetricError(WherefromError):
    """The numbers or texts given to a metric have no score; a failed measurement is an error, never 0.0."""


def check_same_length(**named: Sized) -> None:
    """Refuses lists that should run side by side and do not; every message names them."""
    lengths = {name.replace("_", " "): len(values) for name, values in named.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise MetricError(f"the lists must be of the same length; got {listed}")


def check_some(values: Sized, what: str) -> None:
    """Refuses an empty list: the mean of nothing is not a number."""
    if not len(values):
        raise MetricError(f"nothing to score: no {what} were given")


def check_numbers(values: Iterable[float], what: str) -> None:
    """Refuses NaN, which compares with nothing and so would sort anywhere; infinities are in order."""
    for position, value in enumerate(values):
        if math.isnan(value):
            raise MetricError(f"{what}: number {position + 1} is NaN; a model that returns NaN has no score")


def check_chances(values: Iterable[float], what: str) -> None:
    """Refuses what is not a probability."""
    for position, value in enumerate(values):
        if not 0.0 <= value <= 1.0:  # false for NaN too
            raise MetricError(f"{what}: number {position + 1} is {value}, which is not a probability from 0 to 1")


def check_cutoff(k: int) -> None:
    """Refuses a rank below 1."""
    if k < 1:
        raise MetricError(f"k is {k}; a cut-off must be 1 or more")


def check_references(references: Sized) -> None:
    """Refuses an answer that has nothing to be compared with."""
    if not len(references):
        raise MetricError("a text needs at least one reference to be compared with; skip questions without one")
