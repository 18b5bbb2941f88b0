"""reStructuredText as plain readable text: the words without the marks.

Read by rules of its own, line by line: docutils runs directives, which may read files, and takes long over large ones.
"""

from __future__ import annotations

import re
import unicodedata

from wherefrom.ingest.blocks import Blocks, is_item
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text


def read(data: bytes, name: str) -> Record:
    """A document; its title is its first heading, else made of the file's name."""
    reader = _Reader(decoded(data).removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").expandtabs(8))
    reader.read()
    return reader.blocks.record(reader.title or readable_name(name), reader.date)


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"\.\.\s+(?:\|([^|\n]+)\|\s+)?([\w.:+-]+?)::(?:\s+(.*))?$")
_OPTION_LINE = re.compile(r"\s*:[\w -]+:(?:\s|$)")
_FIELD = re.compile(r"\s*:((?:[^:\\\n]|\\.|:(?=\w))+):(?:\s+(.*))?$")
_FOOTNOTE = re.compile(r"\.\.\s+\[([#*]?[\w.-]*)\]\s*(.*)")
_BULLET = re.compile(r"(\s*)([-*+•])\s+(?=\S)")
_NUMBERED = re.compile(r"(\s*)(\(?(?:\d{1,3}|#|[a-z]|[ivx]{1,4})[.)])\s+(?=\S)", re.IGNORECASE)
_GRID = re.compile(r"\s*\+[-=+]{3,}\+\s*$")
_MOST_COLUMNS = 100
_SIMPLE = re.compile(r"\s*={2,}(?:\s+={2,})+\s*$")

# Directives whose content is text as it stands, those whose content is a listing, and those for machines.
_LISTINGS = frozenset("code code-block sourcecode highlight parsed-literal literalinclude ipython prompt console "
                      "productionlist testcode testoutput doctest plot jupyter-execute math".split())  # fmt: skip
_DROPPED = frozenset("image toctree contents include raw automodule autoclass autofunction automethod autodata "
                     "autoexception autosummary autoattribute currentmodule module py:module py:currentmodule "
                     "highlightlang default-role role index sectionauthor codeauthor meta target-notes tabularcolumns "
                     "header footer sectnum unicode date class rst-class cssclass only ifconfig container graphviz "
                     "digraph graph inheritance-diagram tags redirect-from currentlibrary program testsetup "
                     "testcleanup minigallery bibliography button-link sidebar-links".split())  # fmt: skip
_KEEPS_CONTENT = frozenset(("only", "ifconfig", "container", "class", "rst-class", "cssclass", "header", "footer"))
_ADMONITIONS = frozenset("note warning tip important caution danger attention error hint seealso todo admonition "
                         "deprecated versionadded versionchanged versionremoved topic sidebar".split())  # fmt: skip
_VERSIONS = {
    "deprecated": "Deprecated since version",
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}


class _Reader:
    """Goes through the lines once; a line's indentation only tells where a listing or an item ends."""

    def __init__(self, text: str) -> None:
        self.blocks = Blocks()
        self.title = self.date = ""
        self._lines = text.split("\n")
        self._at = 0
        self._substitutions = dict(_SUBSTITUTION.findall(text))
        self._number = 0  # of the last numbered item
        self._styles: dict[str, int] = {}
        self._lead = ""  # what stands before the next paragraph, such as "Note:"

    def read(self) -> None:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            elif line.lstrip().startswith("..") and re.match(r"\s*\.\.(?:\s|$)", line):
                self._explicit(line)
            elif not self._heading() and not self._table(line):
                self._paragraph()

    # Headings.

    def _heading(self) -> bool:
        first, second, third = (self._line(self._at + step) for step in range(3))
        if _ADORNMENT.match(first):
            if second.strip() and third.rstrip() == first.rstrip():
                self._add_heading(second, f"{first[0]} above")
                self._at += 3
                return True
            if not second.strip() and not _SIMPLE.match(first):  # a line across the page
                self._at += 1
                return True
            return False
        underlined = _ADORNMENT.match(second) and not first[0].isspace()
        if underlined and len(second.rstrip()) >= min(_width(first.rstrip()), 4):
            self._add_heading(first, second[0])
            self._at += 2
            return True
        return False

    def _add_heading(self, line: str, style: str) -> None:
        text = " ".join(self._inline(line).split())
        self.title = self.title or text
        self._styles.setdefault(
            style, len(self._styles) + 1
        )  # the order in which they are used is that of their levels
        self._number = 0
        self.blocks.heading(text, self._styles[style])

    # Directives, comments, targets and footnotes.

    def _explicit(self, line: str) -> None:
        indent = _indent(line)
        stripped = line.strip()
        if directive := _DIRECTIVE.match(stripped):
            self._at += 1
            if directive[1] is None:
                self._directive(directive[2].lower(), directive[3] or "", indent)
            else:
                self._skip_inside(indent)
        elif footnote := _FOOTNOTE.match(stripped):
            self._at += 1
            rest = [footnote[2], *self._rest_of_paragraph()]
            self.blocks.add(f"[{footnote[1]}] {self._inline(' '.join(' '.join(rest).split()))}")
        else:
            self._at += 1
            self._skip_inside(indent)

    def _directive(self, kind: str, argument: str, indent: int) -> None:
        rest_of_argument: list[str] = []
        while (line := self._line(self._at)).strip() and _indent(line) > indent and not _OPTION_LINE.match(line):
            if kind in _LISTINGS:
                break
            rest_of_argument.append(line.strip())
            self._at += 1
        while _OPTION_LINE.match(self._line(self._at)) and _indent(self._line(self._at)) > indent:
            alt = re.match(r"\s*:alt:\s*(.+)", self._line(self._at))
            if kind in ("image", "figure") and alt:
                self.blocks.add(self._inline(alt[1]))
            self._at += 1
        text = " ".join([argument, *rest_of_argument]).strip()
        if kind in _LISTINGS:
            self._listing(indent)
        elif kind in ("csv-table", "list-table", "table", "figure", "epigraph", "rubric", "centered", "glossary"):
            if kind in ("csv-table", "list-table", "table", "rubric", "centered") and argument:
                self.blocks.add(self._inline(argument))
            if kind == "csv-table":
                self._csv(indent)
        elif kind in _VERSIONS:
            version, _, more = text.partition(" ")
            self.blocks.add(f"{_VERSIONS[kind]} {version}{': ' + self._inline(more) if more else '.'}")
        elif kind in _ADMONITIONS:
            name = {"seealso": "See also", "topic": "", "sidebar": "", "admonition": ""}.get(kind, kind.capitalize())
            self._lead = f"{name}: " if name else ""
            if text:
                self._add(text)
        elif kind in _DROPPED:
            if kind not in _KEEPS_CONTENT:
                self._skip_inside(indent)
        elif ":" in kind or kind in _OBJECTS:
            for signature in [argument, *rest_of_argument]:
                self.blocks.literal(signature)
        elif text:  # a directive of somebody's own
            self._add(text)

    def _csv(self, indent: int) -> None:
        begun = False
        while (line := self._line(self._at)) and (not line.strip() or _indent(line) > indent):
            if line.strip():
                cells = [cell.strip().strip('"') for cell in line.strip().split(",")]
                self.blocks.add(self._inline(row_text(cells)), close=begun)
                begun = True
            self._at += 1

    def _skip_inside(self, indent: int) -> None:
        """Pass over what is set in further than this."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= indent:
                return
            self._at += 1

    def _listing(self, indent: int) -> None:
        """What is set in further than this, as it stands."""
        begin = self._at
        self._skip_inside(indent)
        self._add_listing(self._lines[begin : self._at])

    def _add_listing(self, lines: list[str]) -> None:
        depth = min((_indent(line) for line in lines if line.strip()), default=0)
        self.blocks.literal("\n".join(line[depth:] for line in lines))

    # Paragraphs, lists, terms and fields.

    def _rest_of_paragraph(self) -> list[str]:
        begin = self._at
        while self._line(self._at).strip():
            self._at += 1
        return [line.strip() for line in self._lines[begin : self._at]]

    def _paragraph(self) -> None:
        lines: list[str] = []
        while (line := self._line(self._at)).strip():
            if lines and re.match(r"\s*\.\.\s+\S", line) and _indent(line) <= _indent(lines[0]):
                break
            lines.append(line)
            self._at += 1
        indent = _indent(lines[0])
        if lines[0].lstrip().startswith(">>>"):
            self._add_listing(lines)
            return
        opens_listing = lines[-1].rstrip().endswith("::")
        if opens_listing:
            lines[-1] = re.sub(r"(?:(?<!\s)\s+:|(:)):\s*$", r"\1", f" {lines[-1]}")
        if lines[0].lstrip().startswith("| "):
            self._add("\n".join(line.strip().removeprefix("|").strip() for line in lines))
        else:
            for unit in _units(lines):
                self._unit(unit)
        if opens_listing:
            self._listing(indent)

    def _unit(self, lines: list[str]) -> None:
        """An item of a list, a field, a term with its definition, or a paragraph."""
        first = lines[0]
        if field := _FIELD.match(first):
            text = " ".join([field[2] or "", *map(str.strip, lines[1:])]).strip()
            name = field[1].strip()
            if name.lower() == "date" and (date := re.match(r"\d{4}-\d\d-\d\d", text)):
                self.date = self.date or date[0]
            if text:
                self.blocks.item(f"{name}: {self._inline(text)}")
        elif bullet := _BULLET.match(first) or _NUMBERED.match(first):
            marker = bullet[2] if bullet[2][-1] in ".)" else "-"
            if marker == "#.":
                self._number += 1
                marker = f"{self._number}."
            elif marker.rstrip(".)").isdigit():
                self._number = int(marker.rstrip(".)"))
            text = " ".join([first[bullet.end() :], *map(str.strip, lines[1:])])
            self.blocks.item(f"{marker} {self._inline(' '.join(text.split()))}")
        elif len(lines) > 1 and _indent(lines[1]) > _indent(first):
            definition = " ".join(" ".join(map(str.strip, lines[1:])).split())
            self.blocks.add(f"{self._inline(first.strip())}\n{self._inline(definition)}")
        else:
            self._add(" ".join(" ".join(map(str.strip, lines)).split()))

    def _add(self, text: str) -> None:
        lead, self._lead = self._lead, ""
        self.blocks.add(lead + self._inline(text))

    # Tables.

    def _table(self, line: str) -> bool:
        if _GRID.match(line):
            rows = self._grid()
        elif _SIMPLE.match(line) and line.count(" =") <= _MOST_COLUMNS:
            rows = self._simple()
        else:
            return False
        for number, (row, headings) in enumerate(rows):
            self.blocks.add(row_text([self._inline(cell) for cell in row], headings), close=number > 0)
        return True

    def _grid(self) -> list[tuple[list[str], list[str]]]:
        rows: list[list[str]] = []
        headings: list[str] = []
        cells: list[list[str]] = []
        while (line := self._line(self._at).strip()) and line[0] in "+|":
            self._at += 1
            if _GRID.match(line):
                if any(map(any, cells)):
                    rows.append([" ".join(filter(None, cell)) for cell in cells])
                cells = []
                if "=" in line and rows:
                    headings = rows[0]
            else:
                parts = [part.strip() for part in line.strip("|").split("|")]
                cells = cells if len(cells) == len(parts) else [*cells, *([] for _ in parts[len(cells) :])]
                for cell, part in zip(cells, parts, strict=False):
                    cell.append(part)
        return [(row, headings if row is not headings else []) for row in rows]

    def _simple(self) -> list[tuple[list[str], list[str]]]:
        border = self._line(self._at)
        starts = [match.start() for match in re.finditer(r"=+", border)]
        rows: list[list[str]] = []
        headings: list[str] = []
        borders, self._at = 1, self._at + 1
        while self._at < len(self._lines) and borders < 3:
            line = self._line(self._at)
            self._at += 1
            if _SIMPLE.match(line):
                borders += 1
                if borders == 2 and rows and self._more_below():
                    headings = rows[0]
                    continue
                break
            if not line.strip() or re.fullmatch(r"\s*-+(?:\s+-+)*\s*", line):
                continue
            cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            if cells[0] or not rows or rows[-1] is headings:
                rows.append(cells)
            else:
                rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
        return [(row, headings if row is not headings else []) for row in rows]

    def _more_below(self) -> bool:
        return bool(self._line(self._at).strip())

    def _line(self, number: int) -> str:
        return self._lines[number] if number < len(self._lines) else ""

    def _inline(self, text: str) -> str:
        return inline_text(text, self._substitutions)


_OBJECTS = frozenset("function class method attribute data exception staticmethod classmethod property decorator "
                     "option cmdoption envvar confval describe object c:function setting".split())  # fmt: skip


def _units(lines: list[str]) -> list[list[str]]:
    """A paragraph's lines, each item of a list and each field of its own."""
    units: list[list[str]] = []
    listed = is_item(lines[0].lstrip()) or _BULLET.match(lines[0]) or _FIELD.match(lines[0])
    for line in lines:
        begins = _BULLET.match(line) or _NUMBERED.match(line) or _FIELD.match(line)
        if not units or (begins and listed):
            units.append([line])
        else:
            units[-1].append(line)
    return units


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


# -------------------------------------------------------------------------------------------- inline

_SUBSTITUTION = re.compile(r"^\.\. \|([^|\n]{1,80})\| replace:: ([^\n]{1,500})$", re.MULTILINE)
_INLINE = re.compile(
    r"""``(?P<code>[^`\n](?:[^`\n]|`(?!`))*+)``
    | (?::(?P<role>[\w:+.-]{1,40}):)?`(?P<text>[^`]++)`(?:__?|:[\w:+.-]{1,40}:)?
    | \*\*(?P<strong>[^*\s](?:[^*]|\*(?!\*))*+)\*\*
    | (?<![\w*])\*(?P<emphasis>[^*\s][^*]*+)\*(?![\w*])
    | \|(?P<substitution>[^|\s][^|\n]{0,79})\|__?(?!\w) | \|(?P<name>[^|\s][^|\n]{0,79})\|(?!\w)
    | (?P<reference>\b\w[\w.-]{0,40})__?(?![\w])
    | \[(?P<footnote>[#*]?[\w.-]*)\]_
    | \\(?P<escaped>.)""",
    re.VERBOSE | re.DOTALL,
)
_TARGET = re.compile(r"(?<!\s)\s*<([^<>]*)>$")


def inline_text(text: str, substitutions: dict[str, str]) -> str:
    """The words of a line, without the marks of emphasis, roles and references."""

    def meaning(match: re.Match[str]) -> str:
        if match["text"] is not None:
            target = _TARGET.search(match["text"])
            words = match["text"][: target.start()] if target and target.start() else match["text"]
            if target and not target.start():
                words = target[1]
            return words.lstrip("~!") if match["role"] else words
        if (name := match["substitution"] or match["name"]) is not None:
            return substitutions.get(name, name)  # what stands for it may be in another file
        if match["reference"] is not None:
            return match["reference"]
        if match["footnote"] is not None:
            return f"[{match['footnote']}]"
        if match["escaped"] is not None:
            return "" if match["escaped"].isspace() else match["escaped"]
        return match["code"] or match["strong"] or match["emphasis"] or ""

    return _INLINE.sub(meaning, text)
