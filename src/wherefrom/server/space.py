"""Whether an error means that the disk is full: what is then waiting is kept, and tried again."""

from __future__ import annotations

import errno
import sqlite3

from wherefrom.errors import LibraryError

FULL = "the disk of the server is full; nothing is lost, and it goes on once there is room"
_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Other errors may quote what somebody sent, which may be these words.
_TELLING = (OSError, sqlite3.Error, LibraryError, ValueError, RuntimeError)
_WORDS = ("No space left on device", "os error 28", "Disk quota exceeded", "os error 122", "disk is full")


def is_full(error: BaseException | None) -> bool:
    """Whether it, or what it came from, says so. SQLite and the index have their own ways of saying it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in _NUMBERS:
            return True
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            return True
        if isinstance(error, _TELLING) and any(words in str(error) for words in _WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False
