"""The judge's regressions, fitted on the questions of one half of the articles and measured on those of the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy

from wherefrom.evaluate.halves import folds
from wherefrom.judge.calibrated import NAMES
from wherefrom.metrics import calibration
from wherefrom.systems.judge.material import JudgedQuestion
from wherefrom.train.errors import TrainingError
from wherefrom.train.logistic import (
    Knots,
    Logistic,
    Numbers,
    Truths,
    interpolated,
    isotonic,
    log_loss,
    logistic,
    sigmoid,
)

PRECISIONS = (0.8, 0.9, 0.95)
THRESHOLDS = tuple(step / 20 for step in range(1, 20))
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Fitted:
    """A judge: a logistic regression and, where it does better, knots that bend its chances into place."""

    line: Logistic
    knots: Knots  # () where the logistic's own chances are better

    def chances(self, rows: Sequence[JudgedQuestion]) -> list[float]:
        """0 where nothing was found, as `CalibratedJudge` has it."""
        known = [place for place, row in enumerate(rows) if row.features is not None]
        chances = [0.0] * len(rows)
        for place, chance in zip(known, self._of(_features([rows[place] for place in known])), strict=True):
            chances[place] = float(chance)
        return chances

    def _of(self, features: Numbers) -> Numbers:
        logits = self.line.logits(features)
        return interpolated(self.knots, logits) if self.knots else sigmoid(logits)


def fitted_judge(
    rows: Sequence[JudgedQuestion], fitting_half: Collection[str], ridge: float, right: float
) -> dict[str, Any]:
    """A judge of the rows whose articles are in the fitting half, as JSON, and what it is worth on the others."""
    fitting = [row for row in rows if row.article in fitting_half]
    measuring = [row for row in rows if row.article not in fitting_half]
    for half in (fitting, measuring):
        seen = [row for row in half if row.features is not None]
        if len({row.answerable for row in seen}) < 2 or (half is fitting and len({row.article for row in seen}) < 2):
            raise TrainingError(
                f"{len(half)} questions are not enough to fit a judge: both halves of the articles need answerable and "
                "unanswerable ones; take more questions"
            )
    fitted, losses, chances = fit(fitting, ridge)
    wanted = {
        precision: calibration.threshold_for_precision(chances, [row.answerable for row in fitting], precision)
        for precision in PRECISIONS
    }
    return {
        **as_json(fitted),
        "fitted": {**counted(fitting), "cross-validated log loss": losses},
        "measured": measured(fitted, measuring, wanted, right),
    }


# Fitting.


def fit(rows: Sequence[JudgedQuestion], ridge: float) -> tuple[Fitted, dict[str, float], list[float]]:
    """The better of both kinds by log loss on articles that were left out, fitted on all rows.

    With it come both losses, and the chances of the better kind for articles that were left out.
    """
    seen = [row for row in rows if row.features is not None]
    truths = _truths(seen)
    straight, bent = left_out(seen, ridge, bent=False), left_out(seen, ridge, bent=True)
    losses = {"logistic": log_loss(numpy.array(straight), truths), "isotonic": log_loss(numpy.array(bent), truths)}
    better = losses["isotonic"] < losses["logistic"]
    chances = dict(zip((row.id for row in seen), bent if better else straight, strict=True))
    return _fitted(seen, ridge, better), losses, [chances.get(row.id, 0.0) for row in rows]


def left_out(rows: Sequence[JudgedQuestion], ridge: float, bent: bool) -> list[float]:
    """For each row the chance by a judge that was fitted on other articles: in turn, a fifth of them is left out."""
    fold_of = folds((row.article for row in rows), _FOLDS)
    chances: dict[str, float] = {}
    for fold in sorted(set(fold_of.values())):
        others = [row for row in rows if fold_of[row.article] != fold]
        held = [row for row in rows if fold_of[row.article] == fold]
        chances |= zip((row.id for row in held), _fitted(others, ridge, bent).chances(held), strict=True)
    return [chances[row.id] for row in rows]


def _fitted(rows: Sequence[JudgedQuestion], ridge: float, bent: bool) -> Fitted:
    features, truths = _features(rows), _truths(rows)
    line = logistic(features, truths, ridge)
    return Fitted(line, isotonic(line.logits(features), truths) if bent else ())


def _features(rows: Sequence[JudgedQuestion]) -> Numbers:
    return numpy.array([row.features for row in rows], numpy.float64).reshape(-1, len(NAMES))


def _truths(rows: Sequence[JudgedQuestion]) -> Truths:
    return numpy.array([row.answerable for row in rows], bool)


def as_json(fitted: Fitted) -> dict[str, Any]:
    """As `judge/calibrated.py` reads it."""
    knots = [[round(score, 6), round(chance, 6)] for score, chance in fitted.knots]
    return fitted.line.saved(NAMES) | ({"knots": knots} if knots else {})


# Measuring.


def counted(rows: Sequence[JudgedQuestion]) -> dict[str, Any]:
    """How many questions of how many articles, and the share of answerable ones."""
    return {
        "questions": len(rows),
        "articles": len({row.article for row in rows}),
        "answerable": round(sum(row.answerable for row in rows) / len(rows), 4),
    }


def measured(
    fitted: Fitted, rows: Sequence[JudgedQuestion], wanted: Mapping[float, float | None], right: float
) -> dict[str, Any]:
    """What the judge is worth on questions that it was not fitted on.

    precision: the share of answered questions that are answerable. recall: the share of answerable questions that are
    answered. right: the share of answered questions with gold answers whose answer is right; right of all: the share
    of all answered questions. `min_chance` holds, for a wanted precision, the threshold that reached it on the fitting
    half, and what it did here.
    """
    chances, truths = fitted.chances(rows), [row.answerable for row in rows]
    best = calibration.best_f1(chances, truths)
    goods = [(row.f1 or 0.0) >= right for row in rows]
    risks = calibration.risk_coverage_curve(chances, goods)
    figures: dict[str, Any] = {
        **counted(rows),
        "answerable_f1": best.f1,
        "answerable_threshold": best.threshold,
        "answerable_f1 at 0.5": calibration.at_threshold(chances, truths, 0.5).f1,
        "answerable_ap": calibration.average_precision(chances, truths),
        "ece": calibration.expected_calibration_error(chances, truths),
        "ece, bins of equal mass": calibration.expected_calibration_error(chances, truths, binning="mass"),
        "brier": calibration.brier_score(chances, truths),
        "log loss": log_loss(numpy.array(chances), numpy.array(truths)),
        "aurc": calibration.area_under_risk_coverage(chances, goods),
        "reliability": [asdict(bin) for bin in calibration.reliability(chances, truths)],
        "risk by coverage": {f"{tenth / 10:.1f}": risks[_until(tenth, len(rows))].risk for tenth in range(1, 11)},
        "thresholds": [at(threshold, chances, rows, right) for threshold in THRESHOLDS],
        "min_chance": {
            str(precision): None if threshold is None else at(threshold, chances, rows, right)
            for precision, threshold in wanted.items()
        },
    }
    rounded: dict[str, Any] = _rounded(figures)
    return rounded


def at(threshold: float, chances: Sequence[float], rows: Sequence[JudgedQuestion], right: float) -> dict[str, float]:
    """What happens if questions are answered from this chance up."""
    answered = [row for row, chance in zip(rows, chances, strict=True) if chance >= threshold]
    golden = [row for row in answered if row.f1 is not None]
    good = sum((row.f1 or 0.0) >= right for row in golden)
    point = calibration.at_threshold(chances, [row.answerable for row in rows], threshold)
    return {
        "threshold": threshold,
        "answered": len(answered) / len(rows),
        "precision": point.precision,
        "recall": point.recall,
        "right": good / len(golden) if golden else 0.0,
        "right of all": good / len(answered) if answered else 0.0,
    }


def _until(tenth: int, count: int) -> int:
    """The place in a curve of `count` points that ends a tenth of it."""
    return max(-(-tenth * count // 10), 1) - 1


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(inside) for name, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inside) for inside in value]
    return round(value, 4) if isinstance(value, float) else value


def describe(judge: Mapping[str, Any]) -> str:
    """The figures of a `judge.json` for people."""
    fitted, figures = judge["fitted"], judge["measured"]
    losses = fitted["cross-validated log loss"]
    lines = [
        f"fitted on {fitted['questions']:,} questions of {fitted['articles']} articles, measured on "
        f"{figures['questions']:,} of {figures['articles']} others, {figures['answerable']:.0%} answerable",
        f"log loss on left-out articles: logistic {losses['logistic']:.4f}, isotonic {losses['isotonic']:.4f}; "
        f"used: {'isotonic' if 'knots' in judge else 'logistic'}",
        f"answerable F1 {figures['answerable_f1']:.3f} at {figures['answerable_threshold']:.2f}, "
        f"{figures['answerable_f1 at 0.5']:.3f} at 0.5; ECE {figures['ece']:.3f}; AURC {figures['aurc']:.3f}",
    ]
    for precision, point in figures["min_chance"].items():
        if point is None:
            lines.append(f"precision {precision} was not reached on the fitting half")
        else:
            lines.append(
                f"judge.min_chance={point['threshold']:.2f} for precision {precision}: measured "
                f"{point['precision']:.3f}, recall {point['recall']:.3f}, {point['answered']:.0%} answered, "
                f"{point['right']:.0%} of those with a gold answer right"
            )
    return "\n".join(lines)
