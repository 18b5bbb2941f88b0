"""`wherefrom rescue`: save what can be read of a damaged library into a new one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option
from wherefrom.cli.output import print_json, say, styled

if TYPE_CHECKING:
    from wherefrom.store.rescue import RescueReport

_SHOWN = 20  # of what was lost; --json names it all


@click.command("rescue")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@json_option
def command(old: Path, new: Path, as_json: bool) -> None:
    """Save what can be read of the damaged library in OLD into a new one in NEW.

    Every document whose text is still the one that was written is saved, with its title, source and date, and so are
    feedback and settings; passages and indexes are made anew. OLD is only read. What is lost is named, and which
    files to ingest again; the exit code is then 1.
    """
    from wherefrom.library import Library

    report = Library(old).rescue(new)
    if as_json:
        print_json({**{name: getattr(report, name) for name in (*report.__slots__, "again")}, "path": str(report.path)})
    else:
        _print_report(report, old)
    if not report.whole:
        sys.exit(1)


def _print_report(report: RescueReport, old: Path) -> None:
    say(
        f"{styled('saved', 'green')}  {report.documents:,} documents in {report.passages:,} passages, "
        f"{report.feedback:,} verdicts on answers"
    )
    lost = [f"{lost.id}: {lost.why}" for lost in report.lost if lost.id]
    nameless = len(report.lost) - len(lost)
    if nameless:
        documents = "document" if nameless == 1 else "documents"
        lost.append(f"{nameless:,} {documents} of which not even the name can be read")
    for line in (*lost[:_SHOWN], *report.notes):
        say(f"{styled('lost', 'red')}   {line}")
    if len(lost) > _SHOWN:
        say(f"       ... and {len(lost) - _SHOWN:,} more; --json names them all")
    if report.unsure:
        names = ", ".join(report.unsure[:_SHOWN]) + (" ..." if len(report.unsure) > _SHOWN else "")
        say(f"saved whole, though name, source or date may be wrong: {names}")
    if report.again:
        names = " ".join(report.again[:_SHOWN]) + (" ..." if len(report.again) > _SHOWN else "")
        say(f"ingest again: {names}")
    for line in report.stays:
        say(f"not carried over: {line}")
    say(f"The new library is at {report.path}; nothing in {old} was changed.")
