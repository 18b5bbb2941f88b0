"""Lines of troff, the language of manual pages: comments, conditions, strings and escapes dealt with, macros left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RoffLine:
    """A line of text, or a macro with its arguments; `raw` are those as they were written."""

    macro: str
    text: str
    raw: str = ""


_CONTROL = re.compile(r"[.'][ \t]*(\\\"|[^\s\\\"']*)(.*)")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*+)"?|((?:\\ |[^ \t])++)')
_CONDITION = re.compile(r"\s*+(!?)\s*+(?:([nteo])(?![a-z])|'[^']*'[^']*'|\"[^\"]*\"[^\"]*\"|\([^ ]*|\S+)\s*(.*)")
_SKIPPED = frozenset(("ig", "de", "am", "de1", "am1"))  # until a line of two dots
_MOST_CONDITIONS = 20  # in one line
_PAIRS = {"TS": "TE", "EQ": "EN", "PS": "PE"}
_LONGEST_STRING = 200  # characters; strings stand for signs and names


def roff_lines(source: str) -> Iterator[RoffLine | list[str]]:
    """The lines of a page that count; a table is the list of its lines."""
    return _Reader(source).lines()


@dataclass
class _Reader:
    source: str
    strings: dict[str, str] = field(default_factory=dict)

    def lines(self) -> Iterator[RoffLine | list[str]]:
        lines = iter(_joined_lines(self.source))
        held = True  # the last condition of an .ie
        blank = False  # the line before
        for line in lines:
            if blank and not line:  # of many blank lines one says as much
                continue
            blank = not line
            control = _CONTROL.match(line)
            for _ in range(_MOST_CONDITIONS):
                if control is None or control[1] not in ("if", "ie", "el"):
                    break
                if control[1] == "el":
                    holds, body = not held, control[2].lstrip()
                else:
                    holds, body = _condition(control[2])
                    held = holds if control[1] == "ie" else held
                line = self._body(body, holds, lines)
                control = _CONTROL.match(line)
            if control is None:
                text = line.replace("\\}", "").replace("\\{", "")
                yield RoffLine("", self.plain(text))
            elif control[1] in ("if", "ie", "el"):
                continue  # one in another without end
            elif control[1] in _SKIPPED:
                words = _without_comment(control[2]).split()
                _skip(lines, words[:1] if control[1] == "ig" else words[1:2])
            elif control[1] in ("ds", "as"):
                self._define(control[2])
            elif control[1] in _PAIRS:
                inside = _until(lines, _PAIRS[control[1]])
                if control[1] == "TS":
                    yield inside
            elif control[1] and control[1] != '\\"':
                yield RoffLine(control[1], "", _without_comment(control[2]).replace("\\}", ""))

    def plain(self, text: str) -> str:
        """The text with every escape as what it stands for."""
        return plain(text, self.strings)

    def _body(self, body: str, holds: bool, lines: Iterator[str]) -> str:
        """What is left of the line after a condition; a block that does not hold is passed over."""
        if holds:
            return body.removeprefix("\\{").strip()
        depth = body.count("\\{") - body.count("\\}")
        while depth > 0 and (line := next(lines, None)) is not None:
            depth += line.count("\\{") - line.count("\\}")
        return '.\\"'

    def _define(self, rest: str) -> None:
        name, _, value = rest.strip().partition(" ")
        if name not in _STRINGS and len(value) <= _LONGEST_STRING:
            self.strings[name] = plain(value.strip().removeprefix('"'), {})


def _joined_lines(source: str) -> Iterator[str]:
    """Lines, those that end in a backslash with the next one."""
    pieces: list[str] = []
    for line in source.split("\n"):
        if line.endswith("\\") and not line.endswith("\\\\"):
            pieces.append(line[:-1])
        elif pieces:
            yield "".join([*pieces, line])
            pieces = []
        else:
            yield line
    if pieces:
        yield "".join(pieces)


def _condition(rest: str) -> tuple[bool, str]:
    """Whether a condition holds on a terminal, and what follows it."""
    match = _CONDITION.match(rest)
    if match is None:
        return False, ""
    holds = match[2] in ("n", "o") or "\\n(.g" in rest[: match.start(3)] or "\\n[.g]" in rest[: match.start(3)]
    return holds != bool(match[1]), match[3]


def _skip(lines: Iterator[str], end: list[str]) -> None:
    closing = end[0] if end else "."
    for line in lines:
        control = _CONTROL.match(line)
        if control and control[1] == closing:
            return


def _until(lines: Iterator[str], end: str) -> list[str]:
    inside: list[str] = []
    for line in lines:
        control = _CONTROL.match(line)
        if control and control[1] == end:
            break
        inside.append(line)
    return inside


def _without_comment(rest: str) -> str:
    return rest.partition('\\"')[0]


def arguments(raw: str) -> list[str]:
    """The arguments of a macro, with their escapes."""
    return [(match[1] or "").replace('""', '"') if match[2] is None else match[2] for match in _ARGUMENT.finditer(raw)]


# -------------------------------------------------------------------------------------------- escapes

_ESCAPE = re.compile(  # what is never closed is looked for near by: a line may open as many as it has signs
    r"""\\(?:
      \*(?:\((?P<string2>..)|\[(?P<string>[^\]\n]{0,200})\]|(?P<string1>.))
    | \((?P<sign2>..)
    | \[(?P<sign>[^\]\n]{0,200})\]
    | [fFgkmMnVY](?:\(..|\[[^\]\n]{0,200}\]|[+-]?.)
    | s(?:[+-]?(?:\(..|\[[^\]\n]{0,200}\]|'[^'\n]{0,200}'|[0-9])|[+-][0-9])
    | [bDhHlLoRSvwxXZN](?P<quote>.)(?:(?!(?P=quote))[^\n]){0,300}+(?P=quote)
    | (?P<comment>"[^\n]*|\#[^\n]*)
    | z(?P<over>.)
    | (?P<single>.)
    )""",
    re.VERBOSE,
)
_STRINGS = {
    "--": "--",
    "PI": "π",
    'L"': '"',
    'R"': '"',
    "C+": "C++",
    "C`": "",
    "C'": "",
    "lq": "“",
    "rq": "”",
    "R": "®",
    "Tm": "™",
    "Aq": "'",
    "S": "",
    "Lt": "<",
    "Gt": ">",
    "Le": "≤",
    "Ge": "≥",
    "Ba": "|",
}
_SINGLES = {
    "-": "-",
    "e": "\\",
    "\\": "\\",
    "E": "\\",
    " ": " ",
    "~": " ",
    "0": " ",
    "t": "\t",
    "'": "'",
    "`": "`",
    "_": "_",
    ".": ".",
    "p": "\n",
    "r": "",
}
_SIGNS = dict(
    pair.split(" ")
    for pair in """bu •|em —|en –|hy -|aq '|dq "|lq “|rq ”|oq ‘|cq ’|co ©|rg ®|tm ™|de °|mu ×|di ÷|pl +|mi −|eq =
    |<= ≤|>= ≥|!= ≠|+- ±|-> →|<- ←|<> ↔|ua ↑|da ↓|rA ⇒|ha ^|ti ~|rs \\|sl /|ga `|aa ´|at @|sh #|Do $|lB [|rB ]|lC {|rC }
    |la <|ra >|ba ||br │|ul _|Fo «|Fc »|fo ‹|fc ›|ss ß|ae æ|AE Æ|oe œ|OE Œ|o/ ø|O/ Ø|12 ½|14 ¼|34 ¾|ci ○|sq □|dg †
    |dd ‡|sc §|ps ¶|ct ¢|Po £|Eu €|eu €|Ye ¥|*a α|*b β|*g γ|*d δ|*p π|*m μ|*s σ|*W Ω|mc µ|if ∞|if ∞|no ¬|or ||tf ∴|cR ↵
    |Sd ð|Bq „|bq ‚|r! ¡|r? ¿|OK ✓|!= ≠|~= ≈|== ≡|S1 ¹|S2 ²|S3 ³|char46 .""".replace("\n    ", "").split("|")
    if pair.count(" ") == 1 and pair.split(" ")[1]
) | {"ba": "|", "or": "|"}
_MARKS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    ":": "\u0308",
    "~": "\u0303",
    ",": "\u0327",
    "v": "\u030c",
    "o": "\u030a",
}


def plain(text: str, strings: dict[str, str]) -> str:
    """The text with every escape as what it stands for; a string is put in once, and not looked into again."""
    if "\\" not in text:
        return text

    def meaning(match: re.Match[str]) -> str:
        if match["single"] is not None:
            return _SINGLES.get(match["single"], "")
        if match["over"] is not None:
            return match["over"]
        if (sign := match["sign2"] or match["sign"]) is not None:
            return _sign(sign)
        name = match["string2"] or match["string"] or match["string1"]
        return _STRINGS.get(name, strings.get(name, "")) if name else ""

    return _ESCAPE.sub(meaning, text)


def _sign(name: str) -> str:
    if name in _SIGNS:
        return _SIGNS[name]
    if re.fullmatch(r"u[0-9A-F]{4,5}(?:_[0-9A-F]{4,5})?", name):
        return "".join(chr(int(code, 16)) for code in name[1:].split("_"))
    if len(name) == 2 and name[0] in _MARKS and name[1].isalpha():
        return name[1] + _MARKS[name[0]]
    return ""
