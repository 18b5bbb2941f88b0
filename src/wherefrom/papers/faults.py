"""What can go wrong between a published number and ours.

WherefromError
└── PaperError         anything below
    ├── TableFault     a table.toml or settings file is not what it should be
    ├── RunRefused     a row is not ours to run, or needs settings that do not exist yet
    ├── RunFailed      rows were run and came to grief; no result was saved for them
    └── ResultFault    a saved result is malformed, or of a row that no longer exists
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from wherefrom.errors import WherefromError

if TYPE_CHECKING:
    from wherefrom.papers.runner import RunSummary


class PaperError(WherefromError):
    """Published results cannot be read, run or compared."""


class TableFault(PaperError):
    """A table.toml or settings file is not what it should be; the message names file, row and field."""


class RunRefused(PaperError):
    """A row is not ours to run, or needs settings that do not exist yet."""

    exit_code = 2


class RunFailed(PaperError):
    """Rows were run and came to grief; `summary` also tells of those that went well."""

    def __init__(self, message: str, summary: RunSummary) -> None:
        super().__init__(message)
        self.summary = summary


class ResultFault(PaperError):
    """A saved result is malformed, or of a row that no longer exists."""


def meant(given: str, known: Iterable[str]) -> str:
    """`; did you mean ...?`, or nothing when no known name is close."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
