"""`wherefrom remove`: take documents out of the library."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import complete_document, json_option, library_options, opened
from wherefrom.cli.output import print_json
from wherefrom.errors import NotFound


@click.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", shell_complete=complete_document)
@json_option
@library_options
def command(
    ids: tuple[str, ...], as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """Take documents out, everywhere; the files they were read from are not touched."""
    with opened(library, toml, overrides) as opened_library:
        removed = opened_library.remove(ids)
    if as_json:
        print_json({"removed": removed})
    else:
        for id in removed:
            click.echo(f"removed {id}")
    missing = [id for id in dict.fromkeys(ids) if id not in removed]
    if missing:
        raise NotFound(
            f"there is no document {', '.join(repr(id) for id in missing)} in the library; "
            "`wherefrom list` shows what there is"
        )
