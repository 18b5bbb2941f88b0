"""Regressions in which rows weigh differently: every kind of documents counts alike, however many questions it has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from wherefrom.train.logistic import Knots, Numbers, Truths, sigmoid

_STEPS = 100
_LEAST_SCALE = 1e-6  # a feature that never changes is left as it is
_LEAST_RIDGE = 1e-3  # of a group's bias: with one class alone it would run away
_LITTLE = 0.1  # of a question: keeps chances finite where all answers are right


def direction(
    features: Numbers, truths: Truths, groups: Sequence[str], signs: Sequence[int], ridge: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Weights, centres and scales of a logistic regression in which every group of rows has a bias of its own.

    Groups count alike. Where `signs` has 1 or -1 a weight is on that side of 0, or 0: a sign that points the other way
    in a few hundred questions does so by accident. `ridge` draws all weights towards 0, as if every group had so many
    more rows that say nothing.
    """
    names = sorted(set(groups))
    own = numpy.array([[float(group == name) for name in names] for group in groups])  # (rows, groups)
    weights = len(groups) / len(names) / (own @ own.sum(axis=0))
    centres = weights @ features / len(groups)
    scales = numpy.sqrt(weights @ (features - centres) ** 2 / len(groups))
    scales = numpy.where(scales > _LEAST_SCALE, scales, 1.0)
    x = numpy.hstack([own, (features - centres) / scales])  # (rows, groups + features)
    penalty = numpy.array([_LEAST_RIDGE] * len(names) + [ridge] * features.shape[1])
    sides = numpy.array([0] * len(names) + list(signs))
    line = numpy.zeros(x.shape[1])
    for _ in range(_STEPS):
        chances = sigmoid(x @ line)
        gradient = x.T @ (weights * (chances - truths)) + penalty * line
        curvature = (x * (weights * chances * (1 - chances))[:, None]).T @ x + numpy.diag(penalty)
        free = (sides == 0) | (line * sides > 0) | (gradient * sides < 0)  # the others are held at 0
        step = numpy.zeros(len(line))
        step[free] = numpy.linalg.solve(curvature[numpy.ix_(free, free)], gradient[free])
        after = line - step * min(1.0, 2.0 / (numpy.abs(step).max() + 1e-12))  # a long step can overshoot
        after = numpy.where(after * sides < 0, 0.0, after)
        moved, line = numpy.abs(after - line).max(), after
        if moved < 1e-9:
            break
    return line[len(names) :], centres, scales


def scaled(scores: Numbers, truths: Truths, weights: Numbers) -> tuple[float, float]:
    """The factor and the bias that make chances of scores (Platt 1999): logit = bias + factor · score."""
    factor, bias = 1.0, 0.0
    for _ in range(_STEPS):
        chances = sigmoid(bias + factor * scores)
        rest = weights * (chances - truths)
        spread = weights * chances * (1 - chances)
        gradient = numpy.array([rest @ scores + _LITTLE * (factor - 1.0), rest.sum() + _LITTLE * bias])
        both = spread @ scores
        curvature = numpy.array([[spread @ scores**2 + _LITTLE, both], [both, spread.sum() + _LITTLE]])
        step = numpy.linalg.solve(curvature, gradient)
        step *= min(1.0, 2.0 / (numpy.abs(step).max() + 1e-12))
        factor, bias = max(factor - float(step[0]), 0.0), bias - float(step[1])
        if numpy.abs(step).max() < 1e-9:
            break
    return factor, bias


def weighted_isotonic(scores: Numbers, truths: Truths, weights: Numbers) -> Knots:
    """As `train.logistic.isotonic`, with its two made-up questions, each row counted as often as its weight says."""
    order = numpy.argsort(scores, kind="stable")
    rows = zip(scores[order].tolist(), truths[order].tolist(), weights[order].tolist(), strict=True)
    ends = [(float(scores.min()), True, 1.0), (float(scores.max()), False, 1.0)]
    pools: list[tuple[float, float, float]] = []  # sums of scores, of truths and of weights
    for score, true, weight in (ends[0], *rows, ends[1]):
        pool = (score * weight, weight * true, weight)
        while pools and (pools[-1][1] / pools[-1][2] >= pool[1] / pool[2] or pools[-1][0] / pools[-1][2] >= score):
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    return tuple((total / weight, true / weight) for total, true, weight in pools)


def area_under_roc(scores: Numbers, truths: Truths) -> float:
    """The share of pairs of a true and a false row in which the true one scores higher; ties count half. 1/2 without
    any pair.
    """
    right, wrong = numpy.sort(scores[truths]), numpy.sort(scores[~truths])
    if not len(right) or not len(wrong):
        return 0.5
    below, up_to = numpy.searchsorted(wrong, right, side="left"), numpy.searchsorted(wrong, right, side="right")
    return float((below + up_to).mean() / 2 / len(wrong))
