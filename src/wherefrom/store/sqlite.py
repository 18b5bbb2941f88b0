"""Documents and their passages, in a SQLite database."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from wherefrom.errors import LibraryDamaged, LibraryError, LibraryForeign, LibraryTooNew
from wherefrom.store import schema
from wherefrom.text import Span, normalized, sections
from wherefrom.types import Document, Passage

Split = Callable[[str], list[Span]]

_NO_MARKS = re.compile(r"[!-/:-@\[-`{-~]")  # what normal forms leave out
_MOST_BLOBS = 20_000  # opened on one connection: CPython keeps a note of each, 90 bytes, until it is closed
_MOST_DIGITS = 15  # of a passage's number: SQLite counts to 2^63, and no document has as many passages


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """A document without its text, as a listing shows it."""

    id: str
    title: str
    source: str
    passages: int
    characters: int


@dataclass(frozen=True, slots=True)
class Staged:
    """Documents written but not yet visible, with what the indexes need to know of them."""

    documents: tuple[int, ...]
    keys: tuple[int, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]


class SQLiteStore:
    """The source of truth: everything else in a library can be made again from it.

    Writing takes two steps, so that indexes can be brought up to date in between: `stage` writes
    documents that nobody sees, `publish` makes them visible and retires their old versions in one
    transaction. `put` does both. Readers in other threads and processes see a document whole or not at all.
    """

    def __init__(self, path: Path, split: Split) -> None:
        self.path = path
        self._split = split
        self._threads = threading.local()
        self._connections: list[sqlite3.Connection] = []

    # Writing.

    def put(self, documents: Sequence[Document]) -> None:
        self.publish(self.stage(documents))

    def stage(self, documents: Sequence[Document]) -> Staged:
        """Write documents that stay invisible until they are published."""
        rows: list[tuple[Any, ...]] = []
        passages: list[tuple[int, int, int, int, int, int, str]] = []
        titles: list[str] = []
        texts: list[str] = []
        with self._writing() as connection:
            key = first = self._meta_number(connection, "next_key")
            (last,) = connection.execute("SELECT ifnull(max(key), 0) FROM document").fetchone()
            for number, document in enumerate(documents, start=last + 1):
                spans = self._split(document.text)
                bytes_at = _byte_offsets(document.text, spans)
                rows.append(
                    (
                        number,
                        document.id,
                        0,
                        key,
                        len(spans),
                        len(document.text),
                        content_hash(document),
                        document.source,
                        document.title,
                        _storable(document),
                    )
                )
                named = sections(document.text, spans, document.title)
                for (start, end), section in zip(spans, named, strict=True):
                    passages.append((key, number, start, end, bytes_at[start], bytes_at[end], section))
                    titles.append(_heading(document.title, section))
                    texts.append(document.text[start:end])
                    key += 1
            connection.executemany("INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.executemany("INSERT INTO passage VALUES (?, ?, ?, ?, ?, ?, ?)", passages)
            connection.executemany(
                "INSERT OR REPLACE INTO dated VALUES (?, ?)",
                [(row[0], document.date) for row, document in zip(rows, documents, strict=True) if document.date],
            )
            connection.execute("UPDATE meta SET value = ? WHERE name = 'next_key'", (key,))
        return Staged(
            documents=tuple(row[0] for row in rows),
            keys=tuple(range(first, key)),
            titles=tuple(titles),
            texts=tuple(texts),
        )

    def publish(self, staged: Staged, forgotten: Iterable[int] = (), files: Mapping[str, bytes] | None = None) -> None:
        """Make staged documents visible in place of their old versions.

        `forgotten` are retired keys that no index holds any more; `files` maps files that are now wholly
        in the library to the hashes of their bytes.
        """
        with self._writing() as connection:
            for number in staged.documents:
                (id,) = connection.execute("SELECT id FROM document WHERE key = ?", (number,)).fetchone()
                self._retire(connection, "live AND id = ?", (id,))
                connection.execute("UPDATE document SET live = 1 WHERE key = ?", (number,))
            connection.executemany("DELETE FROM retired WHERE key = ?", [(key,) for key in forgotten])
            connection.executemany(
                "INSERT INTO file VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET hash = excluded.hash",
                list((files or {}).items()),
            )

    def remove(self, ids: Sequence[str]) -> list[str]:
        removed = []
        with self._writing() as connection:
            for id in dict.fromkeys(ids):
                row = connection.execute("SELECT source FROM document WHERE live AND id = ?", (id,)).fetchone()
                if row:
                    self._retire(connection, "live AND id = ?", (id,))
                    # A file with a removed document is no longer wholly in the library: read it next time.
                    connection.execute("DELETE FROM file WHERE source = ?", row)
                    removed.append(id)
        return removed

    def recover(self) -> int:
        """Retire what a killed writer staged and never published; how many documents that were."""
        with self._writing() as connection:
            return self._retire(connection, "NOT live", ())

    def retired(self) -> list[int]:
        """Keys of passages that are gone and that indexes may still hold."""
        return [key for (key,) in self._connection().execute("SELECT key FROM retired ORDER BY key")]

    def forget(self, keys: Iterable[int]) -> None:
        """Drop retired keys that no index holds any more."""
        with self._writing() as connection:
            connection.executemany("DELETE FROM retired WHERE key = ?", [(key,) for key in keys])

    def _retire(self, connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> int:
        rows = connection.execute(f"SELECT key, first, passages FROM document WHERE {where}", values).fetchall()
        for number, first, passages in rows:
            connection.executemany(
                "INSERT OR IGNORE INTO retired VALUES (?)", [(key,) for key in range(first, first + passages)]
            )
            connection.execute("DELETE FROM passage WHERE key >= ? AND key < ?", (first, first + passages))
            connection.execute("DELETE FROM document WHERE key = ?", (number,))
            connection.execute("DELETE FROM dated WHERE document = ?", (number,))
        return len(rows)

    # Reading.

    def document(self, id: str) -> Document | None:
        row = (
            self._connection()
            .execute(
                "SELECT id, text, title, source, ifnull(date, '') FROM document LEFT JOIN dated ON document = key "
                "WHERE live AND id = ?",
                (id,),
            )
            .fetchone()
        )
        return Document(*row) if row else None

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        with self._reading_passages(len(ids)) as connection:
            keys: list[int] = []
            for id in ids:
                document, ordinal = split_passage_id(id)
                row = connection.execute(
                    "SELECT first + ? FROM document WHERE live AND id = ? AND ? BETWEEN 0 AND passages - 1",
                    (ordinal, document, ordinal),
                ).fetchone()
                if row:
                    keys.append(row[0])
            at = self._passages_at(connection, keys)
        return [at[key] for key in keys]

    def passages_at(self, keys: Sequence[int]) -> dict[int, Passage]:
        with self._reading_passages(len(keys)) as connection:
            return self._passages_at(connection, keys)

    @staticmethod
    def _passages_at(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Passage]:
        passages: dict[int, Passage] = {}
        for piece in _in_pieces(keys, 500):
            rows = connection.execute(
                "SELECT passage.key, start, end, byte_start, byte_end, document.key, id, title, first, section "
                "FROM passage JOIN document ON document.key = passage.document "
                f"WHERE live AND passage.key IN ({', '.join('?' * len(piece))})",
                piece,
            ).fetchall()
            for key, start, end, byte_start, byte_end, number, id, title, first, section in rows:
                # Read only the passage's own bytes: a document can be a thousand times longer.
                with connection.blobopen("document", "text", number, readonly=True) as blob:
                    text = bytes(blob[byte_start:byte_end]).decode("utf-8")
                passages[key] = Passage(passage_id(id, key - first), id, text, start, end, title, section)
        return passages

    def passage_count(self, id: str) -> int:
        """How many passages a document has; 0 for one that is not there."""
        row = self._connection().execute("SELECT passages FROM document WHERE live AND id = ?", (id,)).fetchone()
        return int(row[0]) if row else 0

    def documents(self, after: str = "", limit: int | None = None) -> Iterator[DocumentFacts]:
        """Every document, by id; or those behind the id `after`, at most `limit`."""
        for row in self._connection().execute(
            "SELECT id, title, source, passages, characters FROM document WHERE live AND id > ? ORDER BY id LIMIT ?",
            (after, -1 if limit is None else limit),
        ):
            yield DocumentFacts(*row)

    def dates(self, ids: Sequence[str]) -> dict[str, str]:
        """When the versions of these documents are from; those of which it is not known are left out."""
        dates: dict[str, str] = {}
        for piece in _in_pieces(ids, 500):
            dates |= self._connection().execute(
                "SELECT id, date FROM document JOIN dated ON document = key "
                f"WHERE live AND id IN ({', '.join('?' * len(piece))})",
                piece,
            )
        return dates

    def set_dates(self, dates: Mapping[str, str]) -> None:
        """Note when documents that are there already are from."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO dated SELECT key, ? FROM document WHERE live AND id = ?",
                [(date, id) for id, date in dates.items()],
            )

    def with_source(self, source: str) -> list[str]:
        """The ids of the documents read from this file."""
        rows = self._connection().execute("SELECT id FROM document WHERE live AND source = ? ORDER BY id", (source,))
        return [id for (id,) in rows]

    def facts(self, id: str) -> tuple[str, bytes] | None:
        """The source and the content hash of a document."""
        row = self._connection().execute("SELECT source, hash FROM document WHERE live AND id = ?", (id,)).fetchone()
        return (row[0], row[1]) if row else None

    def counts(self) -> tuple[int, int]:
        """How many documents and passages there are."""
        cursor = self._connection().execute("SELECT count(*), ifnull(sum(passages), 0) FROM document WHERE live")
        documents, passages = cursor.fetchone()
        return documents, passages

    def file_hash(self, source: str) -> bytes | None:
        """The hash of the bytes of a file that is wholly in the library."""
        row = self._connection().execute("SELECT hash FROM file WHERE source = ?", (source,)).fetchone()
        return bytes(row[0]) if row else None

    def live_passages(self) -> Iterator[tuple[int, str, str]]:
        """Every passage as (key, heading, text), by key: what an index is built from."""
        rows = self._connection().execute("SELECT first, passages, title, text FROM document WHERE live ORDER BY first")
        for first, count, title, text in rows:
            spans = self._connection().execute(
                "SELECT key, start, end, section FROM passage WHERE key >= ? AND key < ? ORDER BY key",
                (first, first + count),
            )
            for key, start, end, section in spans:
                yield key, _heading(title, section), text[start:end]

    def holds(self, text: str) -> bool:
        """Whether any passage holds these words in a row, whatever their case and punctuation. Reads everything."""
        wanted = normalized(text)
        if not wanted:
            return bool(text.strip()) and any(text.strip() in inside for _, _, inside in self.live_passages())
        longest = max(wanted.split(), key=len)  # tells most passages apart without looking at them closely
        return any(
            f" {wanted} " in f" {normalized(inside)} "
            for _, _, inside in self.live_passages()
            if longest in _NO_MARKS.sub("", inside.casefold())
        )

    # What people said of answers, as JSON.

    def add_feedback(self, when: str, body: str) -> int:
        """Keep one; its number. No writer's lock is needed: nothing that is indexed changes."""
        with self._writing() as connection:
            return int(
                connection.execute("INSERT INTO feedback (given, body) VALUES (?, ?)", (when, body)).lastrowid or 0
            )

    def feedback(self) -> Iterator[tuple[int, str, str]]:
        """(number, when, JSON), oldest first."""
        yield from self._connection().execute("SELECT number, given, body FROM feedback ORDER BY number")

    # Facts about the library itself.

    def meta(self, name: str) -> Any:
        """A fact kept with the documents, or None."""
        row = self._connection().execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    def set_meta(self, name: str, value: object) -> None:
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

    def version(self) -> int:
        """A number that changes whenever another connection has committed something."""
        (number,) = self._connection().execute("PRAGMA data_version").fetchone()
        return int(number)

    # Opening, checking, closing.

    def open(self, create: bool) -> None:
        """Open the database, laying or upgrading its tables if `create`; foreign and newer ones are refused."""
        connection = self._connection()
        try:
            format = schema.version(connection)
            if format is None:
                raise LibraryForeign(f"{self.path} is the database of something else")
            if format > schema.FORMAT:
                raise LibraryTooNew(schema.too_new(format))
            if create and format == 0:
                connection.execute("PRAGMA journal_mode = WAL")
                schema.create(connection)
            elif create:
                schema.upgrade(connection)
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    def needs_upgrade(self) -> bool:
        """Whether the tables are of an older format, or not laid at all because their maker was killed."""
        try:
            format = schema.version(self._connection())
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error
        return format is not None and format < schema.FORMAT

    def problems(self) -> Iterator[str]:
        """What is wrong inside the database, in words."""
        try:
            for (message,) in self._connection().execute("PRAGMA integrity_check"):
                if message != "ok":
                    yield f"the database is damaged: {message}"
        except sqlite3.DatabaseError as error:
            yield f"the database is damaged: {error}"

    def misfits(self) -> Iterator[tuple[str, str]]:
        """Documents whose text or passages are not what was written, as (id, what is wrong)."""
        rows = self._connection().execute(
            "SELECT id, first, passages, hash, source, title, text FROM document WHERE live ORDER BY id"
        )
        for id, first, count, stored_hash, source, title, text in rows:
            if content_hash(Document(id, text, title, source)) != stored_hash:
                yield id, "its text is not the one that was written"
                continue
            spans = (
                self._connection()
                .execute(
                    "SELECT start, end, byte_start, byte_end FROM passage WHERE key >= ? AND key < ? ORDER BY key",
                    (first, first + count),
                )
                .fetchall()
            )
            encoded = text.encode("utf-8")
            if len(spans) != count or any(
                encoded[byte_start:byte_end] != text[start:end].encode("utf-8") or start >= end
                for start, end, byte_start, byte_end in spans
            ):
                yield id, "its passages do not match its text"

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._threads = threading.local()

    def _connection(self) -> sqlite3.Connection:
        """This thread's own connection: SQLite lets many read while one writes, but not on one connection."""
        connection: sqlite3.Connection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = self._connected()
        return connection

    def _connected(self) -> sqlite3.Connection:
        try:
            # No thread check: close() ends the connections of all threads from one.
            connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = FULL")  # acknowledged means safe from a power cut too
            connection.execute("PRAGMA mmap_size = 268435456")
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error
        self._connections.append(connection)
        return connection

    @contextmanager
    def _reading_passages(self, blobs: int) -> Iterator[sqlite3.Connection]:
        """One moment in time: rows and texts that belong together.

        On a connection that is used for nothing else and made anew from time to time, because it never forgets the
        blobs that were opened on it: a server would grow by gigabytes a day.
        """
        connection: sqlite3.Connection | None = getattr(self._threads, "passages", None)
        opened: int = getattr(self._threads, "blobs", 0) + blobs
        if connection is not None and opened > _MOST_BLOBS:
            connection.close()
            self._connections.remove(connection)
            connection = None
        if connection is None:
            connection = self._threads.passages = self._connected()
            opened = blobs
        self._threads.blobs = opened
        try:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing."""
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:  # a full disk may have ended it already
                connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.DatabaseError):
                raise _damaged(self.path, error) from error
            raise

    @staticmethod
    def _meta_number(connection: sqlite3.Connection, name: str) -> int:
        (value,) = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(value)


def content_hash(document: Document) -> bytes:
    """What tells whether a document has changed: its title and its text."""
    title = document.title.encode("utf-8", "surrogatepass")
    text = document.text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(b"%d:" % len(title) + title + text, digest_size=16).digest()


def passage_id(document_id: str, ordinal: int) -> str:
    """`guide.md#3` is the fourth passage of `guide.md`."""
    return f"{document_id}#{ordinal}"


def split_passage_id(id: str) -> tuple[str, int]:
    """The document and the place of a passage; the place is -1 where the id is not a passage's."""
    document, _, ordinal = id.rpartition("#")
    is_number = ordinal.isascii() and ordinal.isdigit() and len(ordinal) <= _MOST_DIGITS
    return (document, int(ordinal)) if is_number else (id, -1)


def _storable(document: Document) -> str:
    try:
        document.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise LibraryError(
            f"the text of document '{document.id}' is not valid Unicode at character {error.start}; "
            "pass it through wherefrom.text.clean first"
        ) from error
    return document.text


def _byte_offsets(text: str, spans: Sequence[Span]) -> Mapping[int, int]:
    """Where the borders of the spans lie in the UTF-8 bytes of the text."""
    borders = sorted({border for span in spans for border in span})
    if text.isascii():
        return {border: border for border in borders}
    offsets: dict[int, int] = {}
    at = before = 0
    for border in borders:
        at += len(text[before:border].encode("utf-8", "surrogatepass"))
        offsets[border] = at
        before = border
    return offsets


def _damaged(path: Path, error: sqlite3.DatabaseError) -> LibraryError:
    if isinstance(error, sqlite3.OperationalError):  # no permission, disk full, locked: nothing is broken
        return LibraryError(f"{path} cannot be used: {error}")
    return LibraryDamaged(f"{path} cannot be read as a database ({error}); `wherefrom check` tells what can be saved")


_Item = TypeVar("_Item")


def _in_pieces(items: Sequence[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while piece := list(islice(iterator, size)):
        yield piece


def _heading(title: str, section: str) -> str:
    """Title and section: what a passage is found by beside its own words."""
    return f"{title}: {section}" if title and section else title or section
