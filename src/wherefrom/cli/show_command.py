"""`wherefrom show`: a document or a passage."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import complete_document, json_option, library_options, opened
from wherefrom.cli.output import faint, print_json, strong
from wherefrom.errors import NotFound
from wherefrom.types import Document, Passage


@click.command("show")
@click.argument("id", shell_complete=complete_document)
@click.option("--passages", is_flag=True, help="Show the document cut into its passages, with their offsets.")
@json_option
@library_options
def command(
    id: str, passages: bool, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Show a document by its id, or a passage as DOCUMENT#NUMBER, such as guide.md#0."""
    from wherefrom.ingest.prune import is_gone

    with opened(library, toml, overrides) as opened_library:
        try:
            shown: Document | Passage = opened_library.document(id)
        except NotFound:
            if "#" not in id:
                raise
            shown = opened_library.passage(id)
        gone = isinstance(shown, Document) and is_gone(shown.source)
        cut = opened_library.passages_of(id) if passages else []
    if as_json:
        print_json(cut if passages else shown)
    elif passages:
        for passage in cut:
            _print_passage(passage)
            click.echo()
    elif isinstance(shown, Document):
        click.echo(strong(shown.title))
        source = f"{shown.source or 'no file'}{', which is gone' * gone}"
        click.echo(faint(f"{shown.id}, from {source}, {len(shown.text):,} characters"))
        click.echo()
        click.echo(shown.text)
    else:
        _print_passage(shown)


def _print_passage(passage: Passage) -> None:
    click.echo(strong(passage.title))
    place = passage.place_of(0, len(passage.text))
    characters = f"characters {passage.start} to {passage.end} of {passage.document_id}"
    click.echo(faint(", ".join(filter(None, (passage.id, place, characters)))))
    click.echo()
    click.echo(passage.text)
