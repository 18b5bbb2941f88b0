"""What is shown: colours and tables for people, plain lines for pipes, JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


def for_people() -> bool:
    """Whether a person looks at the output."""
    return sys.stdout.isatty()


def console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def print_json(value: object) -> None:
    """Any of our values as indented JSON."""
    import msgspec

    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table for people; tab-separated lines, without headings, for pipes."""
    if not for_people():
        for row in rows:
            click.echo("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    console().print(drawn)


def marked(text: str, start: int, end: int) -> str:
    """The text with the characters from start to end standing out: bold for people, «so» in pipes."""
    shown = click.style(text[start:end], fg="green", bold=True) if for_people() else f"«{text[start:end]}»"
    return text[:start] + shown + text[end:]


def marked_all(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The text with all these characters standing out; the ranges do not overlap."""
    for start, end in sorted(ranges, reverse=True):
        text = marked(text, start, end)
    return text


def faint(text: str) -> str:
    return click.style(text, dim=True) if for_people() else text


def strong(text: str) -> str:
    return click.style(text, bold=True) if for_people() else text


def snippet(text: str, words: int = 40) -> str:
    """The beginning of a text on one line."""
    all_words = text.split()
    return " ".join(all_words[:words]) + (" …" if len(all_words) > words else "")
