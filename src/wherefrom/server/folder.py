"""The folder `server/` of a library: what serving it keeps there, apart from the documents.

    server/state.sqlite    keys and jobs
    server/rates.sqlite    when each key may ask again
    server/uploads/<job>/  files that were taken and are not yet in the library
    server/jobs.lock       held by the process that works on the jobs

Apart, because questions look whether `documents.sqlite` has changed, and a job changes many times a second.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wherefrom.errors import LibraryError, LibraryMissing

_TABLES = """
CREATE TABLE IF NOT EXISTS key (
    name TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    scope TEXT NOT NULL,
    per_minute INTEGER,
    made TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS job (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    names TEXT NOT NULL,
    files TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    progress TEXT,
    result TEXT,
    reason TEXT,
    who TEXT NOT NULL,
    created TEXT NOT NULL,
    changed TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS job_state ON job (state, number);
"""


class ServerFolder:
    """The folder, made when it is first needed; only its owner may look inside."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self.path = library / "server"

    def exists(self) -> bool:
        return (self.path / "state.sqlite").exists()

    def make(self) -> None:
        """Lay the folder and its tables, unless they are there."""
        if not (self._library / "documents.sqlite").exists():
            raise LibraryMissing(f"there is no library at {self._library}; `wherefrom ingest FOLDER` makes one")
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            self.uploads.mkdir(mode=0o700, exist_ok=True)
            if not self.exists():
                os.close(os.open(self.path / "state.sqlite", os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise LibraryError(f"{self.path} cannot be made: {error.strerror or error}") from error
        with self.opened() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_TABLES)

    @property
    def uploads(self) -> Path:
        return self.path / "uploads"

    def connection(self) -> sqlite3.Connection:
        """A connection to keep, for one thread; what it commits is safe from a power cut."""
        try:
            connection = sqlite3.connect(self.path / "state.sqlite", timeout=30, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise LibraryError(f"{self.path / 'state.sqlite'} cannot be used: {error}") from error
        return connection

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for a moment, in whatever thread; one transaction where something is written."""
        connection = self.connection()
        try:
            yield connection
        except sqlite3.Error as error:
            raise LibraryError(f"{self.path / 'state.sqlite'} cannot be used: {error}") from error
        finally:
            connection.close()
