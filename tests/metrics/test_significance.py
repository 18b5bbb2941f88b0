"""Differences are tested as scipy tests them, and the same seed says the same."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from wherefrom.metrics.checks import MetricError
from wherefrom.metrics.significance import (
    bootstrap_interval,
    incomplete_beta,
    paired_bootstrap,
    paired_interval,
    paired_t_test,
    permutation_test,
    quantile,
    sign_test,
    student_t_tails,
)

values = st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=2, max_size=15)


def test_t_test_by_hand() -> None:
    # differences 1, 2, 3: mean 2, s = 1, t = 2·√3, 2 degrees of freedom
    # for ν = 2 the tails are 1 − t/√(2 + t²) = 1 − √(12/14)
    result = paired_t_test([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert (result.difference, result.freedom) == (2.0, 2)
    assert result.t == pytest.approx(2 * math.sqrt(3))
    assert result.p == pytest.approx(1 - math.sqrt(12 / 14))


def test_t_tails_of_one_degree_are_those_of_cauchy() -> None:
    assert student_t_tails(1.0, 1) == pytest.approx(0.5)
    assert student_t_tails(0.0, 7) == 1.0


def test_agrees_with_scipy() -> None:
    random = Random(101)
    for _ in range(500):
        size = random.choice([2, 3, 10, 100, 1000])
        one = [random.gauss(0, 1) for _ in range(size)]
        other = [value + random.gauss(random.choice([0, 0.1, 1]), 0.5) for value in one]
        ours, theirs = paired_t_test(one, other), stats.ttest_rel(one, other)
        assert ours.t == pytest.approx(theirs.statistic, rel=1e-9)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-7, abs=1e-300)


def test_incomplete_beta_agrees_with_scipy() -> None:
    random = Random(102)
    for _ in range(1000):
        a, b, x = 10 ** random.uniform(-1, 4), 10 ** random.uniform(-1, 2), random.random()
        assert incomplete_beta(x, a, b) == pytest.approx(special.betainc(a, b, x), abs=1e-11)
    assert incomplete_beta(0.0, 2, 3) == 0.0
    assert incomplete_beta(1.0, 2, 3) == 1.0
    with pytest.raises(MetricError, match="0 ≤ x ≤ 1"):
        incomplete_beta(1.5, 1, 1)


def test_differences_without_spread() -> None:
    assert paired_t_test([1.0, 2.0], [1.0, 2.0]).p == 1.0
    alike = paired_t_test([2.0, 3.0], [1.0, 2.0])
    assert (alike.p, alike.t) == (0.0, math.inf)


@given(values)
def test_exchanging_the_systems_turns_the_sign(pairs: list[tuple[float, float]]) -> None:
    one, other = [left for left, _ in pairs], [right for _, right in pairs]
    there, back = paired_t_test(one, other), paired_t_test(other, one)
    assert 0.0 <= there.p <= 1.0
    assert (there.t, there.difference) == (-back.t, -back.difference)
    assert there.p == back.p
    assert sign_test(one, other).p == sign_test(other, one).p
    for test in (paired_bootstrap, permutation_test):
        assert test(one, other, samples=50).p == pytest.approx(test(other, one, samples=50).p)
        assert 0.0 < test(one, other, samples=50).p <= 1.0


def test_a_larger_difference_is_less_likely_by_chance() -> None:
    tails = [student_t_tails(t, 9) for t in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)]
    assert tails == sorted(tails, reverse=True)


def test_sign_test_by_hand_and_beside_scipy() -> None:
    # 4 wins, 0 losses, one equal: 2 · (1/2)^4 = 1/8
    assert sign_test([2, 2, 2, 2, 1], [1, 1, 1, 1, 1]).p == 1 / 8
    assert sign_test([1.0], [1.0]).p == 1.0
    random = Random(103)
    for _ in range(50):
        one = [random.randint(0, 4) for _ in range(20)]
        other = [random.randint(0, 3) for _ in range(20)]
        wins = sum(a > b for a, b in zip(one, other, strict=True))
        losses = sum(a < b for a, b in zip(one, other, strict=True))
        assert sign_test(one, other).p == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)


def test_permutation_test_nears_the_exact_share() -> None:
    # differences 1, 2, 3: of 8 sign changes only +++ and −−− are as far from 0: p = 1/4
    result = permutation_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], samples=20_000)
    assert result.p == pytest.approx(0.25, abs=0.01)
    assert result.difference == 2.0


def test_random_tests_near_the_t_test() -> None:
    random = Random(104)
    one = [random.gauss(0.12, 1) for _ in range(300)]
    other = [0.0] * 300
    p = paired_t_test(one, other).p
    assert paired_bootstrap(one, other, samples=5000).p == pytest.approx(p, abs=0.03)
    assert permutation_test(one, other, samples=5000).p == pytest.approx(p, abs=0.03)


def test_bootstrap_interval_covers_and_nears_the_normal_one() -> None:
    random = Random(105)
    scores = [random.gauss(10, 2) for _ in range(400)]
    result = bootstrap_interval(scores, samples=3000)
    error = 1.96 * 2 / math.sqrt(400)
    assert result.low < result.mean < result.high
    assert result.low == pytest.approx(result.mean - error, abs=0.05)
    assert result.high == pytest.approx(result.mean + error, abs=0.05)
    narrow = bootstrap_interval(scores, confidence=0.5, samples=3000)
    assert result.low < narrow.low < narrow.high < result.high
    assert bootstrap_interval([0.5, 0.5]) == bootstrap_interval([0.5, 0.5], seed=9)  # no spread, no interval


def test_the_same_seed_says_the_same() -> None:
    one, other = [0.1, 0.5, 0.9, 0.3], [0.2, 0.1, 0.7, 0.4]
    for test in (paired_bootstrap, permutation_test):
        assert test(one, other, samples=200, seed=3) == test(one, other, samples=200, seed=3)
    many = [math.sin(number) for number in range(50)]
    assert bootstrap_interval(many, seed=3) == bootstrap_interval(many, seed=3) != bootstrap_interval(many, seed=4)


def test_quantiles_lie_between_neighbours() -> None:
    assert quantile([1.0, 2.0, 4.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 4.0], 0.75) == 3.0
    assert quantile([1.0, 2.0, 4.0], 1.0) == 4.0


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(MetricError, match="at least two"):
        paired_t_test([1.0], [2.0])
    with pytest.raises(MetricError, match="2 scores of one, 1 scores of the other"):
        paired_t_test([1.0, 2.0], [2.0])
    with pytest.raises(MetricError, match="NaN"):
        paired_bootstrap([math.nan], [1.0])
    with pytest.raises(MetricError, match="nothing to score"):
        sign_test([], [])
    with pytest.raises(MetricError, match="confidence is 95"):
        bootstrap_interval([1.0], confidence=95)
    with pytest.raises(MetricError, match="samples is 0"):
        bootstrap_interval([1.0], samples=0)


def test_the_interval_of_a_difference_keeps_pairs_together() -> None:
    one, other = [0.9, 0.1, 0.5, 0.7], [0.8, 0.0, 0.4, 0.6]  # apart they scatter, each pair differs by 0.1
    result = paired_interval(one, other)
    assert (result.mean, result.low, result.high) == tuple(pytest.approx(0.1) for _ in range(3))
    won = paired_interval([1.0] * 30 + [0.0] * 70, [0.0] * 100, samples=4000)
    assert won.mean == pytest.approx(0.3)
    assert won.low == pytest.approx(0.3 - 1.96 * 0.0458, abs=0.011)  # the normal approximation
    assert won.high == pytest.approx(0.3 + 1.96 * 0.0458, abs=0.011)
