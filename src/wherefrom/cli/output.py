"""What is shown: colours and tables for people, plain lines for pipes, JSON for programs.

Documents, their names and their titles are other people's: nothing in them may reach a terminal as a command to it. So
everything goes out by `say`, `table` or `print_json`, and colours are put in after commands have been taken out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


def for_people() -> bool:
    """Whether a person looks at the output."""
    return sys.stdout.isatty()


def console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


# Characters that a terminal acts on, or that make a line look like another: controls, marks that turn the direction of
# letters, invisible tags, halves of characters.
_DECEIVING = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f"
_COMMANDS = re.compile(f"[\x00-\x08\x0b-\x1f\ud800-\udfff{_DECEIVING}]")

# What stands for a colour until the line goes out: no characters, by Unicode's own word, so that no text needs them.
_STYLES = {"\ufdd1": "\x1b[1m", "\ufdd2": "\x1b[2m", "\ufdd3": "\x1b[31m", "\ufdd4": "\x1b[32m", "\ufdd5": "\x1b[33m"}
_STYLES |= {"\ufdd6": "\x1b[36m", "\ufdd7": "\x1b[32m\x1b[1m"}
_END = "\ufdd0"
_NAMES = dict(zip(("bold", "dim", "red", "green", "yellow", "cyan", "marked"), _STYLES, strict=True))
_ANY_STYLE = re.compile(f"[{_END}{''.join(_STYLES)}]")


def printable(text: str) -> str:
    """The text without anything that a terminal would act on: `\\x1b` is shown in place of an escape."""
    return _COMMANDS.sub(_shown_command, text)


def _shown_command(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def one_line(text: str) -> str:
    """A name or a title: a line's end in it must not begin a line of its own."""
    return text.replace("\n", "\\n") if "\n" in text else text


def say(text: object = "", err: bool = False, nl: bool = True) -> None:
    """A line for whoever looks: what stands in it from documents commands nothing."""
    coloured = (sys.stderr if err else sys.stdout).isatty()
    safe = printable(str(text))
    click.echo(_ANY_STYLE.sub(lambda mark: _style(mark[0]) if coloured else "", safe), err=err, nl=nl, color=coloured)


def _style(mark: str) -> str:
    return "\x1b[0m" if mark == _END else _STYLES[mark]


def styled(text: str, style: str) -> str:
    """The text bold, dim, red, green, yellow or cyan, once it is said."""
    return f"{_NAMES[style]}{text}{_END}"


def print_json(value: object) -> None:
    """Any of our values as indented JSON."""
    import msgspec

    sys.stdout.buffer.write(safe_json(msgspec.json.format(msgspec.json.encode(value), indent=2)) + b"\n")
    sys.stdout.buffer.flush()


def safe_json(data: bytes) -> bytes:
    """The same JSON, in which what a terminal would act on is written as `\\u009b`: it stands in strings alone."""
    if data.isascii():  # JSON itself sees to the controls of ASCII
        return data.replace(b"\x7f", b"\\u007f")
    return _JSON_COMMANDS.sub(_escaped, data.decode()).encode()


_JSON_COMMANDS = re.compile(f"[{_DECEIVING}]")


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table for people; tab-separated lines, without headings, for pipes."""
    if not for_people():
        for row in rows:
            say("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    console().print(drawn)


def marked(text: str, start: int, end: int) -> str:
    """The text with the characters from start to end standing out: bold for people, «so» in pipes."""
    shown = styled(text[start:end], "marked") if for_people() else f"«{text[start:end]}»"
    return text[:start] + shown + text[end:]


def marked_all(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """The text with all these characters standing out; the ranges do not overlap."""
    for start, end in sorted(ranges, reverse=True):
        text = marked(text, start, end)
    return text


def faint(text: str) -> str:
    return styled(text, "dim") if for_people() else text


def strong(text: str) -> str:
    return styled(text, "bold") if for_people() else text


def snippet(text: str, words: int = 40) -> str:
    """The beginning of a text on one line."""
    all_words = text.split()
    return " ".join(all_words[:words]) + (" …" if len(all_words) > words else "")
