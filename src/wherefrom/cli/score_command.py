"""`wherefrom score`: compare predictions with gold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option
from wherefrom.cli.output import for_people, print_json, say, strong, table

if TYPE_CHECKING:
    from wherefrom.evaluate.consistency import Consistency
    from wherefrom.evaluate.score import DatasetScores, Difference


@click.command("score")
@click.argument("dataset")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("predictions", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--split", default="valid", show_default=True, help="Which split, if FILE is the dataset's folder.")
@click.option(
    "--against",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Predictions of another system: how much better is the first, and is it chance? Or the same "
    "system's traces in another style: do both say the same?",
)
@click.option("--every", type=click.IntRange(min=1), metavar="N", default=1, help="Only every N-th question: a sample.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the scores as JSON, for `wherefrom report`.",
)
@json_option
def command(
    dataset: str,
    file: Path,
    predictions: Path,
    split: str,
    against: Path | None,
    every: int,
    limit: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Score predictions: our traces, SQuAD's {id: text}, MS MARCO lines or a TREC run.

    Metrics are in per cent, but map, mrr and ndcg_10 go from 0 to 1. Questions without a prediction count as
    wrong. Intervals are 95 % by bootstrap over questions.
    """
    from itertools import islice

    from wherefrom.data import catalog
    from wherefrom.evaluate import score as scoring
    from wherefrom.evaluate.consistency import consistency
    from wherefrom.evaluate.predictions import read_predictions

    chosen = catalog.dataset(dataset)
    examples = list(islice(islice(chosen.load(file, split), 0, None, every), limit))
    predicted = read_predictions(predictions)
    scores = scoring.score(chosen, examples, predicted)
    result = scores.flat()
    compared: dict[str, Difference] = {}
    styles: Consistency | None = None
    if against is not None:
        other = read_predictions(against)
        compared = scoring.compare(scoring.scored(chosen, examples, predicted), scoring.scored(chosen, examples, other))
        result["against"] = compared
        styles = consistency(predicted, other, [example.question.id for example in examples])
        if styles is not None:
            result["styles"] = styles
    if out is not None:
        import msgspec

        noted = _run_note(predictions)
        out.write_bytes(msgspec.json.format(msgspec.json.encode({**result, "run": noted}), indent=1) + b"\n")
    if as_json:
        print_json(result)
    else:
        _print_scores(scores, compared)
        if styles is not None:
            _print_styles(styles)


def _run_note(predictions: Path) -> object:
    """What the predictions were made of, where that was noted."""
    import msgspec

    for note in (Path(f"{predictions}.run.json"), Path(f"{predictions}.traces.jsonl.run.json")):
        if note.exists():
            return msgspec.json.decode(note.read_bytes())
    return None


def _print_scores(scores: DatasetScores, compared: dict[str, Difference]) -> None:
    rows = []
    for name, value in scores.metrics.items():
        low, high = scores.intervals.get(name, (None, None))
        interval = f"{_number(name, low)} to {_number(name, high)}" if low is not None and high is not None else ""
        rows.append((name, _number(name, value), interval))
    table(("metric", "value", "95 %"), rows, right=("value",))
    if for_people():
        words = f"; an answer has {scores.lengths['all']:.1f} words" if "all" in scores.lengths else ""
        say(f"{scores.dataset}: {scores.examples:,} examples, {scores.missing:,} without a prediction{words}")
        for heading, groups in (("type", scores.by_type), ("keyword", scores.by_keyword)):
            wanted = ("em", "f1", "rouge_l", "bleu_1", "map", "mrr", "accuracy")
            names: list[str] = [name for name in wanted if name in scores.metrics]
            if names and any("words" in values for values in groups.values()):
                names.append("words")
            if names and len(groups) > 1:
                say(strong(f"\nby {heading}"))
                table(
                    (heading, "examples", *names),
                    [
                        (group, f"{int(values['examples']):,}", *(_number(n, values.get(n)) for n in names))
                        for group, values in groups.items()
                    ],
                    right=("examples", *names),
                )
    for name, difference in compared.items():
        say(
            f"{name}: {_number(name, difference.one)} against {_number(name, difference.other)}, "
            f"difference {difference.difference:+.4g}, p = {difference.t_test_p:.4f} (t-test), "
            f"{difference.bootstrap_p:.4f} (bootstrap)"
        )


def _print_styles(styles: Consistency) -> None:
    say(
        f"{styles.one} against {styles.other}: {styles.questions:,} questions answered in both, "
        f"{styles.one_alone:,} in {styles.one} alone, {styles.other_alone:,} in {styles.other} alone; "
        f"{styles.agrees:.2f} % agree, {styles.zero_overlap:.2f} % share no word, "
        f"{styles.contradicts:.2f} % say yes and no; "
        f"{styles.words_one:.1f} words against {styles.words_other:.1f}"
    )


def _number(name: str, value: float | None) -> str:
    from wherefrom.evaluate.score import FRACTIONS

    if value is None:
        return "-"
    small = name in (*FRACTIONS, "ece", "brier", "aurc") or name.endswith(("threshold", "min_chance"))
    return f"{value:.4f}" if small else f"{value:.2f}"
