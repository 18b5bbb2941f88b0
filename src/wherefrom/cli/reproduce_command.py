"""`wherefrom reproduce`: the papers' tables, reported beside measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import click

from wherefrom.cli.options import input_options, json_option, values_of
from wherefrom.cli.output import for_people, print_json, printable, say, table
from wherefrom.systems import table as systems
from wherefrom.systems.contract import input_fields


def _inputs() -> type:
    """The inputs of all systems, each name once; its help says whose it is where systems differ."""
    by_name: dict[str, Any] = {}
    for name in systems.SYSTEMS:
        kind = systems.about(name).inputs
        hints = get_type_hints(kind)
        for each in input_fields(kind):
            fresh = field(default=None, metadata=each.metadata)  # a field remembers the class it was made for
            by_name.setdefault(each.name, (each.name, hints[each.name], fresh))
    return make_dataclass("Inputs", by_name.values())


class _WithInputs(click.Command):
    """Has, beside its own options, one for every input of every system in the table."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)

        def nothing() -> None: ...

        inputs = click.command()(_decorated(nothing, input_options(_inputs(), needed=False))).params
        return [*own[:-1], *inputs, own[-1]]  # --help is the last


def _decorated(function: Callable[..., None], options: list[Any]) -> Callable[..., None]:
    for option in reversed(options):
        function = option(function)
    return function


@click.command("reproduce", cls=_WithInputs)
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
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where systems are made, a folder each: the OUT of `wherefrom train` [default: RUNS/work].",
)
@click.option("--train", "may_train", is_flag=True, help="Train what is not trained [default: measure what is].")
@json_option
def command(
    paper: str | None,
    only_list: bool,
    row: str | None,
    again: bool,
    runs: Path,
    work: Path | None,
    may_train: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Run the rows of a paper's tables, or list them: reported, measured, or "not run".

    A row whose system or settings do not exist yet is refused in words. A run that fails is an error, never a
    number. Rows that were trained elsewhere are measured once their folders lie in WORK. Inputs that no option names
    are looked for in WORK/<system>.
    """
    from wherefrom.papers import compare, render, results, runner
    from wherefrom.papers import table as tables

    chosen = [tables.paper(paper)] if paper else tables.papers()
    if not only_list:
        if paper is None:
            raise click.UsageError("name the paper to run, or use --list to see them all")
        run_row = runner.SystemRows(
            chosen[0], values_of(_inputs(), given), work or runs / "work", lambda line: say(line, err=True), may_train
        )
        summary = runner.reproduce(chosen[0], row, runs, run_row, again=again)
        for refusal in summary.refused:
            reason = refusal.reason.removeprefix(f"{refusal.row.paper} {refusal.row.id}: ")
            say(f"refused {refusal.row.id}: {reason}", err=True)
        say(f"{len(summary.saved)} rows run, {len(summary.kept)} kept, {len(summary.refused)} refused")
    comparisons = compare.listing(chosen, results.measured(runs, chosen))
    if row:
        wanted = {tables.paper(chosen[0].slug).row(row).id} if paper else {row}
        comparisons = [comparison for comparison in comparisons if comparison.row.id in wanted]
    if as_json:
        print_json(render.as_objects(comparisons))
    elif for_people():
        click.echo_via_pager(printable(render.as_text(comparisons)))
    else:
        table(render.HEADINGS, render.lines(comparisons))
