"""Where in its file each part of a text stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from wherefrom.text import clean, clean_at
from wherefrom.types import Place

_LONGEST_HEADING = 60  # characters of each, in a path of several
_BETWEEN = " › "


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, a heading, an item of a list or a row of a table, on its way into a text."""

    text: str
    close: bool = False  # whether it stands right under the block before it
    level: int = 0  # of a heading, from 1 for the highest; 0 for what is none


def laid_out(blocks: Iterable[TextBlock], title: str) -> tuple[str, tuple[Place, ...]]:
    """The blocks as one text, blank lines between them, and the path of headings that each part stands under."""
    pieces: list[str] = []
    headings: list[tuple[int, int, str]] = []
    length = 0
    for block in blocks:
        if pieces:
            pieces.append("\n" if block.close else "\n\n")
            length += len(pieces[-1])
        if block.level:
            headings.append((length, block.level, block.text))
        pieces.append(block.text)
        length += len(block.text)
    return "".join(pieces), heading_places(headings, title)


def heading_places(headings: Iterable[tuple[int, int, str]], title: str) -> tuple[Place, ...]:
    """A place for each heading (start, level, text), with those above it: `Install › On Windows`.

    The document's title is not repeated in each of them.
    """
    places: list[Place] = []
    path: list[tuple[int, str]] = []
    for start, level, heading in headings:
        text = " ".join(heading.split())
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, text))
        below = [each for _, each in path if each.casefold() != title.casefold()]
        if below or places:
            places.append(Place(start, _BETWEEN.join(map(_shortened, below or [text]))))
    return tuple(places)


def cleaned_places(text: str, places: tuple[Place, ...]) -> tuple[str, tuple[Place, ...]]:
    """The text as it is kept, and its places there; one with nothing of the text in it is left out."""
    cleaned, starts = clean_at(text, [place.start for place in places])
    kept = [
        replace(place, start=start, label=" ".join(clean(place.label).split()))
        for place, (start, end) in zip(places, pairwise([*starts, len(cleaned)]), strict=True)
        if cleaned[start:end].strip()
    ]
    return cleaned, tuple(kept)


def _shortened(heading: str) -> str:
    return heading if len(heading) <= _LONGEST_HEADING else heading[:_LONGEST_HEADING].rstrip() + "…"
