"""`wherefrom index`: build an index that a library lacks."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, opened
from wherefrom.cli.output import print_json, say


@click.command("index")
@click.argument("kind", type=click.Choice(["bm25", "qdrant", "tfidf"]))
@click.option("--quiet", "-q", is_flag=True, help="No progress, no summary.")
@json_option
@library_options
def command(
    kind: str, quiet: bool, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Build an index that the library lacks, or build it anew.

    Every library has bm25. With tfidf it can also be asked with --set retrieve.kind=tfidf: hashed words and pairs of
    words, as DrQA has them; with qdrant, --set retrieve.kind=qdrant: what bm25 finds, kept by a Qdrant server. From
    then on the index follows every change of the library.
    """
    begun = time.monotonic()
    with opened(library, toml, overrides) as opened_library:
        passages = opened_library.build_index(kind, _silent if quiet or as_json else _print_progress)
    seconds = time.monotonic() - begun
    if as_json:
        print_json({"index": kind, "passages": passages, "seconds": round(seconds, 3)})
    elif not quiet:
        say(f"The {kind} index has {passages:,} passages; {seconds:.1f} s.")


def _print_progress(done: int, passages: int) -> None:
    """How far it is: one line for people, which is written over, and a line each time for logs."""
    say(f"{done:>10,} of {passages:,} passages", err=True, nl=not sys.stderr.isatty())
    if sys.stderr.isatty():
        say("\r", err=True, nl=False)


def _silent(done: int, passages: int) -> None:
    """Programs want the result alone."""
