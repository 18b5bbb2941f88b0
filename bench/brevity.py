"""How much a reader's shorter spans should be preferred: python -m bench.brevity --data DIR --out FILE.

    python -m bench.brevity --data $DATA --out brevity-drqa.json --set read.kind=drqa

Every question of squad, valid, is read once over its own paragraph, without any preference. The candidates are then put
in order by score - brevity * log(tokens), for one brevity after another. Chosen on the other half: what comes out if
each half of the articles is answered with the brevity that is best on the other.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import facts
from bench.corpus import DataMissing
from bench.report import Verdict
from bench.running import count, exit_code, row
from wherefrom.build import build
from wherefrom.config import Settings, resolve
from wherefrom.data import squad
from wherefrom.data.examples import Example
from wherefrom.data.opening import split_file
from wherefrom.durable import write_text
from wherefrom.errors import WherefromError
from wherefrom.evaluate.predict import resolved, weights_of
from wherefrom.metrics.answers import exact_match, token_f1
from wherefrom.origin import file_hash
from wherefrom.stages import Reader
from wherefrom.train.progress import paced
from wherefrom.types import Candidate, Hit

BREVITIES = tuple(step / 10 for step in range(13))  # 0 to 1.2
FIXED = ("read.brevity=false", "read.candidates=40")  # candidates enough that the best at any brevity is among them
_BATCH = 16  # questions read together


@dataclass(frozen=True, slots=True)
class Scores:
    """Means in percent."""

    em: float
    f1: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One question: the half that its article is in, exact match and F1 at each brevity."""

    half: int
    em: tuple[float, ...]
    f1: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What one brevity gives."""

    brevity: float
    all: Scores
    halves: tuple[Scores, Scores]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Each half answered with the brevity of best exact match on the other; the smaller one where two are equal."""

    brevities: tuple[float, float]  # that the first half and the second half are answered with
    all: Scores


@dataclass(frozen=True, slots=True)
class Run:
    """One run."""

    facts: facts.Facts
    date: str
    settings: Mapping[str, Any]
    weights: Mapping[str, str]
    data_sha256: Mapping[str, str]
    every: int
    questions: int
    articles: int
    rows: tuple[Row, ...]
    chosen_on_the_other_half: Chosen


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)

    def measured() -> list[Verdict]:
        try:
            run = bench(options.data, resolve(overrides=[*options.set, *FIXED]), options.every)
        except WherefromError as error:
            raise DataMissing(str(error)) from error
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_text(options.out, json.dumps(asdict(run), indent=1) + "\n")
        print(table(run))
        return []  # nothing was promised of it

    return exit_code(measured)


def bench(data: Path, settings: Settings, every: int = 1) -> Run:
    """Read the questions once, then choose among their candidates at every brevity."""
    file = split_file(data / "squad", "valid", squad.FILES)
    examples = list(squad.load(file, "valid"))
    half = halves([example.article for example in examples])
    examples = examples[::every]
    if {half[example.article] for example in examples} != {0, 1}:
        raise DataMissing(
            f"{file.name} must have questions of two articles or more, to choose on one and try on another"
        )
    found = facts.collect(("wherefrom", "numpy", "onnxruntime"))
    pipeline = build(settings, None)
    asked = answered(pipeline.reader, examples, half, paced("bench", _say))
    return Run(
        facts=found,
        date=datetime.now(UTC).date().isoformat(),
        settings=resolved(settings),
        weights=weights_of(pipeline),
        data_sha256={file.name: file_hash(file)},
        every=every,
        questions=len(asked),
        articles=len({example.article for example in examples}),
        rows=tuple(_row(asked, place) for place in range(len(BREVITIES))),
        chosen_on_the_other_half=chosen(asked),
    )


def halves(articles: Sequence[str]) -> dict[str, int]:
    """0 or 1 for each article: every second one by name."""
    return {article: place % 2 for place, article in enumerate(sorted(set(articles)))}


def answered(
    reader: Reader, examples: Sequence[Example], half: Mapping[str, int], report: Callable[[int, int], None]
) -> list[Asked]:
    """Every question over its own passages."""
    found: list[Asked] = []
    report(0, len(examples))
    for begin in range(0, len(examples), _BATCH):
        some = examples[begin : begin + _BATCH]
        hits = [[Hit(passage, 1.0) for passage in example.passages] for example in some]
        for example, candidates in zip(some, reader.read([each.question for each in some], hits), strict=True):
            said = [best(candidates, brevity) for brevity in BREVITIES]
            em = {text: exact_match(text, example.answers, "1.1") for text in set(said)}
            f1 = {text: token_f1(text, example.answers, "1.1") for text in set(said)}
            of = half[example.article]
            found.append(Asked(of, tuple(em[text] for text in said), tuple(f1[text] for text in said)))
        report(len(found), len(examples))
    return found


def best(candidates: Sequence[Candidate], brevity: float) -> str:
    """The answer that comes first at a brevity; nothing where nothing was read."""
    if not candidates:
        return ""
    return max(candidates, key=lambda c: c.score - brevity * math.log(c.features["tokens"])).text


def chosen(asked: Sequence[Asked]) -> Chosen:
    """How good a brevity is on articles that it was not chosen on."""
    parts = [[question for question in asked if question.half == half] for half in (0, 1)]
    favourites = [
        max(range(len(BREVITIES)), key=lambda place: sum(question.em[place] for question in part)) for part in parts
    ]
    places = favourites[1], favourites[0]
    em = [question.em[places[question.half]] for question in asked]
    f1 = [question.f1[places[question.half]] for question in asked]
    return Chosen((BREVITIES[places[0]], BREVITIES[places[1]]), Scores(_percent(em), _percent(f1)))


def table(run: Run) -> str:
    """For people."""
    lines = [row(["brevity", "EM", "F1", "EM, halves", "F1, halves"]), "|--:|--:|--:|--:|--:|"]
    for each in run.rows:
        one, two = each.halves
        cells = [f"{each.brevity:.1f}", f"{each.all.em:.2f}", f"{each.all.f1:.2f}"]
        lines.append(row([*cells, f"{one.em:.2f}, {two.em:.2f}", f"{one.f1:.2f}, {two.f1:.2f}"]))
    other = run.chosen_on_the_other_half
    lines += [
        "",
        f"chosen on the other half ({other.brevities[0]:.1f} and {other.brevities[1]:.1f}): EM {other.all.em:.2f}, "
        f"F1 {other.all.f1:.2f}; {run.questions:,} questions of {run.articles} articles",
    ]
    return "\n".join(lines)


def _row(asked: Sequence[Asked], place: int) -> Row:
    def scores(some: Sequence[Asked]) -> Scores:
        return Scores(
            _percent([question.em[place] for question in some]), _percent([question.f1[place] for question in some])
        )

    one, two = (scores([question for question in asked if question.half == half]) for half in (0, 1))
    return Row(BREVITIES[place], scores(asked), (one, two))


def _percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / len(values), 3)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.brevity", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of datasets; it holds squad/")
    parser.add_argument("--out", type=Path, required=True, help="a JSON file")
    parser.add_argument("--every", type=count, default=1, metavar="N", help="take every Nth question (default all)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="such as read.kind=drqa")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
