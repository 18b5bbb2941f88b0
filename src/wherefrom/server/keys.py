"""Keys: who may read, and who may write.

A key is 32 random bytes, so a plain hash of it is enough to keep: nobody tries out 2^256 of them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from wherefrom.errors import NotFound, SettingsError
from wherefrom.server.folder import ServerFolder

Scope = Literal["read", "write"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_PREFIX = "wf_"  # so that a key is known for one where it should not be: in a commit, in a log


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret; `write` may do all that `read` may."""

    name: str
    scope: Scope
    per_minute: int | None
    made: str

    def may(self, scope: Scope) -> bool:
        return scope == "read" or self.scope == "write"


class Keys:
    """The keys of a library; one that was added or removed counts from the next request on, in every process."""

    def __init__(self, folder: ServerFolder) -> None:
        self._folder = folder
        self._connection: sqlite3.Connection | None = None
        self._version = self._file = -1
        self._known: list[tuple[bytes, Key]] = []

    def add(self, name: str, scope: Scope, per_minute: int | None = None) -> str:
        """Make a key and give its secret, which is kept nowhere."""
        if not re.fullmatch(r"[\w.@-]{1,64}", name):
            raise SettingsError(f"'{name}' cannot name a key; use up to 64 letters, digits, and . _ - @")
        if per_minute is not None and per_minute < 1:
            raise SettingsError(f"a key may ask at least once a minute, not {per_minute} times")
        secret = _PREFIX + secrets.token_urlsafe(32)
        self._folder.make()
        self._folder.guard(True)
        with self._folder.opened() as connection:
            try:
                connection.execute(
                    "INSERT INTO key VALUES (?, ?, ?, ?, ?)",
                    (name, _hash(secret), scope, per_minute, datetime.now(UTC).isoformat(timespec="seconds")),
                )
            except sqlite3.IntegrityError:
                raise SettingsError(
                    f"there is a key '{name}' already; remove it first with `wherefrom keys remove {name}`"
                ) from None
        return secret

    def all(self) -> list[Key]:
        """Every key, by name."""
        if not self._folder.exists():
            return []
        with self._folder.opened() as connection:
            rows = connection.execute("SELECT name, scope, per_minute, made FROM key ORDER BY name").fetchall()
        if not rows and self._folder.guarded:
            raise self._folder.lost_keys()
        return [Key(*row) for row in rows]

    def exported(self) -> bytes:
        """All keys with the hashes of their secrets, for a backup."""
        if not self.all():
            return b""
        with self._folder.opened() as connection:
            rows = connection.execute("SELECT name, hash, scope, per_minute, made FROM key ORDER BY name").fetchall()
        return json.dumps([[name, bytes(hash).hex(), *rest] for name, hash, *rest in rows]).encode()

    def take_in(self, exported: bytes) -> int:
        """Keep the keys that another library exported; how many they are."""
        rows = [(name, bytes.fromhex(hash), *rest) for name, hash, *rest in json.loads(exported)]
        self._folder.make()
        self._folder.guard(True)
        with self._folder.opened() as connection:
            connection.executemany("INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?)", rows)
        return len(rows)

    def remove(self, name: str) -> None:
        gone = 0
        if self._folder.exists():
            with self._folder.opened() as connection:
                gone = connection.execute("DELETE FROM key WHERE name = ?", (name,)).rowcount
                (left,) = connection.execute("SELECT count(*) FROM key").fetchone()
            if gone and not left:
                self._folder.guard(False)
        if not gone:
            raise NotFound(f"there is no key '{name}'; `wherefrom keys list` shows what there is")

    def check(self) -> None:
        """Before serving: that the keys can be read, and are noted to be there."""
        if self.all():
            self._folder.guard(True)

    # For the server, always from the same thread.

    def needed(self) -> bool:
        """Whether the library has any key."""
        return bool(self._fresh())

    def find(self, secret: str) -> Key | None:
        """The key with this secret. All are compared, each in constant time, so that time tells nothing."""
        match = None
        presented = _hash(secret)
        for stored, key in self._fresh():
            if hmac.compare_digest(stored, presented):
                match = key
        return match

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fresh(self) -> list[tuple[bytes, Key]]:
        """The keys as they are now; an error, never none, where they cannot be read."""
        if self._connection is None or self._folder.file_number() != self._file:
            self.close()
            self._file = self._folder.file_number()
            self._connection = self._folder.connection()
            self._version = -1
        try:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                rows = self._connection.execute("SELECT hash, name, scope, per_minute, made FROM key").fetchall()
                self._known = [(bytes(row[0]), Key(*row[1:])) for row in rows]
                self._version = version
        except sqlite3.Error as error:
            self.close()
            raise self._folder.unusable(error) from error
        if not self._known and self._folder.guarded:
            raise self._folder.lost_keys()
        return self._known


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
