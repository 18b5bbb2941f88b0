"""The learning rate over the steps, worked out by hand."""

from __future__ import annotations

import math

import pytest

from wherefrom.train.schedule import rate_share


def test_warms_up_then_falls_in_a_line() -> None:
    shares = [rate_share(step, 10, 0.2, "linear", 0.0) for step in range(10)]
    assert shares == pytest.approx([0.5, 1.0, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])


def test_falls_along_a_cosine_to_the_final_rate() -> None:
    shares = [rate_share(step, 4, 0.0, "cosine", 0.1) for step in range(5)]
    half = math.sqrt(0.5)
    assert shares == pytest.approx([1.0, 0.1 + 0.9 * (1 + half) / 2, 0.55, 0.1 + 0.9 * (1 - half) / 2, 0.1])


def test_stays_without_decay() -> None:
    assert [rate_share(step, 4, 0.5, "none", 0.0) for step in range(4)] == [0.5, 1.0, 1.0, 1.0]


def test_the_line_ends_at_the_final_rate() -> None:
    assert rate_share(10, 10, 0.2, "linear", 0.25) == pytest.approx(0.25)


def test_a_warm_up_may_last_to_the_end() -> None:
    assert [rate_share(step, 2, 1.0, "linear", 0.0) for step in range(2)] == [0.5, 1.0]
