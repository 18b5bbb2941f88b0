"""What can go wrong, said in the user's words.

WherefromError
├── SettingsError        a setting is unknown, of the wrong type or out of range
├── IngestError          one file or record cannot be read; the rest goes on
├── PruneRefused         most of what is known of a folder would be removed
├── NotFound             no document or passage of that id
├── NothingWritten       an answer was declined or quoted, and is to be explained
└── LibraryError         the library folder cannot be used
    ├── LibraryMissing   there is none at that place
    ├── LibraryForeign   the folder holds something else
    ├── LibraryTooNew    it was written by a later version of wherefrom
    ├── LibraryBusy      another process is writing to it
    ├── LibraryUnreachable  a server that keeps a part of it does not answer
    ├── DiskFull         there is no room to write; it can still be read
    └── LibraryDamaged   its files contradict each other or cannot be read

Every message names the thing and the remedy. `exit_code` is what the command line returns.
"""

from __future__ import annotations

import errno
from pathlib import Path

_FULL_NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FULL_NAMES = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")  # the second: no room to note what is being read
_FULL_WORDS = (
    "No space left on device",
    "os error 28",
    "Disk quota exceeded",
    "os error 122",
    "File too large",
    "os error 27",
    "disk is full",
)


class WherefromError(Exception):
    """Anything wherefrom reports on purpose: catch this one to catch them all."""

    exit_code = 1


class SettingsError(WherefromError):
    """A setting is unknown, of the wrong type or out of range."""

    exit_code = 2


class IngestError(WherefromError):
    """One file or record cannot be read; the message is the reason alone, the caller knows the name."""


class NotStarted(WherefromError):
    """The process that reads files did not begin: no file is to blame, and it may begin in a minute."""


class PruneRefused(WherefromError):
    """Most of the documents of a folder would be removed: more likely it is not mounted than tidied up."""


class NotFound(WherefromError):
    """No document or passage of that id."""

    exit_code = 5


class NothingWritten(WherefromError):
    """An answer is to be explained that was declined or quoted."""


class LibraryError(WherefromError):
    """The library folder cannot be used."""

    exit_code = 3


class LibraryMissing(LibraryError):
    """There is no library at that place."""


class LibraryForeign(LibraryError):
    """The folder holds something that is not a library."""


class LibraryTooNew(LibraryError):
    """The library was written by a later version of wherefrom."""


class LibraryBusy(LibraryError):
    """Another process is writing to the library."""

    exit_code = 4


class LibraryUnreachable(LibraryError):
    """A server that keeps a part of the library does not answer."""

    exit_code = 7


class DiskFull(LibraryError):
    """There is no room to write to the library."""

    exit_code = 6

    def __init__(self, path: Path, meanwhile: str = "the library can be asked meanwhile") -> None:
        super().__init__(
            f"the disk of {path} is full: make room, and do it again; nothing that was acknowledged is lost, and "
            f"{meanwhile}"
        )


class LibraryDamaged(LibraryError):
    """The library's files contradict each other or cannot be read."""


def is_full(error: BaseException | None) -> bool:
    """Whether it, or what it came from, says that a disk is full. SQLite and the index have their own ways of it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in _FULL_NUMBERS):
            return True
        if getattr(error, "sqlite_errorname", "") in _FULL_NAMES:
            return True
        # Other errors may quote what somebody sent, which may be these words.
        if isinstance(error, OSError | LibraryError | ValueError | RuntimeError) and any(
            words in str(error) for words in _FULL_WORDS
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
