"""Predictions are scored against gold: means with intervals, breakdowns, curves, and comparisons of two systems.

Which metrics apply follows from the golds that an example has and from what was predicted. Names are plain:
em, f1, recall, accuracy (patterns), rouge_l, bleu_1 to bleu_4, meteor, rouge_1_f and the like for summaries,
p_1, top_1, top_5, top_20, answerable_f1, and of written answers (`written`) copied_exact, from_passage, from_relevant,
words_from_relevant (the same of all words), attested, agrees, strange, repeats in per cent; map, mrr, ndcg_10, ece,
brier, aurc and thresholds from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from wherefrom.data.catalog import Dataset
from wherefrom.data.examples import Example
from wherefrom.errors import WherefromError
from wherefrom.evaluate.predictions import Prediction
from wherefrom.features.querytype import query_type
from wherefrom.metrics import answers, calibration, ranking, rouge, significance, styles
from wherefrom.metrics.bleu import corpus_bleu
from wherefrom.metrics.meteor import meteor
from wherefrom.metrics.rouge import rouge_l_marco
from wherefrom.metrics.tokens import marco_tokens, narrative_tokens

FRACTIONS = ("map", "mrr", "ndcg_10")  # printed from 0 to 1; every other mean in per cent
_RIGHT = 0.5  # F1 from which an answer counts as right
_DEPTHS = (1, 5, 20)
_SAMPLES = 1000


class ScoreError(WherefromError):
    """Predictions and gold do not fit together; the message says how."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One example with its prediction and every score that is its own (0 to 1)."""

    example: Example
    prediction: Prediction
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class DatasetScores:
    """What predictions are worth."""

    dataset: str
    examples: int
    missing: int  # examples without a prediction; they count as wrong
    unknown: int  # predictions for questions that the dataset does not have
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]  # 95 %, bootstrap over questions
    by_type: dict[str, dict[str, float]]
    by_keyword: dict[str, dict[str, float]]
    lengths: dict[str, float]  # words of an answer, by question type
    curves: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    def flat(self) -> dict[str, Any]:
        """One object with the metrics under their plain names."""
        return {
            "dataset": self.dataset,
            "examples": self.examples,
            "missing": self.missing,
            "unknown": self.unknown,
            **self.metrics,
            "intervals": self.intervals,
            "by_type": self.by_type,
            "by_keyword": self.by_keyword,
            "lengths": self.lengths,
            "curves": self.curves,
        }


def score(dataset: Dataset, examples: Sequence[Example], predictions: Mapping[str, Prediction]) -> DatasetScores:
    """Score every example; one without a prediction counts as wrong."""
    rows = scored(dataset, examples, predictions)
    metrics = metrics_of(dataset, rows)
    if not metrics:
        raise ScoreError(f"these predictions hold nothing that {dataset.name} has gold for: {_wanted(dataset)}")
    answerability, curves = _answerability(rows)
    return DatasetScores(
        dataset=dataset.name,
        examples=len(rows),
        missing=sum(row.example.question.id not in predictions for row in rows),
        unknown=len(predictions.keys() - {row.example.question.id for row in rows}),
        metrics=metrics | _thresholds(dataset, rows) | answerability,
        intervals=_intervals(rows),
        by_type=_breakdown(dataset, rows, lambda row: row.example.kind or query_type(row.example.question.text)),
        by_keyword=_breakdown(dataset, rows, lambda row: styles.keyword(row.example.question.text)),
        lengths=_lengths(rows),
        curves=curves,
    )


def scored(dataset: Dataset, examples: Sequence[Example], predictions: Mapping[str, Prediction]) -> list[Scored]:
    """Each example with its own scores; rankings without a relevant passage have none, as trec_eval has it."""
    if not examples:
        raise ScoreError("there are no examples to score")
    if not any(example.question.id in predictions for example in examples):
        raise ScoreError(
            f"none of the {len(predictions)} predictions is for a question of {dataset.name}; is it the right file?"
        )
    if dataset.family == "selection" and not any(prediction.ranking for prediction in predictions.values()):
        raise ScoreError(f"these predictions hold nothing that {dataset.name} has gold for: {_wanted(dataset)}")
    with_texts = any(prediction.texts is not None for prediction in predictions.values())
    rows = []
    for example in examples:
        id = example.question.id
        prediction = predictions.get(id) or Prediction(id, "", texts=() if with_texts else None)
        rows.append(Scored(example, prediction, _values(dataset, example, prediction)))
    return rows


def metrics_of(dataset: Dataset, rows: Sequence[Scored]) -> dict[str, float]:
    """The means over the examples, and what belongs to all of them together."""
    return _means(rows) | _corpus(dataset, rows)


def _wanted(dataset: Dataset) -> str:
    return "it needs rankings (traces or a TREC run)" if dataset.family == "selection" else "it needs answers"


def references(example: Example, style: str) -> tuple[str, ...]:
    """What a written answer is compared with: sentences for the sentence style where there are any."""
    return example.sentences if example.sentences and (style == "sentence" or not example.answers) else example.answers


# One example.


def _values(dataset: Dataset, example: Example, prediction: Prediction) -> dict[str, float]:
    values: dict[str, float] = {}
    if prediction.text is not None and dataset.family != "summary":
        values |= _answer_values(dataset, example, prediction.text, prediction.style)
    if prediction.ranking or prediction.texts is not None or dataset.family == "selection":
        values |= _ranking_values(dataset, example, prediction)
    if prediction.style == "sentence":
        values |= prediction.written
        if copied := _from_relevant(example, prediction):
            values["from_relevant"] = fmean(copied)
    summary = prediction.summary if prediction.summary is not None else prediction.text
    if example.summaries and summary is not None:
        values |= _summary_values(example, summary)
    return values


def _answer_values(dataset: Dataset, example: Example, text: str, style: str) -> dict[str, float]:
    if example.patterns:
        return {
            "accuracy": answers.matches_pattern(text, example.patterns),
            "contained": float(answers.contains_pattern(text, example.patterns)),
        }
    if example.answerable is False:
        declined = float(not text)
        return {"em": declined, "f1": declined} if dataset.name == "squad2" else {"declined": declined}
    values: dict[str, float] = {}
    if example.answers:
        rules: answers.Rules = "2.0" if dataset.name == "squad2" else "1.1"
        values["em"] = answers.exact_match(text, example.answers, rules)
        values["f1"] = answers.token_f1(text, example.answers, rules)
        values["recall"] = answers.token_recall(text, example.answers, rules)
        values["contained"] = float(answers.contains_answer(text, example.answers))
        values["right"] = float(values["f1"] >= _RIGHT or values["contained"])
    golds = references(example, style)
    if golds and (dataset.family == "generation" or (style == "sentence" and example.sentences)):
        tokens = _tokens(dataset)
        values["rouge_l"] = rouge_l_marco(tokens(text), [tokens(gold) for gold in golds]).f
        if dataset.name == "narrativeqa":
            values["meteor"] = meteor(tokens(text), [tokens(gold) for gold in golds])
    return values


def _ranking_values(dataset: Dataset, example: Example, prediction: Prediction) -> dict[str, float]:
    values: dict[str, float] = {}
    if example.relevant and any(example.relevant):
        gains: Sequence[float] = example.grades or example.relevant
        judged = {passage.id: float(gain) for passage, gain in zip(example.passages, gains, strict=True)}
        known = {id: value for id, value in prediction.ranking if id in judged}
        # Equal scores by trec_eval's rule: a dataset may list its right passages first, which must earn nothing.
        ranked = ranking.ranked_run(known, judged, ties="trec")
        if known or dataset.family == "selection":
            values |= {
                "map": ranking.average_precision(ranked),
                "mrr": ranking.reciprocal_rank(ranked),
                "p_1": ranking.precision_at(ranked, 1),
                "ndcg_10": ranking.ndcg_at(ranked, 10),
            }
    if prediction.texts is not None and (example.answers or example.patterns) and example.answerable is not False:
        held = [_holds(text, example) for text in prediction.texts]
        values |= {f"top_{depth}": float(any(held[:depth])) for depth in _DEPTHS}
    return values


def _holds(text: str, example: Example) -> bool:
    if example.patterns:
        return answers.contains_pattern(text, example.patterns)
    return answers.contains_answer(text, example.answers)


def _summary_values(example: Example, summary: str) -> dict[str, float]:
    scores = rouge.rouge(summary, example.summaries, ("1", "2", "L", "SU4"), rouge.DUC)
    return {
        f"rouge_{kind.lower()}_{name[0]}": getattr(value, name)
        for kind, value in scores.items()
        for name in ("recall", "precision", "f")
    }


def _tokens(dataset: Dataset) -> Callable[[str], tuple[str, ...]]:
    return narrative_tokens if dataset.name == "narrativeqa" else marco_tokens


# Many examples.


def _scaled(name: str, value: float) -> float:
    return value if name in FRACTIONS else 100.0 * value


def _columns(rows: Sequence[Scored]) -> dict[str, list[float]]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.values.items():
            columns.setdefault(name, []).append(value)
    return columns


def _means(rows: Sequence[Scored]) -> dict[str, float]:
    return {name: _scaled(name, fmean(values)) for name, values in _columns(rows).items()}


def _intervals(rows: Sequence[Scored]) -> dict[str, tuple[float, float]]:
    intervals = {}
    for name, values in _columns(rows).items():
        interval = significance.bootstrap_interval(values, samples=_SAMPLES)
        intervals[name] = (_scaled(name, interval.low), _scaled(name, interval.high))
    return intervals


def _from_relevant(example: Example, prediction: Prediction) -> list[bool]:
    """Of every copied word, whether its passage is relevant; nothing where no passage is known to be."""
    if not any(example.relevant):
        return []
    right = {passage.id for passage, gold in zip(example.passages, example.relevant, strict=True) if gold}
    return [id in right for id in prediction.copied_from]


def _corpus(dataset: Dataset, rows: Sequence[Scored]) -> dict[str, float]:
    """What belongs to a corpus, not to its answers: BLEU, and shares of all copied words."""
    tokens = _tokens(dataset)
    copied = [
        relevant
        for row in rows
        if "from_relevant" in row.values
        for relevant in _from_relevant(row.example, row.prediction)
    ]
    metrics = {"words_from_relevant": 100.0 * fmean(copied)} if copied else {}
    written = [row for row in rows if "rouge_l" in row.values]
    if not written:
        return metrics
    predicted = [tokens(row.prediction.text or "") for row in written]
    golds = [[tokens(gold) for gold in references(row.example, row.prediction.style)] for row in written]
    bleu = enumerate(corpus_bleu(predicted, golds, smoothing="coco"), start=1)
    return metrics | {f"bleu_{n}": 100.0 * value for n, value in bleu}


def _thresholds(dataset: Dataset, rows: Sequence[Scored]) -> dict[str, float]:
    """SQuAD 2.0: the best that declining by the chance could reach."""
    if dataset.name != "squad2" or any(row.prediction.chance is None for row in rows):
        return {}
    texts = [row.prediction.text or row.prediction.withheld for row in rows]
    doubts = [1.0 - (row.prediction.chance or 0.0) for row in rows]
    has_answer = [row.example.answerable is not False for row in rows]
    metrics: dict[str, float] = {}
    for name, measure in (("em", answers.exact_match), ("f1", answers.token_f1)):
        each = [measure(text, row.example.answers) for text, row in zip(texts, rows, strict=True)]
        best = answers.best_no_answer_threshold(each, doubts, has_answer, texts)
        metrics |= {f"best_{name}": 100.0 * best.score, f"best_{name}_min_chance": 1.0 - best.threshold}
    return metrics


def _answerability(rows: Sequence[Scored]) -> tuple[dict[str, float], dict[str, list[dict[str, float]]]]:
    """How well the chance separates answerable questions from others, where there are both; and its curves."""
    labelled = [row for row in rows if row.example.answerable is not None and row.prediction.chance is not None]
    chances = [row.prediction.chance or 0.0 for row in labelled]
    truths = [bool(row.example.answerable) for row in labelled]
    metrics: dict[str, float] = {}
    curves: dict[str, list[dict[str, float]]] = {}
    if any(truths) and not all(truths):
        best = calibration.best_f1(chances, truths)
        metrics |= {
            "answerable_f1": 100.0 * best.f1,
            "answerable_threshold": best.threshold,
            "answerable_ap": 100.0 * calibration.average_precision(chances, truths),
            "ece": calibration.expected_calibration_error(chances, truths),
            "brier": calibration.brier_score(chances, truths),
        }
        curves["precision_recall"] = [
            {"threshold": point.threshold, "precision": point.precision, "recall": point.recall}
            for point in _thinned(calibration.precision_recall_curve(chances, truths))
        ]
        curves["calibration"] = [
            {"count": float(bin.count), "chance": bin.chance, "truth": bin.truth}
            for bin in calibration.reliability(chances, truths)
            if bin.count
        ]
    judged = [
        row
        for row in rows
        if row.prediction.chance is not None and (row.example.answers or row.example.answerable is False)
    ]
    if any(row.example.answers for row in judged):
        right = [_is_right(row) for row in judged]
        confidence = [row.prediction.chance or 0.0 for row in judged]
        metrics["aurc"] = calibration.area_under_risk_coverage(confidence, right)
        curves["risk_coverage"] = [
            {"coverage": point.coverage, "risk": point.risk}
            for point in _thinned(calibration.risk_coverage_curve(confidence, right))
        ]
    return metrics, curves


def _is_right(row: Scored) -> bool:
    """Whether answering is right: with a gold answer at an F1 of a half, and never where there is none.

    A sentence or a quotation is right that holds a gold answer, whatever else it says.
    """
    text, golds = row.prediction.text or row.prediction.withheld, row.example.answers
    if row.example.answerable is False:
        return False
    held = row.prediction.style in ("sentence", "quote") and answers.contains_answer(text, golds)
    return held or answers.token_f1(text, golds, "1.1") >= _RIGHT


def _thinned(points: Sequence[Any], most: int = 200) -> list[Any]:
    """At most so many points of a curve, evenly, with the last one."""
    if len(points) <= most:
        return list(points)
    return [points[number * (len(points) - 1) // (most - 1)] for number in range(most)]


def _breakdown(dataset: Dataset, rows: Sequence[Scored], group: Callable[[Scored], str]) -> dict[str, dict[str, float]]:
    members: dict[str, list[Scored]] = {}
    for row in rows:
        members.setdefault(group(row), []).append(row)
    ordered = sorted(members.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return {
        name: {"examples": len(group_rows), **_means(group_rows), **_corpus(dataset, group_rows), **_words(group_rows)}
        for name, group_rows in ordered
    }


def _words(rows: Sequence[Scored]) -> dict[str, float]:
    """How long the answers are that were given, in words."""
    lengths = [len(narrative_tokens(row.prediction.text)) for row in rows if row.prediction.text]
    return {"words": fmean(lengths)} if lengths else {}


def _lengths(rows: Sequence[Scored]) -> dict[str, float]:
    answered = [row for row in rows if row.prediction.text]
    if not answered:
        return {}
    groups = [row.example.kind or query_type(row.example.question.text) for row in answered]
    means = styles.length_by_group(groups, [row.prediction.text or "" for row in answered])
    return {"all": _words(answered)["words"]} | {name: mean.mean for name, mean in means.items()}


# Two systems.


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better the first system is in one metric, and how likely that is chance."""

    one: float
    other: float
    difference: float
    interval: tuple[float, float]  # 95 %, bootstrap over questions
    t_test_p: float
    bootstrap_p: float


def compare(one: Sequence[Scored], other: Sequence[Scored]) -> dict[str, Difference]:
    """Every metric that both systems have for the same questions, paired by question."""
    theirs = {row.example.question.id: row.values for row in other}
    names: Iterable[str] = dict.fromkeys(name for row in one for name in row.values)
    differences: dict[str, Difference] = {}
    for name in names:
        pairs = [
            (row.values[name], theirs[row.example.question.id][name])
            for row in one
            if name in row.values and name in theirs.get(row.example.question.id, {})
        ]
        if len(pairs) < 2:
            continue
        a, b = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        interval = significance.paired_interval(a, b, samples=2000)
        differences[name] = Difference(
            _scaled(name, fmean(a)),
            _scaled(name, fmean(b)),
            _scaled(name, fmean(a) - fmean(b)),
            (_scaled(name, interval.low), _scaled(name, interval.high)),
            significance.paired_t_test(a, b).p,
            significance.paired_bootstrap(a, b, samples=2000).p,
        )
    return differences
