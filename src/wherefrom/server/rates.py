"""How often a key may ask, counted over all processes."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from wherefrom.errors import LibraryBusy
from wherefrom.server.folder import ServerFolder

_BURST_SECONDS = 10.0  # a minute's requests are not spread evenly: this much of them may come at once

log = logging.getLogger("wherefrom.server")


class Rates:
    """The generic cell rate algorithm: each request pushes the key's due time on; too far ahead is too often.

    One row a key and one statement a request. Kept in a file of its own that is never synced and may be lost: one that
    cannot be used is made anew, or counted in memory where that fails too, and the log says so.

    The clock is the machine's, which nobody sets: every process sees the same, until the machine starts again. A due
    time that is further ahead than this key could have pushed it is of such an earlier clock, and does not count.
    """

    def __init__(self, folder: ServerFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._file = folder.path / "rates.sqlite"
        # Made before the event loop is there, used and closed in the loop's thread alone.
        self._connection = self._opened()

    def wait(self, key: str, per_minute: int) -> float:
        """Seconds until the key may ask again; 0.0 means now, and counts."""
        try:
            return self._wait(key, per_minute)
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY":
                raise LibraryBusy(f"{self._file} is held by another process; ask again") from error
            self._connection.close()
            self._connection = self._anew(error)
            return self._wait(key, per_minute)

    def close(self) -> None:
        self._connection.close()

    def _wait(self, key: str, per_minute: int) -> float:
        now, cost = self._clock(), 60.0 / per_minute
        slack = max(_BURST_SECONDS - cost, 0.0)
        allowed = self._connection.execute(
            "INSERT INTO rate VALUES (:key, :now + :cost) ON CONFLICT (key) DO UPDATE "
            "SET due = CASE WHEN due BETWEEN :now AND :most THEN due ELSE :now END + :cost "
            "WHERE due - :now <= :slack OR due > :most RETURNING due",
            {"key": key, "now": now, "cost": cost, "slack": slack, "most": now + slack + cost},
        ).fetchone()
        if allowed:
            return 0.0
        (due,) = self._connection.execute("SELECT due FROM rate WHERE key = ?", (key,)).fetchone()
        return max(float(due) - now - slack, 0.001)

    def _opened(self) -> sqlite3.Connection:
        try:
            return _laid(self._file)
        except sqlite3.Error as error:
            return self._anew(error)

    def _anew(self, error: sqlite3.Error) -> sqlite3.Connection:
        """A file that counts from nothing; in memory, for this process alone, where none can be written."""
        try:
            for file in (self._file, *(self._file.with_name(self._file.name + end) for end in ("-wal", "-shm"))):
                file.unlink(missing_ok=True)
            connection = _laid(self._file)
        except (OSError, sqlite3.Error) as again:
            log.warning(
                "%s cannot be written (%s): until the next start this process alone counts how often keys ask",
                self._file,
                again,
            )
            return _laid(":memory:")
        log.warning("%s could not be used (%s) and was made anew: keys begin to be counted again", self._file, error)
        return connection


def _laid(file: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE IF NOT EXISTS rate (key TEXT PRIMARY KEY, due REAL NOT NULL)")
        connection.execute("SELECT key, due FROM rate LIMIT 1").fetchone()  # a file with other columns is not ours
    except sqlite3.Error:
        connection.close()
        raise
    return connection
