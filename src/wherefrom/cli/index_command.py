"""`wherefrom index`: build an index that a library lacks."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, opened
from wherefrom.cli.output import print_json, say

_LINE_EVERY = 10.0  # seconds between lines in a log


@click.command("index")
@click.argument("kind", type=click.Choice(["bm25", "dense", "qdrant", "tfidf"]))
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

    With dense (pip install 'wherefrom[dense]') every passage gets a vector, by which passages are found that share no
    words with a question: --set retrieve.kind=hybrid. Only what has none yet is embedded, so run it again after an
    ingest, or after it was interrupted; meanwhile others may ask and write, and questions use what is there.
    """
    begun = time.monotonic()
    with opened(library, toml, overrides) as opened_library:
        passages = opened_library.build_index(kind, _silent if quiet or as_json else _Progress())
    seconds = time.monotonic() - begun
    if as_json:
        print_json({"index": kind, "passages": passages, "seconds": round(seconds, 3)})
    elif not quiet:
        say(f"The {kind} index has {passages:,} passages; {seconds:.1f} s.")


class _Progress:
    """How far it is: one line for people, which is written over, and a line now and then for logs."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._first: int | None = None  # done before this run
        self._line_at = 0.0

    def __call__(self, done: int, passages: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._begun = done, now
        people = sys.stderr.isatty()
        if not people and done < passages and now - self._line_at < _LINE_EVERY:
            return
        self._line_at = now
        rate = (done - self._first) / max(now - self._begun, 1e-3)
        pace = f", {rate:,.0f}/s, {(passages - done) / rate:,.0f} s left" if rate > 0 and done < passages else ""
        say(f"{done:>10,} of {passages:,} passages{pace}   ", err=True, nl=not people)
        if people:
            say("\r", err=True, nl=False)


def _silent(done: int, passages: int) -> None:
    """Programs want the result alone."""
