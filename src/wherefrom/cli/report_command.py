"""`wherefrom report`: scores as a page for people."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.output import say


@click.command("report")
@click.argument("scores", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="SCORES...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="FILE.html is one self-contained page with plots, FILE.md is Markdown with tables.",
)
@click.option("--title", default="Results", show_default=True)
def command(scores: tuple[Path, ...], out: Path, title: str) -> None:
    """Render scores that `wherefrom score --out` kept: tables, and in HTML plots.

    Plots: precision-recall and calibration of answerability, risk-coverage, bars by question type, lengths.
    """
    from wherefrom.evaluate.report import write_report

    write_report(scores, out, title)
    say(f"wrote {out}")
