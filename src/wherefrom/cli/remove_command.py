"""`wherefrom remove`: take documents out of the library."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import complete_document, filter_options, json_option, library_options, opened
from wherefrom.cli.output import one_line, print_json, say
from wherefrom.errors import NotFound
from wherefrom.types import Filter

if TYPE_CHECKING:
    from wherefrom.library import Library
    from wherefrom.store.rows import DocumentFacts

_SHOWN = 20  # documents of a preview; --json names them all
_PATTERN = re.compile(r"[*?]")


@click.command("remove")
@click.argument("ids", nargs=-1, metavar="[ID_OR_PATTERN]...", shell_complete=complete_document)
@filter_options
@click.option("--gone", is_flag=True, help="Only documents whose file is no longer there.")
@click.option("--yes", "-y", is_flag=True, help="Remove what a pattern or a filter stands for, without asking.")
@json_option
@library_options
def command(
    ids: tuple[str, ...],
    within: Filter | None,
    gone: bool,
    yes: bool,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Take documents out, everywhere; the files they were read from are not touched.

    An id goes at once. What fits a pattern (* is anything within a folder, ** also across folders, ? one character), a
    filter, or both, is shown first and goes after a yes: yours, or --yes, which is needed where nobody can be asked.
    """
    if not (ids or within or gone):
        raise click.UsageError("name what is to go: ids, patterns such as 'reports/*.pdf', --in FOLDER, --gone ...")
    chosen = bool(within or gone or any(_PATTERN.search(id) for id in ids))
    with opened(library, toml, overrides) as opened_library:
        going = _chosen(opened_library, ids, within, gone) if chosen else []
        if chosen and not (yes or _agreed(going, as_json)):
            sys.exit(1)
        removed = opened_library.remove([facts.id for facts in going] if chosen else ids)
    if as_json:
        print_json({"removed": removed})
    else:
        for id in removed:
            say(f"removed {id}")
    missing = [id for id in dict.fromkeys(ids) if id not in removed] if not chosen else []
    if missing:
        raise NotFound(
            f"there is no document {', '.join(repr(id) for id in missing)} in the library; "
            "`wherefrom list` shows what there is"
        )


def _chosen(library: Library, patterns: Sequence[str], within: Filter | None, gone: bool) -> list[DocumentFacts]:
    """The documents that fit the filter and any of the patterns, if there are some; NotFound where none does."""
    chosen = set(library.chosen(patterns, within))
    documents = [facts for facts in library.documents(within=within) if facts.id in chosen]
    if gone:
        documents = [facts for facts in library.gone(documents) if facts.gone]
    if not documents:
        raise NotFound("no document of the library is like that; `wherefrom list` shows what there is")
    return documents


def _agreed(going: Sequence[DocumentFacts], as_json: bool) -> bool:
    """Show what would go, and ask; where nobody can answer, the answer is no."""
    if as_json:
        print_json({"removed": [], "would_remove": [facts.id for facts in going]})
        return False
    for facts in going[:_SHOWN]:
        say(f"  {one_line(facts.id)}" + f"  ({one_line(facts.source)}{', gone' * facts.gone})" * bool(facts.source))
    if len(going) > _SHOWN:
        say(f"  ... and {len(going) - _SHOWN:,} more")
    what = "this document" if len(going) == 1 else f"these {len(going):,} documents"
    if sys.stdin.isatty() and sys.stdout.isatty():
        return click.confirm(f"Remove {what}?")
    say(f"Nothing was removed; add --yes to remove {what}.", err=True)
    return False
