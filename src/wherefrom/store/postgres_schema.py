"""The tables of a library in PostgreSQL and the steps from one format to the next."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from wherefrom.errors import LibraryTooNew
from wherefrom.store.sums import row_sum

Connection = Any  # psycopg.Connection[Any], which a plain install has not
FORMAT = 1
LEAST_SERVER = 14  # the oldest PostgreSQL that its makers still looked after when this was written

# What is committed is visible: a document comes in with everything that belongs to it in one transaction. Its passages
# have the keys first .. first + passages - 1; a key is never given twice, because keys are given in a transaction of
# their own, which nothing takes back. `change` is the number of the change that brought a document in, or retired its
# keys: by these numbers, folders with indexes catch up. Numbers are given one transaction after the other, so that
# nobody who has seen one can miss a smaller one. Texts are bytes kept as they are, so that a part is read without the
# rest.
TABLES = """
CREATE TABLE wherefrom (
    one INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    format INTEGER NOT NULL,
    id TEXT NOT NULL,
    next_key BIGINT NOT NULL,
    next_document BIGINT NOT NULL,
    kept_since BIGINT NOT NULL DEFAULT 0,
    filled_from TEXT
);
CREATE TABLE document (
    key BIGINT PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    first BIGINT NOT NULL,
    passages INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    hash BYTEA NOT NULL,
    source TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    change BIGINT NOT NULL
);
CREATE INDEX document_source ON document (source);
CREATE INDEX document_change ON document (change);
CREATE TABLE content (
    document BIGINT PRIMARY KEY,
    text BYTEA NOT NULL
);
ALTER TABLE content ALTER COLUMN text SET STORAGE EXTERNAL;
CREATE TABLE passage (
    key BIGINT PRIMARY KEY,
    document BIGINT NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_stop INTEGER NOT NULL,
    section TEXT COLLATE "C" NOT NULL
);
CREATE TABLE place (
    document BIGINT NOT NULL,
    start INTEGER NOT NULL,
    label TEXT COLLATE "C" NOT NULL,
    number INTEGER,
    PRIMARY KEY (document, start)
);
CREATE TABLE checksum (
    document BIGINT PRIMARY KEY,
    sum BYTEA NOT NULL
);
CREATE TABLE dated (
    document BIGINT PRIMARY KEY,
    date TEXT COLLATE "C" NOT NULL,
    sum BYTEA NOT NULL
);
CREATE TABLE change (
    number BIGINT PRIMARY KEY,
    token BYTEA NOT NULL,
    made TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE TABLE retired (
    first BIGINT PRIMARY KEY,
    passages INTEGER NOT NULL,
    change BIGINT NOT NULL
);
CREATE INDEX retired_change ON retired (change);
CREATE TABLE file (
    source TEXT COLLATE "C" PRIMARY KEY,
    hash BYTEA NOT NULL,
    sum BYTEA NOT NULL
);
CREATE TABLE feedback (
    number BIGINT PRIMARY KEY,
    given TEXT NOT NULL,
    body TEXT NOT NULL,
    sum BYTEA NOT NULL
);
CREATE TABLE tag (
    document TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    sum BYTEA NOT NULL,
    PRIMARY KEY (document, name)
);
CREATE INDEX tag_name ON tag (name);
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    sum BYTEA NOT NULL
)
"""
NAMES = tuple(line.split()[2] for line in TABLES.splitlines() if line.startswith("CREATE TABLE"))

# From format n to n + 1. Each step runs inside one transaction together with the change of the number.
Step = Callable[[Connection], None]
STEPS: Mapping[int, Step] = {}


def version(connection: Connection) -> int | None:
    """The format of a library's tables, 0 where there are no tables at all, None where they are something else's."""
    tables = {
        name
        for (name,) in connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
            "AND relkind IN ('r', 'p', 'v')"
        )
    }
    if "wherefrom" in tables and "document" in tables:
        row = connection.execute("SELECT format FROM wherefrom").fetchone()
        return int(row[0]) if row else None
    return None if tables else 0


def create(connection: Connection, filled_from: str | None = None) -> None:
    """Lay the tables, inside a transaction; with `filled_from` it is no library before that is taken away."""
    for statement in TABLES.split(";\n"):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO wherefrom (format, id, next_key, next_document, filled_from) VALUES (%s, %s, 1, 1, %s)",
        (FORMAT, uuid.uuid4().hex, filled_from),
    )
    _note_tables(connection)


def upgrade(connection: Connection, steps: Mapping[int, Step] = STEPS, target: int = FORMAT) -> list[int]:
    """Bring older tables to the `target` format, a step and a transaction at a time; the formats passed through."""
    passed: list[int] = []
    while True:
        with connection.transaction():
            # Another machine may be at it: whoever comes second finds it done.
            row = connection.execute("SELECT format FROM wherefrom FOR UPDATE").fetchone()
            format = int(row[0]) if row else 0
            if format > target:
                raise LibraryTooNew(too_new(format))
            if format == target:
                return passed
            steps[format](connection)
            format += 1
            connection.execute("UPDATE wherefrom SET format = %s", (format,))
            _note_tables(connection)
        passed.append(format)


def tables_sum(connection: Connection) -> str:
    """The checksum of what the tables' columns are."""
    columns = connection.execute(
        "SELECT table_name::text, column_name::text, data_type::text, is_nullable::text "
        "FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ANY(%s) "
        'ORDER BY table_name COLLATE "C", ordinal_position',
        (list(NAMES),),
    ).fetchall()
    return row_sum(columns).hex()


def _note_tables(connection: Connection) -> None:
    value = json.dumps(tables_sum(connection))
    connection.execute(
        "INSERT INTO meta VALUES ('tables', %s, %s) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value, sum = excluded.sum",
        (value, row_sum(("tables", value))),
    )


def too_new(format: int) -> str:
    """The message about tables of a later format."""
    return (
        f"the library in the database has format {format}, made by a later version of wherefrom; this one reads up to "
        f"format {FORMAT}. Upgrade wherefrom to open it."
    )
