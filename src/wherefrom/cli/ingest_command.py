"""`wherefrom ingest`: bring files and folders into the library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option, library_options, opened, workers_options
from wherefrom.cli.output import one_line, print_json, say, styled
from wherefrom.cli.progress import shown

if TYPE_CHECKING:
    from wherefrom.ingest.run import IngestReport

_SHOWN = 20  # failures named one by one; --json names them all


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option("--prune", is_flag=True, help="Also remove documents whose file, or record in a file, has gone.")
@click.option("--force", is_flag=True, help="With --prune: even if most of what is known of a path would go.")
@click.option(
    "--tag", "tags", multiple=True, metavar="NAME", help="Give all these documents a tag; may be given again."
)
@workers_options
@click.option("--quiet", "-q", is_flag=True, help="No progress, no summary; failures are still named.")
@json_option
@library_options
def command(
    paths: tuple[Path, ...],
    prune: bool,
    force: bool,
    tags: tuple[str, ...],
    workers: int | None,
    cluster: str,
    quiet: bool,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Bring files and folders into the library, which is made if there is none.

    Reads txt, md, rst, org, adoc, html, pdf, docx, pptx, xlsx, odt, ods, odp, rtf, epub, tex, ipynb, csv, man pages,
    info, eml, mbox, jsonl (one {"id", "title", "text"} a line) and WikiExtractor text, also as .gz or .xz; in folders
    source code only with --set ingest.code=true. Unchanged files are skipped, changed ones replace their old version.
    A file that cannot be read is named with the reason and skipped; the exit code is then 1. A document that is not
    in English is taken, with a warning. Interrupted, run it again to go on.
    """
    with opened(library, toml, overrides) as opened_library, shown(quiet or as_json) as report:
        if workers is None:
            result = opened_library.ingest(paths, prune, report, force=force, tags=tags)
        else:
            from wherefrom.scale.ingest import ingest

            result = ingest(opened_library, paths, workers, cluster, prune, report, force=force, tags=tags)
    if as_json:
        print_json(result)
    else:
        _print_report(result, quiet)
    if result.failures:
        sys.exit(1)


def _print_report(result: IngestReport, quiet: bool) -> None:
    for failure in result.failures[:_SHOWN]:
        say(f"{styled('not read', 'red')}  {one_line(failure.name)}: {failure.reason}", err=True)
    if len(result.failures) > _SHOWN:
        say(f"... and {len(result.failures) - _SHOWN:,} more; --json names them all", err=True)
    for warning in result.warnings[:_SHOWN]:
        say(f"{styled('warning', 'yellow')}  {one_line(warning.name)}: {warning.reason}", err=True)
    if len(result.warnings) > _SHOWN:
        say(f"... and {len(result.warnings) - _SHOWN:,} more such; --json names them all", err=True)
    if quiet:
        return
    from wherefrom.ingest.passing import passed_over_lines

    if result.taken_over:
        names = ", ".join(map(one_line, result.taken_over[:5])) + (" ..." if len(result.taken_over) > 5 else "")
        say(f"{len(result.taken_over):,} documents came from another file before: {names}")
    parts = [f"{result.added:,} added", f"{result.replaced:,} replaced", f"{result.unchanged:,} unchanged"]
    if result.removed:
        parts.append(f"{len(result.removed):,} removed")
    if result.ignored:
        parts.append(f"{len(result.ignored):,} files passed over")
    if result.failures:
        parts.append(f"{len(result.failures):,} not read")
    say(f"{', '.join(parts)}; {result.seconds:.1f} s.")
    for line in passed_over_lines(result.passed_over):
        say(f"  passed over: {one_line(line)}")
    say(f"The library now holds {result.documents:,} documents in {result.passages:,} passages.")
