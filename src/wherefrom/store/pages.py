"""The pages of a SQLite file and its log, read without SQLite, which gives up at the first one that is damaged.

Names as in https://www.sqlite.org/fileformat2.html: a table is a tree of pages, whose leaves hold a record a row; what
does not fit on a leaf goes on in a chain of overflow pages. Whatever is asked of a damaged page gives less, never an
error.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_USUAL_SIZE = 4096  # of a page, where the file's head cannot be believed
_INNER_INDEX, _INNER_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13
_FRAME_HEAD, _LOG_HEAD = 24, 32
_LOG_MARKS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")  # one of them begins a log; zeros are none
_WHOLE_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of a number, by its type
_MOST_LEVELS = 40  # of a tree: more are a circle

Value = int | float | str | bytes | None


class Unreadable:
    """Stands where a value was that is cut off, or is no UTF-8."""


UNREADABLE = Unreadable()


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One record: its number, its values, and where it stands; `whole` where nothing of it is cut off."""

    number: int
    values: tuple[Value | Unreadable, ...]
    page: int
    whole: bool


class Pages:
    """All pages as the last change in the log left them."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb") if path.exists() else io.BytesIO()
        length = self._file.seek(0, io.SEEK_END)
        self._log = WriteAheadLog.of(path)
        self.size = self._page_size(min(length, 16_000_000))
        reserved = self._bytes(20, 1)
        self._reserved = reserved[0] if reserved and reserved[0] <= 64 else 0
        self._frames = self._log.pages(self.size)
        self.visited: set[int] = set()  # by trees
        self.count = max([length // self.size, *self._frames], default=0)

    def page(self, number: int) -> bytes:
        """The bytes of a page; none where there is no such page."""
        if number in self._frames:
            start = self._frames[number]
            return self._log.data[start : start + self.size]
        return self._bytes((number - 1) * self.size, self.size) if number > 0 else b""

    def close(self) -> None:
        self._file.close()

    def tree(self, root: int, index: bool = False) -> Iterator[StoredRow | None]:
        """The rows of a table, or the records of an index, from its first page on; None for each part that is lost."""
        yield from self._below(root, index, 0)

    def fault(self) -> str | None:
        """What is wrong with the log, in words; its end too, of which these pages have what is right."""
        return self._log.fault() or self._log.torn()

    def rows_on(self, number: int, index: bool = False) -> Iterator[StoredRow | None]:
        """The rows on one leaf; None for each that cannot be told, or that must have been there."""
        page = self.page(number)
        used = 0
        for at in self._cells(page, number):
            row, end = self._row(page, at, number, index)
            used += max(end - at, 4)
            yield row
        if used + self._unused(page, number) != self.size - self._reserved:
            yield None

    def leaves(self) -> Iterator[int]:
        """Every page that looks like a leaf of a table, whether anything leads to it or not."""
        for number in range(1, self.count + 1):
            page = self.page(number)
            if len(page) == self.size and page[_begin(number)] == _LEAF_TABLE:
                yield number

    def free(self) -> set[int]:
        """Pages that are not in use any more: what is on them was removed."""
        head = self.page(1)
        pages: set[int] = set()
        trunk = int.from_bytes(head[32:36], "big") if len(head) >= 100 else 0
        while 0 < trunk <= self.count and trunk not in pages:
            pages.add(trunk)
            data = self.page(trunk)
            count = min(int.from_bytes(data[4:8], "big"), self.size // 4 - 2)
            listed = struct.unpack(f">{count}I", data[8 : 8 + 4 * count]) if len(data) == self.size else ()
            pages.update(number for number in listed if 0 < number <= self.count)
            trunk = int.from_bytes(data[:4], "big")
        return pages

    def _bytes(self, start: int, length: int) -> bytes:
        try:
            self._file.seek(start)
            return self._file.read(length)
        except OSError:  # a disk that cannot read it any more
            return b""

    def _page_size(self, length: int) -> int:
        """That of the file's head, of the log's or the usual one: whichever makes the most leaves."""
        declared = int.from_bytes(self._bytes(16, 2), "big")
        sizes = {65536 if declared == 1 else declared, self._log.page_size, _USUAL_SIZE}
        sensible = [size for size in sorted(sizes) if 512 <= size <= 65536 and size & (size - 1) == 0]

        def leaves(size: int) -> tuple[int, bool]:
            kinds = (self._bytes(at, 1) for at in range(size, length, size))
            return sum(kind in (b"\x0a", b"\x0d") for kind in kinds) * size, size == _USUAL_SIZE

        return max(sensible, key=leaves)

    def _below(self, number: int, index: bool, level: int) -> Iterator[StoredRow | None]:
        page = self.page(number)
        kind = page[_begin(number)] if len(page) == self.size else 0
        if number in self.visited or level > _MOST_LEVELS:
            yield None
            return
        self.visited.add(number)
        if kind == (_LEAF_INDEX if index else _LEAF_TABLE):
            yield from self.rows_on(number, index)
        elif kind == (_INNER_INDEX if index else _INNER_TABLE):
            cells = self._cells(page, number)
            for at in cells:
                yield from self._below(int.from_bytes(page[at : at + 4], "big"), index, level + 1)
                if index:  # an index keeps records between its branches too
                    yield self._row(page, at + 4, number, index)[0]
            begin = _begin(number)
            yield from self._below(int.from_bytes(page[begin + 8 : begin + 12], "big"), index, level + 1)
            if not cells:
                yield None
        else:
            yield None

    def _cells(self, page: bytes, number: int) -> list[int]:
        """Where the cells of a page begin; None of its pointers that leads out of it is followed."""
        begin = _begin(number)
        head = 12 if page[begin] in (_INNER_INDEX, _INNER_TABLE) else 8
        count = int.from_bytes(page[begin + 3 : begin + 5], "big")
        count = min(count, (self.size - begin - head) // 2)
        places = struct.unpack_from(f">{count}H", page, begin + head)
        return [at for at in places if begin + head + 2 * count <= at < self.size - 4]

    def _unused(self, page: bytes, number: int) -> int:
        """How much of a leaf is head, pointers and room for more."""
        begin = _begin(number)
        free, cells, content = struct.unpack_from(">3H", page, begin + 1)
        unused = (content or 65536) + page[begin + 7]
        seen: set[int] = set()
        while 0 < free <= self.size - 4 and free not in seen:
            seen.add(free)
            unused += int.from_bytes(page[free + 2 : free + 4], "big")
            free = int.from_bytes(page[free : free + 2], "big")
        return int(unused) if content >= begin + 8 + 2 * cells or not content else 0

    def _row(self, page: bytes, at: int, number: int, index: bool) -> tuple[StoredRow | None, int]:
        """The row that begins here, and where on the page it ends."""
        length, at = _varint(page, at)
        row, at = (0, at) if index else _varint(page, at)
        usable = self.size - self._reserved
        most = (usable - 12) * 64 // 255 - 23 if index else usable - 35
        least = (usable - 12) * 32 // 255 - 23
        local = length
        if length > most:
            local = least + (length - least) % (usable - 4)
            local = local if local <= most else least
        if length <= 0 or at + local > self.size:
            return None, at
        payload, end = page[at : at + local], at + local
        if local < length:
            end += 4
            payload += self._overflow(int.from_bytes(page[at + local : at + local + 4], "big"), length - local)
        values = _record(payload, length)
        return (StoredRow(row, values, number, len(payload) == length) if values else None), end

    def _overflow(self, number: int, length: int) -> bytes:
        """What goes on elsewhere, as far as the chain holds."""
        parts: list[bytes] = []
        seen: set[int] = set()
        usable = self.size - self._reserved
        while length > 0 and 0 < number <= self.count and number not in seen:
            seen.add(number)
            page = self.page(number)
            if len(page) < self.size:
                break
            parts.append(page[4 : min(usable, 4 + length)])
            length -= len(parts[-1])
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


class WriteAheadLog:
    """The changes that are not yet in the file itself, a page a frame; those behind the last commit do not count."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.page_size = int.from_bytes(data[8:12], "big") if len(data) >= _LOG_HEAD else 0

    @classmethod
    def of(cls, database: Path) -> WriteAheadLog:
        log = Path(f"{database}-wal")
        return cls(log.read_bytes() if log.exists() else b"")

    def pages(self, size: int) -> dict[int, int]:
        """Where in the log the newest version of each page stands."""
        pages: dict[int, int] = {}
        waiting: dict[int, int] = {}
        for frame in self._frames(size):
            if frame.right:
                waiting[frame.page] = frame.start
            if frame.commits:
                pages |= waiting
                waiting = {}
        return pages

    def fault(self) -> str | None:
        """What is wrong with it, in words: nothing is with what a killed writer leaves behind the last commit."""
        if len(self.data) < _LOG_HEAD:
            return None
        known = self.data[:4] in _LOG_MARKS
        if not known or _frame_sum(self.data[:24], (0, 0), self._order) != _pair(self.data, 24):
            return "its head is not what was written"
        frames, changes = self._changes()
        wrong = sum(not frame.right for frame in frames[:changes])
        return f"{wrong} of its pages are not what was written" if wrong else None

    def torn(self) -> str | None:
        """That a change behind the last whole one is not what was written: damage, or the instant of a kill."""
        frames, changes = self._changes()
        torn = any(frame.commits and not frame.right for frame in frames[changes:])
        return "its last change is not what was written" if torn else None

    def _changes(self) -> tuple[list[_Frame], int]:
        """All frames, and how many of them there are up to the last whole change."""
        frames = list(self._frames(self.page_size))
        return frames, max((place for place, frame in enumerate(frames, 1) if frame.right and frame.commits), default=0)

    @property
    def _order(self) -> str:
        return ">" if self.data[3:4] == b"\x83" else "<"

    def _frames(self, size: int) -> Iterator[_Frame]:
        """The frames of this round: those of earlier ones, which stand behind them, have other marks.

        The sum of a frame goes on from that of the frame before; as it is noted there, damage stays where it is.
        """
        places = range(_LOG_HEAD, len(self.data) - _FRAME_HEAD - size + 1, _FRAME_HEAD + size) if size else range(0)
        marks = [self.data[at + 8 : at + 16] for at in places]
        mark = self.data[16:24]
        if marks and mark not in marks:  # the head is damaged
            mark = marks[0]
        before = _pair(self.data, 24)
        for at, _ in zip(places, range(len(marks) - (marks[::-1].index(mark) if mark in marks else 0)), strict=False):
            head, start = self.data[at : at + _FRAME_HEAD], at + _FRAME_HEAD
            now = _frame_sum(self.data[start : start + size], _frame_sum(head[:8], before, self._order), self._order)
            before = _pair(head, 16)
            yield _Frame(*_pair(head, 0), start, now == before and head[8:16] == mark)


class _Frame(NamedTuple):
    """A page in the log; `commits` is not 0 where a change ends with it."""

    page: int
    commits: int
    start: int
    right: bool


def _frame_sum(data: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _pair(data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(data[at : at + 4], "big"), int.from_bytes(data[at + 4 : at + 8], "big")


def _begin(number: int) -> int:
    """Where the head of a page begins: the first one has the file's before it."""
    return 100 if number == 1 else 0


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for place in range(9):
        byte = data[at + place] if at + place < len(data) else 0
        if place == 8:
            value = value << 8 | byte
            return value - (1 << 64 if value >> 63 else 0), at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    raise AssertionError("nine bytes are all there are")


def _record(payload: bytes, length: int) -> tuple[Value | Unreadable, ...] | None:
    """The values of a record; None where its head makes no sense."""
    head, at = _varint(payload, 0)
    if not at <= head <= min(len(payload), length):
        return None
    types: list[int] = []
    while at < head:
        kind, at = _varint(payload, at)
        if kind < 0 or kind in (10, 11):
            return None
        types.append(kind)
    if at != head or head + sum(map(_size, types)) != length:
        return None
    values: list[Value | Unreadable] = []
    for kind in types:
        piece = payload[at : at + _size(kind)]
        values.append(_value(kind, piece) if len(piece) == _size(kind) else UNREADABLE)
        at += _size(kind)
    return tuple(values)


def _size(kind: int) -> int:
    if kind in _WHOLE_NUMBERS:
        return _WHOLE_NUMBERS[kind]
    return 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0


def _value(kind: int, data: bytes) -> Value | Unreadable:
    if kind in _WHOLE_NUMBERS:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        return float(struct.unpack(">d", data)[0])
    if kind in (0, 8, 9):
        return (None, 0, 1)[max(kind - 7, 0)]
    if kind % 2 == 0:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return UNREADABLE
