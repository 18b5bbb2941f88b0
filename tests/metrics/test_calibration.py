"""Confidence is measured against what came true."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherefrom.metrics.calibration import (
    Binning,
    accuracy_at_coverage,
    area_under_risk_coverage,
    at_threshold,
    average_precision,
    best_f1,
    brier_score,
    expected_calibration_error,
    precision_recall_curve,
    reliability,
    risk_coverage_curve,
    threshold_for_precision,
)
from wherefrom.metrics.checks import MetricError

cases = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), st.booleans()), min_size=1, max_size=25
)


def apart(pairs: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [score for score, _ in pairs], [truth for _, truth in pairs]


# From the top: right, wrong, then two at 0.4 of which one is right, then wrong.
SCORES, TRUTHS = [0.9, 0.8, 0.4, 0.4, 0.1], [True, False, True, False, False]


def test_precision_recall_curve_by_hand() -> None:
    points = [(point.threshold, point.precision, point.recall) for point in precision_recall_curve(SCORES, TRUTHS)]
    assert points == [(0.9, 1.0, 0.5), (0.8, 0.5, 0.5), (0.4, 0.5, 1.0), (0.1, 0.4, 1.0)]
    assert average_precision(SCORES, TRUTHS) == pytest.approx(0.5 * 1.0 + 0.5 * 0.5)


def test_best_f1_by_hand() -> None:
    # F1: 2·1·½/1.5 = 2/3 at 0.9; ½ at 0.8; 2·½·1/1.5 = 2/3 at 0.4: the higher threshold of the two
    best = best_f1(SCORES, TRUTHS)
    assert best.threshold == 0.9
    assert best.f1 == pytest.approx(2 / 3)


def test_thresholds() -> None:
    point = at_threshold(SCORES, TRUTHS, 0.5)
    assert (point.precision, point.recall) == (0.5, 0.5)
    assert at_threshold(SCORES, TRUTHS, 0.95).precision == 1.0  # nothing said, nothing wrong
    assert threshold_for_precision(SCORES, TRUTHS, 0.5) == 0.4
    assert threshold_for_precision(SCORES, TRUTHS, 0.6) == 0.9
    assert threshold_for_precision([0.9, 0.1], [False, True], 0.6) is None


def test_brier_by_hand() -> None:
    assert brier_score([1.0, 0.5, 0.2], [True, False, False]) == pytest.approx((0 + 0.25 + 0.04) / 3)


def test_ece_of_equal_width_by_hand() -> None:
    # two bins, up to 0.5 and above: {0.1, 0.5} promised 0.3, came true 0.5; {0.6, 1.0} promised 0.8, came true 0.5
    chances, truths = [0.1, 0.5, 0.6, 1.0], [False, True, False, True]
    assert expected_calibration_error(chances, truths, bins=2) == pytest.approx(0.5 * 0.2 + 0.5 * 0.3)
    assert [group.count for group in reliability(chances, truths, bins=2)] == [2, 2]
    assert expected_calibration_error([0.0, 1.0], [False, True]) == 0.0  # 0 belongs to the first bin


def test_ece_of_equal_mass_by_hand() -> None:
    # three of four lie below 0.5: equal mass parts them 2 and 2
    chances, truths = [0.1, 0.2, 0.3, 0.9], [False, False, True, True]
    assert expected_calibration_error(chances, truths, 2, "mass") == pytest.approx(0.5 * 0.15 + 0.5 * 0.4)
    # the same chance is never parted
    assert [group.count for group in reliability([0.5] * 4, truths, 2, "mass")] == [4]


def test_risk_coverage_by_hand() -> None:
    # wrong: 0 of 1, 1 of 2, then the two at 0.4 share one wrong: 1.5 of 3, 2 of 4; 3 of 5
    risks = [point.risk for point in risk_coverage_curve(SCORES, TRUTHS)]
    assert risks == pytest.approx([0, 1 / 2, 1.5 / 3, 2 / 4, 3 / 5])
    assert [point.coverage for point in risk_coverage_curve(SCORES, TRUTHS)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert area_under_risk_coverage(SCORES, TRUTHS) == pytest.approx((0 + 0.5 + 0.5 + 0.5 + 0.6) / 5)
    assert accuracy_at_coverage(SCORES, TRUTHS, 0.2) == 1.0
    assert accuracy_at_coverage(SCORES, TRUTHS, 0.5) == pytest.approx(0.5)  # three of five
    assert accuracy_at_coverage(SCORES, TRUTHS, 1.0) == pytest.approx(2 / 5)


def test_coverage_of_whole_hundredths_is_not_rounded_up() -> None:
    scores = [float(-place) for place in range(100)]
    truths = [place < 7 for place in range(100)]
    assert accuracy_at_coverage(scores, truths, 0.07) == 1.0


def test_area_under_risk_coverage_is_the_mean_over_all_orders_of_ties() -> None:
    random = Random(91)
    truths = [True, False, False, True, False]
    areas = []
    for _ in range(20_000):
        mixed = random.sample(truths, len(truths))
        areas.append(sum(mixed[: k + 1].count(False) / (k + 1) for k in range(5)) / 5)
    assert area_under_risk_coverage([0.5] * 5, truths) == pytest.approx(sum(areas) / len(areas), abs=0.005)


@given(cases, st.randoms())
def test_bounds_and_no_result_depends_on_the_order(pairs: list[tuple[float, bool]], random: Random) -> None:
    mixed = random.sample(pairs, len(pairs))
    metrics: list[Callable[[list[float], list[bool]], float]] = [
        brier_score,
        expected_calibration_error,
        lambda chances, truths: expected_calibration_error(chances, truths, 4, "mass"),
        area_under_risk_coverage,
        lambda scores, truths: accuracy_at_coverage(scores, truths, 0.3),
    ]
    if any(truth for _, truth in pairs):
        metrics += [average_precision, lambda scores, truths: best_f1(scores, truths).f1]
    for metric in metrics:
        value = metric(*apart(pairs))
        assert -1e-12 <= value <= 1.0 + 1e-12
        assert metric(*apart(mixed)) == pytest.approx(value)


@given(cases)
def test_bins_hold_everything_once(pairs: list[tuple[float, bool]]) -> None:
    for binning in get_args(Binning):
        bins = reliability(*apart(pairs), 5, binning)
        assert sum(group.count for group in bins) == len(pairs)
        assert sum(group.count * group.truth for group in bins) == pytest.approx(sum(truth for _, truth in pairs))


@given(cases)
def test_recall_grows_as_the_threshold_falls(pairs: list[tuple[float, bool]]) -> None:
    if any(truth for _, truth in pairs):
        recalls = [point.recall for point in precision_recall_curve(*apart(pairs))]
        assert recalls == sorted(recalls)
        assert recalls[-1] == 1.0


def test_a_perfect_judge() -> None:
    scores, truths = [0.9, 0.8, 0.2, 0.1], [True, True, False, False]
    assert average_precision(scores, truths) == best_f1(scores, truths).f1 == 1.0
    assert brier_score([1.0, 0.0], [True, False]) == expected_calibration_error([1.0, 0.0], [True, False]) == 0.0


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(MetricError, match="NaN"):
        precision_recall_curve([math.nan], [True])
    with pytest.raises(MetricError, match=r"1\.2, which is not a probability"):
        brier_score([1.2], [True])
    with pytest.raises(MetricError, match="not a probability"):
        expected_calibration_error([math.nan], [True])
    with pytest.raises(MetricError, match="no positive"):
        best_f1([0.5], [False])
    with pytest.raises(MetricError, match="nothing to score"):
        area_under_risk_coverage([], [])
    with pytest.raises(MetricError, match="same length"):
        brier_score([0.5], [True, False])
    with pytest.raises(MetricError, match="coverage is 0"):
        accuracy_at_coverage([0.5], [True], 0.0)
    with pytest.raises(MetricError, match="bins is 0"):
        reliability([0.5], [True], bins=0)
