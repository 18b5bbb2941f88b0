"""LaTeX as plain readable text: headings, lists, tables and listings without the commands around them.

Nothing is expanded and no file is put in: a command that is not known stands for the words in its braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded, readable_name
from wherefrom.ingest.tables import row_text


def read(data: bytes, name: str) -> Record:
    """A document; its title is its own, else its first heading, else made of the file's name."""
    reader = _Reader(decoded(data).replace("\r\n", "\n").replace("\r", "\n"))
    reader.read()
    return reader.blocks.record(reader.title or reader.first_heading or readable_name(name))


_TOKEN = re.compile(
    r"""(?P<blank>\n[ \t]*\n\s*)
    | (?<!\\)%[^\n]*\n?[ \t]*
    | \\(?P<command>[a-zA-Z@]+)\*?[ \t]*+\n?[ \t]*+ | \\(?P<symbol>.)
    | (?P<open>\{) | (?P<close>\}) | (?P<math>\$\$?)
    | (?P<text>[^\\{}%$&~\n]+|.|\n)""",
    re.VERBOSE | re.DOTALL,
)
_HEADINGS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "frametitle": 2,
}
# Commands whose arguments are for the typesetter: how many of them in braces.
_DROPPED = {
    "label": 1, "ref": 1, "eqref": 1, "pageref": 1, "cite": 1, "citep": 1, "citet": 1, "usepackage": 1, "vspace": 1,
    "hspace": 1, "includegraphics": 1, "input": 1, "include": 1, "bibliography": 1, "bibliographystyle": 1,
    "autoref": 1,    "documentclass": 1, "pagestyle": 1, "thispagestyle": 1, "setlength": 2, "addtolength": 2,
    "setcounter": 2,
    "newcommand": 2, "renewcommand": 2, "providecommand": 2, "newenvironment": 3, "newtheorem": 2,
    "DeclareMathOperator": 2,    "color": 1, "definecolor": 3, "hypersetup": 1, "graphicspath": 1, "index": 1,
    "newlength": 1, "fontsize": 2,
    "addcontentsline": 3, "cref": 1, "Cref": 1, "nocite": 1, "cline": 1, "cmidrule": 1, "rule": 2, "RequirePackage": 1,
    "lstset": 1, "lstinputlisting": 1, "pgfplotsset": 1, "usetikzlibrary": 1, "geometry": 1, "def": 1, "let": 0,
    "setmainfont": 1, "captionsetup": 1, "textcolor": 1, "href": 1, "hyphenation": 1, "hypertarget": 1,
    "hyperlink": 1, "raisebox": 1, "setkeys": 2, "special": 1,
}  # fmt: skip
_LISTINGS = ("verbatim", "lstlisting", "minted", "Verbatim", "alltt", "code")
_UNSEEN = ("tikzpicture", "thebibliography", "comment", "filecontents", "pspicture")
_TABLES = frozenset(("tabular", "tabularx", "longtable", "tabular*", "array", "tabulary"))
_MATH = frozenset("equation equation* align align* eqnarray eqnarray* displaymath math gather gather* multline "
                  "multline*".split())  # fmt: skip
_ENVIRONMENT = re.compile(r"\s*\{([^{}\n]{1,40})\}")  # linear: tried where a command ends, once
_SIGNS = {
    "ldots": "…", "dots": "…", "textbackslash": "\\", "textasciitilde": "~", "LaTeX": "LaTeX", "TeX": "TeX", "S": "§",
    "P": "¶", "copyright": "©", "textregistered": "®", "texttrademark": "™", "pounds": "£", "euro": "€", "EUR": "€",
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł", "L": "Ł",
    "i": "ı", "textless": "<", "textgreater": ">", "textbar": "|", "textendash": "–", "textemdash": "—", "times": "×",
    "textunderscore": "_", "textasciicircum": "^", "degree": "°", "textdegree": "°", "quad": " ", "qquad": " ",
    "newline": "\n", "linebreak": "\n", "par": "\n\n", "cdot": "·", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
    "neq": "≠", "approx": "≈", "pm": "±", "to": "→", "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒",
    "infty": "∞",    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ",
    "lambda": "λ", "mu": "μ",
    "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "Delta": "Δ", "Sigma": "Σ", "Omega": "Ω",
    "sum": "∑", "in": "∈", "textbullet": "•", "bullet": "•", "div": "÷", "lbrace": "{", "rbrace": "}",
}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
            "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328"}  # fmt: skip
_QUOTES = (("``", "“"), ("''", "”"), ("---", "—"), ("--", "–"))
_ARGUMENT = re.compile(r"\s*+\[[^\[\]]{0,2000}\]|\s*+<[^<>\n]{0,40}>")  # linear: likewise
_MOST_UNCLOSED = 50
_MOST_SEARCHED = 20_000  # characters in which the end of an argument is looked for


class _Reader:
    """Goes through the tokens once; braces that hold something of interest are kept on a stack."""

    def __init__(self, source: str) -> None:
        self.blocks = Blocks()
        self.title = self.first_heading = ""
        self._source = source
        self._at = 0
        self._line: list[str] = []
        # Where in the line each group that is wanted began, which line that is, and what takes its words.
        self._groups: list[tuple[int, int, Callable[[str], None]] | None] = []
        self._lines_before = 0
        self._lists: list[int | None] = []
        self._row: list[str] | None = None
        self._tables = 0
        self._first_row = False
        self._item = ""
        self._math = False
        self._unclosed = 0  # arguments without an end, for which it is looked far

    def read(self) -> None:
        begin = re.search(r"\\begin\s*\{document\}", self._source)
        if begin:
            self._preamble(self._source[: begin.start()])
            self._at = begin.end()
        while self._at < len(self._source):
            match = _TOKEN.match(self._source, self._at)
            assert match is not None  # any character is a token
            self._at = match.end()
            if match["text"]:
                self._text(match["text"])
            elif match["command"]:
                self._command(match["command"])
            elif match["symbol"]:
                self._symbol(match["symbol"])
            elif match["blank"]:
                self._end_paragraph()
            elif match["open"]:
                self._groups.append(None)
            elif match["close"]:
                self._close()
            elif match["math"]:
                self._math = not self._math
        while self._groups:
            self._close()
        self._end_paragraph()

    def _preamble(self, source: str) -> None:
        title = re.search(r"\\title\s*(?:\[[^\]]{0,500}\]\s*)?\{", source)
        if title:
            inside = source[title.end() : _closing(source, title.end())]
            self.title = _plain(inside)

    def _text(self, text: str) -> None:
        if text == "~":
            self._line.append(" ")
        elif text == "&" and self._row is not None and not self._math:
            self._end_cell()
        else:
            self._line.append(text)

    def _symbol(self, symbol: str) -> None:
        if symbol == "\\":
            self._skip_options()
            if self._row is not None:
                self._end_row()
            else:
                self._line.append("\n")
        elif symbol in "([":
            self._math = True
        elif symbol in ")]":
            self._math = False
        elif symbol in _ACCENTS:
            self._accent(symbol)
        elif symbol in "&%$#_{} ":
            self._line.append(symbol)
        elif symbol in ",;:>/-!@\n":
            self._line.append(" " if symbol in ",;: \n" else "")

    def _accent(self, name: str) -> None:
        letter = re.compile(r"\s*(?:\{\\?([A-Za-z]?)\s*\}|\\?([A-Za-z]))").match(
            self._source, self._at
        )  # linear: once a command
        if letter:
            self._at = letter.end()
            self._line.append((letter[1] or letter[2] or "") + _ACCENTS[name])

    def _command(self, name: str) -> None:
        if name in ("begin", "end"):
            self._environment(name)
        elif name in _HEADINGS:
            self._skip_options()
            self._end_paragraph()
            self._into(lambda text: self._heading(text, _HEADINGS[name]))
        elif name == "title":
            self._skip_options()
            self._into(self._set_title)
        elif name == "item":
            self._end_paragraph()
            self._next_item()
        elif name in ("caption", "footnote", "thanks"):
            self._skip_options()
            mark = " (" if name == "footnote" else ""
            self._into(lambda text: self._line.append(f"{mark}{text}{')' if mark else ' '}"))
        elif name in ("verb", "lstinline", "mintinline"):
            self._verb()
        elif name in _DROPPED:
            for _ in range(_DROPPED[name]):
                self._skip_options()
                self._skip_argument()
            self._skip_options()
        elif name in _SIGNS:
            self._line.append(_SIGNS[name])
        elif name in _ACCENTS and len(name) == 1:
            self._accent(name)
        elif name in ("multicolumn", "multirow"):
            for _ in range(2):
                self._skip_options()
                self._skip_argument()
            self._skip_options()
        else:
            self._skip_options()

    # Arguments and groups.

    def _into(self, use: Callable[[str], None]) -> None:
        """Have what the group to come holds taken out of the line and used."""
        opening = re.compile(r"\s*\{").match(self._source, self._at)  # linear: once a command
        if opening:
            self._at = opening.end()
            self._groups.append((len(self._line), self._lines_before, use))

    def _close(self) -> None:
        if self._groups and (group := self._groups.pop()) is not None:
            begin, lines_before, use = group
            if lines_before != self._lines_before:  # its line has ended before it
                return
            text = "".join(self._line[begin:])
            del self._line[begin:]
            use(text)

    def _skip_options(self) -> None:
        while match := _ARGUMENT.match(self._source, self._at):
            self._at = match.end()

    def _skip_argument(self) -> None:
        opening = re.compile(r"\s*(\{|\\[A-Za-z@]+)").match(self._source, self._at)  # linear: once a command
        if opening:
            self._at = opening.end()
            if opening[1] == "{" and self._unclosed < _MOST_UNCLOSED:
                end = _closing(self._source, self._at)
                self._unclosed += end == self._at
                self._at = end + 1

    def _verb(self) -> None:
        self._skip_options()
        mark = self._source[self._at : self._at + 1]
        end = self._source.find("}" if mark == "{" else mark, self._at + 1, self._at + 1000) if mark else -1
        if end > 0:
            self._line.append(self._source[self._at + 1 : end])
            self._at = end + 1

    # Environments.

    def _environment(self, which: str) -> None:
        match = _ENVIRONMENT.match(self._source, self._at)
        if match is None:
            return
        name, self._at = match[1], match.end()
        begins = which == "begin"
        if begins and name in _LISTINGS:
            self._listing(name)
        elif begins and name in _UNSEEN:
            end = self._source.find(f"\\end{{{name}}}", self._at)
            self._at = len(self._source) if end < 0 else end
        elif name in _TABLES:
            self._table(begins, name)
        elif name in ("itemize", "enumerate", "description", "compactitem", "compactenum"):
            self._skip_options()
            self._end_paragraph()
            if begins:
                self._lists.append(1 if "enum" in name else None)
            elif self._lists:
                self._lists.pop()
        elif name in _MATH:
            self._math = begins
            self._end_paragraph()
        else:
            self._skip_options()
            self._end_paragraph()
            if begins and name == "abstract":
                self.blocks.heading("Abstract", 2)
            if begins and name == "frame":
                self._into(lambda text: self._heading(text, 2))

    def _listing(self, name: str) -> None:
        self._end_paragraph()
        self._skip_options()
        if name == "minted":
            self._skip_argument()
        end = self._source.find(f"\\end{{{name}}}", self._at)
        end = len(self._source) if end < 0 else end
        self.blocks.literal(self._source[self._at : end])
        self._at = end

    def _table(self, begins: bool, name: str) -> None:
        self._end_paragraph()
        self._skip_options()
        if begins:
            self._tables += 1
            self._row, self._first_row = [], True
            for _ in range(2 if name in ("tabularx", "tabular*", "tabulary") else 1):
                self._skip_options()
                self._skip_argument()
        else:
            self._end_row()
            self._tables = max(self._tables - 1, 0)
            self._row = [] if self._tables else None

    def _end_cell(self) -> None:
        if self._row is not None:
            self._row.append(_spaced(_marks("".join(self._line))))
            self._line = []
            self._lines_before += 1

    def _end_row(self) -> None:
        self._end_cell()
        if self._row and any(self._row):
            self.blocks.add(row_text(self._row), close=not self._first_row)
            self._first_row = False
        self._row = [] if self._row is not None else None

    # Blocks.

    def _next_item(self) -> None:
        label = re.compile(r"\s*\[([^\[\]]{0,300})\]").match(self._source, self._at)  # linear: once a command
        if label:
            self._at = label.end()
            self._item = f"{_plain(label[1])}\n"
        elif self._lists and (number := self._lists[-1]) is not None:
            self._item = f"{number}. "
            self._lists[-1] = number + 1
        else:
            self._item = "- "

    def _end_paragraph(self) -> None:
        if self._row is not None:
            self._line.append(" ")
            return
        text = "\n".join(_spaced(line) for line in _marks("".join(self._line)).split("\n\n")).strip()
        self._line = []
        self._lines_before += 1
        item, self._item = self._item, ""
        if not text:
            self._item = item
        elif item.endswith("\n") or not item:
            self.blocks.add(item + text)
        else:
            self.blocks.item(item + text)

    def _heading(self, text: str, level: int) -> None:
        text = _spaced(_marks(text))
        self._end_paragraph()
        self.first_heading = self.first_heading or text
        self.blocks.heading(text, level)

    def _set_title(self, text: str) -> None:
        self.title = self.title or _spaced(_marks(text))


def _closing(source: str, start: int) -> int:
    """Where the brace is closed that was opened before `start`; not far from it, or at once."""
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(source, start, start + _MOST_SEARCHED):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return start


def _plain(source: str) -> str:
    """The words of a short piece of LaTeX, such as a title."""
    source = re.sub(r"(?<!\\)%[^\n]*\n?[ \t]*", "", source)
    words = re.sub(
        r"\\(?:thanks|footnote|label)\s*\{[^{}]*\}|\\\\(?:\[[^\]\[]*\])?|\\[a-zA-Z]+\*?\s*|[{}$]", " ", source
    )
    return _spaced(_marks(words.replace("~", " ").replace("\\", "")))


def _marks(text: str) -> str:
    for written, meant in _QUOTES:
        text = text.replace(written, meant)
    return text


def _spaced(text: str) -> str:
    return " ".join(text.split())
