"""`wherefrom where`: which folder the library is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import click

from wherefrom.cli.options import json_option, library_options, named, opened
from wherefrom.cli.output import print_json, say
from wherefrom.errors import LibraryMissing


@click.command("where")
@json_option
@library_options
def command(as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]) -> None:
    """Print the folder of the library that commands use, and on standard error why that one and what is in it."""
    because = _because(library)
    with opened(library, toml, overrides) as opened_library:
        path = opened_library.path.absolute()
        counts: tuple[int, int] | None = None
        with suppress(LibraryMissing):
            counts = opened_library.counts()
    size = sum(_size(file) for file in path.rglob("*")) if counts else 0
    if as_json:
        documents, passages = counts or (None, None)
        print_json({"path": str(path), "because": because, "documents": documents, "passages": passages, "bytes": size})
        return
    say(str(path))
    if counts is None:
        state = "there is no library yet; `wherefrom ingest FOLDER` makes it"
    else:
        state = f"{counts[0]:,} documents in {counts[1]:,} passages, {size / 1e6:,.1f} MB"
    say(f"{because}; {state}", err=True)


def _because(library: str | None) -> str:
    """Which of the three ways named the folder."""
    if named(library):
        return "--library names it"
    if os.environ.get("WHEREFROM_LIBRARY"):
        return "WHEREFROM_LIBRARY names it"
    return "yours by default; --library or WHEREFROM_LIBRARY names another"


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # taken away by a writer in this moment
        return 0
