"""The judge's regressions: fitted on questions over all kinds of documents, measured on kinds that were left out.

In two steps. All kinds say which way each sign points, and how much it weighs beside the others; each has a bias of its
own there, since their gold answers are of different worth: of two right answers on what to do with a pizza, a set may
know one. Then those kinds whose golds can be relied on say how large the chance is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy

from wherefrom.evaluate.halves import folds
from wherefrom.judge.signs import NAMES, OF_SECOND
from wherefrom.metrics import calibration
from wherefrom.systems.judge.libraries import YES_NO
from wherefrom.systems.judge.material import TEN, JudgedQuestion
from wherefrom.systems.judge.regression import area_under_roc, direction, scaled, weighted_isotonic
from wherefrom.train.errors import TrainingError
from wherefrom.train.logistic import Knots, Logistic, Numbers, Truths, interpolated, log_loss, logistic, sigmoid

PRECISION = 0.85  # of the answers that are given, on documents that it was not fitted on
PRECISIONS = (0.8, 0.85, 0.9, 0.95)
THRESHOLDS = tuple(step / 20 for step in range(1, 20))
SAYS = "the chance that the answer is right"
_FOLDS = 5

# What is fitted, and to which side it may count; 0: to either.
SIGNS = {
    "relevance": 1,
    "other relevance": 0,
    "span": 1,
    "answer relevance": 1,
    "null margin": 1,
    "best null margin": 1,
    "own passage": 1,
    "share": 1,
    "kin": 1,
    "lead": 1,
    "elsewhere": 1,
    "near coverage": 1,
    "passage coverage": 1,
    "hits coverage": 0,
    "rarest missing": -1,
    "names missing": -1,
    "numbers missing": -1,
    "retrieved": 1,
    "kind fits": 1,
    "kind misses": -1,
    "answer length": 0,
    "echo": -1,
    "question length": 0,
    "keywords": -1,
    "description": -1,
    "yes or no": -1,
    "nearness": 1,
    "near nearness": 1,
    "nearness lead": 1,
    "order share": 1,
    "order lead": 1,
    "second first": 1,
    "second mean": 1,
    "second place": 1,
    "second answerable": 1,
}
FITTED = tuple(SIGNS)
ALONE = tuple(name for name in FITTED if name not in OF_SECOND)  # where no second opinion is asked for
# Of the word, for questions of yes or no.
WORD_SIGNS = (
    "sureness",
    "sure and relevant",
    "agreeing",
    "leading relevance",
    "leading coverage",
    "leading rarest missing",
    "leading names missing",
)
WORD_RIDGE = 3.0  # hundreds of questions, few signs
# Kinds whose gold answers are short, and nearly all there are.
EXACT = (TEN, "encyclopedia", "stories", "manuals")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A judge: a logistic regression and, where it does better, knots that bend its chances into place."""

    line: Logistic
    knots: Knots  # () where the logistic's own chances are better
    names: tuple[str, ...] = FITTED

    def chances(self, rows: Sequence[JudgedQuestion]) -> list[float]:
        """0 where nothing was found, as `CalibratedJudge` has it."""
        known = [place for place, row in enumerate(rows) if row.features is not None]
        chances = [0.0] * len(rows)
        if known:
            logits = self.line.logits(_features([rows[place] for place in known], self.names))
            given = interpolated(self.knots, logits) if self.knots else sigmoid(logits)
            for place, chance in zip(known, given, strict=True):
                chances[place] = float(chance)
        return chances


def fitted_judge(
    rows: Sequence[JudgedQuestion], fitting_half: Collection[str], ridge: float, right: float
) -> dict[str, Any]:
    """A judge as JSON, and what it is worth: on kinds left out, and on the ten-passage set's other half of articles.

    It is fitted on the questions whose articles are in the fitting half, and on all that are of other sets. Where there
    are second opinions, a line that does without is fitted beside.
    """
    words = [row for row in rows if row.kind == YES_NO and row.features is not None]
    rows = [row for row in rows if row.kind != YES_NO]
    measuring = [row for row in rows if row.kind == TEN and row.article not in fitting_half]
    kept_apart = {row.article for row in measuring}
    fitting = [row for row in rows if row.article.rpartition(" ")[2] not in kept_apart]
    for half in (fitting, measuring):
        seen = [row for row in half if row.features is not None]
        if len({row.answerable for row in seen}) < 2 or (half is fitting and len({row.article for row in seen}) < 2):
            raise TrainingError(
                f"{len(half)} questions are not enough to fit a judge: both halves of the articles need answerable and "
                "unanswerable ones; take more questions"
            )
    names = FITTED if _has_second(rows) else ALONE
    fitted, losses, _ = fit(fitting, ridge, names)
    _, _, chances = fit(rows, ridge, names)  # each kind by a judge of the others: there no half has to be kept apart
    wanted = {precision: threshold_for(chances, rows, precision) for precision in PRECISIONS}
    return {
        "says": SAYS,
        **as_json(fitted),
        **({"alone": _fitted_alone(fitting, rows, ridge)} if names == FITTED else {}),
        **({"yes_no": fitted_word(words)} if words else {}),
        "min_chance": {str(precision): wanted[precision] for precision in PRECISIONS},
        "fitted": {**counted(fitting), "cross-validated log loss": losses},
        "left out": by_kind(chances, rows, wanted[PRECISION]),
        "measured": measured(fitted, measuring, wanted, right),
    }


# Fitting.


def _has_second(rows: Sequence[JudgedQuestion]) -> bool:
    places = [NAMES.index(name) for name in OF_SECOND]
    return any(row.features is not None and any(row.features[place] for place in places) for row in rows)


def _fitted_alone(fitting: Sequence[JudgedQuestion], rows: Sequence[JudgedQuestion], ridge: float) -> dict[str, Any]:
    """The line without a second opinion, and what it is worth on kinds left out."""
    fitted, _, _ = fit(fitting, ridge, ALONE)
    _, _, chances = fit(rows, ridge, ALONE)
    return {**as_json(fitted), "left out": by_kind(chances, rows, threshold_for(chances, rows, PRECISION))}


def fitted_word(rows: Sequence[JudgedQuestion]) -> dict[str, Any]:
    """The chance that the word is right, of questions of yes or no, and what it is worth on articles left out."""
    truths = _truths(rows)
    if truths.all() or not truths.any() or len({row.article for row in rows}) < _FOLDS:
        raise TrainingError(f"{len(rows)} questions of yes or no are too few to fit a judge of them; take more")
    features = _features(rows, WORD_SIGNS)
    fold_of = folds((row.article for row in rows), _FOLDS)
    parts = numpy.array([fold_of[row.article] for row in rows])
    chances = numpy.zeros(len(rows))
    for part in sorted(set(parts.tolist())):
        line = logistic(features[parts != part], truths[parts != part], WORD_RIDGE)
        chances[parts == part] = sigmoid(line.logits(features[parts == part]))
    figures: dict[str, Any] = {
        "questions": len(rows),
        "answerable": sum(row.answerable for row in rows) / len(rows),
        "right": float(truths.mean()),
        "auc": area_under_roc(chances, truths),
        "ece": calibration.expected_calibration_error(chances.tolist(), truths.tolist()),
        f"coverage at precision {PRECISION}": _coverage(chances.tolist(), truths.tolist()),
    }
    return logistic(features, truths, WORD_RIDGE).saved(WORD_SIGNS) | {"left out": _rounded(figures)}


def fit(
    rows: Sequence[JudgedQuestion], ridge: float, names: Sequence[str] = FITTED
) -> tuple[Fitted, dict[str, float], list[float]]:
    """The better of both kinds by log loss on what was left out, fitted on all rows.

    With it come both losses, and the chances of the better kind for what was left out.
    """
    seen = [row for row in rows if row.features is not None]
    straight, bent = (left_out(seen, ridge, bent, names) for bent in (False, True))
    losses = {"logistic": _exact_loss(straight, seen), "isotonic": _exact_loss(bent, seen)}
    better = losses["isotonic"] < losses["logistic"]
    chances = dict(zip((row.id for row in seen), bent if better else straight, strict=True))
    return _fitted(seen, ridge, better, names), losses, [chances.get(row.id, 0.0) for row in rows]


def left_out(rows: Sequence[JudgedQuestion], ridge: float, bent: bool, names: Sequence[str] = FITTED) -> list[float]:
    """For each row the chance by a judge that was fitted on other kinds of documents.

    Where fewer than two kinds with exact golds are left then, on other articles: in turn, a fifth of them is left out.
    """
    if len({row.kind for row in rows if row.kind in EXACT}) >= 3:
        parts = [row.kind for row in rows]
    else:
        fold_of = folds((row.article for row in rows), _FOLDS)
        parts = [str(fold_of[row.article]) for row in rows]
    chances = [0.0] * len(rows)
    for part in sorted(set(parts)):
        others = [row for row, own in zip(rows, parts, strict=True) if own != part]
        places = [place for place, own in enumerate(parts) if own == part]
        given = _fitted(others, ridge, bent, names).chances([rows[place] for place in places])
        for place, chance in zip(places, given, strict=True):
            chances[place] = chance
    return chances


def _fitted(rows: Sequence[JudgedQuestion], ridge: float, bent: bool, names: Sequence[str]) -> Fitted:
    signs, kinds = [SIGNS[name] for name in names], [row.kind for row in rows]
    weights, centres, scales = direction(_features(rows, names), _truths(rows), kinds, signs, ridge)
    exact = [row for row in rows if row.kind in EXACT] or list(rows)
    scores = (_features(exact, names) - centres) / scales @ weights
    truths, counts = _truths(exact), _weights(exact)
    factor, bias = scaled(scores, truths, counts)
    line = Logistic(bias, factor * weights, centres, scales)
    knots = weighted_isotonic(line.logits(_features(exact, names)), truths, counts) if bent else ()
    return Fitted(line, knots, tuple(names))


def _features(rows: Sequence[JudgedQuestion], names: Sequence[str]) -> Numbers:
    places = [NAMES.index(name) for name in names]
    return numpy.array([row.features for row in rows], numpy.float64).reshape(-1, len(NAMES))[:, places]


def _truths(rows: Sequence[JudgedQuestion]) -> Truths:
    return numpy.array([row.right for row in rows], bool)


def _weights(rows: Sequence[JudgedQuestion]) -> Numbers:
    """Every kind counts alike; the mean is 1."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.kind] = counts.get(row.kind, 0) + 1
    return numpy.array([len(rows) / len(counts) / counts[row.kind] for row in rows])


def _exact_loss(chances: Sequence[float], rows: Sequence[JudgedQuestion]) -> float:
    """-log of the chance given to what came true, over kinds with exact golds, each counting alike."""
    places = _exact_places(rows)
    exact = [rows[place] for place in places]
    given = numpy.array([chances[place] if rows[place].right else 1.0 - chances[place] for place in places])
    weights = _weights(exact)
    return float(-(weights * numpy.log(numpy.clip(given, 1e-12, 1.0))).sum() / weights.sum())


def _exact_places(rows: Sequence[JudgedQuestion]) -> list[int]:
    return [place for place, row in enumerate(rows) if row.kind in EXACT] or list(range(len(rows)))


def as_json(fitted: Fitted) -> dict[str, Any]:
    """As `judge/calibrated.py` reads it."""
    knots = [[round(score, 6), round(chance, 6)] for score, chance in fitted.knots]
    return fitted.line.saved(fitted.names) | ({"knots": knots} if knots else {})


# Measuring.


def threshold_for(chances: Sequence[float], rows: Sequence[JudgedQuestion], precision: float) -> float | None:
    """The smallest chance from which so many of the answers are right, every kind with exact golds counting alike;
    None if there is none. Every higher chance, on a grid of hundredths, keeps it too: one lucky answer does not count.
    """
    places = _exact_places(rows)
    exact = [rows[place] for place in places]
    given, truths, weights = numpy.array([chances[place] for place in places]), _truths(exact), _weights(exact)
    least = None
    for step in range(99, 0, -1):
        answered = given >= step / 100
        if answered.any() and (weights * truths)[answered].sum() / weights[answered].sum() < precision:
            break
        if answered.any():
            least = step / 100
    return least


def by_kind(
    chances: Sequence[float], rows: Sequence[JudgedQuestion], threshold: float | None
) -> dict[str, dict[str, Any]]:
    """What a judge that was fitted on the other kinds is worth on each, and the mean.

    answered and precision are those at the threshold that the default is chosen by; coverage is the largest share of
    questions that can be answered at precision 0.85, if the threshold were chosen for this kind.
    """
    figures: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        places = [place for place, row in enumerate(rows) if row.kind == kind]
        given, truths = [chances[place] for place in places], [rows[place].right for place in places]
        answered = [true for chance, true in zip(given, truths, strict=True) if threshold and chance >= threshold]
        figures[kind] = {
            "exact": kind in EXACT,
            "questions": len(places),
            "right": sum(truths) / len(truths),
            "auc": area_under_roc(numpy.array(given), numpy.array(truths, bool)),
            "ece": calibration.expected_calibration_error(given, truths),
            f"coverage at precision {PRECISION}": _coverage(given, truths),
            "answered": len(answered) / len(places),
            "precision": sum(answered) / len(answered) if answered else 1.0,
        }
    names = [name for name in next(iter(figures.values())) if name not in ("exact", "questions")]
    for title, chosen in (
        ("mean", list(figures.values())),
        ("mean of exact", [r for r in figures.values() if r["exact"]]),
    ):
        if chosen:
            means = {name: float(numpy.mean([each[name] for each in chosen])) for name in names}
            count = sum(each["questions"] for each in chosen)
            figures[title] = {"exact": title != "mean", "questions": count, **means}
    rounded: dict[str, dict[str, Any]] = _rounded(figures)
    return rounded


def _coverage(chances: Sequence[float], truths: Sequence[bool]) -> float:
    best, right = 0, 0
    ordered = sorted(zip(chances, truths, strict=True), key=lambda pair: -pair[0])
    for count, (_, true) in enumerate(ordered, start=1):
        right += true
        if right / count >= PRECISION:
            best = count
    return best / len(ordered)


def counted(rows: Sequence[JudgedQuestion]) -> dict[str, Any]:
    """How many questions of how many articles, and the shares of answerable ones and of right answers."""
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row.kind] = kinds.get(row.kind, 0) + 1
    return {
        "questions": len(rows),
        "articles": len({row.article for row in rows}),
        "answerable": round(sum(row.answerable for row in rows) / len(rows), 4),
        "right": round(sum(row.right for row in rows) / len(rows), 4),
        "kinds": kinds,
    }


def measured(
    fitted: Fitted, rows: Sequence[JudgedQuestion], wanted: Mapping[float, float | None], right: float
) -> dict[str, Any]:
    """What the judge is worth on questions that it was not fitted on.

    ece, brier and log loss are of the chance that the answer is right. answerable_f1 and its like ask how well it also
    tells questions with an answer from those without: precision is the share of answered questions that are answerable,
    recall the share of answerable questions that are answered. right: the share of answered questions with gold answers
    whose answer is right (F1 from `right` up); right of all: the share of all answered questions. `min_chance` holds,
    for a wanted precision, the threshold that reached it on kinds that were left out, and what it did here.
    """
    chances, truths = fitted.chances(rows), [row.answerable for row in rows]
    best = calibration.best_f1(chances, truths)
    goods = [(row.f1 or 0.0) >= right for row in rows]
    rights = [row.right for row in rows]
    risks = calibration.risk_coverage_curve(chances, goods)
    figures: dict[str, Any] = {
        **counted(rows),
        "answerable_f1": best.f1,
        "answerable_threshold": best.threshold,
        "answerable_f1 at 0.5": calibration.at_threshold(chances, truths, 0.5).f1,
        "answerable_ap": calibration.average_precision(chances, truths),
        "ece": calibration.expected_calibration_error(chances, rights),
        "ece, bins of equal mass": calibration.expected_calibration_error(chances, rights, binning="mass"),
        "brier": calibration.brier_score(chances, rights),
        "log loss": log_loss(numpy.array(chances), numpy.array(rights)),
        "aurc": calibration.area_under_risk_coverage(chances, goods),
        "reliability": [asdict(bin) for bin in calibration.reliability(chances, rights)],
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
        f"fitted on {fitted['questions']:,} questions over {len(fitted['kinds'])} kinds of documents, "
        f"{fitted['right']:.0%} of the first candidates right",
        f"log loss on what was left out: logistic {losses['logistic']:.4f}, isotonic {losses['isotonic']:.4f}; "
        f"used: {'isotonic' if 'knots' in judge else 'logistic'}",
        "each kind judged by a judge of the others; * golds can be relied on:",
        f"{'':14} questions  right   AUC    ECE   cover. at {PRECISION}  answered  precision",
    ]
    for kind, row in judge["left out"].items():
        lines.append(
            f"{kind + ('*' if row['exact'] else ''):14} {row['questions']:9,} {row['right']:6.0%} "
            f"{row['auc']:6.3f} {row['ece']:6.3f} "
            f"{row[f'coverage at precision {PRECISION}']:14.0%} {row['answered']:9.0%} {row['precision']:10.0%}"
        )
    if "alone" in judge:
        row = judge["alone"]["left out"]["mean of exact"]
        lines.append(
            f"{'* without':14} {row['questions']:9,} {row['right']:6.0%} {row['auc']:6.3f} {row['ece']:6.3f} "
            f"{row[f'coverage at precision {PRECISION}']:14.0%} {row['answered']:9.0%} {row['precision']:10.0%}"
            "   a second opinion"
        )
    if "yes_no" in judge:
        row = judge["yes_no"]["left out"]
        lines.append(
            f"{'yes or no':14} {row['questions']:9,} {row['right']:6.0%} {row['auc']:6.3f} {row['ece']:6.3f} "
            f"{row[f'coverage at precision {PRECISION}']:14.0%}"
        )
    for precision, threshold in judge["min_chance"].items():
        if threshold is None:
            lines.append(f"precision {precision} was not reached on kinds that were left out")
        else:
            lines.append(f"judge.min_chance={threshold:.2f} for precision {precision} on kinds that were left out")
    lines += [
        f"ten passages, {figures['questions']:,} questions of {figures['articles']} articles it was not fitted on: "
        f"answerable F1 {figures['answerable_f1']:.3f} at {figures['answerable_threshold']:.2f}, "
        f"{figures['answerable_f1 at 0.5']:.3f} at 0.5; ECE {figures['ece']:.3f}; AURC {figures['aurc']:.3f}"
    ]
    return "\n".join(lines)
