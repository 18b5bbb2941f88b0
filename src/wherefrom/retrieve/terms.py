"""How many passages hold each term, in a SQLite database beside an index that a server keeps.

A server knows numbers alone; here stand the terms' numbers, what BM25 counts over all passages, and what was last
committed. So scores are the same however many machines the server is spread over, and one transaction here says what
of the index counts.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from wherefrom.errors import DiskFull, LibraryDamaged, is_full

FILE = "terms.sqlite"
_TABLES = """
CREATE TABLE state (name TEXT PRIMARY KEY, value NOT NULL);
CREATE TABLE term (number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, passages INTEGER NOT NULL);
CREATE TABLE dropped (key INTEGER PRIMARY KEY);
CREATE TABLE made (mark TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_AT_ONCE = 500  # terms that are looked up together
_PATIENCE = 30  # seconds for another process to end its transaction

State = Mapping[str, int | float | str]


class Terms:
    """One database; what a writer changes between `begin` and `commit`, nobody else sees before, here or elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.RLock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None

    def exists(self) -> bool:
        return self.path.exists()

    def create(self, state: State) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.path.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        with closing(sqlite3.connect(unfinished)) as connection:
            connection.executescript(_TABLES)
            connection.executemany("INSERT INTO state VALUES (?, ?)", list(state.items()))
            connection.execute("INSERT INTO made VALUES (?)", (state["mark"],))
            connection.commit()
        unfinished.replace(self.path)

    # Reading.

    def state(self) -> dict[str, int | float | str]:
        with self._using() as connection:
            return dict(connection.execute("SELECT name, value FROM state").fetchall())

    def known(self, terms: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Of each term that any passage holds its number, and how many do."""
        with self._using() as connection:
            return _known(connection, terms)

    def beginning(self, start: str, most: int) -> list[tuple[str, int]]:
        """The commonest terms that begin so, with how many passages hold each."""
        with self._using() as connection:
            return connection.execute(
                "SELECT term, passages FROM term WHERE term >= ?1 AND term < ?1 || char(1114111) AND passages > 0 "
                "ORDER BY passages DESC, term LIMIT ?2",
                (start, most),
            ).fetchall()

    def made(self, mark: str) -> bool:
        """Whether a mark was ever one of this index."""
        with self._using() as connection:
            return connection.execute("SELECT 1 FROM made WHERE mark = ?", (mark,)).fetchone() is not None

    def dropped(self) -> list[int]:
        """Keys that no longer count and that the server may still hold."""
        with self._using() as connection:
            return [key for (key,) in connection.execute("SELECT key FROM dropped ORDER BY key")]

    # Writing.

    def begin(self, mark: str) -> None:
        """Note the mark of the commit to come, for all to see; all else that changes is seen from `commit` on."""
        with self._writing() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE state SET value = ? WHERE name = 'coming'", (mark,))
            connection.execute("INSERT INTO made VALUES (?)", (mark,))
            connection.commit()
            connection.execute("BEGIN IMMEDIATE")

    def count(self, held: Mapping[str, int]) -> dict[str, int]:
        """Add so many passages to each term; the terms' numbers."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT INTO term (term, passages) VALUES (?1, ?2) "
                "ON CONFLICT (term) DO UPDATE SET passages = passages + ?2",
                list(held.items()),
            )
            return {term: number for term, (number, _) in _known(connection, list(held)).items()}

    def discount(self, numbers: Mapping[int, int]) -> None:
        """Take so many passages from each term, by its number."""
        with self._writing() as connection:
            connection.executemany(
                "UPDATE term SET passages = passages - ? WHERE number = ?",
                [(passages, number) for number, passages in numbers.items()],
            )

    def drop(self, keys: Iterable[int]) -> None:
        with self._writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO dropped VALUES (?)", [(key,) for key in keys])

    def commit(self, state: State) -> None:
        with self._writing() as connection:
            connection.executemany("UPDATE state SET value = ?2 WHERE name = ?1", list(state.items()))
            connection.commit()

    def forget_dropped(self) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM dropped")

    def check(self, postings: int) -> None:
        """An error where the database is damaged, or its counts do not add up to the postings there should be."""
        with self._using() as connection:
            (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            (held,) = connection.execute("SELECT ifnull(sum(passages), 0) FROM term").fetchone()
            if verdict != "ok" or held != postings:
                raise self._damaged(verdict if verdict != "ok" else "its counts do not add up")

    def close(self) -> None:
        """What was not committed is given up."""
        with self._lock:
            for connection in (self._reader, self._writer):
                if connection is not None:
                    connection.close()
            self._reader = self._writer = None

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._in_words():
            self._reader = self._reader or self._open()
            yield self._reader

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._in_words():
            self._writer = self._writer or self._open()
            yield self._writer

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if is_full(error):
                raise DiskFull(self.path.parent) from error
            raise self._damaged(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            raise LibraryDamaged(f"the index in {self.path.parent} is missing; `wherefrom check` makes it anew")
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA cache_spill = OFF")  # or readers would wait in the midst of a long transaction
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _damaged(self, why: str) -> LibraryDamaged:
        return LibraryDamaged(
            f"the index in {self.path.parent} cannot be read ({why}); `wherefrom check` makes it anew"
        )


def _known(connection: sqlite3.Connection, terms: Sequence[str]) -> dict[str, tuple[int, int]]:
    known: dict[str, tuple[int, int]] = {}
    for first in range(0, len(terms), _AT_ONCE):
        some = terms[first : first + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        rows = connection.execute(f"SELECT term, number, passages FROM term WHERE term IN ({marks})", some)
        known.update({term: (number, passages) for term, number, passages in rows})
    return known
