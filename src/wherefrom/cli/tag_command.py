"""`wherefrom tag`: names that documents are given, to be asked by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wherefrom.cli.options import complete_document, filter_options, json_option, library_options, opened
from wherefrom.cli.output import print_json, say, table
from wherefrom.errors import NotFound
from wherefrom.types import Filter


@click.group("tag")
def command() -> None:
    """Give documents tags, take them away, or list them; `--tag NAME` of ask, search and list asks by them.

    A tag belongs to a document's id: it stays when the file changes, and goes when the document is removed. Upper and
    lower case make no other tag.
    """


@command.command("add")
@click.argument("name")
@click.argument("ids", nargs=-1, metavar="[ID_OR_PATTERN]...", shell_complete=complete_document)
@filter_options
@json_option
@library_options
def add(
    name: str,
    ids: tuple[str, ...],
    within: Filter | None,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Tag documents: by id, by pattern (as `remove` has them), by filter, or by both together."""
    with opened(library, toml, overrides) as opened_library:
        chosen = opened_library.chosen(ids, within) if _named(ids, within) else []
        _tell("tagged", opened_library.tag(chosen, add=[name]), as_json)


@command.command("remove")
@click.argument("name")
@click.argument("ids", nargs=-1, metavar="[ID_OR_PATTERN]...", shell_complete=complete_document)
@filter_options
@json_option
@library_options
def remove(
    name: str,
    ids: tuple[str, ...],
    within: Filter | None,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Take a tag from documents: by id, by pattern, by filter, or from all that have it where none is named."""
    with opened(library, toml, overrides) as opened_library:
        part = within if ids or within else Filter(tags=(name,))
        _tell("untagged", opened_library.tag(opened_library.chosen(ids, part), remove=[name]), as_json)


@command.command("list")
@click.argument("id", required=False, shell_complete=complete_document)
@json_option
@library_options
def list_tags(
    id: str | None, as_json: bool, library: str | None, toml: Path | None, overrides: tuple[str, ...]
) -> None:
    """List the tags there are and how many documents have each, or the tags of one document."""
    with opened(library, toml, overrides) as opened_library:
        if id is not None:
            opened_library.document(id)  # says so, if there is none
        tags = opened_library.tags(id)
    if as_json:
        print_json(tags)
        return
    rows = [(name,) if id is not None else (name, f"{documents:,}") for name, documents in tags.items()]
    table(("tag",) if id is not None else ("tag", "documents"), rows, right=("documents",))


def _named(ids: Sequence[str], within: Filter | None) -> bool:
    if not (ids or within):
        raise click.UsageError("name the documents: ids, patterns such as 'reports/*.pdf', --in FOLDER ...")
    return True


def _tell(what: str, ids: Sequence[str], as_json: bool) -> None:
    if as_json:
        print_json({what: ids})
        return
    if not ids:
        raise NotFound("no document of the library is like that; `wherefrom list` shows what there is")
    say(f"{len(ids):,} {'document' if len(ids) == 1 else 'documents'} {what}")
