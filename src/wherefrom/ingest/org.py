"""Org files as plain readable text: headings, lists, tables and listings without the marks."""

from __future__ import annotations

import re

from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text

_HEADING = re.compile(r"(\*{1,12}) +(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED) +)?(?:\[#.\] +)?(.*)")
_TAGS = re.compile(r"(?:^|(?<=[ \t])):[\w@#%:]+:$")
_KEYWORD = re.compile(r"\s*#\+(\w+)(?:\[[^\]]*\])?:\s*(.*)", re.IGNORECASE)
_BEGIN = re.compile(r"\s*#\+begin_(\w+)", re.IGNORECASE)
_DRAWER = re.compile(r"\s*:(?:PROPERTIES|LOGBOOK|CLOCK|RESULTS):\s*$", re.IGNORECASE)
_PLANNING = re.compile(r"\s*(?:SCHEDULED|DEADLINE|CLOSED|CLOCK):")
_ITEM = re.compile(r"\s*(?:[-+]|\*(?<=\s\*)|(\d{1,3}[.)]))\s+(?:\[[ X-]\]\s+)?(.*)")
_LINK = re.compile(r"\[\[([^\]\[]+)\](?:\[([^\]\[]+)\])?\]")
_MARKED = re.compile(r"(?<![\w*/_=~+])([*/_=~+])(?=\S)([^\n]{1,300}?)(?<=\S)\1(?![\w*/_=~+])")
_LISTINGS = frozenset(("src", "example", "export", "latex", "html"))
_RULE = re.compile(r"\s*\|[-+|]+\s*$")


def read(data: bytes, name: str) -> Record:
    """A document; its title is its own, else its first heading, else made of the file's name."""
    reader = _Reader(decoded(data).replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    reader.read()
    return reader.blocks.record(reader.title or reader.first_heading or readable_name(name), reader.date)


class _Reader:
    """Goes through the lines once."""

    def __init__(self, lines: list[str]) -> None:
        self.blocks = Blocks()
        self.title = self.first_heading = self.date = ""
        self._lines = lines
        self._paragraph: list[str] = []
        self._item = ""
        self._headings: list[str] | None = None  # of the table that is open

    def read(self) -> None:
        until: re.Pattern[str] | None = None
        held: list[str] | None = None
        for line in self._lines:
            if until is not None:
                if until.match(line):
                    if held is not None:
                        self.blocks.literal("\n".join(held))
                    until = held = None
                elif held is not None:
                    held.append(line)
                continue
            begin = _BEGIN.match(line)
            if begin and begin[1].lower() in (*_LISTINGS, "comment"):
                self._end()
                until = re.compile(rf"\s*#\+end_{begin[1]}", re.IGNORECASE)
                held = [] if begin[1].lower() in ("src", "example") else None
            elif _DRAWER.match(line):
                self._end()
                until = re.compile(r"\s*:END:\s*$", re.IGNORECASE)
            else:
                self._line(line)
        if held:
            self.blocks.literal("\n".join(held))
        self._end()

    def _line(self, line: str) -> None:
        if not line.strip():
            self._end()
        elif heading := _HEADING.match(line):
            self._end()
            text = _words(_TAGS.sub("", heading[2].rstrip()))
            self.first_heading = self.first_heading or text
            self.blocks.heading(text, len(heading[1]))
        elif keyword := _KEYWORD.match(line):
            self._end()
            self._keyword(keyword[1].lower(), keyword[2].strip())
        elif line.lstrip().startswith("|"):
            self._row(line)
        elif line.lstrip().startswith("#+") or re.match(r"\s*# |\s*#$", line) or _PLANNING.match(line):
            self._end()
        elif item := _ITEM.match(line):
            self._end()
            self._item = f"{item[1] or '-'} "
            self._paragraph = [item[2]]
        elif re.match(r"\s*: ", line):
            self._end()
            self.blocks.literal(line.strip()[2:], close=True)
        else:
            self._paragraph.append(line.strip())

    def _keyword(self, name: str, value: str) -> None:
        if name == "title":
            self.title = self.title or _words(value)
        elif name == "date" and (date := re.search(r"\d{4}-\d\d-\d\d", value)):
            self.date = date[0]
        elif name == "caption" and value:
            self.blocks.add(_words(value))

    def _row(self, line: str) -> None:
        if self._headings is None:
            self._end()
        if _RULE.match(line):
            return
        cells = [_words(cell.strip()) for cell in line.strip().strip("|").split("|")]
        first = self._headings is None
        self.blocks.add(row_text(cells, self._headings or ()), close=not first)
        if first:
            self._headings = cells

    def _end(self) -> None:
        if not self._paragraph and not self._item:  # as at each of millions of empty lines
            self._headings = None
            return
        text, self._paragraph = _words(" ".join(self._paragraph)), []
        item, self._item = self._item, ""
        self._headings = None
        if text and item:
            self.blocks.item(item + text)
        else:
            self.blocks.add(text)


def _words(text: str) -> str:
    text = _LINK.sub(lambda match: match[2] or match[1], text)
    return " ".join(_MARKED.sub(r"\2", text).replace("\\\\", " ").split())
