"""A document read piece by piece, so that one of 60 MB costs no more memory than a page of it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from wherefrom.errors import NotFound
from wherefrom.store import schema
from wherefrom.store.database import Database
from wherefrom.types import Place

_BYTES = 1 << 18  # of a text, read at a time
_ROWS = 5000  # of passages, likewise


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A passage without its text: its id and its characters in the document."""

    id: str
    start: int
    end: int


class TextRows(Protocol):
    """The rows of one version of a document, wherever they are kept."""

    def spans(self, after: int, start: int, end: int, most: int) -> list[tuple[int, int, int]]:
        """The number, start and end of passages behind the number `after` of which a part lies there."""
        ...

    def first_place(self, start: int) -> int | None:
        """Where the place begins in which this character stands, or 0; None where places are not known."""
        ...

    def places(self, after: int, end: int, most: int) -> list[tuple[int, str, int | None]]:
        """The start, label and number of places that begin behind `after` and before `end`."""
        ...

    def before(self, start: int) -> tuple[int, int]:
        """A character at or before `start` of which it is known at which byte it stands: that of a passage."""
        ...

    def bytes_at(self, at: int, most: int) -> bytes | None:
        """Bytes of the text; None where this version is no longer there."""
        ...


@dataclass(frozen=True, slots=True)
class StoredText:
    """One version of a document, to be read from the store in pieces: what replaces it is another one.

    Where that happens while it is read, NotFound says so: half of each would be no document.
    """

    id: str
    title: str
    source: str
    length: int  # characters
    passages: int
    _rows: TextRows

    def pieces(self, start: int, end: int) -> Iterator[str]:
        """`text[start:end]`, in pieces; each step may run in another thread."""
        at, byte = self._rows.before(start)
        decoder = codecs.getincrementaldecoder("utf-8")()
        while at < end:
            data = self._rows.bytes_at(byte, _BYTES)
            if data is None:
                raise NotFound(f"the document '{self.id}' was replaced or removed while it was read; ask for it again")
            if not data:
                return
            byte += len(data)
            text = decoder.decode(data)
            piece = text[max(start - at, 0) : end - at]
            at += len(text)
            if piece:
                yield piece

    def spans(self, start: int, end: int) -> Iterator[PassageSpan]:
        """The passages of which a part lies there, in order."""
        ordinal = -1
        while True:
            rows = self._rows.spans(ordinal, start, end, _ROWS)
            for ordinal, begins, ends in rows:
                yield PassageSpan(f"{self.id}#{ordinal}", begins, ends)
            if len(rows) < _ROWS:
                return

    def places(self, start: int, end: int) -> Iterator[Place]:
        """Where in the file these characters stand, in order; the first place may begin before them."""
        first = self._rows.first_place(start)
        if first is None:
            return
        after = first - 1
        while True:
            rows = self._rows.places(after, end, _ROWS)
            yield from (Place(*row) for row in rows)
            if len(rows) < _ROWS:
                return
            after = rows[-1][0]


@dataclass(frozen=True, slots=True)
class _SQLiteText:
    """The rows of one version of a document in SQLite."""

    key: int
    first: int
    passages: int
    database: Database

    def spans(self, after: int, start: int, end: int, most: int) -> list[tuple[int, int, int]]:
        with self.database.reading() as connection:
            return connection.execute(
                "SELECT key - ?, start, end FROM passage WHERE key > ? AND key < ? AND end > ? AND start < ? "
                "ORDER BY key LIMIT ?",
                (self.first, self.first + after, self.first + self.passages, start, end, most),
            ).fetchall()

    def first_place(self, start: int) -> int | None:
        with self.database.reading() as connection:
            if (schema.version(connection) or 0) < schema.PLACES_SINCE:
                return None
            (first,) = connection.execute(
                "SELECT ifnull(max(start), 0) FROM place WHERE document = ? AND start <= ?", (self.key, start)
            ).fetchone()
            return int(first)

    def places(self, after: int, end: int, most: int) -> list[tuple[int, str, int | None]]:
        with self.database.reading() as connection:
            return connection.execute(
                "SELECT start, label, number FROM place WHERE document = ? AND start > ? AND start < ? "
                "ORDER BY start LIMIT ?",
                (self.key, after, end, most),
            ).fetchall()

    def before(self, start: int) -> tuple[int, int]:
        with self.database.reading() as connection:
            row = connection.execute(
                "SELECT start, byte_start FROM passage WHERE key >= ? AND key < ? AND start <= ? "
                "ORDER BY key DESC LIMIT 1",
                (self.first, self.first + self.passages, start),
            ).fetchone()
        return row or (0, 0)

    def bytes_at(self, at: int, most: int) -> bytes | None:
        with self.database.reading_blobs(1) as connection:
            if not connection.execute("SELECT 1 FROM document WHERE key = ?", (self.key,)).fetchone():
                return None
            with connection.blobopen("document", "text", self.key, readonly=True) as blob:
                return bytes(blob[at : at + most])


def stored_text(database: Database, id: str) -> StoredText | None:
    """The document of this id as it is now, to be read in pieces."""
    with database.reading() as connection:
        row = connection.execute(
            "SELECT id, title, source, characters, passages, key, first FROM document WHERE live AND id = ?", (id,)
        ).fetchone()
    if row is None:
        return None
    id, title, source, length, passages, key, first = row
    return StoredText(id, title, source, length, passages, _SQLiteText(key, first, passages, database))
