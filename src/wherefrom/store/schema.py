"""The tables of `documents.sqlite` and the steps from one format to the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from wherefrom.errors import LibraryTooNew

APPLICATION_ID = 0x77667230  # "wfr0": how a database says that it is ours
FORMAT = 4

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
INSERT INTO meta VALUES ('next_key', 1);
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
TABLES += FEEDBACK + ";\n" + DATES + ";\n"

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


STEPS: Mapping[int, Step] = {1: _add_feedback, 2: _add_sections, 3: _add_dates}


def create(connection: sqlite3.Connection) -> None:
    """Lay the tables, all or none."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


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
