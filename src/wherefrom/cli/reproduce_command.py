"""`wherefrom reproduce`: the papers' tables, reported beside measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option, named
from wherefrom.cli.output import for_people, print_json, table

if TYPE_CHECKING:
    from wherefrom.papers.runner import RunRow
    from wherefrom.papers.table import Paper


@click.command("reproduce")
@click.argument("paper", required=False)
@click.option("--list", "only_list", is_flag=True, help="Show reported beside measured; run nothing.")
@click.option("--row", metavar="ID", help="Only this row of the paper.")
@click.option("--again", is_flag=True, help="Run rows that have a result already.")
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    metavar="DIR",
    help="Where results are kept.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="WHEREFROM_DATA",
    show_envvar=True,
    metavar="DIR",
    help="rankqa: the folder of datasets.",
)
@click.option("--library", metavar="DIR", help="rankqa: the library that is asked.")
@click.option(
    "--every", type=click.IntRange(min=1), metavar="N", default=1, help="rankqa: only every N-th question, a sample."
)
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where trainings lie; for masque and preast, what `wherefrom train augment` made, too "
    "[default: RUNS/work/rankqa or RUNS/work/writer].",
)
@click.option(
    "--device",
    metavar="DEVICE",
    help="masque, preast: train what is not trained, on cpu or cuda [default: measure what is].",
)
@click.option(
    "--pretrained",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="WHEREFROM_PRETRAINED",
    show_envvar=True,
    metavar="DIR",
    help="masque, preast: where MiniLM lies; fetched if not there [default: WORK/pretrained].",
)
@json_option
def command(
    paper: str | None,
    only_list: bool,
    row: str | None,
    again: bool,
    runs: Path,
    data: Path | None,
    library: str | None,
    every: int,
    work: Path | None,
    device: str | None,
    pretrained: Path | None,
    as_json: bool,
) -> None:
    """Run the rows of a paper's tables, or list them: reported, measured, or "not run".

    A row whose system or settings do not exist yet is refused in words. A run that fails is an error, never a
    number. Rows of masque and preast that were trained elsewhere are measured once their folders lie in WORK.
    """
    from wherefrom.papers import compare, render, results, runner
    from wherefrom.papers import table as tables

    chosen = [tables.paper(paper)] if paper else tables.papers()
    if not only_list:
        if paper is None:
            raise click.UsageError("name the paper to run, or use --list to see them all")
        run_row: RunRow = runner.refuse
        if paper == "rankqa":
            run_row = _rankqa_rows(data, named(library), work or runs / "work" / paper, every)
        elif paper in ("masque", "preast"):
            run_row = _writer_rows(chosen[0], work or runs / "work" / "writer", pretrained, device)
        summary = runner.reproduce(chosen[0], row, runs, run_row, again=again)
        for refusal in summary.refused:
            told = refusal.reason.removeprefix(f"{refusal.row.paper} {refusal.row.id}: ")
            click.echo(f"refused {refusal.row.id}: {told}", err=True)
        click.echo(f"{len(summary.saved)} rows run, {len(summary.kept)} kept, {len(summary.refused)} refused")
    found = compare.listing(chosen, results.measured(runs))
    if row:
        wanted = {tables.paper(chosen[0].slug).row(row).id} if paper else {row}
        found = [comparison for comparison in found if comparison.row.id in wanted]
    if as_json:
        print_json(render.as_objects(found))
    elif for_people():
        click.echo_via_pager(render.as_text(found))
    else:
        table(render.HEADINGS, render.lines(found))


def _rankqa_rows(data: Path | None, library: str | None, work: Path, every: int) -> RunRow:
    from wherefrom.papers.faults import RunRefused
    from wherefrom.papers.rankqa_rows import RankQARows
    from wherefrom.papers.runner import Outcome
    from wherefrom.papers.table import Row

    if data is not None and library is not None:
        return RankQARows(data, Path(library), work, every, lambda line: click.echo(line, err=True))

    def ask_for_both(row: Row) -> Outcome:
        raise RunRefused(
            f"{row.paper} {row.id}: asks the questions of squad, valid, of a library; name one with --library, and the "
            "folder of datasets with --data"
        )

    return ask_for_both


def _writer_rows(paper: Paper, work: Path, pretrained: Path | None, device: str | None) -> RunRow:
    from wherefrom.cli.train_command import check_extra
    from wherefrom.papers.writer_rows import WriterRows

    check_extra()
    return WriterRows(paper, work, pretrained, device, lambda line: click.echo(line, err=True))
