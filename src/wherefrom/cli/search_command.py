"""`wherefrom search`: find passages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wherefrom.cli.options import filter_options, json_option, k_option, libraries_options, opened, opened_all
from wherefrom.cli.output import print_json, say, snippet, table
from wherefrom.types import Filter, Hit

_SHOWN = 10


@click.command("search")
@click.argument("question", nargs=-1, required=True)
@k_option
@filter_options
@json_option
@libraries_options
def command(
    question: tuple[str, ...],
    k: int | None,
    within: Filter | None,
    as_json: bool,
    library: tuple[str, ...],
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Find the passages nearest to a question, best first (10 unless -k says otherwise).

    Any text is safe: there are no operators. With --json, prints the trace with its hits. With --library given
    again, all of them are searched, and each passage has its library's name before it.
    """
    if len(library) > 1:
        with opened_all(library, toml, overrides) as libraries:
            hits = libraries.search(" ".join(question), k or _SHOWN, within)
        _print_all(hits, as_json)
        return
    with opened(library[0] if library else None, toml, overrides) as opened_library:
        trace = opened_library.search(" ".join(question), k or _SHOWN, within)
    if as_json:
        print_json(trace)
        return
    if trace.question.typed:
        say(f"understood as: {trace.question.text}", err=True)
    if not trace.hits:
        say("Nothing found.", err=True)
    table(
        ("score", "passage", "title", "text", "place"),
        [
            (f"{hit.score:.3g}", hit.passage.id, hit.passage.title, snippet(hit.passage.text), hit.passage.place)
            for hit in trace.hits
        ],
        right=("score",),
    )


def _print_all(hits: Sequence[tuple[str, Hit]], as_json: bool) -> None:
    """Passages of several libraries."""
    if as_json:
        print_json([{"library": name, "hit": hit} for name, hit in hits])
        return
    if not hits:
        say("Nothing found.", err=True)
    table(
        ("score", "library", "passage", "title", "text", "place"),
        [
            (f"{hit.score:.3g}", name, hit.passage.id, hit.passage.title, snippet(hit.passage.text), hit.passage.place)
            for name, hit in hits
        ],
        right=("score",),
    )
