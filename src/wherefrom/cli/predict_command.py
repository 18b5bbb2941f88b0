"""`wherefrom predict`: run a pipeline over a dataset."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from wherefrom.cli.options import library_options, named, workers_options
from wherefrom.cli.output import say
from wherefrom.cli.progress import counted
from wherefrom.config import Settings, WriteSettings, resolve
from wherefrom.types import STYLES, Style

_SOURCES = ("gold", "given", "library")
_FORMATS = ("traces", "squad", "trec", "msmarco")


@click.command("predict")
@click.argument("dataset")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Where the predictions go; an interrupted run is gone on with.",
)
@click.option(
    "--from",
    "source",
    type=click.Choice(_SOURCES),
    default="given",
    show_default=True,
    help="Where passages come from: the gold ones, all that the dataset gives, or the library.",
)
@click.option("--split", default="valid", show_default=True, help="Which split, if FILE is the dataset's folder.")
@click.option("--style", type=click.Choice(STYLES), help="How answers are told [default: write.style].")
@click.option(
    "--min-chance",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Decline below this chance [default: judge.min_chance where the dataset has questions without an "
    "answer, else 0].",
)
@click.option("--every", type=click.IntRange(min=1), metavar="N", default=1, help="Only every N-th question: a sample.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N questions.")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="traces",
    show_default=True,
    help="Our traces, or a dataset's official submission format.",
)
@workers_options
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@library_options
def command(
    dataset: str,
    file: Path,
    out: Path,
    source: str,
    split: str,
    style: Style | None,
    min_chance: float | None,
    every: int,
    limit: int | None,
    form: str,
    workers: int | None,
    cluster: str,
    quiet: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Run the pipeline over the questions of a dataset and keep what it says.

    Traces go to OUT, one a line, with OUT.run.json beside them: what they were made of. With another --format
    the traces are kept in OUT.traces.jsonl, and OUT is written from them at the end.
    """
    from wherefrom.build import build
    from wherefrom.data import catalog
    from wherefrom.evaluate import predict as run_of
    from wherefrom.library import Library

    chosen = catalog.dataset(dataset)
    resolved = resolve(toml, overrides, Settings(write=WriteSettings(yes_no=not chosen.quotes)))
    if source == "library":
        opened = Library(named(library), resolved)
        pipeline, in_force = opened.pipeline(), opened.settings()
    else:
        pipeline, in_force = build(resolved, None), resolved
    needed = min_chance if min_chance is not None else in_force.judge.min_chance if chosen.declines else 0.0
    run = run_of.PredictionRun(
        dataset=dataset,
        file=file.name,
        data_sha256=run_of.facts_of_data(file),
        passages_from=run_of.SOURCES[_SOURCES.index(source)],
        style=style or in_force.write.style,
        min_chance=needed,
        limit=limit,
        settings=run_of.resolved(in_force),
        every=every,
        weights=run_of.weights_of(pipeline),
    )
    traces = out if form == "traces" else out.with_name(out.name + ".traces.jsonl")
    with ExitStack() as closing:
        over = None
        if workers is not None:
            from wherefrom.scale.predict import over_workers
            from wherefrom.scale.workers import cluster as started

            closing.enter_context(started(workers, cluster))
            of_library = Path(opened.path).absolute() if source == "library" else None
            over = over_workers(in_force, of_library, run, workers)
        report = closing.enter_context(counted(f"predict {dataset}", limit, quiet))
        done = run_of.predict(chosen.load(file, split), pipeline, run, traces, report, over)
    if form != "traces":
        run_of.export(run_of.read_traces(traces), run_of.FORMATS[_FORMATS.index(form)], out)
    if not quiet:
        say(f"{done:,} predictions in {out}")
