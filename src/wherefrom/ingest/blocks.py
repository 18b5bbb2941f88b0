"""Paragraphs, headings, items and listings, put together to the text of a document."""

from __future__ import annotations

import re

from wherefrom.ingest.outcome import Record
from wherefrom.ingest.places import heading_places
from wherefrom.text import clean
from wherefrom.types import Place

_BLANK_LINE = re.compile(r"\n(?=\n)")
_ITEM = re.compile(r"(?:[-*•]|\(?\d{1,3}[.)])\s")


class Blocks:
    """A document's text as it grows, a block at a time, and the places in it that have a name, such as a chapter.

    What is added is cleaned at once, so that the offsets of places are those of the text as it is kept.
    """

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._headings: list[tuple[int, int, str]] = []  # where each begins, its level and its words
        self._pieces: list[str] = []
        self._length = 0
        self._item_before = ""
        self._place = ""

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, text: str, close: bool = False) -> None:
        """A block; `close` is one that belongs right under the block before it."""
        text = clean(text).strip("\n")
        if not text.strip():
            return
        self._add(text, close)
        self._item_before = ""

    def heading(self, text: str, level: int = 1) -> None:
        """A heading of a level, from 1 for the highest."""
        before = len(self._pieces)
        self.add(" ".join(text.split()))
        if len(self._pieces) > before:
            self._headings.append((self._length - len(self._pieces[-1]), level, self._pieces[-1]))

    def item(self, text: str) -> None:
        """An item of a list, right under one of its kind before it."""
        text = clean(text).strip()
        if text:
            mark = "number" if text[0].isdigit() or text[0] == "(" else "bullet"
            self._add(text, self._item_before == mark)
            self._item_before = mark

    def literal(self, text: str, close: bool = False) -> None:
        """Lines that stay as they are, such as a program's."""
        text = listing(text)
        self.add(text if "\n" in text else f"    {text.strip()}", close)  # a line that is set in is no heading

    def place(self, name: str) -> None:
        """What follows is in the place of this name."""
        self._place = name

    def record(self, title: str, date: str = "") -> Record:
        """The document; its places are those that were named, else the paths of its headings."""
        places = tuple(self._places) or heading_places(self._headings, title)
        return Record(None, title, self.text(), date=date, places=places)

    def text(self) -> str:
        return "".join(self._pieces)

    def _add(self, text: str, close: bool) -> None:
        if self._pieces:
            gap = "\n" if close else "\n\n"
            self._pieces.append(gap)
            self._length += len(gap)
        if self._place:
            self._places.append(Place(self._length, self._place))
            self._place = ""
        self._pieces.append(text)
        self._length += len(text)


def listing(text: str) -> str:
    """A listing as one block: in its blank lines is a blank, so that no line of it is taken for a heading."""
    lines = [line.rstrip() for line in clean(text).expandtabs(4).split("\n")]
    return _BLANK_LINE.sub("\n ", "\n".join(lines).strip("\n"))


def is_item(text: str) -> bool:
    """Whether a line begins as an item of a list does."""
    return _ITEM.match(text) is not None
