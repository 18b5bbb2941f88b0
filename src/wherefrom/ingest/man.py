"""Manual pages as `man` prints them, read from their own macros: man(7), and mdoc(7) of the BSDs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.mdoc import render_mdoc
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.roff import RoffLine, arguments, plain, roff_lines
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text
from wherefrom.ingest.troff_page import TroffPage

_HEADER = re.compile(rb"^\.(?:TH|Dd|Dt)[ \t]", re.MULTILINE)
_LONGEST_ABOUT = 120  # characters of what a page says of itself; more is a page that goes on without a heading
_LINK = re.compile(rb"\A\s*(?:[.']\\\"[^\n]*\n\s*)*+\.so[ \t]+\S+\s*\Z")


def is_manual(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a manual page."""
    return head.lstrip()[:1] in (b".", b"'") and _HEADER.search(head) is not None


def is_link(data: bytes) -> bool:
    """Whether a page only says that another page is to be read in its place."""
    return _LINK.match(data) is not None


def read(data: bytes, name: str) -> Record:
    """A page; its title is its name and section, and what it does: `ls(1): list directory contents`."""
    source = decoded(data).replace("\r\n", "\n")
    page = TroffPage()
    if re.search(r"^\.Dd[ \t]", source, re.MULTILINE):
        heading, date = render_mdoc(source, page)
    else:
        heading, date = _render_man(source, page)
    page.end_block()
    return page.blocks.record(_title(heading, page.blocks) or readable_name(name), date)


def _title(heading: str, blocks: Blocks) -> str:
    """The page's name, of its own line where that is written in small letters, and what it says of itself."""
    named = re.match(r"\s*NAME\n\n([^\n]{1,300})", blocks.text(), re.IGNORECASE)
    if named is None:
        return heading
    own, dash, about = re.sub(r"\s+[-–—−]+\s+", "\0", named[1], count=1).partition("\0")  # linear: one line of a name
    section = re.search(r"\([^()]*\)$", heading)
    first = own.split(",")[0].strip()
    if not dash or not first or " " in first or len(about) > _LONGEST_ABOUT:
        return heading
    return f"{first}{section[0] if section else ''}: {about.strip().rstrip('.')}"


_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FONTS = frozenset("B I BR RB IR RI BI IB SM SB R".split())
_LEVELS = {"SH": 1, "SS": 2}
_ALTERNATING = frozenset(("BR", "RB", "IR", "RI", "BI", "IB"))


def _render_man(source: str, page: TroffPage) -> tuple[str, str]:
    """(name(section), date) of a page in man(7); its text goes to `page`."""
    man = _Man(page)
    for line in roff_lines(source):
        if isinstance(line, list):
            page.end_block()
            for row in table_rows(line):
                page.blocks.add(row, close=man.in_table)
                man.in_table = True
            man.in_table = False
        else:
            man.line(line)
    return man.heading, man.date


class _Man:
    """Macros of man(7), one line after another."""

    def __init__(self, page: TroffPage) -> None:
        self.heading = self.date = ""
        self.in_table = False
        self._page = page
        self._waiting = ""  # the macro that the next line of text belongs to: TP, SH or SS

    def line(self, line: RoffLine) -> None:
        if not line.macro:
            self._text(line.text)
            return
        words = [plain(word, {}) for word in arguments(line.raw)]
        macro = line.macro
        if macro == "TH":
            self.heading = f"{words[0].lower()}({words[1]})" if len(words) > 1 else " ".join(words[:1]).lower()
            date = _DATE.search(" ".join(words[2:3]))
            self.date = date[0] if date else ""
        elif macro in ("SH", "SS"):
            self._page.end_block()
            if words:
                self._page.heading(" ".join(words), _LEVELS[macro])
            else:
                self._waiting = macro
        elif macro in _FONTS:
            if words:
                self._text("".join(words) if macro in _ALTERNATING else " ".join(words))
        else:
            self._layout(macro, words)

    def _layout(self, macro: str, words: list[str]) -> None:
        page = self._page
        match macro:
            case "PP" | "LP" | "P" | "RE" | "HP" | "sp" | "Sp":
                page.end_block(keep_tag=macro == "sp")
            case "RS":
                page.indent()
            case "TP" | "TQ":
                page.end_block(keep_tag=macro == "TQ")
                self._waiting = "TP"
            case "IP":
                page.end_block()
                if words and words[0].strip():
                    page.tag(words[0])
            case "br":
                page.line_break()
            case "nf" | "EX" | "Vb":
                page.begin_listing()
            case "fi" | "EE" | "Ve":
                page.end_listing()
            case "SY":
                page.end_block()
                page.word(" ".join(words))
            case "OP":
                page.word(f"[{' '.join(words)}]")
            case "YS":
                page.end_block()
            case "UR" | "MT":
                page.held_link = words[0] if words else ""
            case "UE" | "ME":
                link, page.held_link = page.held_link, ""
                if link:
                    page.word(f"<{link}>{''.join(words)}")
            case "MR":
                page.word(f"{words[0]}({words[1]}){''.join(words[2:])}" if len(words) > 1 else " ".join(words))

    def _text(self, text: str) -> None:
        waiting, self._waiting = self._waiting, ""
        if waiting == "TP":
            self._page.tag(text)
        elif waiting:
            self._page.heading(text, _LEVELS[waiting])
        else:
            self._page.text(text)


# --------------------------------------------------------------------------------------------- tables

_TAB = re.compile(r"tab\s*\((.)\)")
_BOLD = re.compile(r"[bB]")


def table_rows(lines: Iterable[str]) -> list[str]:
    """The rows of a tbl table, a line each, with the headings of their columns where these are set in bold."""
    rows, formats = _cells(lines)
    bold = len(formats) > 1 and _BOLD.search(formats[0]) is not None and _BOLD.search(formats[-1]) is None
    headings = rows[0] if bold and rows else []
    return [row_text(row, headings if number else ()) for number, row in enumerate(rows) if any(row)]


def _cells(lines: Iterable[str]) -> tuple[list[list[str]], list[str]]:
    separator, formats, rows = "\t", [], []
    in_format, first = True, True
    open_cell: list[str] | None = None
    row: list[str] = []
    for line in lines:
        if first and line.rstrip().endswith(";"):
            option = _TAB.search(line)
            separator = option[1] if option else separator
        elif in_format:
            formats.append(line)
            in_format = not line.rstrip().endswith(".")
        elif open_cell is not None:
            if not line.startswith("T}"):
                open_cell.append(_cell(line))
                continue
            row.append(" ".join(open_cell))
            open_cell = _add_cells(row, line[2:].removeprefix(separator), separator) if line[2:] else None
        elif line.startswith(".T&"):
            in_format = True
        elif line.strip() not in ("_", "=") and not re.match(r"[.'][a-z\\]", line):
            open_cell = _add_cells(row, line, separator)
        first = False
        if row and open_cell is None:
            rows.append(row)
            row = []
    return rows, formats


def _add_cells(row: list[str], line: str, separator: str) -> list[str] | None:
    """Add the cells of a line to a row; the last one's lines, where it goes on below."""
    *cells, last = line.split(separator)
    row += [_cell(cell) for cell in cells]
    if last.rstrip() == "T{":
        return []
    row.append(_cell(last))
    return None


def _cell(text: str) -> str:
    macro = re.match(r"\.(\w+)[ \t]+(.*)", text)
    if macro and macro[1] in _FONTS:
        words = [plain(word, {}) for word in arguments(macro[2])]
        return ("" if macro[1] in _ALTERNATING else " ").join(words)
    return "" if text.startswith(".") or text in ("\\^", "\\_") else " ".join(plain(text, {}).split())
