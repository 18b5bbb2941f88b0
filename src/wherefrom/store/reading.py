"""A document read piece by piece, so that one of 60 MB costs no more memory than a page of it."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

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
    _key: int
    _first: int
    _database: Database

    def pieces(self, start: int, end: int) -> Iterator[str]:
        """`text[start:end]`, in pieces; each step may run in another thread."""
        at, byte = self._before(start)
        decoder = codecs.getincrementaldecoder("utf-8")()
        while at < end:
            data = self._bytes(byte)
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
            with self._database.reading() as connection:
                rows = connection.execute(
                    "SELECT key - ?, start, end FROM passage WHERE key > ? AND key < ? AND end > ? AND start < ? "
                    "ORDER BY key LIMIT ?",
                    (self._first, self._first + ordinal, self._first + self.passages, start, end, _ROWS),
                ).fetchall()
            for ordinal, begins, ends in rows:
                yield PassageSpan(f"{self.id}#{ordinal}", begins, ends)
            if len(rows) < _ROWS:
                return

    def places(self, start: int, end: int) -> Iterator[Place]:
        """Where in the file these characters stand, in order; the first place may begin before them."""
        with self._database.reading() as connection:
            if (schema.version(connection) or 0) < schema.PLACES_SINCE:
                return
            (after,) = connection.execute(
                "SELECT ifnull(max(start), 0) - 1 FROM place WHERE document = ? AND start <= ?", (self._key, start)
            ).fetchone()
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(
                    "SELECT start, label, number FROM place WHERE document = ? AND start > ? AND start < ? "
                    "ORDER BY start LIMIT ?",
                    (self._key, after, end, _ROWS),
                ).fetchall()
            yield from (Place(*row) for row in rows)
            if len(rows) < _ROWS:
                return
            after = rows[-1][0]

    def _before(self, start: int) -> tuple[int, int]:
        """A character at or before `start` of which it is known at which byte it stands: that of a passage."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT start, byte_start FROM passage WHERE key >= ? AND key < ? AND start <= ? "
                "ORDER BY key DESC LIMIT 1",
                (self._first, self._first + self.passages, start),
            ).fetchone()
        return row or (0, 0)

    def _bytes(self, at: int) -> bytes:
        with self._database.reading_blobs(1) as connection:
            if not connection.execute("SELECT 1 FROM document WHERE key = ?", (self._key,)).fetchone():
                raise NotFound(f"the document '{self.id}' was replaced or removed while it was read; ask for it again")
            with connection.blobopen("document", "text", self._key, readonly=True) as blob:
                return bytes(blob[at : at + _BYTES])


def stored_text(database: Database, id: str) -> StoredText | None:
    """The document of this id as it is now, to be read in pieces."""
    with database.reading() as connection:
        row = connection.execute(
            "SELECT id, title, source, characters, passages, key, first FROM document WHERE live AND id = ?", (id,)
        ).fetchone()
    if row is None:
        return None
    id, title, source, length, passages, key, first = row
    return StoredText(id, title, source, length, passages, key, first, database)
