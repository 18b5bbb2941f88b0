"""How often a key may ask, counted over all processes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from wherefrom.server.folder import ServerFolder

_BURST_SECONDS = 10.0  # a minute's requests are not spread evenly: this much of them may come at once


class Rates:
    """The generic cell rate algorithm: each request pushes the key's due time on; too far ahead is too often.

    One row a key and one statement a request. Kept in a file of its own that is never synced: it may be lost.
    """

    def __init__(self, folder: ServerFolder, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        # Made before the event loop is there, used and closed in the loop's thread alone.
        self._connection = sqlite3.connect(
            folder.path / "rates.sqlite", timeout=5, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("CREATE TABLE IF NOT EXISTS rate (key TEXT PRIMARY KEY, due REAL NOT NULL)")

    def wait(self, key: str, per_minute: int) -> float:
        """Seconds until the key may ask again; 0.0 means now, and counts."""
        now, cost = self._clock(), 60.0 / per_minute
        slack = max(_BURST_SECONDS - cost, 0.0)
        allowed = self._connection.execute(
            "INSERT INTO rate VALUES (:key, :now + :cost) ON CONFLICT (key) DO UPDATE "
            "SET due = max(due, :now) + :cost WHERE due - :now <= :slack RETURNING due",
            {"key": key, "now": now, "cost": cost, "slack": slack},
        ).fetchone()
        if allowed:
            return 0.0
        (due,) = self._connection.execute("SELECT due FROM rate WHERE key = ?", (key,)).fetchone()
        return max(float(due) - now - slack, 0.001)

    def close(self) -> None:
        self._connection.close()
