"""Logistic regression, and isotonic regression on top of it: chances that come true, with numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

Numbers = NDArray[numpy.float64]
Truths = NDArray[numpy.bool_]
Knots = tuple[tuple[float, float], ...]

_STEPS = 50
_LEAST_SCALE = 1e-6  # a feature that never changes is left as it is


@dataclass(frozen=True, slots=True)
class Logistic:
    """logit = bias + Σ weight · (feature − centre) / scale."""

    bias: float
    weights: Numbers  # (features,)
    centres: Numbers  # (features,)
    scales: Numbers  # (features,)

    def logits(self, features: Numbers) -> Numbers:
        """(rows, features) -> (rows,)"""
        logits: Numbers = self.bias + (features - self.centres) / self.scales @ self.weights
        return logits

    def saved(self, names: Sequence[str]) -> dict[str, Any]:
        """For JSON, as `features.chance.FittedLine` reads it; `names` are those of the features."""
        columns = zip(self.weights.tolist(), self.centres.tolist(), self.scales.tolist(), strict=True)
        terms = {name: [round(value, 6) for value in term] for name, term in zip(names, columns, strict=True)}
        return {"bias": round(self.bias, 6), "terms": terms}


def logistic(features: Numbers, truths: Truths, ridge: float = 1.0) -> Logistic:
    """Maximum likelihood by Newton's method (IRLS), minus ridge/2 · Σ weight², which keeps separable data finite.

    The bias is not drawn to 0: the mean chance over the rows is the share of those that are true.
    """
    centres = features.mean(axis=0)
    scales = features.std(axis=0)
    scales = numpy.where(scales > _LEAST_SCALE, scales, 1.0)
    x = numpy.hstack([numpy.ones((len(features), 1)), (features - centres) / scales])  # (rows, 1 + features)
    penalty = numpy.full(x.shape[1], ridge)
    penalty[0] = 1e-9  # not 0: with one class alone the bias would run away
    weights = numpy.zeros(x.shape[1])
    for _ in range(_STEPS):
        chances = sigmoid(x @ weights)
        gradient = x.T @ (chances - truths) + penalty * weights
        curvature = (x * (chances * (1 - chances))[:, None]).T @ x + numpy.diag(penalty)
        step = numpy.linalg.solve(curvature, gradient)
        weights -= step * min(1.0, 5.0 / (numpy.abs(step).max() + 1e-12))  # a long step from far off can overshoot
        if numpy.abs(step).max() < 1e-9:
            break
    return Logistic(float(weights[0]), weights[1:], centres, scales)


def isotonic(scores: Numbers, truths: Truths) -> Knots:
    """The best chances that never fall as the score grows (pool adjacent violators), a knot (score, chance) a pool.

    Two made-up questions, a true one below all others and a false one above, keep the ends from saying 0 and 1: no
    number of questions proves that.
    """
    distinct, place, counts = numpy.unique(scores, return_inverse=True, return_counts=True)
    true = numpy.bincount(place, weights=truths)
    true[0] += 1  # the made-up ones
    counts[0] += 1
    counts[-1] += 1
    pools: list[tuple[float, float, int]] = []  # sum of scores, sum of truths, count
    for score, hits, count in zip(distinct.tolist(), true.tolist(), counts.tolist(), strict=True):
        pool = (score * count, hits, count)
        while pools and pools[-1][1] / pools[-1][2] >= pool[1] / pool[2]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    return tuple((total / count, hits / count) for total, hits, count in pools)


def interpolated(knots: Knots, scores: Numbers) -> Numbers:
    """Chances on the line between knots; beyond the first and the last, theirs."""
    return numpy.interp(scores, [score for score, _ in knots], [chance for _, chance in knots])


def sigmoid(logits: Numbers) -> Numbers:
    """1 / (1 + exp(−logit)), without overflow."""
    chances: Numbers = 1.0 / (1.0 + numpy.exp(-numpy.clip(logits, -50.0, 50.0)))
    return chances


def log_loss(chances: Numbers, truths: Truths) -> float:
    """−(1/N) Σ log of the chance given to what came true."""
    given = numpy.where(truths, chances, 1.0 - chances)
    return float(-numpy.log(numpy.clip(given, 1e-12, 1.0)).mean())
