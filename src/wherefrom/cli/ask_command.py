"""`wherefrom ask`: answer a question from the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wherefrom.cli.options import json_option, k_option, library_options, opened
from wherefrom.cli.output import faint, marked, print_json, strong
from wherefrom.text import sentences
from wherefrom.types import STYLES, Style

if TYPE_CHECKING:
    from wherefrom.types import Answer, Passage, Trace


@click.command("ask")
@click.argument("question", nargs=-1, required=True)
@click.option("--style", type=click.Choice(STYLES), help="How the answer is told [default: write.style].")
@click.option(
    "--min-chance",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Decline below this chance of being answerable [default: judge.min_chance].",
)
@k_option
@json_option
@library_options
def command(
    question: tuple[str, ...],
    style: Style | None,
    min_chance: float | None,
    k: int | None,
    as_json: bool,
    library: str | None,
    toml: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Answer a question from the library and show where the answer came from.

    Says "I don't know" when nothing in the library fits. With --json, prints the whole trace: hits,
    candidates, and the answer with the source of every word.
    """
    with opened(library, toml, overrides) as opened_library:
        trace = opened_library.ask(" ".join(question), style, k, min_chance)
    if as_json:
        print_json(trace)
    else:
        _tell(trace)


def _tell(trace: Trace) -> None:
    answer = trace.answer
    assert answer is not None
    if answer.text is None:
        click.echo(
            strong("I don't know.") + f" Nothing in the library seems to answer this (chance {answer.chance:.2f})."
        )
        if trace.hits:
            nearest = list(dict.fromkeys(_named(hit.passage) for hit in trace.hits))[:3]
            click.echo(faint("Nearest: " + "; ".join(nearest)))
        return
    click.echo(strong(answer.text))
    click.echo(faint(f"chance {answer.chance:.2f}"))
    for passage in answer.evidence:
        start, end = _copied(answer, passage)
        click.echo()
        click.echo(f"from {_named(passage)}, characters {passage.start + start} to {passage.start + end}:")
        click.echo("  " + _shown(passage.text, start, end).replace("\n", "\n  "))


def _named(passage: Passage) -> str:
    return f"{passage.title} ({passage.document_id})" if passage.title else passage.document_id


def _shown(text: str, start: int, end: int) -> str:
    """The sentences around the copied characters, which stand out; the rest of the passage is left out."""
    found = sentences(text)
    touched = [number for number, (begin, stop) in enumerate(found) if begin < end and stop > start]
    if not touched:
        return marked(text, start, end)
    first, last = max(touched[0] - 1, 0), min(touched[-1] + 1, len(found) - 1)
    begin, stop = found[first][0], found[last][1]
    shown = marked(text[begin:stop], start - begin, end - begin)
    return "[...] " * (first > 0) + shown + " [...]" * (last < len(found) - 1)


def _copied(answer: Answer, passage: Passage) -> tuple[int, int]:
    """From the first to the last character of the passage that the answer copies."""
    copied = [word for word in answer.words if word.passage_id == passage.id]
    starts = [word.start for word in copied if word.start is not None]
    ends = [word.end for word in copied if word.end is not None]
    return (min(starts), max(ends)) if starts and ends else (0, 0)
