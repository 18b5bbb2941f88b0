"""Fits what decides between Yes and No: from the words that the reader points to, to the chance of a yes.

    OUT/weights/    the result: a folder for `runtime.yes_no`, with `polarity.json`, which `write/yes_no.py` reads

Real yes/no questions with the passage that answers them: those of MultiRC and MS MARCO whose answers begin with yes
or no, and those of SQuAD, whose answers are quotations, labelled by hand (`yes_no_squad.tsv`: id, yes or no; questions
that their answer leaves open are not in it). The shipped reader reads each; what it points to is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy

from wherefrom.build import build
from wherefrom.config import Settings
from wherefrom.data import msmarco, multirc, squad
from wherefrom.data.examples import Example
from wherefrom.errors import NotFound, SettingsError
from wherefrom.evaluate.halves import folds
from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, asks_yes_no, features
from wherefrom.lab import lab_file
from wherefrom.metrics.significance import bootstrap_interval, paired_bootstrap
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.systems.yes_no.about import Inputs
from wherefrom.train.logistic import Numbers, Truths, logistic, sigmoid
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, write_json
from wherefrom.types import Hit
from wherefrom.write.yes_no import POLARITY

LABELS = "systems/yes_no/yes_no_squad.tsv"
FOLDS = 8
SURE = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
_BATCH = 16
_BEGINNING = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_FILES = (
    "squad/train-v1.1.json.xz",
    "squad/valid-v1.1.json.xz",
    "more_reading/multirc.jsonl.xz",
    "msmarco_sample/ms_marco_sample.json.xz",
)


@dataclass(frozen=True, slots=True)
class YesNoSettings:
    """How it is fitted."""

    ridge: float = 3.0  # pull of the weights towards 0, after scaling; from 1 to 10 nothing changes
    only: str = ""  # one source alone, such as squad/train; all where none is named

    def __post_init__(self) -> None:
        if self.ridge <= 0:
            raise SettingsError(f"ridge must be above 0, not {self.ridge}")


DEFAULTS = YesNoSettings()


def stages(settings: YesNoSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """One stage: it takes a few minutes."""
    reader = Weights.named(Settings().runtime.reader)

    def made_of() -> Facts:
        data = {name: file_hash(_there(inputs.data / name)) for name in _FILES}
        read = {name: file_hash(reader.file(name)) for name in ("model.onnx", "tokenizer.json", "settings.toml")}
        labels = lab_file(LABELS)
        return {"data": data | {labels.name: file_hash(labels)}, "reader": read, **asdict(settings)}

    return [Stage("fit", out / "weights", made_of, lambda path: fit(inputs.data, path, settings, say), weights=True)]


@dataclass(frozen=True, slots=True)
class YesNoQuestion:
    """A yes/no question, the passage that answers it and whether the answer is yes."""

    source: str
    example: Example
    yes: bool


def labelled(data: Path) -> list[YesNoQuestion]:
    """All yes/no questions of the datasets that have a label."""
    for name in _FILES:
        _there(data / name)
    lines = (line.split("\t") for line in lab_file(LABELS).read_text(encoding="utf-8").splitlines())
    by_hand = {id: label == "yes" for id, label in lines}
    rows = [
        YesNoQuestion(f"squad/{split}", example, by_hand[example.question.id])
        for split in ("train", "valid")
        for example in squad.load(data / "squad", split)
        if example.question.id in by_hand
    ]
    rows += _answered("multirc", multirc.load(data / "more_reading"))
    rows += _answered("msmarco", msmarco.load(data / "msmarco_sample", "sample"))
    return [row for row in rows if asks_yes_no(row.example.question.text)]


def _there(file: Path) -> Path:
    if not file.exists():
        raise NotFound(f"{file} is not there; --data names the folder of datasets, such as $WHEREFROM_DATA")
    return file


def _answered(source: str, examples: Iterator[Example]) -> Iterator[YesNoQuestion]:
    """Those whose answers, as far as they begin with yes or no, agree."""
    for example in examples:
        words = {match[1].lower() for answer in example.answers if (match := _BEGINNING.match(answer))}
        if len(words) == 1 and any(example.relevant):
            yield YesNoQuestion(source, example, words == {"yes"})


def looked_at(rows: Sequence[YesNoQuestion], say: Say) -> Numbers:
    """(rows, features) of the reader's best candidate in the first right passage of each."""
    reader = build(Settings(), None).reader
    stems, report = Stems("english"), paced("fit: questions read", say)
    seen: list[tuple[float, ...]] = []
    for begin in range(0, len(rows), _BATCH):
        report(begin, len(rows))
        examples = [row.example for row in rows[begin : begin + _BATCH]]
        questions = [example.question for example in examples]
        hits = [[Hit(example.passages[example.relevant.index(True)], 1.0)] for example in examples]
        for question, (best, *_) in zip(questions, reader.read(questions, hits), strict=True):
            span = best.start, best.end
            seen.append(features(question.text, best.passage.title, best.passage.text, span, stems))
    return numpy.array(seen, numpy.float64)


def left_out(seen: Numbers, yes: Truths, articles: Sequence[str], ridge: float) -> Numbers:
    """The chance of yes for each row, by a line fitted on other articles."""
    fold_of = folds(articles, FOLDS)
    fold = numpy.array([fold_of[article] for article in articles])
    chances = numpy.zeros(len(yes))
    for number in sorted(set(fold_of.values())):
        held = fold == number
        chances[held] = sigmoid(logistic(seen[~held], yes[~held], ridge).logits(seen[held]))
    return chances


def measured(chances: Numbers, yes: Truths, sources: Sequence[str]) -> dict[str, Any]:
    """Accuracy by source with 95 % intervals, beside always saying yes; and what is gained by saying less."""
    right = ((chances >= 0.5) == yes).astype(float)
    figures: dict[str, Any] = {}
    for source in (*dict.fromkeys(sources), "all"):
        here = numpy.array([source in (name, "all") for name in sources])
        interval = bootstrap_interval(right[here].tolist())
        against = paired_bootstrap(right[here].tolist(), yes[here].astype(float).tolist())
        figures[source] = {
            "questions": int(here.sum()),
            "accuracy": round(interval.mean, 4),
            "interval": [round(interval.low, 4), round(interval.high, 4)],
            "always yes": round(float(yes[here].mean()), 4),
            "p": round(against.p, 4),
        }
    sure = numpy.maximum(chances, 1 - chances)
    figures["sure"] = {
        str(least): {
            "answered": round(float((sure >= least).mean()), 4),
            "accuracy": round(float(right[sure >= least].mean()), 4),
        }
        for least in SURE
        if (sure >= least).any()
    }
    return figures


def fit(data: Path, out: Path, settings: YesNoSettings, say: Say) -> Facts:
    """Fit, on all sources or on one, and write it; what was measured on articles that were left out."""
    rows = labelled(data)
    sources = [row.source for row in rows]
    chosen = numpy.array([settings.only in ("", source) for source in sources])
    if not chosen.any():
        raise NotFound(f"no question is from {settings.only}; only takes one of {', '.join(dict.fromkeys(sources))}")
    yes = numpy.array([row.yes for row in rows])
    seen = looked_at(rows, say)
    articles = [row.example.article or row.example.question.id for row in rows]
    train = numpy.array([source == "squad/train" for source in sources])
    elsewhere = sigmoid(logistic(seen[train], yes[train], settings.ridge).logits(seen[~train]))
    out.mkdir()
    write_json(out / POLARITY, logistic(seen[chosen], yes[chosen], settings.ridge).saved(NAMES))
    return {
        "left out": measured(left_out(seen, yes, articles, settings.ridge), yes, sources),
        "fitted on squad/train alone": measured(
            elsewhere, yes[~train], [source for source in sources if source != "squad/train"]
        ),
    }
