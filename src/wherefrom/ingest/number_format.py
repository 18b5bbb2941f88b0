"""Numbers and dates of a spreadsheet as people see them in its cells."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

# What the numbers of formats mean that a file need not spell out (ECMA-376, 18.8.30). Dates in the order of the
# reader's own country are ISO here.
BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
    21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "0.0E+0", 49: "@",
}  # fmt: skip
_LONGEST_FORMAT = 255
_LAST_DAY = 2_958_466  # of the year 9999: what is later is a number
# The pieces of a format that stand for themselves, are blanks, or are conditions and colours.
_LITERAL = re.compile(  # linear: a format, cut off
    r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE
)
_DATE_TOKEN = re.compile(r"AM/PM|A/P|\[h+\]|\[m+\]|\[s+\]|y+|m+|d+|h+|s+(?:\.0+)?|.", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[#0?][#0?,]*(?:\.[#0?]*)?,*(?:E[+-][#0?]+)?|\.[#0?]+", re.IGNORECASE)
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def is_date(format: str) -> bool:
    """Whether numbers in this format are days since the beginning of 1900, or parts of one."""
    return _plain(format)[1]


def shown(value: float, format: str, from_1904: bool = False) -> str:
    """The number as a cell of this format shows it."""
    sections, dated = _plain(format)
    if dated and -0.001 < value < _LAST_DAY:
        return _date(value, sections[0], from_1904)
    negative = value < 0
    place = 1 if negative and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    section = sections[place]
    core = _NUMBER.search("".join(piece for piece, literal in section if not literal))
    if core is None:  # General, @, or words alone
        words = "".join(piece for piece, literal in section if literal)
        return words if words and place else _general(value)
    text = _number(abs(value) * 100 ** _percents(section), core[0])
    sign = "-" if negative and not place and text.strip("0.,") else ""
    return sign + _around(section, text)


@lru_cache(maxsize=512)
def _plain(format: str) -> tuple[tuple[tuple[tuple[str, bool], ...], ...], bool]:
    """The sections of a format (positive; negative; zero) in pieces, each literal or not; whether it is a date's."""
    sections: list[list[tuple[str, bool]]] = [[]]
    place, format = 0, format[:_LONGEST_FORMAT]
    while place < len(format):
        literal = _LITERAL.match(format, place)
        if literal:
            text = next((group for group in literal.groups() if group is not None), "")
            if text:
                sections[-1].append((text, True))
            place = literal.end()
        elif format[place] == ";":
            sections.append([])
            place += 1
        else:
            sections[-1].append((format[place], False))
            place += 1
    bare = "".join(piece for piece, literal in sections[0] if not literal)
    dated = (
        bare.casefold() != "general"
        and not re.search(r"[#?]|0(?!0*$)", bare)  # linear: a format, cut off
        and bool(re.search("[ymdhs]", bare, re.I))
    )
    return tuple(map(tuple, sections)), dated


def _percents(section: tuple[tuple[str, bool], ...]) -> int:
    return min(sum(piece == "%" for piece, literal in section if not literal), 1)


def _around(section: tuple[tuple[str, bool], ...], number: str) -> str:
    """The number with what stands before and behind it in the format: signs of currency, brackets, units."""
    before = behind = ""
    reached = False
    for piece, literal in section:
        if not literal and re.fullmatch(r"[#0?.,E]", piece, re.IGNORECASE):
            reached = True
        elif not reached:
            before += piece
        elif not (piece in "+-" and not literal and behind == ""):  # that of an exponent
            behind += piece
    return f"{before}{number}{behind}".strip()


def _number(value: float, core: str) -> str:
    hidden = len(core) - len(core.rstrip(","))  # each hides three digits
    value /= 1000.0**hidden
    whole, _, rest = core.rstrip(",").partition(".")
    if "E" in core.upper():
        digits = len(rest.upper().partition("E")[0])
        return f"{value:.{digits}E}"
    least = min(rest.count("0"), 20)
    text = f"{value:{',' if ',' in whole else ''}.{min(len(rest), 20)}f}"
    if len(rest) > least and "." in text:
        head, _, tail = text.partition(".")
        tail = tail[:least] + tail[least:].rstrip("0")
        text = f"{head}.{tail}" if tail else head
    zeros = min(whole.replace(",", "").count("0"), 30)
    head, point, tail = text.partition(".")
    return head.rjust(zeros, "0") + point + tail


def _general(value: float) -> str:
    """Ten digits at most, as a cell has room for."""
    if value == int(value) and abs(value) < 1e11:
        return str(int(value))
    return f"{value:.10g}"


def _date(days: float, section: tuple[tuple[str, bool], ...], from_1904: bool) -> str:
    seconds = round(days * 86_400, 3)
    # Days before March 1900 are one off: the first spreadsheet took that year for a leap year.
    begin = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 31 if days < 60 else 30)
    moment = begin + timedelta(seconds=seconds)
    tokens: list[tuple[str, bool]] = []
    bare = ""
    for piece, literal in (*section, ("", True)):
        if literal:
            tokens += [(token, False) for token in _DATE_TOKEN.findall(bare)] + [(piece, True)]
            bare = ""
        else:
            bare += piece
    halves = any(token.upper() in ("AM/PM", "A/P") for token, literal in tokens if not literal)
    out: list[str] = []
    before = ""
    for index, (token, literal) in enumerate(tokens):
        if literal:
            out.append(token)
            continue
        later = next((each[0].lower() for each, more in tokens[index + 1 :] if not more and each[0].isalpha()), "")
        out.append(_date_part(token, moment, seconds, halves, is_minute=before == "h" or later == "s"))
        letter = token.strip("[")[:1].lower()  # of a bracket alone none
        before = letter if letter.isalpha() else before
    return "".join(out).strip()


def _date_part(token: str, moment: datetime, seconds: float, halves: bool, is_minute: bool) -> str:
    kind, length = token[0].lower(), len(token)
    if token[0] == "[" and length > 1:
        unit = {"h": 3600, "m": 60, "s": 1}[token[1].lower()]
        return str(int(seconds // unit)).rjust(length - 2, "0")
    if token.upper() in ("AM/PM", "A/P"):
        return "AM" if moment.hour < 12 else "PM"
    if kind == "y":
        return f"{moment.year % 100:02}" if length < 3 else f"{moment.year:04}"
    if kind == "m" and not (is_minute and length < 3):
        name = _MONTHS[moment.month - 1]
        return f"{moment.month:0{min(length, 2)}}" if length < 3 else name[:3] if length == 3 else name
    if kind == "d" and length > 2:
        name = _DAYS[moment.weekday()]
        return name[:3] if length == 3 else name
    if kind in "dhms":
        hour = (moment.hour % 12 or 12) if halves else moment.hour
        number = {"d": moment.day, "h": hour, "m": moment.minute, "s": moment.second}[kind]
        return f"{number:0{2 if token[:2].lower() == 2 * kind else 1}}"
    return token
