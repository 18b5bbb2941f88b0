"""AsciiDoc as plain readable text: headings, lists, tables and listings without the marks; no file is put in."""

from __future__ import annotations

import re

from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text

_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_HEADING_END = re.compile(r"(?<!\s)\s+=+$")
_UNDERLINE = re.compile(r"([=~^+-])\1{3,}\s*$")
_ATTRIBUTE = re.compile(r":[\w!-]+:(?:\s|$)")
_BLOCK_ATTRIBUTES = re.compile(r"\[[^\]\n]*\]\s*$")
_AS_IT_STANDS = re.compile(r"\[(verse|listing|literal|source)\b")  # a paragraph below it keeps its lines
_MACRO = re.compile(r"(?:include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::[^\s\[]*\[([^\]\n]*)\]")
_ITEM = re.compile(r"\s*(?:(\*{1,5}|-)|(\.{1,5}|\d{1,3}\.))\s+(?:\[[ x*]\]\s+)?(\S.*)")
_TERM_END = re.compile(r":{2,4}(?=\s|$)")
_CELL = re.compile(r"(?:^|\s)(?:\d{0,4}[.+]?\d{0,4}[.<^>+]{0,8}[aehlmsd]?)\|")
_FENCES = {"----": True, "....": True, "```": True, "++++": False, "////": False}  # whether what is inside is shown
_EDGES = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--)\s*$")
_LABEL = re.compile(r"\.(?![. ])(\S.*)")
_INLINE = re.compile(
    r"""(?:linkgit|man):(?P<page>[\w.-]{1,100})\[(?P<section>\w{1,4})\]
    | (?:link:|https?://|mailto:|xref:)(?P<target>[^\s\[\]<>]{1,500})\[(?P<label>[^\]\n]{0,300})\]
    | <<(?P<anchor>[^<>,\n]{1,100})(?:,\s*(?P<text>[^<>\n]{1,200}))?>>
    | (?:kbd|btn|menu|footnote|pass|image|icon|indexterm2?):[\w./-]{0,200}\[(?P<macro>[^\]\n]{0,300})\]
    | (?<![\w`*_+])(?P<mark>[*_`+\#]{1,2})(?=\S)(?P<marked>[^\n]{1,300}?)(?<=\S)(?P=mark)(?![\w`*_+])
    | \{(?P<name>[\w-]{1,60})\} | \[\[[^\]\n]{1,100}\]\] | \(\(\([^()\n]{1,200}\)\)\)""",
    re.VERBOSE,
)


def read(data: bytes, name: str) -> Record:
    """A document; its title is its first heading, else made of the file's name."""
    reader = _Reader(decoded(data).replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    reader.read()
    return reader.blocks.record(reader.title or readable_name(name))


class _Reader:
    """Goes through the lines once."""

    def __init__(self, lines: list[str]) -> None:
        self.blocks = Blocks()
        self.title = ""
        self._lines = lines
        self._paragraph: list[str] = []
        self._item = ""
        self._literal = ""  # what the paragraph is, where it keeps its lines
        self._listed = False  # since the last heading: what is set in belongs to an item
        self._underlined = False  # the next line belongs to the heading before it
        self._numbers = 0
        self._rows: list[list[str]] | None = None  # of the table that is open
        self._header = True  # of the document: its attributes and authors are not its text

    def read(self) -> None:
        fence, shown = "", False
        inside: list[str] = []
        for number, line in enumerate(self._lines):
            stripped = line.rstrip()
            if self._underlined:
                self._underlined = False
            elif fence:
                if stripped == fence:
                    if shown:
                        self.blocks.literal("\n".join(inside))
                    fence, inside = "", []
                else:
                    inside.append(line)
            elif not stripped and self._rows is None:
                self._end()
            elif stripped and (stripped[:4] in _FENCES or stripped[:3] == "```") and len(set(stripped[:4])) == 1:
                self._end()
                fence, shown = "```" if stripped.startswith("```") else stripped, _FENCES.get(stripped[:4], True)
            elif stripped.startswith(("|===", "!===")):
                self._end()
                self._table()
            elif self._rows is not None:
                self._cells(stripped)
            else:
                self._line(stripped, self._lines[number + 1] if number + 1 < len(self._lines) else "")
        if shown and inside:
            self.blocks.literal("\n".join(inside))
        self._end()
        if self._rows is not None:
            self._table()

    def _line(self, line: str, below: str) -> None:
        under = _UNDERLINE.match(below)
        if self._literal and line and (self._paragraph or not (_BLOCK_ATTRIBUTES.match(line) or _EDGES.match(line))):
            self._paragraph.append(line)
        elif heading := _HEADING.match(line):
            self._heading(_HEADING_END.sub("", heading[2]), len(heading[1]))
        elif not self._paragraph and under and line and abs(len(below.rstrip()) - len(line)) <= 2 and line[0].isalnum():
            self._heading(line, "=-~^+".index(under[1]) + 1)
            self._underlined = True
        elif line == "+" or _UNDERLINE.match(line) or _EDGES.match(line) or line.startswith("//"):
            self._end()
        elif _ATTRIBUTE.match(line) or _BLOCK_ATTRIBUTES.match(line):
            if not self._paragraph:
                self._end()
                kept = _AS_IT_STANDS.match(line)
                self._literal = kept[1] if kept else ""
        elif macro := _MACRO.match(line):
            self._end()
            self.blocks.add(_words(macro[1].partition(",")[0]) if line.startswith("image") else "")
        elif item := _ITEM.match(line):
            self._end(keep_numbers=True)
            self._listed = True
            self._numbers = self._numbers + 1 if item[2] else 0
            self._item = f"{self._numbers}. " if item[2] else "- "
            self._paragraph = [item[3]]
        elif not self._paragraph and "://" not in line and (end := _TERM_END.search(line.lstrip(), 1)):
            term, definition = line.lstrip()[: end.start()], line.lstrip()[end.end() :].lstrip()
            terms = f"{self._item[:-1]}, " if self._item.endswith("\n") else ""  # several of one definition
            self._item, self._listed = f"{terms}{_words(term)}\n", True
            self._paragraph = [definition] if definition else []
        elif (label := _LABEL.match(line)) and not self._paragraph:
            self.blocks.add(_words(label[1]))
        elif line[0] in " \t" and not self._paragraph and not self._item and not self._listed:
            self._literal = "literal"
            self._paragraph.append(line)
        else:
            self._paragraph.append(line.strip())

    def _heading(self, text: str, level: int) -> None:
        self._end()
        self._listed = False
        text = _words(text)
        self.title = self.title or text
        self.blocks.heading(text, level)

    def _cells(self, line: str) -> None:
        if self._rows is None or not line:
            return
        if "|" not in line:
            if self._rows and self._rows[-1]:
                self._rows[-1][-1] = f"{self._rows[-1][-1]} {line.strip()}".strip()
            return
        cells = _CELL.split(line)[1:]
        self._rows.append([cell.strip() for cell in cells])

    def _table(self) -> None:
        rows, self._rows = self._rows, [] if self._rows is None else None
        if not rows:
            return
        columns = max(map(len, rows))
        if columns > 1 and len(rows[0]) > 1 and any(len(row) == 1 for row in rows[1:]):  # a line a cell
            cells = [cell for row in rows[1:] for cell in row]
            columns = len(rows[0])
            rows = [rows[0], *(cells[at : at + columns] for at in range(0, len(cells), columns))]
        for number, row in enumerate(rows):
            headings = [_words(cell) for cell in rows[0]] if number else ()
            self.blocks.add(row_text([_words(cell) for cell in row], headings), close=number > 0)

    def _end(self, keep_numbers: bool = False) -> None:
        if not self._paragraph:  # a million empty lines are none
            self._literal = ""
            self._item = self._item if self._item.endswith("\n") else ""  # the text of a term comes below it
            return
        if self._literal:
            lines = map(_inline, self._paragraph) if self._literal == "verse" else self._paragraph
            self.blocks.literal("\n".join(lines))
            self._paragraph = []
        self._literal = ""
        text, self._paragraph = _words(" ".join(self._paragraph)), []
        item = self._item
        if item.endswith("\n") and not text:
            return
        self._item = ""
        if not text:
            return
        if not item and not keep_numbers:
            self._numbers = 0
        if item and not item.endswith("\n"):
            self.blocks.item(item + text)
        else:
            self.blocks.add(item + text)


def _words(text: str) -> str:
    return " ".join(_inline(text).split())


def _inline(text: str) -> str:
    def meaning(match: re.Match[str]) -> str:
        if match["page"] is not None:
            return f"{match['page']}({match['section']})"
        if match["target"] is not None:
            return (match["label"] or match["target"]).partition(",")[0].rstrip("^")
        if match["anchor"] is not None:
            return match["text"] or match["anchor"]
        if match["mark"]:
            return match["marked"]
        if match["name"]:
            return {"nbsp": " ", "plus": "+", "asterisk": "*", "zwsp": ""}.get(match["name"], match[0])
        return match["macro"] or ""

    return _INLINE.sub(meaning, text)
