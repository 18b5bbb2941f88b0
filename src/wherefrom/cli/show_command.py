"""`wherefrom show`: a document or a passage."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import complete_document, json_option, library_options, opened
from wherefrom.cli.output import faint, one_line, print_json, say, strong
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
            say()
    elif isinstance(shown, Document):
        say(strong(one_line(shown.title)))
        source = f"{shown.source or 'no file'}{', which is gone' * gone}"
        say(faint(f"{one_line(shown.id)}, from {source}, {len(shown.text):,} characters"))
        say()
        say(shown.text)
    else:
        _print_passage(shown)


def _print_passage(passage: Passage) -> None:
    say(strong(one_line(passage.title)))
    place = passage.place_of(0, len(passage.text))
    characters = f"characters {passage.start} to {passage.end} of {passage.document_id}"
    say(faint(", ".join(filter(None, map(one_line, (passage.id, place, characters))))))
    say()
    say(passage.text)
