"""The folder `server/` of a library: what serving it keeps there, apart from the documents.

    server/state.sqlite    keys and jobs
    server/guarded         there while the library has keys: without it, a lost state.sqlite would open the library
    server/rates.sqlite    when each key may ask again
    server/uploads/<job>/  files that were taken and are not yet in the library
    server/originals/<hash> PDF files that were sent, as long as the library holds them: their pages are shown
    server/jobs.lock       held by the process that works on the jobs

Apart, because questions look whether `documents.sqlite` has changed, and a job changes many times a second.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from wherefrom.durable import force_names, write_whole
from wherefrom.errors import DiskFull, LibraryDamaged, LibraryError, LibraryMissing, is_full
from wherefrom.store.library import is_library

_TABLES = """
CREATE TABLE key (
    name TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    scope TEXT NOT NULL,
    per_minute INTEGER,
    made TEXT NOT NULL
);
CREATE TABLE job (
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
    changed TEXT NOT NULL,
    fates TEXT
);
CREATE INDEX job_state ON job (state, number);
"""


class ServerFolder:
    """The folder, made when it is first needed; only its owner may look inside."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self.path = library / "server"

    def exists(self) -> bool:
        return self._tables.exists() or self._mark.exists()

    def make(self) -> None:
        """Lay the folder and its tables, unless they are there; raise LibraryDamaged where they cannot be read.

        The tables come into being whole: a file without them is never one that was just being made, but one that has
        lost its keys, and taking it for new would open the library to everybody.
        """
        if not is_library(self._library):
            raise LibraryMissing(f"there is no library at {self._library}; `wherefrom ingest FOLDER` makes one")
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            self.uploads.mkdir(mode=0o700, exist_ok=True)
            with FileLock(self.path / "make.lock"):
                if not self._tables.exists():
                    write_whole(self._tables, _lay)
                    self._tables.chmod(0o600)
        except (OSError, sqlite3.Error) as error:
            if is_full(error):
                raise DiskFull(self._library) from error
            why = getattr(error, "strerror", None) or error
            raise LibraryError(
                f"{self.path} cannot be written to ({why}), and a server keeps its keys and what it is sent there; "
                "`ask`, `search` and `mcp` need no place to write"
            ) from error
        with self.opened() as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if missing := {"key", "job"} - tables:
                raise self._damaged(f"it lacks the table {' and '.join(sorted(missing))}")
            verdicts = [verdict for (verdict,) in connection.execute("PRAGMA quick_check(1)")]
            if verdicts != ["ok"]:
                raise self._damaged(verdicts[0])
            if not connection.execute("SELECT 1 FROM pragma_table_info('job') WHERE name = 'fates'").fetchone():
                connection.execute("ALTER TABLE job ADD COLUMN fates TEXT")  # made by a version that had none

    @property
    def guarded(self) -> bool:
        """Whether the library has keys, whatever has become of the file that holds them."""
        return self._mark.exists()

    def lost_keys(self) -> LibraryDamaged:
        """The error of a library that had keys and has none any more, though nobody removed them."""
        return self._damaged("the library had keys, and they are gone")

    def guard(self, guarded: bool) -> None:
        """Note that the library has keys, before its first one is kept; or that the last one was removed."""
        try:
            if guarded:
                self._mark.touch(mode=0o600)
            else:
                self._mark.unlink(missing_ok=True)
            force_names(self.path)
        except OSError as error:
            if is_full(error):
                raise DiskFull(self._library) from error
            raise LibraryError(f"{self._mark} cannot be written: {error.strerror or error}") from error

    @property
    def uploads(self) -> Path:
        return self.path / "uploads"

    @property
    def _tables(self) -> Path:
        return self.path / "state.sqlite"

    @property
    def _mark(self) -> Path:
        return self.path / "guarded"

    def connection(self) -> sqlite3.Connection:
        """A connection to keep, for one thread; what it commits is safe from a power cut.

        It never makes the file: one that has vanished is an error, not a library without keys. Whoever may not write
        beside it, so that no server of his can run, takes it as it is.
        """
        how = "mode=rw" if os.access(self.path, os.W_OK) else "immutable=1"
        try:
            connection = sqlite3.connect(
                f"{self._tables.absolute().as_uri()}?{how}", uri=True, timeout=30, isolation_level=None
            )
            connection.execute("PRAGMA synchronous = FULL")
            connection.text_factory = lambda data: data.decode("utf-8", "replace")  # errors would quote it
        except sqlite3.Error as error:
            raise self.unusable(error) from error
        return connection

    def file_number(self) -> int:
        """What tells the file from another that was put in its place."""
        try:
            return self._tables.stat().st_ino
        except OSError as error:
            raise LibraryError(f"{self._tables} cannot be used: {error.strerror or error}") from error

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """A connection for a moment, in whatever thread; one transaction where something is written."""
        connection = self.connection()
        try:
            yield connection
        except sqlite3.Error as error:
            raise self.unusable(error) from error
        finally:
            connection.close()

    def unusable(self, error: sqlite3.Error) -> LibraryError:
        """What an error of the tables means, in words."""
        if is_full(error):
            return DiskFull(self._library)
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or "no such table" in str(
            error
        ):
            return self._damaged(str(error))
        return LibraryError(f"{self._tables} cannot be used: {error}")

    def _damaged(self, why: str) -> LibraryDamaged:
        return LibraryDamaged(
            f"{self._tables}, which holds the keys of the library, is damaged ({why}). Nobody is let in until it is "
            "whole: put it back from a copy, or move it away and make the keys anew with `wherefrom keys add NAME`. "
            f"If the library is to be without keys, remove {self._mark} too"
        )


def _lay(path: Path) -> None:
    """Into the file itself: what a log beside it holds is lost, without an error, where the disk has no room for it."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript(_TABLES)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise sqlite3.OperationalError(f"the journal of {path.name} stays {mode}")
    finally:
        connection.close()
