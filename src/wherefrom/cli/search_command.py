"""`wherefrom search`: find passages."""

from __future__ import annotations

from pathlib import Path

import click

from wherefrom.cli.options import filter_options, json_option, k_option, library_options, opened
from wherefrom.cli.output import print_json, say, snippet, table
from wherefrom.types import Filter

_SHOWN = 10


@click.command("search")
@click.argument("question", nargs=-1, required=True)
@k_option
@filter_options
@json_option
@library_options
def command(
    question: tuple[str, ...],
    k: int | None,
    within: Filter | None,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Find the passages nearest to a question, best first (10 unless -k says otherwise).

    Any text is safe: there are no operators. With --json, prints the trace with its hits.
    """
    with opened(library, toml, overrides) as opened_library:
        trace = opened_library.search(" ".join(question), k or _SHOWN, within)
    if as_json:
        print_json(trace)
        return
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
