"""What can be told of a passage by itself: whole sentences, items of lists with what announces them, code, table rows.

A statement stands at its characters of a passage. One that leans on the one before it ("It ...", "This ...") says so,
so that the two are told together or not at all. Headings and scraps are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from wherefrom.text import Span, sentences, words
from wherefrom.types import Candidate, Passage, Word

Kind = Literal["sentence", "item", "list", "code", "row"]

_LEAST_WORDS = 4  # of a sentence; fewer say little
_LONGEST = 900  # characters of a sentence; more is text without full stops
_HEADING = 80  # characters
_LIST_WORDS = 90  # a longer list is told item by item
_CODE_LINES = 40
_BLOCK = re.compile(r"\S(?:.|\n(?![^\S\n]*\n))*")
_ITEM = re.compile(r"[^\S\n]*(?:[-*•–·▪◦+]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")  # linear: where a line begins
_CODE = re.compile(
    r"[;{}]\s*$|^\s*(?:[$>#]\s|[{}\])]|</?\w|(?:def|class|import|return|SELECT|INSERT)\b)|^(?: {4}|\t)\S"
)
_USAGE = re.compile(r"[\[(][-<'{]|<[\w -]{1,40}>|\|(?!\|)|(?<!\S)--?[A-Za-z]|\.\.\.")  # marks of a synopsis
_USAGE_MARKS = 3
_USAGE_SHARE = 0.25  # of its words; of a whole sentence half
_POINTER = re.compile(r"[\W_]*see\b", re.IGNORECASE)
_POINTER_WORDS = 15
_POINTERS = re.compile(r"\W*(?:see also|further reading)\W*", re.IGNORECASE)  # a heading
_CELL = re.compile(r"\s\|\s|\s\|$")
_CLOSED = re.compile(r"""[.!?…。！？:;]["')\]”’»]*$""")
_HANGING = re.compile(
    r"(?:it|its|this|that|these|those|they|them|their|he|she|his|her|there|then|thus|otherwise|instead|however|also"
    r"|such|but|and|so|or|yet|both|neither|in this case|in that case|if so|if not|for example|for this|as a result"
    r"|therefore|hence|similarly|likewise|moreover|furthermore|in addition)\b",
    re.IGNORECASE,
)
_EXISTS = re.compile(r"(?:it (?:is|was) (?:\w+ ){1,3}(?:that|to)|there (?:is|are|was|were)|that (?:is|said),)", re.I)
# "This option ..." names what it speaks of: below a heading or a synopsis it stands alone, as manuals have it.
_SAYS_WHAT = re.compile(
    r"(?:this|these|the following) (?!(?:is|are|was|were|means?|can|could|will|would|may|might|must|should|has|have|had"
    r"|does|do|did)\b)[a-z]+",
    re.IGNORECASE,
)
_TORN = re.compile(r"[)\]}.,;!?%’”»]|:(?!\w)|[a-z](?![.)]\s)")
_NAMED = re.compile(r"\S{1,40} [-–—] [A-Z]")  # as manual pages begin: "git-bisect - Use binary search to ..."
_ENDLESS = 40  # words without a full stop behind them
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Statement:
    """`passage.text[start:end]`; `before` is the statement that it leans on, where it leans on one at all."""

    passage: Passage
    start: int
    end: int
    kind: Kind
    hit: int  # the place of its passage among the hits
    hanging: bool = False  # it begins with a word for something that stands before it
    before: int = -1  # the place among the statements of the one directly before it; -1 where there is none

    @property
    def text(self) -> str:
        return self.passage.text[self.start : self.end]

    @property
    def place(self) -> tuple[str, int]:
        """Its document, and where in it the statement begins."""
        return self.passage.document_id, self.passage.start + self.start

    @property
    def length(self) -> int:
        """Words as people count them for a budget: what stands between blanks."""
        return len(self.text.split())


def statements_of(passages: Sequence[Passage]) -> list[Statement]:
    """The statements of passages, in the order of these; what several passages share is there once."""
    pool: list[Statement] = []
    seen: set[tuple[str, int]] = set()
    for hit, passage in enumerate(passages):
        last, place = -1, -1  # where the statement before ends, and its place
        for start, end, kind in _parts(passage.text):
            text = passage.text[start:end]
            key = passage.document_id, passage.start + start
            close = place >= 0 and passage.text[last:start].count("\n") < 2 and pool[place].kind != "code"
            hanging = kind == "sentence" and _hangs(text, close)
            if key in seen:
                place = next((p for p, each in enumerate(pool) if each.place == key), -1)
            else:
                seen.add(key)
                pool.append(Statement(passage, start, end, kind, hit, hanging, place if close else -1))
                place = len(pool) - 1
            last = end
    return pool


def holding(pool: Sequence[Statement], candidate: Candidate) -> int | None:
    """The place of the statement that holds most of a candidate's characters; None where none does."""
    document = candidate.passage.document_id
    start, end = candidate.passage.start + candidate.start, candidate.passage.start + candidate.end
    shared = [
        min(end, each.place[1] + each.end - each.start) - max(start, each.place[1])
        if each.passage.document_id == document
        else 0
        for each in pool
    ]
    most = max(shared, default=0)
    return shared.index(most) if most > 0 else None


def _hangs(text: str, close: bool) -> bool:
    """Whether a sentence is not understood without the one before it; `close` says that there is one."""
    if _HANGING.match(text) is None or _EXISTS.match(text) is not None:
        return False
    return close or _SAYS_WHAT.match(text) is None


def quoted(statement: Statement) -> tuple[Word, ...]:
    """Its words, each with where it stands; in prose the line breaks of a page are blanks."""
    text = statement.passage.text
    keeps_layout = statement.kind in ("code", "list", "row")
    copied: list[Word] = []
    before = statement.start
    for first, last in words(statement.text):
        a, b = statement.start + first, statement.start + last
        space = text[before:a]
        if not copied:
            space = ""
        elif space and not keeps_layout:
            space = " "
        copied.append(Word(text[a:b], "passage", statement.passage.id, a, b, 1.0, space))
        before = b
    return tuple(copied)


def _parts(text: str) -> Iterator[tuple[int, int, Kind]]:
    """The statements of a passage's text, in order."""
    blocks = [match.span() for match in _BLOCK.finditer(text)]
    announcing: Span | None = None  # a sentence that ends in a colon, until what it announces has come
    items: list[Span] = []
    heading = ""
    for first, last in blocks:
        above, heading = heading, text[first:last]
        if _POINTERS.fullmatch(above):
            continue
        if _is_code(text[first:last]):
            yield from _list_parts(text, announcing, items)
            start = announcing[0] if announcing and not items else first
            announcing, items = None, []
            yield start, last, "code"
            continue
        if all(_CELL.search(line) for line in text[first:last].split("\n")):
            yield from _list_parts(text, announcing, items)
            announcing, items = None, []
            for a, b in _lines(text[first:last]):
                yield first + a, first + b, "code" if _is_torn_apart(text[first + a : first + b]) else "row"
            continue
        for a, b in sentences(text[first:last]):
            start, end = first + a, first + b
            if _ITEM.match(text, start, end):
                items.append((start, end))
                continue
            if items and end - start < _LONGEST and text[items[-1][1] : start].count("\n") == 0:
                items[-1] = (items[-1][0], end)  # an item goes on with another sentence
                continue
            yield from _list_parts(text, announcing, items)
            announcing, items = None, []
            if _is_synopsis(text[start:end]):
                yield start, end, "code"
            elif text[start:end].endswith(":"):
                announcing = (start, end)
            elif _tells(text, start, end):
                yield start, end, "sentence"
    yield from _list_parts(text, announcing, items)


def _list_parts(text: str, announcing: Span | None, items: Sequence[Span]) -> Iterator[tuple[int, int, Kind]]:
    """A list with what announces it, whole where it is short enough; else its items, one by one."""
    if announcing and items:
        start, end = announcing[0], items[-1][1]
        if len(text[start:end].split()) <= _LIST_WORDS:
            yield start, end, "list"
            return
    for start, end in items:
        marker = _ITEM.match(text, start, end)
        begin = marker.end() if marker else start
        if _count(text[begin:end]) >= _LEAST_WORDS and text[end - 1] != ":":
            yield begin, end, "item"


def _tells(text: str, start: int, end: int) -> bool:
    """Whether it is a sentence at all, and a whole one."""
    piece = text[start:end]
    if end - start > _LONGEST or _count(piece) < _LEAST_WORDS or not _LETTER.search(piece) or _points_elsewhere(piece):
        return False
    if _NAMED.match(piece):
        return True
    if _TORN.match(piece) or (_count(piece) > _ENDLESS and not _CLOSED.search(piece)):
        return False
    heading = (end == len(text) or text[end] == "\n") and len(piece) <= _HEADING
    return not heading or _CLOSED.search(piece) is not None  # a heading closes with no sign


def _points_elsewhere(piece: str) -> bool:
    """Whether it only says where to read on: "See also git-log(1)." """
    match = _POINTER.match(piece)
    return match is not None and (
        len(piece.split()) <= _POINTER_WORDS or piece[match.end() :].lstrip().startswith("also")
    )


def _is_synopsis(piece: str) -> bool:
    """Whether it shows how a command is called."""
    if piece.startswith("$ "):
        return True
    marks = len(_USAGE.findall(piece))
    needed = 2 * _USAGE_SHARE if _CLOSED.search(piece) else _USAGE_SHARE
    return marks >= _USAGE_MARKS and marks >= needed * len(piece.split())


def _is_torn_apart(row: str) -> bool:
    """Whether what looks like cells are the choices of a synopsis: "[clear | status]"."""
    return any(cell.count("[") != cell.count("]") or cell.count("(") != cell.count(")") for cell in row.split("|"))


def _count(text: str) -> int:
    """Words, without the signs between them."""
    return sum(text[start].isalnum() for start, _ in words(text))


def _is_code(block: str) -> bool:
    lines = block.split("\n")
    return 1 < len(lines) <= _CODE_LINES and sum(_CODE.search(line) is not None for line in lines) * 2 > len(lines)


def _lines(block: str) -> Iterator[Span]:
    start = 0
    for line in block.split("\n"):
        if line.strip():
            yield start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        start += len(line) + 1
