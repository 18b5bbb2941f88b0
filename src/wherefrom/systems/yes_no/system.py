"""Fits what decides between Yes and No: from what a reader says of passages, and points to, to the chance of a yes.

    OUT/weights/    the result: a folder for `runtime.yes_no`, which `write/yes_no.py` reads: `polarity.json`, for the
                    words that any reader points to, and `truth.json`, where the reader's network says yes and no itself

Real yes/no questions with the passage that answers them: those of MultiRC and MS MARCO whose answers begin with yes
or no, and those of SQuAD, whose answers are quotations, labelled by hand (`yes_no_squad.tsv`: id, yes or no; questions
that their answer leaves open are not in it). The reader reads each; what it points to is looked at. What a network says
itself is weighed by other questions, which it has not learnt from (`verdicts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy

from wherefrom.config import Settings
from wherefrom.errors import NotFound, SettingsError
from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, features
from wherefrom.lab import lab_file
from wherefrom.metrics.significance import bootstrap_interval, paired_bootstrap
from wherefrom.origin import file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.stages import Reader
from wherefrom.systems.yes_no.about import Inputs
from wherefrom.systems.yes_no.questions import (
    BOOLQ,
    FILES,
    LABELS,
    YesNoQuestion,
    boolq_questions,
    labelled,
    manual_questions,
    there,
)
from wherefrom.systems.yes_no.verdicts import (
    SURE,
    described,
    fit_verdicts,
    heard_of,
    left_out,
    reading_with,
    says_yes_or_no,
)
from wherefrom.train.given import named
from wherefrom.train.logistic import Numbers, Truths, logistic, sigmoid
from wherefrom.train.progress import paced
from wherefrom.train.stages import Facts, Say, Stage, write_json
from wherefrom.types import Hit
from wherefrom.write.yes_no import POLARITY, TRUTH

_BATCH = 16


@dataclass(frozen=True, slots=True)
class YesNoSettings:
    """How it is fitted."""

    ridge: float = 3.0  # pull of the weights towards 0, after scaling; from 1 to 10 nothing changes
    only: str = ""  # polarity: one source alone, such as squad/train; all where none is named
    precision: float = 0.85  # truth: share of the words that shall be right ...
    coverage: float = (
        0.8  # ... as long as so many questions of each source get one; 1 in 20 of BoolQ's has another form
    )

    def __post_init__(self) -> None:
        if self.ridge <= 0:
            raise SettingsError(f"ridge must be above 0, not {self.ridge}")
        if not 0.0 < self.precision <= 1.0 or not 0.0 < self.coverage <= 1.0:
            raise SettingsError(f"precision and coverage are shares up to 1, not {self.precision}, {self.coverage}")


DEFAULTS = YesNoSettings()


def stages(settings: YesNoSettings, inputs: Inputs, out: Path, say: Say) -> list[Stage]:
    """One stage: it takes a few minutes."""
    reader = Weights.named(Settings().runtime.reader) if inputs.weights is None else Weights(inputs.weights)

    def made_of() -> Facts:
        files = [*FILES, BOOLQ] if says_yes_or_no(reader) else FILES
        data = {name: file_hash(there(inputs.data / name)) for name in files}
        if inputs.manuals is not None:
            data[inputs.manuals.name] = file_hash(named(inputs.manuals, "--manuals"))
        read = {name: file_hash(reader.file(name)) for name in ("model.onnx", "tokenizer.json", "settings.toml")}
        labels = lab_file(LABELS)
        return {"data": data | {labels.name: file_hash(labels)}, "reader": read, **asdict(settings)}

    def make(path: Path) -> Facts:
        path.mkdir()
        return fit(inputs, reader, path, settings, say) | fit_truth(inputs, reader, path, settings, say)

    return [Stage("fit", out / "weights", made_of, make, weights=True)]


def looked_at(rows: Sequence[YesNoQuestion], reader: Reader, say: Say) -> Numbers:
    """(rows, features) of the reader's best candidate in the first right passage of each."""
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


def fit(inputs: Inputs, reader: Weights, out: Path, settings: YesNoSettings, say: Say) -> dict[str, Any]:
    """Fit what words say, on all sources or on one, and write it; what was measured on articles that were left out."""
    rows = labelled(inputs.data)
    sources = [row.source for row in rows]
    chosen = numpy.array([settings.only in ("", source) for source in sources])
    if not chosen.any():
        raise NotFound(f"no question is from {settings.only}; only takes one of {', '.join(dict.fromkeys(sources))}")
    yes = numpy.array([row.yes for row in rows])
    seen = looked_at(rows, reading_with(reader).reader, say)
    articles = [row.example.article or row.example.question.id for row in rows]
    train = numpy.array([source == "squad/train" for source in sources])
    elsewhere = sigmoid(logistic(seen[train], yes[train], settings.ridge).logits(seen[~train]))
    write_json(out / POLARITY, logistic(seen[chosen], yes[chosen], settings.ridge).saved(NAMES))
    return {
        "left out": measured(left_out(seen, yes, articles, settings.ridge), yes, sources),
        "fitted on squad/train alone": measured(
            elsewhere, yes[~train], [source for source in sources if source != "squad/train"]
        ),
    }


def fit_truth(inputs: Inputs, reader: Weights, out: Path, settings: YesNoSettings, say: Say) -> dict[str, Any]:
    """Fit what the network says itself, and write it; nothing where it was not trained to."""
    if not says_yes_or_no(reader):
        say("fit: the reader's network does not say yes or no; what words say decides alone")
        return {}
    boolq, manuals = boolq_questions(inputs.data), [] if inputs.manuals is None else manual_questions(inputs.manuals)
    others = labelled(inputs.data)
    heard = heard_of([*boolq, *manuals, *others], reading_with(reader), say)
    fitted = fit_verdicts(heard, settings.ridge, settings.precision, settings.coverage)
    write_json(out / TRUTH, fitted.saved)
    for line in described(fitted.figures):
        say(f"fit: {line}")
    return {"truth": fitted.figures}
