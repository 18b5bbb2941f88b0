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
    └── LibraryDamaged   its files contradict each other or cannot be read

Every message names the thing and the remedy. `exit_code` is what the command line returns.
"""

from __future__ import annotations


class WherefromError(Exception):
    """Anything wherefrom reports on purpose: catch this one to catch them all."""

    exit_code = 1


class SettingsError(WherefromError):
    """A setting is unknown, of the wrong type or out of range."""

    exit_code = 2


class IngestError(WherefromError):
    """One file or record cannot be read; the message is the reason alone, the caller knows the name."""


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


class LibraryDamaged(LibraryError):
    """The library's files contradict each other or cannot be read."""
