"""Rows of tables as lines of text, each a fact of its own."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST_HEADING = 40  # characters of a column's, to be repeated in each row


def row_text(cells: Sequence[str], headings: Sequence[str] = ()) -> str:
    """A row as one fact: `bigint | Storage Size: 8 bytes`; without headings that fit the cells alone.

    The first cell is what the row is about; it needs no heading.
    """
    fit = (
        len(cells) > 1
        and len(headings) == len(cells)
        and all(0 < len(each) <= _LONGEST_HEADING for each in headings[1:])
    )
    if not fit:
        return " | ".join(cells).rstrip(" |")
    named = [f"{heading.rstrip(':')}: {cell}" for heading, cell in zip(headings[1:], cells[1:], strict=True) if cell]
    return " | ".join([cells[0], *named])
