"""The order of candidate answers: a line over their merits, fitted so that a right one comes first.

    P(c) = exp(w · x_c) / Σ_c' exp(w · x_c'),    maximise Σ_questions log Σ_c worth_c P(c) − ridge/2 · Σ w²

over the different answers c of a question. `worth` is 0 for a wrong answer, and for a right one larger the nearer its
words come to the gold answer's: a sentence that merely holds the answer is worth less than the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from wherefrom.evaluate.halves import folds
from wherefrom.features.merits import NAMES
from wherefrom.train.errors import TrainingError
from wherefrom.train.logistic import Logistic, Numbers

_HELD = 0.3  # what an answer is worth that holds the gold one among many other words
_STEPS = 60
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class ComparedQuestion:
    """The different answers to a question, in the reader's order: their merits, and what each is worth."""

    id: str
    article: str
    kind: str
    answerable: bool
    merits: tuple[tuple[float, ...], ...]
    right: tuple[bool, ...]
    f1: tuple[float, ...]

    @property
    def worth(self) -> Numbers:
        return numpy.array(self.right) * (_HELD + (1.0 - _HELD) * numpy.array(self.f1))


def fitted_order(rows: Sequence[ComparedQuestion], kind: str, ridge: float) -> dict[str, Any]:
    """A line as JSON, fitted on one kind of documents, and what it changes on documents that it was not fitted on.

    Those are all of the other kinds, and of its own, in turn, a fifth.
    """
    learnable = [row for row in rows if row.kind == kind and _can_teach(row)]
    if len({row.article for row in learnable}) < _FOLDS:
        raise TrainingError(f"{len(learnable)} questions are not enough to fit an order; take more")
    whole = fit_order(learnable, ridge)
    chosen = {row.id: first(whole, row) for row in rows if row.kind != kind}
    fold_of = folds((row.article for row in rows if row.kind == kind), _FOLDS)
    for part in range(_FOLDS):
        line = fit_order([row for row in learnable if fold_of[row.article] != part], ridge)
        chosen |= {row.id: first(line, row) for row in rows if row.kind == kind and fold_of[row.article] == part}
    return {
        "says": "candidates in the order of this line are more often right first",
        **whole.saved(NAMES),
        "fitted": {"questions": len(learnable), "articles": len({row.article for row in learnable})},
        "left out": compared(rows, chosen),
    }


def fit_order(rows: Sequence[ComparedQuestion], ridge: float) -> Logistic:
    """Newton's method on a bound: what each right answer counts among the right ones is held while w takes a step."""
    stacked = numpy.vstack([numpy.array(row.merits) for row in rows])
    centres, scales = stacked.mean(axis=0), stacked.std(axis=0)
    scales = numpy.where(scales > 1e-6, scales, 1.0)
    deep = max(len(row.merits) for row in rows)
    x = numpy.zeros((len(rows), deep, stacked.shape[1]))  # (questions, answers, merits)
    worth = numpy.zeros((len(rows), deep))
    there = numpy.zeros((len(rows), deep), bool)
    for number, row in enumerate(rows):
        x[number, : len(row.merits)] = (numpy.array(row.merits) - centres) / scales
        worth[number, : len(row.merits)] = row.worth
        there[number, : len(row.merits)] = True
    weights = numpy.zeros(stacked.shape[1])
    for _ in range(_STEPS):
        logits = numpy.where(there, x @ weights, -numpy.inf)
        shares = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)  # P(c)
        wanted = shares * worth
        wanted /= wanted.sum(axis=1, keepdims=True)
        gradient = numpy.einsum("qa,qam->m", wanted - shares, x) - ridge * weights
        means = numpy.einsum("qa,qam->qm", shares, x)
        curvature = numpy.einsum("qa,qam,qan->mn", shares, x, x) - means.T @ means + ridge * numpy.eye(len(weights))
        step = numpy.linalg.solve(curvature, gradient)
        weights = weights + step
        if numpy.abs(step).max() < 1e-6:
            break
    return Logistic(0.0, weights, centres, scales)


def first(line: Logistic, row: ComparedQuestion) -> int:
    """The place of the answer that a line puts first."""
    return int(line.logits(numpy.array(row.merits)).argmax()) if row.merits else 0


def compared(rows: Sequence[ComparedQuestion], chosen: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """For each kind: how often the first answer is right, and its F1, as it was read and in the new order."""
    figures: dict[str, dict[str, float]] = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        answerable = [row for row in rows if row.kind == kind and row.answerable]
        if not answerable:
            continue
        figures[kind] = {"questions": len(answerable)}
        orders: dict[str, Mapping[str, int]] = {"as read": {}, "in order": chosen}
        for name, places in orders.items():
            read = [
                (row.right[places.get(row.id, 0)], row.f1[places.get(row.id, 0)]) for row in answerable if row.merits
            ]
            figures[kind][f"right {name}"] = round(sum(right for right, _ in read) / len(answerable), 4)
            figures[kind][f"f1 {name}"] = round(sum(f1 for _, f1 in read) / len(answerable), 4)
    return figures


def _can_teach(row: ComparedQuestion) -> bool:
    """One answer alone teaches nothing, nor do answers that are all worth the same."""
    return row.answerable and len(set(row.worth.tolist())) > 1
