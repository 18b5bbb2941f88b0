"""Logistic and isotonic regression, worked out by hand."""

from __future__ import annotations

import math

import numpy
import pytest

from wherefrom.train.logistic import isotonic, log_loss, logistic, sigmoid


def test_a_logistic_without_features_of_use_gives_the_share_of_true_rows() -> None:
    truths = numpy.array([True] * 30 + [False] * 10)
    line = logistic(numpy.zeros((40, 1)), truths)
    assert line.bias == pytest.approx(math.log(3))
    assert line.weights == pytest.approx([0.0])


def test_a_logistic_on_two_groups_by_hand() -> None:
    features = numpy.array([[0.0]] * 40 + [[1.0]] * 40)
    truths = numpy.array([True] * 10 + [False] * 30 + [True] * 30 + [False] * 10)
    line = logistic(features, truths, ridge=1e-9)  # shares 1/4 and 3/4: logits -log 3 and log 3
    assert line.logits(numpy.array([[0.0], [1.0]])) == pytest.approx([-math.log(3), math.log(3)], abs=1e-6)


def test_separable_rows_stay_finite() -> None:
    line = logistic(numpy.array([[0.0], [1.0]] * 20), numpy.array([False, True] * 20))
    assert numpy.isfinite(line.weights).all()
    assert sigmoid(line.logits(numpy.array([[1.0]])))[0] > 0.9


def test_isotonic_pools_violators_by_hand() -> None:
    scores = numpy.array([1.0, 2.0, 3.0, 4.0])
    truths = numpy.array([False, True, False, True])
    # With the made-up ones: 1: 1 of 2, 2: 1 of 1, 3: 0 of 1, 4: 1 of 2, all of which pool but the first.
    knots = isotonic(scores, truths)
    assert knots == ((pytest.approx((1 + 1 + 2 + 3 + 4 + 4) / 6), pytest.approx(0.5)),)
    rising = isotonic(numpy.arange(40.0), numpy.arange(40) >= 20)
    assert [chance for _, chance in rising] == sorted(chance for _, chance in rising)
    assert 0.0 < rising[0][1] < 0.1
    assert 0.9 < rising[-1][1] < 1.0


def test_equal_scores_get_equal_chances() -> None:
    knots = isotonic(numpy.array([0.0, 0.0, 0.0, 1.0, 1.0]), numpy.array([False, True, False, True, True]))
    assert len({score for score, _ in knots}) == len(knots)


def test_log_loss_by_hand() -> None:
    loss = log_loss(numpy.array([0.5, 0.25]), numpy.array([True, False]))
    assert loss == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)
