"""Connections to a SQLite database: of threads, for those who may write to it and those who may only read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from wherefrom.errors import DiskFull, LibraryDamaged, LibraryError, is_full

_MOST_BLOBS = 4_000  # opened on one connection: CPython keeps a note of each, 90 bytes, until it is closed
_NAMES = ("connection", "passages", "checking")  # of a thread's connections
# What keeps a sound database from being used.
_UNUSABLE = ("BUSY", "CANTOPEN", "FULL", "IOERR", "LOCKED", "NOMEM", "PERM", "READONLY")
# What reading damaged rows may raise: texts that are not UTF-8, nothing where a number was, JSON that is none.
UNREADABLE = (sqlite3.Error, ValueError, TypeError, IndexError, OverflowError)


class Database:
    """One file; each thread has connections of its own, since SQLite lets many read while one writes.

    Whoever may not write to its folder reads all the same: SQLite then cannot make the files in which it tells others
    what it reads. Where nobody writes, the file is taken as it is; where somebody does, his are used. The same where
    the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._threads = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._stamp: tuple[int, ...] = ()

    @property
    def writable(self) -> bool:
        return os.access(self.path.parent, os.W_OK) and (not self.path.exists() or os.access(self.path, os.W_OK))

    @contextmanager
    def reading(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """This thread's connection; whatever is wrong with the database, in the user's words."""
        try:
            yield self._connection("connection", create)
        except UNREADABLE as error:
            raise damaged(self.path, error) from None  # it may hold text of a document

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, for those who begin and end transactions themselves."""
        try:
            if self._stamp and self.writable:  # there was no room to write, or to note what is read: is there now?
                self._drop("connection")
            yield self._connection("connection", writes=True)
        except sqlite3.Error as error:
            raise damaged(self.path, error) from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing."""
        with self.changing() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have ended it already
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading_blobs(self, blobs: int) -> Iterator[sqlite3.Connection]:
        """One moment in time: rows and texts that belong together.

        On a connection that is used for nothing else and made anew from time to time, because it never forgets the
        blobs that were opened on it: a server would grow by gigabytes a day.
        """
        opened: int = getattr(self._threads, "blobs", 0) + blobs
        if opened > _MOST_BLOBS:
            self._drop("passages")
            opened = blobs
        self._threads.blobs = opened
        try:
            connection = self._connection("passages")
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")
        except UNREADABLE as error:
            raise damaged(self.path, error) from None

    @contextmanager
    def checking(self) -> Iterator[sqlite3.Connection]:
        """A connection for looking at damage: a text that is not UTF-8 is another text and no error."""
        try:
            connection = self._connection("checking")
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
        except UNREADABLE as error:
            raise damaged(self.path, error) from None

    def version(self) -> int:
        """A number that changes whenever another connection has committed something."""
        with self.reading() as connection:
            (number,) = connection.execute("PRAGMA data_version").fetchone()
            return int(number) if not self._stamp else hash(self._stamp)

    def state(self) -> tuple[int, ...]:
        """What changes for this thread whenever anybody has committed something, itself included."""
        with self.reading() as connection:
            return threading.get_ident(), id(connection), self.version(), connection.total_changes

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._threads = threading.local()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _connection(self, name: str, create: bool = False, writes: bool = False) -> sqlite3.Connection:
        if self._stamp and self._stamp != self._stamp_now():
            for each in _NAMES:
                self._drop(each)
        connection: sqlite3.Connection | None = getattr(self._threads, name, None)
        if connection is None:
            connection = self._opened(create, writes)
            setattr(self._threads, name, connection)
            self._connections.append(connection)
        return connection

    def _drop(self, name: str) -> None:
        connection: sqlite3.Connection | None = getattr(self._threads, name, None)
        if connection is not None:
            connection.close()
            self._connections.remove(connection)
            setattr(self._threads, name, None)

    def _opened(self, create: bool, writes: bool) -> sqlite3.Connection:
        self._stamp = ()
        if self.writable:
            try:
                return self._connected(self.path, "mode=rwc" if create else "mode=rw")
            except sqlite3.Error as error:
                if writes or create or not is_full(error):
                    raise
        log, shared = (Path(f"{self.path}{suffix}") for suffix in ("-wal", "-shm"))
        if not _size(log):
            self._stamp = self._stamp_now()  # nobody writes; noticed when somebody does
            return self._connected(self.path, "immutable=1")
        if shared.exists() and not self.writable:
            return self._connected(self.path, "mode=ro")
        path, self._stamp = self._copied(log), self._stamp_now()
        return self._connected(path, "mode=rw")

    @staticmethod
    def _connected(path: Path, how: str) -> sqlite3.Connection:
        # No thread check: close() ends the connections of all threads from one.
        connection = sqlite3.connect(
            f"file:{quote(str(path.absolute()))}?{how}",
            uri=True,
            timeout=30,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")  # acknowledged means safe from a power cut too
            connection.execute("PRAGMA mmap_size = 268435456")
            connection.execute("SELECT 1 FROM sqlite_master")  # opens it
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _copied(self, log: Path) -> Path:
        """A copy with what a killed writer left in its log, which cannot be read without writing beside it."""
        if self._copy is not None:
            self._copy.cleanup()
        self._copy = tempfile.TemporaryDirectory(prefix="wherefrom-")
        for file in (self.path, log):
            shutil.copyfile(file, Path(self._copy.name) / file.name)
        return Path(self._copy.name) / self.path.name

    def _stamp_now(self) -> tuple[int, ...]:
        """What changes when somebody writes to a file that is taken as it is."""
        try:
            facts = self.path.stat()
        except OSError:
            return (0,)
        return facts.st_ino, facts.st_mtime_ns, facts.st_size, _size(Path(f"{self.path}-wal"))


def damaged(path: Path, error: Exception) -> LibraryError:
    """What is wrong, without what stands in the rows."""
    if is_full(error):
        return DiskFull(path.parent)
    kind = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    if kind.split("_")[0] in _UNUSABLE:  # no permission, disk full, locked: nothing is broken
        return LibraryError(f"{path} cannot be used: {error}")
    return LibraryDamaged(
        f"{path} is damaged and cannot be read as a database ({kind or type(error).__name__}); "
        f"`wherefrom rescue {path.parent} NEW` saves what can be read of it into a new library"
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
