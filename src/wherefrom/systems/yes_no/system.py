"""Fits what decides between Yes and No: from the words that the reader points to, to the chance of a yes.

    python -m wherefrom.systems.yes_no.system --data $WHEREFROM_DATA --out weights/yes-no

Real yes/no questions with the passage that answers them: those of MultiRC and MS MARCO whose answers begin with yes
or no, and those of SQuAD, whose answers are quotations, labelled by hand (`yes_no_squad.tsv`: id, yes or no; questions
that their answer leaves open are not in it). The shipped reader reads each; what it points to is looked at. Writes
`polarity.json`, which `write/yes_no.py` reads, and `provenance.json` with what was measured on left-out articles.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from wherefrom.build import build
from wherefrom.config import Settings
from wherefrom.data import msmarco, multirc, squad
from wherefrom.data.examples import Example
from wherefrom.durable import write_text
from wherefrom.errors import NotFound
from wherefrom.features.overlap import Stems
from wherefrom.features.polarity import NAMES, asks_yes_no, features
from wherefrom.metrics.significance import bootstrap_interval, paired_bootstrap
from wherefrom.origin import commit_of, file_hash
from wherefrom.runtime.weights import Weights
from wherefrom.systems.judge.material import model_hashes
from wherefrom.train.logistic import Numbers, Truths, logistic, sigmoid
from wherefrom.types import Hit
from wherefrom.write.yes_no import POLARITY

LABELS = Path(__file__).with_name("yes_no_squad.tsv")
RIDGE = 3.0  # pull of the weights towards 0, after scaling; from 1 to 10 nothing changes
FOLDS = 8
SURE = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
_BATCH = 16
_SAID = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)
_FILES = (
    "squad/train-v1.1.json.xz",
    "squad/valid-v1.1.json.xz",
    "more_reading/multirc.jsonl.xz",
    "msmarco_sample/ms_marco_sample.json.xz",
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A yes/no question, the passage that answers it and whether the answer is yes."""

    source: str
    example: Example
    yes: bool


def labelled(data: Path) -> list[Labelled]:
    """All yes/no questions of the datasets that have a label."""
    for name in _FILES:
        if not (data / name).exists():
            raise NotFound(f"{data / name} is not there; --data names the folder of datasets, such as $WHEREFROM_DATA")
    rows = (line.split("\t") for line in LABELS.read_text(encoding="utf-8").splitlines())
    by_hand = {id: label == "yes" for id, label in rows}
    found = [
        Labelled(f"squad/{split}", example, by_hand[example.question.id])
        for split in ("train", "valid")
        for example in squad.load(data / "squad", split)
        if example.question.id in by_hand
    ]
    found += _answered("multirc", multirc.load(data / "more_reading"))
    found += _answered("msmarco", msmarco.load(data / "msmarco_sample", "sample"))
    return [row for row in found if asks_yes_no(row.example.question.text)]


def _answered(source: str, examples: Iterator[Example]) -> Iterator[Labelled]:
    """Those whose answers, as far as they begin with yes or no, agree."""
    for example in examples:
        said = {match[1].lower() for answer in example.answers if (match := _SAID.match(answer))}
        if len(said) == 1 and any(example.relevant):
            yield Labelled(source, example, said == {"yes"})


def looked_at(rows: Sequence[Labelled], report: Callable[[int], None] = lambda _: None) -> Numbers:
    """(rows, features) of the reader's best candidate in the first right passage of each."""
    pipeline = build(Settings(), None)
    stems = Stems("english")
    found: list[tuple[float, ...]] = []
    for begin in range(0, len(rows), _BATCH):
        examples = [row.example for row in rows[begin : begin + _BATCH]]
        questions = [example.question for example in examples]
        hits = [[Hit(example.passages[example.relevant.index(True)], 1.0)] for example in examples]
        for question, read in zip(questions, pipeline.reader.read(questions, hits), strict=True):
            best = read[0]
            span = best.start, best.end
            found.append(features(question.text, best.passage.title, best.passage.text, span, stems))
        report(len(found))
    return numpy.array(found, numpy.float64)


def left_out(seen: Numbers, yes: Truths, articles: Sequence[str]) -> Numbers:
    """The chance of yes for each row, by a line fitted on other articles."""
    names = sorted(set(articles), key=lambda article: hashlib.sha256(article.encode()).hexdigest())
    folds = {article: place % FOLDS for place, article in enumerate(names)}
    fold = numpy.array([folds[article] for article in articles])
    chances = numpy.zeros(len(yes))
    for number in range(FOLDS):
        held = fold == number
        if held.any():
            chances[held] = sigmoid(logistic(seen[~held], yes[~held], RIDGE).logits(seen[held]))
    return chances


def measured(chances: Numbers, yes: Truths, sources: Sequence[str]) -> dict[str, Any]:
    """Accuracy by source with 95 % intervals, beside always saying yes; and what is gained by saying less."""
    right = ((chances >= 0.5) == yes).astype(float)
    found: dict[str, Any] = {}
    for source in (*dict.fromkeys(sources), "all"):
        here = numpy.array([source in (name, "all") for name in sources])
        interval = bootstrap_interval(right[here].tolist())
        against = paired_bootstrap(right[here].tolist(), yes[here].astype(float).tolist())
        found[source] = {
            "questions": int(here.sum()),
            "accuracy": round(interval.mean, 4),
            "interval": [round(interval.low, 4), round(interval.high, 4)],
            "always yes": round(float(yes[here].mean()), 4),
            "p": round(against.p, 4),
        }
    sure = numpy.maximum(chances, 1 - chances)
    found["sure"] = {
        str(least): {
            "answered": round(float((sure >= least).mean()), 4),
            "accuracy": round(float(right[sure >= least].mean()), 4),
        }
        for least in SURE
        if (sure >= least).any()
    }
    return found


def fit(data: Path, out: Path, only: str = "", report: Callable[[int], None] = lambda _: None) -> dict[str, Any]:
    """Fit, on all sources or on one, measure, and write both files; what was measured."""
    rows = labelled(data)
    sources = [row.source for row in rows]
    yes = numpy.array([row.yes for row in rows])
    seen = looked_at(rows, report)
    chances = left_out(seen, yes, [row.example.article or row.example.question.id for row in rows])
    train = numpy.array([source == "squad/train" for source in sources])
    elsewhere = sigmoid(logistic(seen[train], yes[train], RIDGE).logits(seen[~train]))
    kept = numpy.array([only in ("", source) for source in sources])
    if not kept.any():
        raise NotFound(f"no question is from {only}; --only takes one of {', '.join(dict.fromkeys(sources))}")
    commit, changed = commit_of()
    provenance = {
        "model": "yes-no",
        "command": "python -m wherefrom.systems.yes_no.system --data $WHEREFROM_DATA --out weights/yes-no",
        "data": {name: file_hash(data / name) for name in _FILES} | {LABELS.name: file_hash(LABELS)},
        "reader": model_hashes(Weights.named(Settings().runtime.reader).folder),
        "fitted on": only or "all",
        "ridge": RIDGE,
        "seed": None,  # nothing is drawn: articles are dealt by a hash of their names
        "left out": measured(chances, yes, sources),
        "fitted on squad/train alone": measured(
            elsewhere, yes[~train], [source for source in sources if source != "squad/train"]
        ),
        "commit": commit,
        "uncommitted_changes": changed,
    }
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / POLARITY, json.dumps(logistic(seen[kept], yes[kept], RIDGE).saved(NAMES), indent=2) + "\n")
    provenance["files"] = {POLARITY: file_hash(out / POLARITY)}
    write_text(out / "provenance.json", json.dumps(provenance, indent=2) + "\n")
    return provenance


def main() -> None:
    parser = argparse.ArgumentParser(description="Fits what decides between Yes and No.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of datasets")
    parser.add_argument("--out", type=Path, required=True, help="where polarity.json and provenance.json go")
    parser.add_argument("--only", default="", help="fit on one source alone, such as squad/train")
    given = parser.parse_args()
    print(json.dumps(fit(given.data, given.out, given.only), indent=2))


if __name__ == "__main__":
    main()
