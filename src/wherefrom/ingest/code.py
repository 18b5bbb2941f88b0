"""Source code: each function and class with its name, what its comment says of it, and its lines, as one fact.

Files are not parsed but cut where a definition begins: that works in many languages, on unfinished files, and in one
go. Python has a parser of its own in the standard library; deep nesting can crash it, so it is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from wherefrom.ingest.blocks import Blocks
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import PACKED_SUFFIXES, decoded


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language begins its definitions and its comments; they are given a line's first characters alone."""

    definition: re.Pattern[str]  # of a line; the groups are names
    comment: re.Pattern[str]  # of a line that is one, or a part of one
    owner: re.Pattern[str] | None = None  # of a line that begins something with definitions inside, such as a class


_SLASHES = re.compile(r"\s*(?://|/\*|\*(?!\w)|\*/|@\w|#\[)")  # linear: a line cut off
_HASHES = re.compile(r"\s*#(?!!)")  # linear: a line cut off
_NAME = r"[A-Za-z_$][\w$]*"
_NO_FUNCTIONS = (
    r"(?!(?:if|for|while|switch|return|else|catch|do|try|new|throw|case|delete|sizeof|await|super|function)\b)"
)

_PYTHON = _Language(  # linear: a line cut off
    re.compile(rf"\s{{0,8}}(?:async\s+)?(?:def|class)\s+({_NAME})"),
    re.compile(r"\s*[#@]"),
    re.compile(rf"\s{{0,8}}class\s+({_NAME})"),
)
# JavaScript and TypeScript
_SCRIPT = _Language(  # linear: a line cut off
    re.compile(
        rf"(?:\s{{0,4}}(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
        rf"(?:function\*?|class|interface|enum|namespace|type(?=\s+{_NAME}\s*[=<]))\s+({_NAME})"
        rf"|(?:export\s+)?(?:const|let|var)\s+({_NAME})\s*(?::[^=\n]{{1,200}})?=\s*(?:async\s*)?(?:function\b|\(|{_NAME}\s*=>)"
        rf"|((?:module\.)?exports\.{_NAME}|{_NAME}(?:\.prototype)?\.{_NAME})\s*=\s*(?:async\s*)?(?:function\b|\()"
        rf"|\s{{2,4}}(?:static\s+|async\s+|get\s+|set\s+|public\s+|private\s+|protected\s+|readonly\s+|\*\s*)*{_NO_FUNCTIONS}"
        rf"(\#?{_NAME})\s*(?:<[^>\n]{{0,80}}>)?\([^;\n]*\{{$)"
    ),
    _SLASHES,
    re.compile(rf"(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:class|interface)\s+({_NAME})"),
)
# C, C++, Java, C#, Kotlin, Swift, PHP, Scala, Dart
_BRACES = _Language(  # linear: a line cut off
    re.compile(
        rf"(?:\s{{0,4}}(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|export|typedef|data|open"
        rf"|inline|override|virtual|unsafe|readonly|async|fileprivate)\s+)*"
        rf"(?:class|struct|interface|enum(?:\s+class)?|union|trait|object|protocol|extension|namespace|record|fun|func"
        rf"|function)\s+(?:&\s*)?({_NAME})(?!\s*;)"
        rf"|\s{{0,4}}{_NO_FUNCTIONS}(?:[A-Za-z_][\w:<>,\[\].?@~]*+[ \t*&]++){{1,6}}"
        rf"((?:{_NAME}::)*~?{_NAME}|operator\S{{1,3}})\s?\([^;\n]*+$"
        rf"|{_NO_FUNCTIONS}({_NAME})\s?\((?![\"'])[^;\n]*[),{{]$"  # its type stands on the line above
        rf"|\#define\s+({_NAME})\()"
    ),
    _SLASHES,
    re.compile(
        rf"\s{{0,2}}(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|data|open)\s+)*"
        rf"(?:class|struct|interface|trait|object|protocol|extension|record)\s+({_NAME})(?!\s*;)"
    ),
)
_GO = _Language(  # linear: a line cut off
    re.compile(rf"(?:func\s+(?:\(\s*\w*\s*\*?(\w+)[^)\n]{{0,80}}\)\s*)?({_NAME})\s*[\[(]|type\s+({_NAME})\s)"), _SLASHES
)
_RUST = _Language(  # linear: a line cut off
    re.compile(
        rf"\s{{0,4}}(?:pub(?:\([^)\n]{{0,40}}\))?\s+)?(?:default\s+|const\s+|async\s+|unsafe\s+|extern\s+(?:\"\w+\"\s+)?)*"
        rf"(?:fn|struct|enum|trait|union|mod(?=\s+\w+\s*\{{)|type|macro_rules!)\s+({_NAME})"
        rf"|impl(?:<[^{{\n]{{0,80}}>)?\s+(?:[\w:<>', ]{{1,80}}\s+for\s+)?({_NAME})"
    ),
    _SLASHES,
    re.compile(rf"(?:impl(?:<[^{{\n]{{0,80}}>)?\s+(?:[\w:<>', ]{{1,80}}\s+for\s+)?|(?:pub\s+)?trait\s+)({_NAME})"),
)
_SHELL = _Language(  # linear: a line cut off
    re.compile(r"(?:function\s+([\w:.-]+)|([\w:.-]+)\s*\(\)\s*(?:\{|$))"), _HASHES
)
_RUBY = _Language(  # linear: a line cut off
    re.compile(r"\s{0,8}(?:def\s+(?:self\.)?([\w?!=]+)|(?:class|module)\s+([\w:]+))"),
    _HASHES,
    re.compile(r"\s{0,8}(?:class|module)\s+([\w:]+)"),
)
_PERL = _Language(re.compile(r"(?:sub|package)\s+([\w:]+)"), _HASHES)  # linear: a line cut off
_SQL = _Language(  # linear: a line cut off
    re.compile(
        r"\s{0,2}CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+|UNIQUE\s+|MATERIALIZED\s+)*"
        r"(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX|TYPE|SCHEMA)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.\"`\[\]]+)",
        re.IGNORECASE,
    ),
    re.compile(r"\s*(?:--|/\*|\*)"),
)
_LUA = _Language(re.compile(r"(?:local\s+)?function\s+([\w.:]+)"), re.compile(r"\s*--"))  # linear: a line cut off
_R = _Language(re.compile(r"([\w.]+)\s*(?:<-|=)\s*function\s*\("), _HASHES)  # linear: a line cut off
_ELIXIR = _Language(  # linear: a line cut off
    re.compile(r"\s{0,4}(?:def|defp|defmacro|defmodule)\s+([\w.?!]+)"), _HASHES
)
_HASKELL = _Language(  # linear: a line cut off
    re.compile(r"(?:(?:data|class|newtype|type|instance)\s+(\w+)|(\w+)\s*::)"), re.compile(r"\s*(?:--|\{-)")
)
_LISP = _Language(  # linear: a line cut off
    re.compile(r"\((?:defun|defmacro|defvar|defcustom|define|defn|defmethod)\s+\(?([^\s()]+)"), re.compile(r"\s*;")
)
_FORTRAN = _Language(  # linear: a line cut off
    re.compile(r"\s{0,8}(?:[\w()*]+\s+)*(?:subroutine|function|program|module)\s+(\w+)", re.IGNORECASE),
    re.compile(r"[cC*!]|\s*!"),
)

LANGUAGES = (
    dict.fromkeys((".py", ".pyi", ".pyx", ".pxd"), _PYTHON)
    | dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"), _SCRIPT)
    | dict.fromkeys(
        (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx", ".java", ".cs", ".kt", ".kts", ".swift", ".php",
         ".scala", ".dart", ".m", ".mm", ".groovy", ".cu", ".proto", ".zig", ".v", ".glsl"), _BRACES)
    | dict.fromkeys((".sh", ".bash", ".zsh", ".ksh", ".fish", ".bats"), _SHELL)
    | {".go": _GO, ".rs": _RUST, ".rb": _RUBY, ".pl": _PERL, ".pm": _PERL, ".sql": _SQL, ".lua": _LUA, ".r": _R,
       ".ex": _ELIXIR, ".exs": _ELIXIR, ".hs": _HASKELL, ".el": _LISP, ".lisp": _LISP, ".clj": _LISP, ".scm": _LISP,
       ".f": _FORTRAN, ".f90": _FORTRAN, ".f77": _FORTRAN, ".for": _FORTRAN, ".ps1": _SHELL, ".awk": _SHELL}
)  # fmt: skip

_GENERATED = re.compile(
    rb"@generated|do not (?:edit|modify)\b|(?:automatically|auto-?) ?generated|generated (?:by|from|automatically)\b"
    rb"|sourceMappingURL=",
    re.IGNORECASE,
)
_GENERATED_WITHIN = 2_000  # bytes; the remark stands at the top
_LONG_LINE = 1_000  # bytes; no person writes longer ones
_MEAN_LINE = 160  # bytes


def is_generated(head: bytes) -> bool:
    """Whether the first bytes of a file say, or show by their endless lines, that a machine wrote it for machines."""
    if _GENERATED.search(head[:_GENERATED_WITHIN]):
        return True
    lines = head.split(b"\n")
    whole = lines[:-1] or lines
    return max(map(len, lines)) > _LONG_LINE and sum(map(len, whole)) > _MEAN_LINE * len(whole)


def read(data: bytes, name: str) -> Record:
    """A file; its title is its name. Its places are its definitions with the line that each begins in."""
    path = PurePath(name)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED_SUFFIXES]
    language = LANGUAGES.get(suffixes[-1] if suffixes else "", _SHELL)
    lines = decoded(data).replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    blocks = Blocks()
    for part in _definitions(lines, language):
        if part.name:
            blocks.place(f"{part.name}, line {part.line}")
            blocks.heading(part.name)
        else:
            part = _without_notice(part)
        for text, is_code in _facts(part, language):
            (blocks.literal if is_code else blocks.add)(text)
    return blocks.record(name)


# ---------------------------------------------------------------------------------------- definitions


@dataclass(frozen=True, slots=True)
class _Definition:
    """A piece of a file that begins with a definition, or what stands before the first."""

    name: str
    line: int  # from 1
    lines: list[str]


_SEARCHED = 500  # characters of a line; the name of what it defines is among the first


def _definitions(lines: list[str], language: _Language) -> Iterator[_Definition]:
    """The file, cut where definitions begin; a comment right above one belongs to it."""
    begins = list(_begins(lines, language))
    if not begins or begins[0][0] > 0:
        yield _Definition("", 1, lines[: begins[0][0]] if begins else lines)
    ends = [begin for begin, _, _ in begins[1:]] + [len(lines)]
    for (begin, number, name), end in zip(begins, ends, strict=False):
        yield _Definition(name, number + 1, lines[begin:end])


def _begins(lines: list[str], language: _Language) -> Iterator[tuple[int, int, str]]:
    """Where each definition begins: with its comment, and without it; and its name."""
    owner, owner_depth = "", 0
    comment_from: int | None = None
    blank_before = False
    line_above = begin_above = -1  # a line of code, and where the comment above it begins
    for number, (line, inside) in enumerate(zip(lines, _inside_text(lines, language), strict=True)):
        if not line.strip():
            blank_before = True
            continue
        head = line[:_SEARCHED].rstrip()
        match = None if inside else language.definition.match(head)
        if match is None:
            if inside == "comment" or language.comment.match(head):
                if comment_from is None or (blank_before and inside != "comment"):
                    comment_from = number
            else:
                line_above, begin_above = number, number if comment_from is None else comment_from
                comment_from = None
            blank_before = False
            continue
        if line_above == number - 1 and language is _BRACES and _BARE.match(head):
            comment_from = begin_above
        depth = len(line) - len(line.lstrip())
        name = ".".join(filter(None, match.groups()))
        if owner and depth > owner_depth:
            name = f"{owner}.{name}"
        else:
            owns = language.owner.match(head) if language.owner else None
            owner, owner_depth = (".".join(filter(None, owns.groups())), depth) if owns else ("", 0)
        yield number if comment_from is None else comment_from, number, name
        comment_from, blank_before = None, False


_BARE = re.compile(rf"{_NAME}\s?\(")
_QUOTES = re.compile(r"'''|\"\"\"")


def _inside_text(lines: list[str], language: _Language) -> Iterator[str]:
    """For each line whether it begins inside a text or a comment of several lines, where nothing is defined."""
    if language is _PYTHON:
        until = ""
        for line in lines:
            yield "text" if until else ""
            for quotes in _QUOTES.findall(line):
                until = "" if quotes == until else until or quotes
    elif language.comment is _SLASHES:
        inside = False
        for line in lines:
            yield "comment" if inside else ""
            inside = "*/" not in line if inside else line.lstrip().startswith("/*") and "*/" not in line
    else:
        yield from ("" for _ in lines)


# ---------------------------------------------------------------------------------------------- facts

_MARK = re.compile(r"^\s*(?:///?!?|/\*\*?!?|\*/|\*(?=\s|$)|#+(?!\[|!)|--+|;+|!+)\s?|(?<!\s)\s*\*/\s*$")
_DOC = re.compile(r"\s*[rRuUbBfF]{0,2}(\"\"\"|''')(.*)")
_NOTICE = re.compile(
    r"copyright|licen[sc]ed? (?:under|to)|SPDX-|all rights reserved|permission is hereby", re.IGNORECASE
)
_IMPORT = re.compile(r"\s*(?:import\b|from\s+[\w.]+\s+import\b|#\s*include\b|using\b|use\s+[\w:{]|require\b|package\b"
                     r"|[\"']use strict[\"']|(?:const|var|let)\s+[\w{}, $]{1,200}=\s*require\()")  # fmt: skip


def _facts(part: _Definition, language: _Language) -> Iterator[tuple[str, bool]]:
    """What the comments say, as prose, and then the code, as a listing."""
    comment: list[str] = []
    rest = part.lines
    inside = _inside_text(rest, language)
    count = 0
    for line, within in zip(rest, inside, strict=True):
        in_comment = within == "comment" or (_is_prose_comment(line) and language.comment.match(line[:_SEARCHED]))
        if line.strip() and not in_comment:
            break
        comment.append(_MARK.sub("", line).rstrip())
        count += 1
    rest = rest[count:]
    if language is _PYTHON:
        doc, rest = _docstring(rest)
        comment += doc
    prose = _prose(comment)
    if prose:
        yield prose, False
    code = rest if part.name else list(_without_imports(rest))
    if any(line.strip() for line in code):
        yield "\n".join(code), True


def _without_imports(lines: list[str]) -> Iterator[str]:
    depth = 0
    for line in lines:
        if depth > 0 or _IMPORT.match(line[:_SEARCHED]):
            depth = max(depth + sum(map(line.count, "([{")) - sum(map(line.count, ")]}")), 0)
        else:
            yield line


def _is_prose_comment(line: str) -> bool:
    return not line.lstrip().startswith(("@", "#[", "#include", "#define", "#if", "#endif", "#pragma"))


def _docstring(lines: list[str]) -> tuple[list[str], list[str]]:
    """The docstring's lines, and the code without them."""
    for number, line in enumerate(lines[:40]):
        match = _DOC.match(line)
        if match is None:
            if number and not lines[0].lstrip().startswith(("def", "class", "async", "@")) and line.strip():
                return [], lines
            continue
        inside: list[str] = []
        for last, text in enumerate([match[2], *lines[number + 1 :]]):
            before, quotes, _ = text.partition(match[1])
            inside.append(before)
            if quotes:
                return inside, lines[:number] + lines[number + last + 1 :]
        return [], lines
    return [], lines


def _prose(lines: list[str]) -> str:
    """The lines of a comment as one block: blank ones and lists of parameters stay lines of their own."""
    depth = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    stripped = [lines[0].strip(), *(line[depth:].rstrip() for line in lines[1:])] if lines else []
    kept = [line for line in stripped if not re.fullmatch(r"\W*", line) or not line]
    text = re.sub(r"\n{2,}", "\n \n", "\n".join(kept).strip("\n "))
    return re.sub(r"(?<=[^\n:.])\n(?=[a-z(])", " ", text)


def _without_notice(part: _Definition) -> _Definition:
    """What stands before the first definition, without the licence that every file repeats."""
    begin = 0
    while begin < len(part.lines) and (not part.lines[begin].strip() or _SLASHES.match(part.lines[begin])
                                       or re.match(r"\s*(?:#|--|;)", part.lines[begin])):  # fmt: skip
        begin += 1
    top = part.lines[:begin]
    return _Definition("", part.line, part.lines[begin:]) if _NOTICE.search("\n".join(top)) else part
