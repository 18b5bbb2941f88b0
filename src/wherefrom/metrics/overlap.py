"""Precision, recall and F of what two texts share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple


class Score(NamedTuple):
    """Precision, recall and their weighted harmonic mean, each from 0 to 1."""

    precision: float
    recall: float
    f: float


NOTHING = Score(0.0, 0.0, 0.0)


def f_beta(precision: float, recall: float, beta: float = 1.0) -> float:
    """F = (1 + β²)·P·R / (R + β²·P), and 0 where both are 0 (van Rijsbergen 1979, chapter 7).

    A beta above 1 values recall more.
    """
    if precision == 0.0 or recall == 0.0:
        return 0.0
    return (1 + beta * beta) * precision * recall / (recall + beta * beta * precision)


def f_alpha(precision: float, recall: float, alpha: float = 0.5) -> float:
    """F = P·R / ((1 − α)·P + α·R), the weighting of ROUGE-1.5.5's option -p; α = 1/2 is the harmonic mean.

    An alpha towards 1 values precision more.
    """
    if precision == 0.0 or recall == 0.0:
        return 0.0
    return precision * recall / ((1 - alpha) * precision + alpha * recall)


def counts(items: Iterable[str]) -> dict[str, int]:
    """How often each item occurs; a plain dict, which for short texts is built faster than a Counter."""
    times: dict[str, int] = {}
    for item in items:
        times[item] = times.get(item, 0) + 1
    return times


def shared(left: Mapping[str, int], right: Mapping[str, int]) -> int:
    """Size of the bag intersection, Σ min(left, right): a word counts as often as both sides have it."""
    if len(left) > len(right):
        left, right = right, left
    total = 0
    for item, count in left.items():
        other = right.get(item, 0)
        total += count if count < other else other
    return total


def ngrams(tokens: Sequence[str], n: int) -> list[str]:
    """The runs of n tokens, joined by a blank: no token holds one, so different runs stay different."""
    if n == 1:
        return list(tokens)
    if n == 2:
        return [f"{first} {second}" for first, second in pairwise(tokens)]
    return [" ".join(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
