"""Whether a difference between two systems is more than chance.

All tests here are paired: value i of both lists belongs to the same question. Everything random takes a seed, and
the same seed gives the same number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from random import Random
from statistics import fmean, stdev

from wherefrom.metrics.checks import MetricError, check_numbers, check_same_length, check_some

_LOW_BIT = bytes(byte & 1 for byte in range(256))


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The mean by which the first system is better, and how likely chance alone makes one as large (two-sided)."""

    difference: float
    p: float


@dataclass(frozen=True, slots=True)
class TTest:
    """A `PairedTest` by Student's t with `freedom` degrees of freedom."""

    difference: float
    p: float
    t: float
    freedom: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds between which it lies with the confidence asked for."""

    mean: float
    low: float
    high: float


def paired_t_test(one: Sequence[float], other: Sequence[float]) -> TTest:
    """t = mean(d) / (s_d / √n) of the differences d, with n − 1 degrees of freedom (Student 1908).

    Where all differences are equal there is no spread: p is 1 if they are 0, and 0 otherwise.
    """
    differences = _differences(one, other)
    if len(differences) < 2:
        raise MetricError("a t-test needs at least two questions")
    mean, freedom = fmean(differences), len(differences) - 1
    error = stdev(differences) / math.sqrt(len(differences))
    if error == 0.0:
        return TTest(mean, 0.0 if mean else 1.0, math.copysign(math.inf, mean) if mean else 0.0, freedom)
    t = mean / error
    return TTest(mean, student_t_tails(t, freedom), t, freedom)


def student_t_tails(t: float, freedom: float) -> float:
    """P(|T| ≥ |t|) = I_x(ν/2, 1/2) with x = ν / (ν + t²) (Abramowitz & Stegun, 26.7.1)."""
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz & Stegun, 26.5.8).

    The fraction settles fast for x < (a + 1)/(a + b + 2); elsewhere I_x(a, b) = 1 − I_{1−x}(b, a).
    """
    if not 0.0 <= x <= 1.0 or a <= 0.0 or b <= 0.0:
        raise MetricError(f"the incomplete beta function needs 0 ≤ x ≤ 1 and a, b > 0; got x={x}, a={a}, b={b}")
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / a / _beta_fraction(x, a, b)


def bootstrap_interval(
    values: Sequence[float], confidence: float = 0.95, samples: int = 1000, seed: int = 0
) -> Interval:
    """The percentile interval of the mean over `samples` draws with replacement (Efron 1979; ROUGE-1.5.5 -c 95)."""
    check_some(values, "values")
    check_numbers(values, "values")
    if not 0.0 < confidence < 1.0:
        raise MetricError(f"confidence is {confidence}; it must lie between 0 and 1")
    means = sorted(_resampled_means(values, samples, seed))
    tail = (1 - confidence) / 2
    return Interval(fmean(values), quantile(means, tail), quantile(means, 1 - tail))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of the ordered values lies, linear between neighbours (Hyndman & Fan, type 7)."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def paired_bootstrap(one: Sequence[float], other: Sequence[float], samples: int = 10_000, seed: int = 0) -> PairedTest:
    """p = the share of draws whose mean difference is as far from the observed one as that is from 0.

    Questions are drawn with replacement, and the draws are moved to the null hypothesis of no difference (Efron &
    Tibshirani 1993, section 16.4). The observed sample counts as one of the draws, so p is never 0.
    """
    differences = _differences(one, other)
    observed = fmean(differences)
    far = sum(abs(mean - observed) >= abs(observed) - 1e-12 for mean in _resampled_means(differences, samples, seed))
    return PairedTest(observed, (far + 1) / (samples + 1))


def paired_interval(
    one: Sequence[float], other: Sequence[float], confidence: float = 0.95, samples: int = 1000, seed: int = 0
) -> Interval:
    """The percentile interval of the mean by which the first is better; questions are drawn, so pairs stay together."""
    return bootstrap_interval(_differences(one, other), confidence, samples, seed)


def permutation_test(one: Sequence[float], other: Sequence[float], samples: int = 10_000, seed: int = 0) -> PairedTest:
    """p = the share of random sign changes of the differences whose mean is as far from 0 as observed (Fisher 1935).

    If neither system is better, each difference could as well have the other sign. The observed sample counts as one.
    """
    differences = _differences(one, other)
    observed = abs(sum(differences))
    random = Random(seed)
    doubled = [2 * difference for difference in differences if difference]
    total = sum(differences)
    far = 0
    for _ in range(samples):
        coins = random.randbytes(len(doubled)).translate(_LOW_BIT)
        flipped = total - sum(compress(doubled, coins))
        far += abs(flipped) >= observed - 1e-12 * max(1.0, observed)
    return PairedTest(total / len(differences), (far + 1) / (samples + 1))


def sign_test(one: Sequence[float], other: Sequence[float]) -> PairedTest:
    """p = P(as uneven a split of wins and losses | both are as likely), exactly; questions that are equal drop out."""
    differences = _differences(one, other)
    wins = sum(difference > 0 for difference in differences)
    losses = sum(difference < 0 for difference in differences)
    played = wins + losses
    tail = sum(math.comb(played, won) for won in range(min(wins, losses) + 1))
    return PairedTest(fmean(differences), min(1.0, 2 * tail / 2**played))


def _differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    check_same_length(scores_of_one=one, scores_of_the_other=other)
    check_some(one, "scores")
    check_numbers(one, "scores of one")
    check_numbers(other, "scores of the other")
    return [left - right for left, right in zip(one, other, strict=True)]


def _resampled_means(values: Sequence[float], samples: int, seed: int) -> list[float]:
    if samples < 1:
        raise MetricError(f"samples is {samples}; at least 1 is needed")
    random = Random(seed)
    return [math.fsum(random.choices(values, k=len(values))) / len(values) for _ in range(samples)]


def _beta_fraction(x: float, a: float, b: float) -> float:
    """1 + d₁/(1 + d₂/(1 + …)), evaluated from the front (Lentz 1976, modified by Thompson & Barnett 1986)."""
    nonzero = 1e-300
    value = front = 1.0
    back = 0.0
    for step in range(1, 10_000):
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step))
        else:
            term = half * (b - half) * x / ((a + step - 1) * (a + step))
        back = 1.0 / ((1.0 + term * back) or nonzero)
        front = (1.0 + term / front) or nonzero
        change = front * back
        value *= change
        if abs(change - 1.0) < 1e-15:
            break
    return value
