"""Manuals of GNU in the Info format: a node is a section; menus, indexes and the tables of tags are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile

from wherefrom.ingest.blocks import Blocks, is_item
from wherefrom.ingest.outcome import Record
from wherefrom.ingest.source import decoded, readable_name

_BEGIN = re.compile(rb"\x1f\r?\n(?:\x0c\r?\n)?File: [^\n]{1,200}, +Node: ")
_HEADER = re.compile(r"File: [^\n]*?, +Node: (?P<node>[^\n,]{1,200})(?:[^\n]*?, +Up: (?P<up>[^\n,]{1,200}))?[^\n]*")
_UNDERLINE = re.compile(r"([*=.-])\1{2,}\s*$")
_LEVELS = "*=-."
_MENU = re.compile(r"\* Menu:|\x0b\x0b\[index")
_TAG = re.compile(r"\x0b\x0b\[[^\x0b]{0,2000}\x0b\x0b\]")
_NOTE = re.compile(
    r"(?P<see>\bsee\s+)?\*note\s+(?P<name>[^:\n]{1,120}(?:\n[^:\n]{1,120})?)(?:::|:\s{1,20}[^.,\n]{1,120}[.,])",
    re.IGNORECASE,
)
_SET_IN = " " * 5
_DEEPEST = 6
_PROSE = 40  # characters; lines of prose are broken behind as many


def is_info(head: bytes) -> bool:
    """Whether a file that begins so has nodes; the first part of a manual in several parts has none."""
    return _BEGIN.search(head) is not None


def read(data: bytes, name: str) -> Record:
    """A document; its title is the heading of its first node, else made of the file's name."""
    text = decoded(_without_controls(data)).replace("\r\n", "\n")
    nodes = [each.lstrip() for each in text.split("\x0c")]
    parts = [(match, node[match.end() :]) for node in nodes if (match := _HEADER.match(node))]
    above = {match["node"]: (match["up"] or "").strip() for match, _ in parts}
    blocks, title = Blocks(), ""
    for match, body in parts:
        node = match["node"].strip()
        heading, level, rest = _heading(body.split("\n"))
        if node != "Top" or heading:
            blocks.heading(heading or node, level if heading else _depth(node, above))
        title = title or (heading if node == "Top" else "")
        _add(blocks, rest)
    return blocks.record(title or readable_name(name))


def _without_controls(data: bytes) -> bytes:
    """The marks of nodes and pictures in characters that text may hold: it may be all nodes and pictures."""
    return data.replace(b"\x1f", b"\x0c").replace(b"\x00\x08[", b"\x0b\x0b[").replace(b"\x00\x08]", b"\x0b\x0b]")


def _heading(lines: list[str]) -> tuple[str, int, list[str]]:
    """What stands underlined at the top of a node, its level, and the lines below it."""
    for at, line in enumerate(lines[:-1]):
        if line.strip():
            under = _UNDERLINE.match(lines[at + 1])
            if under and abs(len(lines[at + 1].rstrip()) - len(line.rstrip())) <= 2:
                return line.strip(), _LEVELS.index(under[1]) + 1, lines[at + 2 :]
            break
    return "", 0, lines


def _depth(node: str, above: dict[str, str]) -> int:
    """How deep a node without a heading stands; those that stand in one another are cut off."""
    depth = 1
    while depth < _DEEPEST and (node := above.get(node, "")) not in ("", "Top"):
        depth += 1
    return depth


def _add(blocks: Blocks, lines: list[str]) -> None:
    for paragraph in _without_menus(_paragraphs(lines)):
        first = paragraph[0].strip()
        if len(paragraph) > 1 and _UNDERLINE.match(paragraph[1]):  # a heading within a node
            blocks.heading(first, _LEVELS.index(paragraph[1][0]) + 1)
            paragraph = paragraph[2:]
        elif is_item(first):
            for item in _items(paragraph):
                blocks.item(_joined(item))
            continue
        if paragraph:
            _add_paragraph(blocks, paragraph)


def _items(lines: list[str]) -> Iterator[list[str]]:
    """The items of a list without blank lines, each with the lines that it goes on in."""
    item: list[str] = []
    for line in lines:
        if item and is_item(line.strip()):
            yield item
            item = []
        item.append(line)
    yield item


def _add_paragraph(blocks: Blocks, lines: list[str]) -> None:
    """Prose in one line, terms above their text, or lines as they are."""
    terms = list(takewhile(lambda line: not line[0].isspace(), lines))
    text = lines[len(terms) :]
    if terms and text and all(line.startswith(_SET_IN) for line in text) and _is_broken_where_full(text):
        blocks.add(f"{', '.join(terms)}\n{_joined(text)}")
    elif _is_broken_where_full(lines) and not (len(lines) == 1 and _is_example(lines[0])):
        blocks.add(_joined(lines))
    else:
        blocks.literal("\n".join(lines))


def _is_broken_where_full(lines: list[str]) -> bool:
    """Whether lines are broken as those of prose are."""
    return all(len(line) > _PROSE for line in lines[:-1])


def _is_example(line: str) -> bool:
    return line.startswith(_SET_IN) and line[-1] not in ".:"


def _without_menus(paragraphs: Iterable[list[str]]) -> Iterator[list[str]]:
    """Without menus and indexes: all from where one begins to its last entry."""
    waiting: list[list[str]] = []  # what may be a remark between two entries
    in_menu = False
    for paragraph in paragraphs:
        if _MENU.match(paragraph[0]):
            in_menu, waiting = True, []
        elif not in_menu:
            yield paragraph
        elif any(line.startswith("* ") for line in paragraph):
            waiting = []
        else:
            waiting.append(paragraph)
    yield from waiting


def _paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in _plain("\n".join(lines)).split("\n"):
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph


def _plain(text: str) -> str:
    """Without the marks of pictures, and with references as a reader says them."""
    text = _NOTE.sub(lambda match: f"{match['see'] or 'see '}{' '.join(match['name'].split())}", text)
    return _TAG.sub(lambda match: match[0] if match[0].startswith("\x0b\x0b[index") else "", text)


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
