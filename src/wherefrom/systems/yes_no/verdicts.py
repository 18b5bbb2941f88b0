"""From what a network says of passages to a chance of yes, and how sure it has to be before a word is said.

Half of BoolQ's validation questions and the questions over manuals that the network has not learnt from are fitted on,
the other half is measured. Which features are used, and how sure is sure, is found by fitting on some articles of the
fitted questions and looking at the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from wherefrom.build import build
from wherefrom.config import resolve
from wherefrom.data.examples import whole
from wherefrom.evaluate.halves import folds, halved
from wherefrom.features.polarity import NAMES, TRUTH_NAMES, asks_yes_no
from wherefrom.metrics.calibration import expected_calibration_error
from wherefrom.metrics.significance import bootstrap_interval
from wherefrom.pipeline import Pipeline
from wherefrom.runtime.reader import ReaderSession
from wherefrom.runtime.weights import Weights
from wherefrom.systems.yes_no.questions import YesNoQuestion
from wherefrom.text import normalized
from wherefrom.train.logistic import Numbers, Truths, log_loss, logistic, sigmoid
from wherefrom.train.progress import paced
from wherefrom.train.stages import Say
from wherefrom.types import Hit
from wherefrom.write.explaining import ExplainingWriter
from wherefrom.write.yes_no import Hearing, YesNoWriter

FOLDS = 8
SURE = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
FITTED = ("boolq", "manuals")  # sources that are fitted on
_BATCH = 16
_STEPS = [step / 100 for step in range(50, 96)]  # how sure it may have to be
# What may be looked at, from little to all; what does not add is left out.
_SETS: Mapping[str, tuple[str, ...]] = {
    "truth": ("truth",),
    "truth and relevance": ("truth", "truth where relevant"),
    "truth and sentences": ("truth", "truth where relevant", "sentences"),
    "truth, sentences and words": TRUTH_NAMES,
    "truth and words": ("truth", "truth where relevant", *NAMES),
}


@dataclass(frozen=True, slots=True)
class HeardQuestion:
    """A question, what was heard to it and what is true."""

    source: str
    article: str
    yes: bool
    asks: bool  # for yes or no, by its form: otherwise nobody listens
    features: tuple[float, ...]
    quotes: bool | None = None  # whether the sentence that is quoted is what decides; None where nobody has said so


@dataclass(frozen=True, slots=True)
class FittedVerdicts:
    """`truth.json`, and what was measured."""

    saved: dict[str, Any]
    figures: dict[str, Any]


def reading_with(reader: Weights) -> Pipeline:
    """The default pipeline with this reader."""
    network = ["rank.kind=reader", "read.kind=span", "write.kind=verbatim", "write.yes_no=true"]
    return build(resolve(overrides=[*network, f"runtime.reader={reader.folder.resolve()}"]), None)


def says_yes_or_no(reader: Weights) -> bool:
    """Whether the network was trained for it."""
    ((reading,),) = ReaderSession(reader, 1).read(["Is it open?"], [[whole("p", "It is open.")]])
    return reading.truth is not None


def heard_of(rows: Sequence[YesNoQuestion], pipeline: Pipeline, say: Say) -> list[HeardQuestion]:
    """Every question as the pipeline hears it: passages ranked and read, then listened to."""
    report = paced("fit: questions heard", say)
    writer = pipeline.writer.other if isinstance(pipeline.writer, ExplainingWriter) else pipeline.writer
    assert isinstance(writer, YesNoWriter)
    assert pipeline.ranker is not None
    heard: list[HeardQuestion] = []
    for begin in range(0, len(rows), _BATCH):
        report(begin, len(rows))
        batch = rows[begin : begin + _BATCH]
        questions = [row.example.question for row in batch]
        given = [
            [Hit(passage, 1.0 / rank) for rank, passage in enumerate(row.example.passages, start=1)] for row in batch
        ]
        hits = pipeline.ranker.rank(questions, given)
        hearings = writer.heard(questions, hits, pipeline.reader.read(questions, hits))
        for row, hearing in zip(batch, hearings, strict=True):
            if hearing is not None:
                text = row.example.passages[0].text
                article = row.example.article if row.source != "boolq" else text  # some passages have two questions
                asks = asks_yes_no(row.example.question.text)
                quotes = _quotes(hearing, row.evidence) if row.evidence else None
                heard.append(HeardQuestion(row.source, article or text, row.yes, asks, hearing.features, quotes))
    return heard


def _quotes(hearing: Hearing, evidence: str) -> bool:
    """Whether the sentence that decides, whichever way, holds what was said to decide, or stands in it."""
    start, end = hearing.deciding(hearing.features[0] >= 0)
    quoted, wanted = normalized(hearing.passage.text[start:end]), normalized(evidence)
    return bool(quoted) and (wanted in quoted or quoted in wanted)


def left_out(seen: Numbers, yes: Truths, articles: Sequence[str], ridge: float) -> Numbers:
    """The chance of yes for each row, by a line fitted on other articles."""
    fold_of = folds(articles, FOLDS)
    fold = numpy.array([fold_of[article] for article in articles])
    chances = numpy.zeros(len(yes))
    for number in sorted(set(fold_of.values())):
        held = fold == number
        chances[held] = sigmoid(logistic(seen[~held], yes[~held], ridge).logits(seen[held]))
    return chances


def fit_verdicts(heard: Sequence[HeardQuestion], ridge: float, precision: float, coverage: float) -> FittedVerdicts:
    """The line of the best set of features, how sure it has to be, and figures on questions that it has not seen."""
    boolq = [row for row in heard if row.source == "boolq"]
    first = halved(boolq)
    fitted = [
        row for row in heard if row.source in FITTED and row.asks and (row.source != "boolq" or row.article in first)
    ]
    yes = numpy.array([row.yes for row in fitted])
    articles = [row.article for row in fitted]
    chances = {name: left_out(_columns(fitted, names), yes, articles, ridge) for name, names in _SETS.items()}
    losses = {name: log_loss(given, yes) for name, given in chances.items()}
    best = min(losses, key=lambda name: losses[name])
    line = logistic(_columns(fitted, _SETS[best]), yes, ridge)
    sure = sure_enough(chances[best], yes, [row.source for row in fitted], precision, coverage)
    used: dict[str, Any] = line.saved(_SETS[best])
    terms = {name: used["terms"].get(name, [0.0, 0.0, 1.0]) for name in TRUTH_NAMES}

    def figures(rows: Sequence[HeardQuestion], given: Numbers | None = None) -> dict[str, Any]:
        return measured_words(rows, sigmoid(line.logits(_columns(rows, _SETS[best]))) if given is None else given, sure)

    manuals = numpy.array([row.source == "manuals" for row in fitted])
    measured = {}
    if other := [row for row in boolq if row.article not in first]:
        measured["boolq, the other half"] = figures(other)
    if manuals.any():
        own = [row for row in fitted if row.source == "manuals"]
        measured["manuals, left out of the fit"] = figures(own, chances[best][manuals])
    for source in dict.fromkeys(row.source for row in heard if row.source not in FITTED):
        measured[source] = figures([row for row in heard if row.source == source])
    return FittedVerdicts(
        {"bias": used["bias"], "terms": terms, "sure": sure},
        {
            "fitted on": {source: sum(row.source == source for row in fitted) for source in FITTED},
            "looks at": best,
            "log loss": {name: round(loss, 4) for name, loss in losses.items()},
            "sure": sure,
            "measured": measured,
        },
    )


def sure_enough(chances: Numbers, yes: Truths, sources: Sequence[str], precision: float, coverage: float) -> float:
    """The least chance of a word at which `precision` of the words are right.

    Where fewer than `coverage` of the questions of a source would then get a word: the largest that leaves so many one.
    """
    certain, right = numpy.maximum(chances, 1 - chances), (chances >= 0.5) == yes
    apart = [certain[numpy.array([each == source for each in sources])] for source in dict.fromkeys(sources)]
    wide = [least for least in _STEPS if all((own >= least).mean() >= coverage for own in apart)] or _STEPS[:1]
    exact = [least for least in wide if right[certain >= least].mean() >= precision]
    return min(exact) if exact else max(wide)


def measured_words(rows: Sequence[HeardQuestion], chances: Numbers, sure: float) -> dict[str, Any]:
    """How many questions get a word, and how many of the words are right, as sure as it has to be and otherwise.

    Questions whose form does not ask for yes or no count as questions without a word.
    """
    yes, asks = numpy.array([row.yes for row in rows]), numpy.array([row.asks for row in rows])
    certain, right = numpy.where(asks, numpy.maximum(chances, 1 - chances), 0.0), (chances >= 0.5) == yes

    def at(least: float) -> dict[str, float]:
        enough = certain >= least
        accuracy = {"accuracy": round(float(right[enough].mean()), 4)} if enough.any() else {}
        return {"answered": round(float(enough.mean()), 4), **accuracy}

    words = right[certain >= sure].astype(float).tolist()
    interval = bootstrap_interval(words) if words else None
    quotes = [row.quotes for row in rows if row.quotes is not None]
    return {
        "questions": len(rows),
        "always yes": round(float(yes.mean()), 4),
        **at(sure),
        "interval": [round(interval.low, 4), round(interval.high, 4)] if interval else [],
        "ece": round(expected_calibration_error(certain[asks].tolist(), right[asks].tolist()), 4)
        if asks.any()
        else None,
        **({"quotes what decides": round(sum(quotes) / len(quotes), 4)} if quotes else {}),
        "sure": {str(least): at(least) for least in SURE},
    }


def described(figures: Mapping[str, Any]) -> list[str]:
    """The figures for people, a line each."""
    lines = [f"looks at {figures['looks at']}; says a word from a chance of {figures['sure']}"]
    for source, measured in figures["measured"].items():
        lines.append(
            f"{source}: {measured['questions']} questions, a word for {100 * measured['answered']:.1f} %, right in "
            f"{100 * measured.get('accuracy', 0.0):.1f} % of those (always yes: {100 * measured['always yes']:.1f} %)"
        )
    return lines


def _columns(rows: Sequence[HeardQuestion], names: Sequence[str]) -> Numbers:
    places = [TRUTH_NAMES.index(name) for name in names]
    return numpy.array([[row.features[place] for place in places] for row in rows], numpy.float64).reshape(
        -1, len(names)
    )
