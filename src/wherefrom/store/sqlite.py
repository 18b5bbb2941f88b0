"""Documents and their passages, in a SQLite database."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wherefrom.errors import LibraryDamaged, LibraryError, LibraryForeign, LibraryTooNew
from wherefrom.stages import KeyRanges
from wherefrom.store import schema
from wherefrom.store import within as part_of
from wherefrom.store.database import Database, damaged
from wherefrom.store.pages import WriteAheadLog
from wherefrom.store.reading import StoredText, stored_text
from wherefrom.store.rows import (
    DocumentFacts,
    DocumentRow,
    DocumentRows,
    Misfit,
    Rest,
    Split,
    Written,
    content_hash,
    cut,
    heading,
    in_pieces,
    passage_id,
    place_rows,
    split_passage_id,
)
from wherefrom.store.sums import FileSum, row_sum
from wherefrom.text import normalized
from wherefrom.types import Document, Filter, Passage, Place

_NO_MARKS = re.compile(r"[!-/:-@\[-`{-~]")  # what normal forms leave out
# Backwards through the table: in order of another index, SQLite would read all of it.
_LAST_LIVE = "SELECT key FROM document NOT INDEXED WHERE live ORDER BY key DESC LIMIT 1"
_MOST_FILTERS = 100  # whose keys are kept until something changes


@dataclass(frozen=True, slots=True)
class Staged:
    """Documents written but not yet visible, with what the indexes need to know of them."""

    documents: tuple[int, ...]
    keys: tuple[int, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]


class Counts(NamedTuple):
    """How many documents and passages there are, or how many more."""

    documents: int
    passages: int

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]  # a tuple's would put them in a row
        return Counts(self.documents + other.documents, self.passages + other.passages)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.documents - other.documents, self.passages - other.passages)


IndexSums = Mapping[str, FileSum]  # of each file of an index, by its path in the index's folder


class SQLiteStore:
    """The source of truth: everything else in a library can be made again from it.

    Writing takes two steps, so that indexes can be brought up to date in between: `stage` writes
    documents that nobody sees, `publish` makes them visible and retires their old versions in one
    transaction. `put` does both. Readers in other threads and processes see a document whole or not at all.
    """

    def __init__(self, path: Path, split: Split) -> None:
        self.path = path
        self._split = split
        self._database = Database(path)
        self._keys_within: dict[Filter, tuple[tuple[int, ...], KeyRanges]] = {}

    # Writing.

    def put(self, documents: Sequence[Document]) -> None:
        self.publish(self.stage(documents))

    def stage(self, documents: Sequence[Document]) -> Staged:
        """Write documents that stay invisible until they are published; indexes may change from now on."""
        with self._database.writing() as connection:
            self._note(connection, "indexing", True)
            first = self._next_key(connection)
            (last,) = connection.execute("SELECT ifnull(max(key), 0) FROM document").fetchone()
            made = cut(documents, self._split, first, last + 1)
            self.insert_rows(connection, made.documents, live=False)
            self._insert(connection, "meta", [("next_key", first + len(made.texts))])
        return Staged(
            documents=tuple(rows.facts.key for rows in made.documents),
            keys=tuple(range(first, first + len(made.texts))),
            titles=tuple(made.titles),
            texts=tuple(made.texts),
        )

    def insert_rows(self, connection: sqlite3.Connection, documents: Sequence[DocumentRows], live: bool) -> None:
        """Write documents with all that belongs to them, under the keys that they have."""
        connection.executemany(
            "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (facts.key, facts.id, int(live), *facts.values()[2:], rows.text)
                for rows in documents
                if (facts := rows.facts)
            ),
        )
        connection.executemany(
            "INSERT INTO passage VALUES (?, ?, ?, ?, ?, ?, ?)", (row for rows in documents for row in rows.passages)
        )
        connection.executemany(
            "INSERT INTO place VALUES (?, ?, ?, ?)",
            ((rows.facts.key, *row) for rows in documents for row in rows.places),
        )
        connection.executemany("INSERT INTO checksum VALUES (?, ?)", ((rows.facts.key, rows.sum) for rows in documents))
        self._insert(connection, "dated", [(rows.facts.key, rows.date) for rows in documents if rows.date])

    def publish(
        self,
        staged: Staged,
        forgotten: Iterable[int] = (),
        files: Mapping[str, bytes] | None = None,
        sealed: Mapping[str, IndexSums] | None = None,
    ) -> None:
        """Make staged documents visible in place of their old versions.

        `forgotten` are retired keys that no index holds any more; `files` maps files that are now wholly
        in the library to the hashes of their bytes; `sealed` has the checksums of the indexes' files as they are now.
        """
        more = Counts(0, 0)
        with self._database.writing() as connection:
            for number in staged.documents:
                row = connection.execute("SELECT id, passages FROM document WHERE key = ?", (number,)).fetchone()
                more -= self._retire(connection, "live AND id = ?", row[:1])
                connection.execute("UPDATE document SET live = 1 WHERE key = ?", (number,))
                more += Counts(1, row[1])
            connection.executemany("DELETE FROM retired WHERE key = ?", [(key,) for key in forgotten])
            self._insert(connection, "file", list((files or {}).items()))
            self._seal(connection, sealed or {})
            self._count_change(connection, more)

    def remove(self, ids: Sequence[str]) -> list[str]:
        removed, more = [], Counts(0, 0)
        with self._database.writing() as connection:
            for id in dict.fromkeys(ids):
                row = connection.execute("SELECT source FROM document WHERE live AND id = ?", (id,)).fetchone()
                if row:
                    more -= self._retire(connection, "live AND id = ?", (id,))
                    # A file with a removed document is no longer wholly in the library: read it next time.
                    connection.execute("DELETE FROM file WHERE source = ?", row)
                    connection.execute("DELETE FROM tag WHERE document = ?", (id,))
                    removed.append(id)
            self._count_change(connection, more)
        return removed

    def _count_change(self, connection: sqlite3.Connection, more: Counts) -> None:
        """Note one more change, and how much there is after it: to count that each time would take ever longer."""
        noted = self._noted_counts(connection)
        counts = noted + more if noted is not None else self._counted(connection)
        changes = (self._value(connection, "changes") or 0) + 1
        self._note(connection, "changes", changes)
        self._note(connection, "counts", [changes, *counts])

    def changes(self) -> int:
        """How often documents came in or went: by this number it shows that the last ones are lost."""
        return int(self.meta("changes") or 0)

    def recover(self) -> int:
        """Retire what a killed writer staged and never published; how many documents that were.

        There is one batch of these at most, and its keys are the last: all others need not be looked at.
        """
        with self._database.writing() as connection:
            return self._retire(connection, f"NOT live AND key > ifnull(({_LAST_LIVE}), 0)", ()).documents

    def retired(self) -> list[int]:
        """Keys of passages that are gone and that indexes may still hold."""
        with self._database.reading() as connection:
            return [key for (key,) in connection.execute("SELECT key FROM retired ORDER BY key")]

    def forget(self, keys: Iterable[int], sealed: Mapping[str, IndexSums] | None = None) -> None:
        """Drop retired keys that no index holds any more, now that its files have these checksums."""
        with self._database.writing() as connection:
            connection.executemany("DELETE FROM retired WHERE key = ?", [(key,) for key in keys])
            self._seal(connection, sealed or {})

    def _retire(self, connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> Counts:
        rows = connection.execute(f"SELECT key, first, passages FROM document WHERE {where}", values).fetchall()
        if not all(isinstance(value, int) for row in rows for value in row):
            raise damaged(self.path, TypeError())
        for number, first, passages in rows:
            # Its own alone: where the row is damaged, its numbers may point to another's.
            own, keys = "key >= ?1 AND key < ?1 + ?2 AND document = ?3", (first, passages, number)
            connection.execute(f"INSERT OR IGNORE INTO retired SELECT key FROM passage WHERE {own}", keys)
            connection.execute(f"DELETE FROM passage WHERE {own}", keys)
            connection.execute("DELETE FROM document WHERE key = ?", (number,))
            connection.execute("DELETE FROM dated WHERE document = ?", (number,))
            connection.execute("DELETE FROM checksum WHERE document = ?", (number,))
            connection.execute("DELETE FROM place WHERE document = ?", (number,))
        return Counts(len(rows), sum(passages for _, _, passages in rows))

    @staticmethod
    def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write rows with their checksums, in place of those of the same key."""
        places = ", ".join("?" * (len(schema.SUMMED[table]) + 1))
        connection.executemany(
            f"INSERT OR REPLACE INTO {table} VALUES ({places})", [(*row, row_sum(row)) for row in rows]
        )

    # What the indexes' files are to be.

    def begin_indexing(self) -> None:
        """From now on, until `forget` or `publish` or `seal`, the indexes may be ahead of what is known of them."""
        with self._database.writing() as connection:
            self._note(connection, "indexing", True)

    def indexing(self) -> bool:
        """Whether a writer has begun to change the indexes and was killed, or is still at it."""
        return bool(self.meta("indexing"))

    def seal(
        self,
        sealed: Mapping[str, IndexSums],
        folders: Mapping[str, str] | None = None,
        indexing: bool = False,
        notes: Mapping[str, object] | None = None,
    ) -> None:
        """Note the checksums of indexes' files; with `folders`, that these folders are the indexes from now on.

        Where other indexes are still to be sealed, the library stays `indexing`. `notes` are facts that come to be
        true in this instant.
        """
        with self._database.writing() as connection:
            self._seal(connection, sealed)
            if indexing:
                self._note(connection, "indexing", True)
            for name, value in (notes or {}).items():
                self._note(connection, name, value)
            if folders:
                self._note(connection, "folders", {**(self._value(connection, "folders") or {}), **folders})

    def sealed(self, name: str) -> IndexSums:
        """The files of an index and what they were when they were written; none for one that was never sealed."""
        with self._database.reading() as connection:
            if (schema.version(connection) or 0) < schema.SUMS_SINCE:
                return {}
            rows = connection.execute("SELECT file, size, sum FROM index_file WHERE name = ?", (name,)).fetchall()
            return {file: FileSum(size, sum) for file, size, sum in rows}

    def _seal(self, connection: sqlite3.Connection, sealed: Mapping[str, IndexSums]) -> None:
        for name, files in sealed.items():
            connection.execute("DELETE FROM index_file WHERE name = ?", (name,))
            connection.executemany(
                "INSERT INTO index_file VALUES (?, ?, ?, ?)",
                [(name, file, written.size, written.sum) for file, written in files.items()],
            )
        if self._value(connection, "indexing"):
            self._note(connection, "indexing", False)

    # Reading.

    def document(self, id: str) -> Document | None:
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT key, id, text, title, source, ifnull(date, '') FROM document LEFT JOIN dated ON document = key "
                "WHERE live AND id = ?",
                (id,),
            ).fetchone()
            if row is None:
                return None
            number, id, text, title, source, date = row
            return Document(id, text, title, source, date, self._places(connection, number))

    def places(self, id: str) -> tuple[Place, ...]:
        """Where in its file the parts of a document stand."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT key FROM document WHERE live AND id = ?", (id,)).fetchone()
            return self._places(connection, row[0]) if row else ()

    def set_places(self, id: str, places: tuple[Place, ...]) -> None:
        """Note where in its file a document that is there already stands."""
        with self._database.writing() as connection:
            row = connection.execute("SELECT key, text FROM document WHERE live AND id = ?", (id,)).fetchone()
            if row is None:
                return
            rows = place_rows(Document(id, row[1], places=places))
            connection.execute("DELETE FROM place WHERE document = ?", row[:1])
            connection.executemany("INSERT INTO place VALUES (?, ?, ?, ?)", [(row[0], *each) for each in rows])
            for number, sum in schema.document_sums(connection, f"key = {row[0]:d}"):
                connection.execute("INSERT OR REPLACE INTO checksum VALUES (?, ?)", (number, sum))

    @staticmethod
    def _places(connection: sqlite3.Connection, number: int) -> tuple[Place, ...]:
        if (schema.version(connection) or 0) < schema.PLACES_SINCE:
            return ()
        rows = connection.execute("SELECT start, label, number FROM place WHERE document = ? ORDER BY start", (number,))
        return tuple(Place(*row) for row in rows)

    @staticmethod
    def _places_between(connection: sqlite3.Connection, number: int, start: int, end: int) -> tuple[Place, ...]:
        """The places that these characters of a document touch, as places of those characters."""
        rows = connection.execute(
            "SELECT start, label, number FROM place WHERE document = ?1 AND start < ?3 AND start >= ifnull("
            "(SELECT max(start) FROM place WHERE document = ?1 AND start <= ?2), ?2) ORDER BY start",
            (number, start, end),
        )
        return tuple(Place(max(at - start, 0), label, page) for at, label, page in rows)

    def text(self, id: str) -> StoredText | None:
        """A document to be read in pieces, however long it is."""
        return stored_text(self._database, id)

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        with self._database.reading_blobs(len(ids)) as connection:
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
        with self._database.reading_blobs(len(keys)) as connection:
            return self._passages_at(connection, keys)

    def _passages_at(self, connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, Passage]:
        passages: dict[int, Passage] = {}
        placed = (schema.version(connection) or 0) >= schema.PLACES_SINCE
        for piece in in_pieces(keys, 500):
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
                places = self._places_between(connection, number, start, end) if placed else ()
                passages[key] = Passage(passage_id(id, key - first), id, text, start, end, title, section, places)
        return passages

    def keys_within(self, part: Filter) -> KeyRanges:
        """The keys of all passages of the documents that fit; NotFound where no document does.

        Looking costs some 80 ms of CPU where there are 100,000 documents, so what was seen is kept until anything
        changes.
        """
        state = self._database.state()
        kept = self._keys_within.get(part)
        if kept is not None and kept[0] == state:
            return kept[1]
        with self._database.reading() as connection:
            wanted = part_of.conditions(part, self._has_tags(connection))
            rows = connection.execute(
                "SELECT first, passages FROM document LEFT JOIN dated ON dated.document = document.key "
                f"WHERE live AND {wanted.sql} ORDER BY first",
                wanted.values,
            ).fetchall()
        if not rows:
            raise part_of.nothing_fits(part)
        if len(self._keys_within) >= _MOST_FILTERS:
            self._keys_within.clear()
        keys = part_of.ranges(rows)
        self._keys_within[part] = state, keys
        return keys

    def passage_count(self, id: str) -> int:
        """How many passages a document has; 0 for one that is not there."""
        with self._database.reading() as connection:
            (count,) = connection.execute(
                "SELECT count(passage.key) FROM document JOIN passage ON document = document.key "
                "AND passage.key >= first AND passage.key < first + passages WHERE live AND id = ?",
                (id,),
            ).fetchone()
            return int(count)

    def documents(
        self, after: str = "", limit: int | None = None, part: Filter | None = None
    ) -> Iterator[DocumentFacts]:
        """Every document, by id; or those behind the id `after`, at most `limit`; or those alone that fit."""
        with self._database.reading() as connection:
            tagged = self._has_tags(connection)
            wanted = part_of.conditions(part or Filter(), tagged)
            tags = "(SELECT json_group_array(name) FROM tag WHERE tag.document = document.id)" if tagged else "'[]'"
            for id, title, source, passages, characters, names in connection.execute(
                f"SELECT id, title, source, passages, characters, {tags} FROM document LEFT JOIN dated "
                f"ON dated.document = document.key WHERE live AND id > ? AND {wanted.sql} ORDER BY id LIMIT ?",
                (after, *wanted.values, -1 if limit is None else limit),
            ):
                yield DocumentFacts(id, title, source, passages, characters, tuple(sorted(json.loads(names))))

    # Tags.

    @staticmethod
    def _has_tags(connection: sqlite3.Connection) -> bool:
        """Whether there can be any: a library of before that may only be read has no table for them."""
        return (schema.version(connection) or 0) >= schema.TAGS_SINCE

    def tag(self, ids: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = ()) -> list[str]:
        """Give tags to documents, and take others from them; the ids of those that are there.

        No writer's lock is needed: nothing that is indexed changes.
        """
        added, removed = [[part_of.tag_name(name) for name in names] for names in (add, remove)]
        tagged = []
        with self._database.writing() as connection:
            for id in dict.fromkeys(ids):
                if connection.execute("SELECT 1 FROM document WHERE live AND id = ?", (id,)).fetchone():
                    rows = [(id, name) for name in removed]
                    connection.executemany("DELETE FROM tag WHERE document = ? AND name = ?", rows)
                    self._insert(connection, "tag", [(id, name) for name in dict.fromkeys(added)])
                    tagged.append(id)
        return tagged

    def tags(self, id: str | None = None) -> dict[str, int]:
        """The tags of a document, or all there are, by name; and how many documents have each."""
        with self._database.reading() as connection:
            if not self._has_tags(connection):
                return {}
            which, values = ("document = ?", (id,)) if id is not None else ("TRUE", ())
            return dict(
                connection.execute(f"SELECT name, count(*) FROM tag WHERE {which} GROUP BY name ORDER BY name", values)
            )

    def dates(self, ids: Sequence[str]) -> dict[str, str]:
        """When the versions of these documents are from; those of which it is not known are left out."""
        dates: dict[str, str] = {}
        with self._database.reading() as connection:
            for piece in in_pieces(ids, 500):
                dates |= connection.execute(
                    "SELECT id, date FROM document JOIN dated ON document = key "
                    f"WHERE live AND id IN ({', '.join('?' * len(piece))})",
                    piece,
                )
        return dates

    def set_dates(self, dates: Mapping[str, str]) -> None:
        """Note when documents that are there already are from."""
        with self._database.writing() as connection:
            for id, date in dates.items():
                row = connection.execute("SELECT key FROM document WHERE live AND id = ?", (id,)).fetchone()
                if row:
                    self._insert(connection, "dated", [(row[0], date)])

    def with_source(self, source: str) -> list[str]:
        """The ids of the documents read from this file."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT id FROM document WHERE live AND source = ? ORDER BY id", (source,))
            return [id for (id,) in rows]

    def facts(self, id: str) -> tuple[str, bytes] | None:
        """The source and the content hash of a document."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT source, hash FROM document WHERE live AND id = ?", (id,)).fetchone()
            return (row[0], row[1]) if row else None

    def counts(self) -> tuple[int, int]:
        """How many documents and passages there are."""
        with self._database.reading() as connection:
            noted = self._noted_counts(connection)
            documents, passages = noted if noted is not None else self._counted(connection)
            return documents, passages

    def recount(self) -> None:
        """Count what there is, where something was damaged that the noted numbers may have come from."""
        with self._database.writing() as connection:
            changes = self._value(connection, "changes") or 0
            self._note(connection, "counts", [changes, *self._counted(connection)])

    def _noted_counts(self, connection: sqlite3.Connection) -> Counts | None:
        """What was noted with the last change; None where that was made by an earlier version, which noted nothing."""
        noted = self._value(connection, "counts")
        if noted is None or noted[0] != (self._value(connection, "changes") or 0):
            return None
        return Counts(noted[1], noted[2])

    @staticmethod
    def _counted(connection: sqlite3.Connection) -> Counts:
        """Reads a page of each document: at a million of them, gigabytes."""
        row = connection.execute("SELECT count(*), ifnull(sum(passages), 0) FROM document WHERE live").fetchone()
        return Counts(int(row[0]), int(row[1]))

    def sent_hashes(self) -> set[bytes]:
        """The hashes of the files that were sent over the network."""
        with self._database.reading() as connection:
            rows = connection.execute("SELECT hash FROM file WHERE source >= 'sent:' AND source < 'sent;'")
            return {bytes(hash) for (hash,) in rows}

    def file_hash(self, source: str) -> bytes | None:
        """The hash of the bytes of a file that is wholly in the library."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT hash FROM file WHERE source = ?", (source,)).fetchone()
            return bytes(row[0]) if row else None

    def live_passages(self) -> Iterator[tuple[int, str, str]]:
        """Every passage as (key, heading, text), by key: what an index is built from."""
        with self._database.reading() as connection:
            for first, count, title, text in connection.execute(
                "SELECT first, passages, title, text FROM document WHERE live ORDER BY first"
            ):
                spans = connection.execute(
                    "SELECT key, start, end, section FROM passage WHERE key >= ? AND key < ? ORDER BY key",
                    (first, first + count),
                )
                for key, start, end, section in spans:
                    yield key, heading(title, section), text[start:end]

    def live_keys(self) -> set[int]:
        """The keys of all passages that an index has to hold."""
        with self._database.reading() as connection:
            return {
                key
                for (key,) in connection.execute(
                    "SELECT passage.key FROM passage JOIN document ON document.key = document WHERE live"
                )
            }

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
        with self._database.writing() as connection:
            (last,) = connection.execute("SELECT ifnull(max(number), 0) FROM feedback").fetchone()
            self._insert(connection, "feedback", [(last + 1, when, body)])
            return int(last + 1)

    def feedback(self) -> Iterator[tuple[int, str, str]]:
        """(number, when, JSON), oldest first."""
        with self._database.reading() as connection:
            yield from connection.execute("SELECT number, given, body FROM feedback ORDER BY number")

    # Facts about the library itself.

    def meta(self, name: str) -> Any:
        """A fact kept with the documents, or None."""
        with self._database.reading() as connection:
            return self._value(connection, name)

    def set_meta(self, name: str, value: object) -> None:
        with self._database.writing() as connection:
            self._note(connection, name, value)

    def _note(self, connection: sqlite3.Connection, name: str, value: object) -> None:
        self._insert(connection, "meta", [(name, json.dumps(value))])

    @staticmethod
    def _value(connection: sqlite3.Connection, name: str) -> Any:
        row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    @staticmethod
    def _next_key(connection: sqlite3.Connection) -> int:
        (value,) = connection.execute("SELECT value FROM meta WHERE name = 'next_key'").fetchone()
        return int(value)

    def version(self) -> int:
        """A number that changes whenever another connection has committed something."""
        return self._database.version()

    # Opening, checking, closing.

    @property
    def writable(self) -> bool:
        """Whether this user may change the database; one who may not can read."""
        return self._database.writable

    def format(self) -> int:
        """The format of the tables; 0 where there are none."""
        with self._database.reading() as connection:
            format = schema.version(connection)
        if format is None:
            raise LibraryForeign(f"{self.path} is the database of something else")
        if format > schema.FORMAT:
            raise LibraryTooNew(schema.too_new(format))
        return format

    def create(self, facts: Mapping[str, object] | None = None, sealed: Mapping[str, IndexSums] | None = None) -> None:
        """Lay the tables with the first facts about the library, all or none."""
        with self._database.reading(create=True) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            laid = bool(schema.version(connection))  # by an earlier version, which was killed before it noted any facts
            if laid:
                schema.upgrade(connection)
        with self._database.writing() as connection:
            if not laid:
                schema.create(connection)
            for name, value in (facts or {}).items():
                self._note(connection, name, value)
            self._seal(connection, sealed or {})

    def upgrade(self) -> None:
        """Bring the tables of an older format up to date."""
        with self._database.changing() as connection:
            schema.upgrade(connection)

    def copy_to(self, path: Path) -> None:
        """A copy of the database as it is at this instant, while others may be writing."""
        with self._database.reading() as connection, closing(sqlite3.connect(path)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it

    # Being moved, and filled by a move.

    @contextmanager
    def moment(self) -> Iterator[SQLiteMoment]:
        """All of it as of one instant."""
        with self._database.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield SQLiteMoment(connection)
            finally:
                connection.execute("COMMIT")

    def begin_filling(self, source: str) -> None:
        """Lay the tables for what is moved from `source`, or find them as an interrupted move has left them."""
        if not self.path.exists() or not self.format():
            self.create({"filled_from": source})
        before = self.meta("filled_from")
        if before not in (None, source):  # None: it was finished, and its indexes were not
            raise LibraryError(
                f"{self.path.parent} is what another move has left, of the library at {before}; finish that one, or "
                "remove the folder"
            )
        self.set_meta("filled_from", source)

    def fill(self, documents: Sequence[DocumentRows]) -> None:
        """Write documents under the keys that they have."""
        with self._database.writing() as connection:
            self.insert_rows(connection, documents, live=True)

    def unfill(self, keys: Sequence[int]) -> None:
        """Take away documents that were filled in; no index has ever held them."""
        with self._database.writing() as connection:
            for key in keys:
                self._retire(connection, "key = ?", (key,))
            connection.execute("DELETE FROM retired")

    def fill_rest(self, rest: Rest) -> None:
        """Have what belongs to no single document as it is there."""
        with self._database.writing() as connection:
            for table, rows in (("tag", rest.tags), ("file", rest.files), ("feedback", rest.feedback)):
                connection.execute(f"DELETE FROM {table}")
                self._insert(connection, table, rows)
            self._insert(connection, "meta", [("next_key", rest.next_key)])
            self._note(connection, "settings", rest.settings)

    def end_filling(self) -> None:
        """From now on it is a store like any other."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM meta WHERE name = 'filled_from'")
            self._count_change(connection, Counts(0, 0))
        self.recount()
        with self._database.changing() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def open(self, create: bool) -> None:
        """Lay or upgrade the tables if `create`; foreign and newer ones are refused."""
        laid = self.path.exists() and self.format() > 0
        if create and not laid:
            self.create()
        elif create:
            self.upgrade()

    def damaged_log(self) -> str | None:
        """Damage by which the last changes are lost, in words; to be looked for before anything is written."""
        fault = WriteAheadLog.of(self.path).fault()
        return fault and f"{self.path.name}-wal: {fault}"

    def settle(self) -> None:
        """Begin a damaged log anew, so that nobody takes what it lost for a part of what is written now."""
        if self.damaged_log():
            with self._database.changing() as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def problems(self) -> Iterator[str]:
        """What is wrong inside the database, in words."""
        try:
            with self._database.checking() as connection:
                for (message,) in connection.execute("PRAGMA integrity_check"):
                    if message != "ok":
                        yield f"{self.path.name}: {message}"
                if (schema.version(connection) or 0) >= schema.SUMS_SINCE:
                    yield from self._altered(connection)
        except LibraryDamaged as error:
            yield str(error)

    def _altered(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Rows that are not what was written, of all tables but the documents'."""
        for table, columns in schema.SUMMED.items():
            rows = connection.execute(f"SELECT {', '.join(columns)}, sum FROM {table}")
            altered = sum(row_sum(row[:-1]) != row[-1] for row in rows)
            if altered:
                yield f"{self.path.name}: {altered:,} rows of the table '{table}' are not what was written"
        if self._value(connection, "tables") != schema.tables_sum(connection):
            yield f"{self.path.name}: its tables are not what was laid"
        (reused,) = connection.execute(
            "SELECT count(*) FROM retired JOIN passage USING (key) JOIN document ON document.key = document WHERE live"
        ).fetchone()
        if reused:
            yield f"{self.path.name}: {reused:,} passages are to be forgotten that are in use"

    def misfits(self, ids: Iterable[str] | None = None) -> Iterator[Misfit]:
        """Documents whose row, text or passages are not what was written; of all, or of these ids."""
        with self._database.checking() as connection:
            summed = (schema.version(connection) or 0) >= schema.SUMS_SINCE
            if ids is None:
                numbers = [key for (key,) in connection.execute("SELECT key FROM document WHERE live ORDER BY id")]
            else:
                numbers = [
                    key
                    for id in ids
                    for (key,) in connection.execute("SELECT key FROM document WHERE live AND id = ?", (id,))
                ]
            for number in numbers:
                misfit = self._misfit(connection, number, summed)
                if misfit:
                    yield misfit

    @staticmethod
    def _misfit(connection: sqlite3.Connection, number: int, summed: bool) -> Misfit | None:
        id, first, count, stored_hash, source, title, text = connection.execute(
            "SELECT id, first, passages, hash, source, title, text FROM document WHERE key = ?", (number,)
        ).fetchone()
        if not isinstance(text, str) or content_hash(Document(id, text, str(title), source)) != stored_hash:
            return Misfit(str(id), str(source), "its text is not the one that was written", text_right=False)
        if summed:
            ((_, now),) = schema.document_sums(connection, f"key = {number:d}")
            written = connection.execute("SELECT sum FROM checksum WHERE document = ?", (number,)).fetchone()
            if written != (now,):
                return Misfit(str(id), str(source), "its passages are not those that were written", text_right=True)
        spans = connection.execute(
            "SELECT start, end, byte_start, byte_end FROM passage WHERE key >= ? AND key < ? ORDER BY key",
            (first, first + count),
        ).fetchall()
        encoded = text.encode("utf-8")
        if len(spans) != count or any(
            encoded[byte_start:byte_end] != text[start:end].encode("utf-8") or start >= end
            for start, end, byte_start, byte_end in spans
        ):
            return Misfit(id, source, "its passages do not match its text", text_right=True)
        return None

    def read_again(self, source: str) -> None:
        """Forget that a file is wholly in the library, so that ingesting it reads it."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM file WHERE source = ?", (source,))

    def close(self) -> None:
        self._database.close()


@dataclass(frozen=True, slots=True)
class SQLiteMoment:
    """What is in a database as long as a transaction lasts."""

    connection: sqlite3.Connection

    def written(self) -> dict[int, Written]:
        rows = self.connection.execute(
            "SELECT key, sum, characters FROM document JOIN checksum ON checksum.document = key WHERE live"
        )
        return {key: Written(sum, characters) for key, sum, characters in rows}

    def rows(self, keys: Sequence[int]) -> list[DocumentRows]:
        return [self._row(key) for key in keys]

    def _row(self, key: int) -> DocumentRows:
        execute = self.connection.execute
        *facts, text, date = execute(
            f"SELECT {', '.join(schema.DOCUMENT)}, text, ifnull(date, '') FROM document "
            "LEFT JOIN dated ON dated.document = key WHERE key = ?",
            (key,),
        ).fetchone()
        row = DocumentRow(*facts)
        passages = execute(
            f"SELECT {', '.join(schema.PASSAGE)} FROM passage WHERE key >= ?1 AND key < ?1 + ?2 ORDER BY key",
            (row.first, row.passages),
        ).fetchall()
        places = execute(
            f"SELECT {', '.join(schema.PLACE)} FROM place WHERE document = ? ORDER BY start", (key,)
        ).fetchall()
        return DocumentRows(row, text, date, passages, places)

    def rest(self) -> Rest:
        execute = self.connection.execute
        settings = execute("SELECT value FROM meta WHERE name = 'settings'").fetchone()
        (next_key,) = execute("SELECT value FROM meta WHERE name = 'next_key'").fetchone()
        (last,) = execute("SELECT ifnull(max(key), 0) FROM document WHERE live").fetchone()
        return Rest(
            json.loads(settings[0]) if settings else None,
            tuple(execute("SELECT document, name FROM tag ORDER BY document, name")),
            tuple(execute("SELECT source, hash FROM file ORDER BY source")),
            tuple(execute("SELECT number, given, body FROM feedback ORDER BY number")),
            int(next_key),
            last + 1,
        )
