"""Manual pages of the BSDs: the macros of mdoc(7), which say what a word is instead of how it looks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wherefrom.ingest.roff import arguments, plain, roff_lines
from wherefrom.ingest.troff_page import TroffPage

_WORDS = frozenset("Ar Cm Ic Li Pa Ev Va Vt Em Sy Tn Er Dv Ad Cd Ms No An Fa Ft Mt Nm Fl Xr Lk Ux Bx Fx Nx Ox Dx Fr "
                   "Bsx At St Lb In Fn Fd Hf Sx Ns Ap Pf Ta Sm Bk Ek Ex Rv Tg".split())  # fmt: skip
_OPEN_TO_END = {  # one macro, whose end is the line's
    "Op": "[]",
    "Pq": "()",
    "Bq": "[]",
    "Brq": "{}",
    "Aq": "<>",
    "Dq": "“”",
    "Qq": '""',
    "Sq": "‘’",
    "Ql": "‘’",
}
_OPENINGS = {"Oo": "[", "Po": "(", "Bo": "[", "Bro": "{", "Ao": "<", "Do": "“", "Qo": '"', "So": "‘"}
_CLOSINGS = {"Oc": "]", "Pc": ")", "Bc": "]", "Brc": "}", "Ac": ">", "Dc": "”", "Qc": '"', "Sc": "’"}
_SYSTEMS = {"Ux": "UNIX", "Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD", "Dx": "DragonFly",
            "Bsx": "BSD/OS", "At": "AT&T UNIX"}  # fmt: skip
_CALLED = _WORDS | _OPEN_TO_END.keys() | _OPENINGS.keys() | _CLOSINGS.keys() | {"Xo", "Xc", "Nd"}
_CLOSING_MARKS = frozenset(".,:;)]?!")
_DATE = re.compile(r"([A-Z][a-z]+) (\d{1,2}), (\d{4})")
_MONTHS = "January February March April May June July August September October November December".split()


def render_mdoc(source: str, page: TroffPage) -> tuple[str, str]:
    """(name(section), date) of a page in mdoc(7); its text goes to `page`."""
    mdoc = _Mdoc(page)
    for line in roff_lines(source):
        if isinstance(line, list):
            continue  # tables are not of mdoc
        if line.macro:
            mdoc.macro(line.macro, line.raw)
        else:
            page.text(line.text)
    return mdoc.heading, mdoc.date


@dataclass
class _Line:
    """The words of a line, with what stands between them."""

    pieces: list[str] = field(default_factory=list)
    glued: bool = True  # whether the next word follows without a blank

    def add(self, text: str, before: bool = False, after: bool = False) -> None:
        """A word; `before` and `after` say whether it is glued to its neighbours."""
        if self.pieces and not self.glued and not before:
            self.pieces.append(" ")
        self.pieces.append(text)
        self.glued = after


class _Mdoc:
    """Macros of mdoc(7), one line after another."""

    def __init__(self, page: TroffPage) -> None:
        self.heading = self.date = self._name = ""
        self._page = page
        self._lists: list[list[str | int]] = []  # the kind of each list that is open, and the number of its last item
        self._open_tag = False  # from Xo to Xc a term goes over several lines
        self._spaced = True  # Sm off: words are glued together, those of different lines too
        self._glued = False

    def macro(self, macro: str, raw: str) -> None:
        page = self._page
        if self._open_tag:
            self._in_tag(macro, raw)
            return
        match macro:
            case "Dd":
                self.date = _iso_date(raw)
            case "Dt":
                words = self._plain_words(raw)
                self.heading = f"{words[0].lower()}({words[1]})" if len(words) > 1 else "".join(words)
            case "Os" | "Bk" | "Ek" | "Tg":
                pass
            case "Sm":
                self._spaced = raw.strip() != "off"
            case "Sh" | "Ss":
                page.heading(self._words(raw), 1 if macro == "Sh" else 2)
            case "Pp" | "Lp" | "sp":
                page.end_block()
            case "br":
                page.line_break()
            case "Bl":
                page.end_block()
                self._lists.append([next(iter(raw.split()), "-item"), 0])
            case "El":
                page.end_block()
                if self._lists:
                    self._lists.pop()
            case "It":
                self._item(raw)
            case "Bd" | "Ed":
                unfilled = "-literal" in raw or "-unfilled" in raw
                (page.begin_listing if macro == "Bd" and unfilled else page.end_listing)()
                page.end_block()
            case "D1" | "Dl":
                page.end_block()
                page.blocks.literal(self._words(raw))
            case "Rs" | "Re":
                page.end_block()
            case "Nm" if not raw.strip():
                page.word(self._name)
            case "Fo":
                page.text(f"{self._words(raw)}(")
            case "Fc":
                page.text(")")
            case _ if macro.startswith("%"):
                page.word(self._words(raw) + ",")
            case _:
                if macro in _CALLED:
                    self._in_line(macro, raw)

    def _in_line(self, macro: str, raw: str) -> None:
        text = self._words(f"{macro} {raw}")
        if macro == "Nm" and not self._name:
            self._name = text.split(" ")[0].rstrip(",")
        if macro == "Nd":
            text = f"- {text}"
        self._page.text(text) if text.strip() else None

    def _in_tag(self, macro: str, raw: str) -> None:
        if macro == "Sm":
            self._spaced = raw.strip() != "off"
        elif macro == "Xc":
            self._open_tag, self._spaced = False, True
        elif macro in _CALLED:
            text = self._words(f"{macro} {raw}")
            self._page.extend_tag(text if self._spaced else text.replace(" ", ""), glued=self._glued)
            self._glued = not self._spaced
            self._open_tag = " Xc" not in raw

    def _item(self, raw: str) -> None:
        page = self._page
        page.end_block()
        if not self._lists:
            return
        kind, number = self._lists[-1]
        if kind == "-enum":
            self._lists[-1][1] = int(number) + 1
            page.tag(f"{int(number) + 1}.")
        elif kind in ("-bullet", "-dash", "-hyphen"):
            page.tag("-")
        elif kind == "-column":
            page.text(self._words(raw.replace("\t", " Ta ")))
        elif raw.strip():
            page.tag(self._words(raw))
            self._open_tag, self._glued = raw.split()[-1] == "Xo", False

    def _plain_words(self, raw: str) -> list[str]:
        return [plain(word, {}) for word in arguments(raw)]

    def _words(self, raw: str) -> str:
        """The line with its macros carried out."""
        line = _Line()
        tokens = arguments(raw)
        closers: list[str] = []
        end = len(tokens)
        while end and tokens[end - 1] in _CLOSING_MARKS:
            end -= 1
        place = 0
        while place < end:
            token = tokens[place]
            place += 1
            if token in _OPEN_TO_END:
                line.add(_OPEN_TO_END[token][0], after=True)
                closers.append(_OPEN_TO_END[token][1])
            elif token in _OPENINGS:
                line.add(_OPENINGS[token], after=True)
            elif token in _CLOSINGS:
                line.add(_CLOSINGS[token], before=True)
            elif token in ("Ns", "Ap", "Pf"):
                line.glued = True
                if token == "Ap":
                    line.add("'", before=True, after=True)
                elif token == "Pf" and place < end:
                    line.add(plain(tokens[place], {}), after=True)
                    place += 1
            elif token == "Ta":
                line.add("|")
            elif token in _CALLED:
                stop = place
                while stop < end and tokens[stop] not in _CALLED:
                    stop += 1
                self._called(line, token, [plain(word, {}) for word in tokens[place:stop]])
                place = stop
            else:
                self._mark_or_word(line, plain(token, {}))
        for closing in reversed(closers):
            line.add(closing, before=True)
        for mark in tokens[end:]:
            line.add(mark, before=True)
        return "".join(line.pieces)

    def _mark_or_word(self, line: _Line, word: str, lead: str = "") -> None:
        if word in _CLOSING_MARKS:
            line.add(word, before=True)
        elif word in ("(", "["):
            line.add(word, after=True)
        else:
            line.add(lead + word)

    def _called(self, line: _Line, macro: str, words: list[str]) -> None:
        """A macro with the words that belong to it."""
        match macro:
            case "Fl":
                for word in words or [""]:
                    self._mark_or_word(line, word, "-" if word not in ("|",) else "")
                return
            case "Ar" if not words:
                words = ["file", "..."]
            case "Nm" if not words or words[0] in _CLOSING_MARKS:
                words = [self._name, *words]
            case "Xr" if len(words) > 1:
                words = [f"{words[0]}({words[1]})", *words[2:]]
            case "Fn" if words:
                rest = [word for word in words[1:] if word not in _CLOSING_MARKS]
                marks = [word for word in words[1:] if word in _CLOSING_MARKS]
                words = [f"{words[0]}({', '.join(rest)})", *marks]
            case "In" if words:
                words = [f"<{words[0]}>", *words[1:]]
            case "Lk" if len(words) > 1:
                words = [f"{' '.join(words[1:])} ({words[0]})"]
            case "Ex":
                words = [f"The {self._name} utility exits 0 on success, and >0 if an error occurs."]
            case "St" if words:
                words = [words[0].lstrip("-").replace("p1003", "POSIX 1003"), *words[1:]]
            case "Rv" | "Sm" | "Bk" | "Ek" | "Tg" | "Lb":
                words = []
            case _ if macro in _SYSTEMS:
                marks = [word for word in words if word in _CLOSING_MARKS]
                versions = [word for word in words if word not in _CLOSING_MARKS]
                words = [" ".join([_SYSTEMS[macro], *versions]), *marks]
        for word in words:
            self._mark_or_word(line, word)


def _iso_date(raw: str) -> str:
    match = _DATE.search(raw)
    if match is None or match[1] not in _MONTHS:
        return ""
    return f"{match[3]}-{_MONTHS.index(match[1]) + 1:02}-{int(match[2]):02}"
