"""How far a system's confidence can be trusted.

`scores` may be any numbers of which larger means more confident; `chances` must be probabilities. `truths` says of
each question whether it was answerable, or of each answer whether it was right. Equal scores are never told apart:
no result depends on the order in which they are given. NaN is an error.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

from wherefrom.metrics.checks import MetricError, check_chances, check_numbers, check_same_length, check_some
from wherefrom.metrics.overlap import f_beta

Binning = Literal["width", "mass"]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What is decided right if yes is said from `threshold` up."""

    threshold: float
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return f_beta(self.precision, self.recall)


class RiskPoint(NamedTuple):
    """The share of wrong answers, `risk`, if only the most confident share of questions, `coverage`, is answered."""

    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of similar chance: what was promised and what came true."""

    count: int
    chance: float
    truth: float


def precision_recall_curve(scores: Sequence[float], truths: Sequence[bool]) -> list[CurvePoint]:
    """P = TP/(TP + FP) and R = TP/(TP + FN) for each score as threshold, from the highest down.

    At least one truth must be positive, as recall is not defined otherwise.
    """
    _check(scores, truths)
    positives = sum(truths)
    if not positives:
        raise MetricError("no positive among the truths: recall is not defined")
    points: list[CurvePoint] = []
    right = seen = 0
    for score, count, hits in _groups(scores, truths):
        seen += count
        right += hits
        points.append(CurvePoint(score, right / seen, right / positives))
    return points


def average_precision(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """AP = Σ_n (R_n − R_{n−1}) · P_n over the points of the curve, without interpolation."""
    area = before = 0.0
    for point in precision_recall_curve(scores, truths):
        area += (point.recall - before) * point.precision
        before = point.recall
    return area


def best_f1(scores: Sequence[float], truths: Sequence[bool]) -> CurvePoint:
    """F1@t: the point of the curve with the highest F1; of several, the one with the highest threshold."""
    return max(precision_recall_curve(scores, truths), key=lambda point: point.f1)


def at_threshold(scores: Sequence[float], truths: Sequence[bool], threshold: float) -> CurvePoint:
    """Precision and recall if yes is said from the threshold up; nothing said is precision 1, as nothing was wrong."""
    _check(scores, truths)
    chosen = [truth for score, truth in zip(scores, truths, strict=True) if score >= threshold]
    positives = sum(truths)
    if not positives:
        raise MetricError("no positive among the truths: recall is not defined")
    return CurvePoint(threshold, sum(chosen) / len(chosen) if chosen else 1.0, sum(chosen) / positives)


def threshold_for_precision(scores: Sequence[float], truths: Sequence[bool], precision: float) -> float | None:
    """The smallest threshold from which the precision is at least this, or None if there is none.

    Precision need not grow with the threshold: higher ones can do worse.
    """
    reached = [point.threshold for point in precision_recall_curve(scores, truths) if point.precision >= precision]
    return min(reached, default=None)


def brier_score(chances: Sequence[float], truths: Sequence[bool]) -> float:
    """BS = (1/N) Σ (chance − truth)² (Brier 1950); 0 is best, always saying 1/2 gives 1/4."""
    _check_chances(chances, truths)
    return fmean((chance - truth) ** 2 for chance, truth in zip(chances, truths, strict=True))


def reliability(
    chances: Sequence[float], truths: Sequence[bool], bins: int = 10, binning: Binning = "width"
) -> list[Bin]:
    """The answers in bins of equal width, (b − 1)/B < chance ≤ b/B with 0 in the first, or of equal mass.

    Bins of equal mass hold N/B answers each as nearly as can be, the less confident first; answers of the
    same chance stay together, in the bin where the first of them falls. Empty bins are left out.
    """
    _check_chances(chances, truths)
    if bins < 1:
        raise MetricError(f"bins is {bins}; at least 1 is needed")
    pairs = sorted(zip(chances, truths, strict=True))
    edges = [edge / bins for edge in range(1, bins)]
    filled: dict[int, list[tuple[float, bool]]] = {}
    place, last = 0, -1.0
    for index, (chance, truth) in enumerate(pairs):
        if binning == "width":
            place = bisect_left(edges, chance)
        elif chance != last:
            place = index * bins // len(pairs)
        last = chance
        filled.setdefault(place, []).append((chance, truth))
    return [
        Bin(len(group), fmean(chance for chance, _ in group), fmean(truth for _, truth in group))
        for group in filled.values()
    ]


def expected_calibration_error(
    chances: Sequence[float], truths: Sequence[bool], bins: int = 10, binning: Binning = "width"
) -> float:
    """ECE = Σ_b (n_b/N) · |truth_b − chance_b|, with the means of each bin (Guo et al. 2017, Eq. 3)."""
    return sum(
        group.count / len(chances) * abs(group.truth - group.chance)
        for group in reliability(chances, truths, bins, binning)
    )


def risk_coverage_curve(scores: Sequence[float], truths: Sequence[bool]) -> list[RiskPoint]:
    """Risk(k) = wrong among the k most confident, over k, at coverage k/N for each k (El-Yaniv & Wiener 2010).

    Within equal scores the wrong ones are spread evenly: the mean over all orders they could come in.
    """
    _check(scores, truths)
    points: list[RiskPoint] = []
    wrong = 0.0
    for _, count, hits in _groups(scores, truths):
        for _ in range(count):
            wrong += (count - hits) / count
            answered = len(points) + 1
            points.append(RiskPoint(answered / len(scores), wrong / answered))
    return points


def area_under_risk_coverage(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """AURC = (1/N) Σ_k Risk(k) (Geifman, Uziel & El-Yaniv 2019); smaller is better."""
    return fmean(point.risk for point in risk_coverage_curve(scores, truths))


def accuracy_at_coverage(scores: Sequence[float], truths: Sequence[bool], coverage: float) -> float:
    """1 − Risk(k) of the k = ⌈coverage · N⌉ most confident."""
    if not 0.0 < coverage <= 1.0:
        raise MetricError(f"coverage is {coverage}; it must be above 0 and at most 1")
    curve = risk_coverage_curve(scores, truths)
    answered = math.ceil(coverage * len(curve) - 1e-9)  # 0.07 · 100 is 7.000000000000001
    return 1.0 - curve[max(answered, 1) - 1].risk


def _check(scores: Sequence[float], truths: Sequence[bool]) -> None:
    check_same_length(scores=scores, truths=truths)
    check_some(scores, "scores")
    check_numbers(scores, "scores")


def _check_chances(chances: Sequence[float], truths: Sequence[bool]) -> None:
    check_same_length(chances=chances, truths=truths)
    check_some(chances, "chances")
    check_chances(chances, "chances")


def _groups(scores: Sequence[float], truths: Sequence[bool]) -> Iterator[tuple[float, int, int]]:
    """Each different score from the highest down, with how many have it and how many of those are true."""
    groups: dict[float, tuple[int, int]] = {}
    for score, truth in zip(scores, truths, strict=True):
        count, hits = groups.get(score, (0, 0))
        groups[score] = (count + 1, hits + truth)
    for score in sorted(groups, reverse=True):
        yield (score, *groups[score])
