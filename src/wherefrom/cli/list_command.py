"""`wherefrom list`: the documents of the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import filter_options, json_option, library_options, opened
from wherefrom.cli.output import for_people, print_json, say, table
from wherefrom.types import Filter

if TYPE_CHECKING:
    from wherefrom.store.rows import DocumentFacts


@click.command("list")
@filter_options
@json_option
@library_options
def command(
    within: Filter | None, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """List the documents: id, title, passages, characters, source file (and whether that is gone) and tags.

    Piped, each is one tab-separated line; with --json, an array of documents.
    """
    with opened(library, toml, overrides) as opened_library:
        documents = opened_library.gone(opened_library.documents(within=within))
    if as_json:
        print_json(documents)
        return
    table(
        ("id", "title", "passages", "characters", "source", "tags"),
        [(d.id, d.title, str(d.passages), str(d.characters), _file(d), ", ".join(d.tags)) for d in documents],
        right=("passages", "characters"),
    )
    if for_people():
        say(f"{len(documents):,} documents")


def _file(document: DocumentFacts) -> str:
    return f"{document.source} (gone)" if document.gone else document.source
