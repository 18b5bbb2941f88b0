"""`wherefrom reproduce`: the papers' tables, reported beside measured."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import json_option
from wherefrom.cli.output import for_people, print_json, table


@click.command("reproduce")
@click.argument("paper", required=False)
@click.option("--list", "only_list", is_flag=True, help="Show reported beside measured; run nothing.")
@click.option("--row", metavar="ID", help="Only this row of the paper.")
@click.option("--again", is_flag=True, help="Run rows that have a result already.")
@click.option("--runs", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
              metavar="DIR", help="Where results are kept.")  # fmt: skip
@json_option
def command(paper: str | None, only_list: bool, row: str | None, again: bool, runs: Path, as_json: bool) -> None:
    """Run the rows of a paper's tables, or list them: reported, measured, or "not run".

    A row whose system or settings do not exist yet is refused in words. A run that fails is an error, never a
    number.
    """
    from wherefrom.papers import compare, render, results, runner
    from wherefrom.papers import table as tables

    chosen = [tables.paper(paper)] if paper else tables.papers()
    if not only_list:
        if paper is None:
            raise click.UsageError("name the paper to run, or use --list to see them all")
        summary = runner.reproduce(chosen[0], row, runs, again=again)
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
