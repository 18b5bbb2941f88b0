"""The tables of `documents.sqlite` and the steps from one format to the next."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping

from wherefrom.errors import LibraryTooNew
from wherefrom.store.rows import document_sum
from wherefrom.store.sums import row_sum

APPLICATION_ID = 0x77667230  # "wfr0": how a database says that it is ours
FORMAT = 7
READABLE = 4  # from this one on, a library that may not be written to can be read as it is
SUMS_SINCE = 5  # formats before it have no checksums
TAGS_SINCE = 7  # nor have they tags
PLACES_SINCE = 6  # nor do those before this one know where in their files texts stand

# A document is written with live = 0 and becomes visible by one update. Its passages have the keys
# first .. first + passages - 1; a key is never given twice, so an index that lags behind cannot point
# at the wrong text. `text` comes last: listing documents then never touches it. A passage is a pair of
# offsets, in characters and in the bytes of the stored UTF-8, so that it is read without its document.
TABLES = """
CREATE TABLE document (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    live INTEGER NOT NULL,
    first INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    hash BLOB NOT NULL,
    source TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX document_id ON document (id) WHERE live;
CREATE INDEX document_source ON document (source) WHERE live;
CREATE TABLE passage (
    key INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES document (key),
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_end INTEGER NOT NULL,
    section TEXT NOT NULL DEFAULT ''
);
CREATE TABLE retired (key INTEGER PRIMARY KEY);
CREATE TABLE file (
    source TEXT PRIMARY KEY,
    hash BLOB NOT NULL
);
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value NOT NULL
);
"""

# What people said of answers: `body` is JSON, with the passages as they were then.
FEEDBACK = """
CREATE TABLE feedback (
    number INTEGER PRIMARY KEY,
    given TEXT NOT NULL,
    body TEXT NOT NULL
)
"""
# When a document's version is from, where known. A table of its own: behind a long text it would be slow to read.
DATES = """
CREATE TABLE dated (
    document INTEGER PRIMARY KEY,
    date TEXT NOT NULL
)
"""
# What a document's row and those of its passages were when they were written; its text has a hash in its row.
CHECKSUMS = """
CREATE TABLE checksum (
    document INTEGER PRIMARY KEY,
    sum BLOB NOT NULL
)
"""
# Where the parts of a document stand in its file, each from one character to the next place's.
PLACES = """
CREATE TABLE place (
    document INTEGER NOT NULL,
    start INTEGER NOT NULL,
    label TEXT NOT NULL,
    number INTEGER
)
"""
PLACE_STARTS = "CREATE UNIQUE INDEX place_start ON place (document, start)"
# What people call documents. By their ids, so that a document keeps its tags when its text changes.
TAGS = """
CREATE TABLE tag (
    document TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (document, name)
)
"""
TAG_NAMES = "CREATE INDEX tag_name ON tag (name)"
# What each file of an index was when it was written.
INDEX_FILES = """
CREATE TABLE index_file (
    name TEXT NOT NULL,
    file TEXT NOT NULL,
    size INTEGER NOT NULL,
    sum BLOB NOT NULL,
    PRIMARY KEY (name, file)
)
"""

# Tables whose rows end with the checksum of what stands before it, and the columns that it is made of.
SUMMED: Mapping[str, tuple[str, ...]] = {
    "dated": ("document", "date"),
    "feedback": ("number", "given", "body"),
    "file": ("source", "hash"),
    "meta": ("name", "value"),
    "tag": ("document", "name"),
}
_LATER = ("tag",)  # were laid after rows had checksums
ADD_SUM = "ALTER TABLE {} ADD COLUMN sum BLOB"
_MORE = (FEEDBACK, DATES, CHECKSUMS, INDEX_FILES, PLACES, PLACE_STARTS, TAGS, TAG_NAMES)
TABLES += "".join(f"{each};\n" for each in (*_MORE, *map(ADD_SUM.format, SUMMED)))
DOCUMENT = (
    "key",
    "id",
    "first",
    "passages",
    "characters",
    "hash",
    "source",
    "title",
)  # in its checksum; `live` changes
PASSAGE = ("key", "document", "start", "end", "byte_start", "byte_end", "section")
PLACE = ("start", "label", "number")

# From format n to n + 1. Each step runs inside one transaction together with the change of the number.
Step = Callable[[sqlite3.Connection], None]


def _add_feedback(connection: sqlite3.Connection) -> None:
    connection.execute(FEEDBACK)


def _add_sections(connection: sqlite3.Connection) -> None:
    """Passages of before have none until their file is ingested again."""
    connection.execute("ALTER TABLE passage ADD COLUMN section TEXT NOT NULL DEFAULT ''")


def _add_dates(connection: sqlite3.Connection) -> None:
    """Documents of before have none until their file is ingested again."""
    connection.execute(DATES)


def _add_checksums(connection: sqlite3.Connection) -> None:
    """What is there now is what is kept from now on."""
    connection.execute(CHECKSUMS)
    connection.execute(INDEX_FILES)
    for table, columns in SUMMED.items():
        if table in _LATER:
            continue
        connection.execute(ADD_SUM.format(table))
        rows = connection.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall()
        connection.executemany(
            f"UPDATE {table} SET sum = ? WHERE rowid = ?", ((row_sum(row[1:]), row[0]) for row in rows)
        )
    connection.executemany("INSERT INTO checksum VALUES (?, ?)", document_sums(connection))


_WITH_PLACES = ("pdf", "docx", "md", "markdown", "htm", "html", "xhtml")  # suffixes of files, when the step was made


def _add_places(connection: sqlite3.Connection) -> None:
    """Documents of before have none until their file is ingested again; unchanged ones are read for that once more."""
    connection.execute(PLACES)
    connection.execute(PLACE_STARTS)
    for suffix in _WITH_PLACES:
        connection.execute("DELETE FROM file WHERE source LIKE ? OR source LIKE ?", (f"%.{suffix}", f"%.{suffix}._z"))


def _add_tags(connection: sqlite3.Connection) -> None:
    connection.execute(TAGS)
    connection.execute(TAG_NAMES)
    connection.execute(ADD_SUM.format("tag"))


STEPS: Mapping[int, Step] = {
    1: _add_feedback,
    2: _add_sections,
    3: _add_dates,
    4: _add_checksums,
    5: _add_places,
    6: _add_tags,
}


def document_sums(connection: sqlite3.Connection, where: str = "TRUE") -> Iterator[tuple[int, bytes]]:
    """The key of each document and the checksum of its row, its passages' and its places' as they are now."""
    placed = (version(connection) or 0) >= PLACES_SINCE
    rows = connection.execute(f"SELECT {', '.join(DOCUMENT)} FROM document WHERE {where} ORDER BY key")
    for document in rows:
        passages = connection.execute(
            f"SELECT {', '.join(PASSAGE)} FROM passage WHERE key >= ?1 AND key < ?1 + ?2 ORDER BY key",
            (document[2], document[3]),
        ).fetchall()
        places = []
        if placed:
            places = connection.execute(
                f"SELECT {', '.join(PLACE)} FROM place WHERE document = ? ORDER BY start", document[:1]
            ).fetchall()
        yield document[0], document_sum(document, passages, places)


def tables_sum(connection: sqlite3.Connection) -> str:
    """The checksum of what the tables and their indexes are."""
    tables = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
    return row_sum(tables).hex()


def _note_tables(connection: sqlite3.Connection) -> None:
    value = json.dumps(tables_sum(connection))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('tables', ?, ?)", (value, row_sum(("tables", value))))


def create(connection: sqlite3.Connection) -> None:
    """Lay the tables, inside a transaction."""
    for statement in TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES ('next_key', 1, ?)", (row_sum(("next_key", 1)),))
    _note_tables(connection)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def version(connection: sqlite3.Connection) -> int | None:
    """The format of a database of ours, 0 for an empty one, None for a foreign one."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (format,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        return int(format)
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return None if tables or application else 0


def upgrade(connection: sqlite3.Connection, steps: Mapping[int, Step] = STEPS, target: int = FORMAT) -> list[int]:
    """Bring an older database to the `target` format, a step at a time; the formats it passed through."""
    passed = []
    format = version(connection) or 0
    if format > target:
        raise LibraryTooNew(too_new(format))
    while format < target:
        connection.execute("BEGIN IMMEDIATE")
        try:
            steps[format](connection)
            format += 1
            if format >= SUMS_SINCE:
                _note_tables(connection)
            connection.execute(f"PRAGMA user_version = {format}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        passed.append(format)
    return passed


def too_new(format: int) -> str:
    """The message about a library of a later format."""
    return (
        f"the library has format {format}, made by a later version of wherefrom; this one reads up to "
        f"format {FORMAT}. Upgrade wherefrom to open it."
    )
