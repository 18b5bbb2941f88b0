"""`wherefrom data`: the datasets that can be loaded, and the ten-passage set."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import json_option
from wherefrom.cli.output import print_json, say, table
from wherefrom.cli.progress import counted


@click.group("data")
def command() -> None:
    """List datasets, or build the ten-passage set."""


@command.command("list")
@json_option
def list_datasets(as_json: bool) -> None:
    """List the datasets that `predict` and `score` know."""
    from wherefrom.data import catalog

    if as_json:
        print_json(
            [
                {"name": d.name, "about": d.about, "family": d.family, "folder": d.folder, "splits": d.splits}
                for d in catalog.DATASETS.values()
            ]
        )
        return
    rows = [(d.name, d.family, ", ".join(d.splits), d.about) for d in catalog.DATASETS.values()]
    table(("name", "family", "splits", "about"), rows)


@command.command("ten-passages")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    envvar="WHEREFROM_DATA",
    show_envvar=True,
    metavar="DIR",
    help="The folder that holds squad, qa2d and wikipedia.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Where train.jsonl.gz, valid.jsonl.gz and ten-passages.json go.",
)
@click.option("--seed", type=int, default=2024, show_default=True)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N questions a split.")
@click.option(
    "--unanswerable",
    type=click.FloatRange(0.0, 1.0),
    default=0.35,
    show_default=True,
    help="The share of questions whose gold passage is left out.",
)
@click.option(
    "--match/--no-match", default=True, help="Of what BM25 finds, the nearest in meaning; or as BM25 has them."
)
@click.option("--titles", is_flag=True, help="Give passages their article's title, as in a library; MS MARCO has none.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
def ten_passages(
    data: Path,
    out: Path,
    seed: int,
    limit: int | None,
    unanswerable: float,
    titles: bool,
    match: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Build ten-passage examples from SQuAD, QA2D and Wikipedia, in the layout of MS MARCO v2.1.

    Ten passages a question found by our own retriever, relevance labels, short answers, sentences where QA2D has
    one, query types. The same seed gives the same bytes; train and valid share no article and no passage.
    """
    from wherefrom.evaluate.ten_passages import TenPassagesSettings, build

    settings = TenPassagesSettings(seed=seed, limit=limit, unanswerable=unanswerable, titles=titles, match=match)
    with counted("ten-passages", None, quiet or as_json) as report:
        facts = build(data, out, settings, lambda _split, done, _total: report(done))
    if as_json:
        print_json(facts)
        return
    for split, counts in facts.items():
        say(
            f"{split}: {counts.questions:,} questions, {counts.answerable:,} answerable, "
            f"{counts.well_formed:,} with a sentence; {out / counts.file}"
        )


@command.command("passages")
@click.argument("dataset")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--split", default="valid", show_default=True, help="Which split, if FILE is the dataset's folder.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE.jsonl",
    help="One {id, title, text} a line, as `wherefrom ingest` reads it.",
)
def passages(dataset: str, file: Path, split: str, out: Path) -> None:
    """Write the passages of a dataset as documents, to be ingested into a library and searched."""
    import json

    from wherefrom.data import catalog

    seen: set[str] = set()
    fresh = out.with_name(out.name + ".new")
    with fresh.open("w", encoding="utf-8") as lines:
        for example in catalog.dataset(dataset).load(file, split):
            for passage in example.passages:
                if passage.id not in seen:
                    seen.add(passage.id)
                    row = {"id": passage.id, "title": passage.title, "text": passage.text}
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    fresh.replace(out)
    say(f"{len(seen):,} passages in {out}")
