"""What can be wrong with a dataset, and where it stands.

WherefromError
└── DatasetError         a file is missing, or holds something other than its published format

A record that does not fit is an error, never skipped: a score over fewer questions than the dataset has is
a different score. Where an official file is known to be wrong in a way that costs no question, its loader
mends what it reads and says so once a file, with a count: `DatasetWarning`.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wherefrom.errors import SettingsError, WherefromError


class DatasetError(WherefromError):
    """A dataset's file is missing or does not hold what its loader expects; the message says where."""


class DatasetWarning(UserWarning):
    """A file was read, but not all of it as it stands; the message counts what was mended and what was left out."""


def warn(message: str) -> None:
    """Say it once, wherever the file is read from: the command line prints it, Python shows it as a warning."""
    warnings.warn(message, DatasetWarning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record stands: `train.jsonl, line 12`."""

    file: Path
    number: int  # from 1, as editors count
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number}"

    def fault(self, problem: str) -> DatasetError:
        """The error to raise for a record that stands here."""
        return DatasetError(f"{self}: {problem}")


class Ids:
    """The ids given so far, so that no two examples of a split share one."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}

    def once(self, id: str, place: RecordPlace, field: str) -> str:
        """The id itself; an error if it came before, for datasets that promise each id once."""
        if id in self._times:
            raise place.fault(f"{field} {id!r} came before; each is expected once")
        self._times[id] = 1
        return id

    def distinct(self, id: str) -> str:
        """The id, made distinct (`73624`, then `73624~2`), for datasets that repeat theirs or have none."""
        times = self._times[id] = self._times.get(id, 0) + 1
        return id if times == 1 else self.distinct(f"{id}~{times}")


def choice(setting: str, value: str, known: Iterable[str]) -> str:
    """The value if it is one of those known; otherwise an error that says which was meant."""
    known = list(known)
    if value not in known:
        raise SettingsError(f"{setting} knows no '{value}'{suggestion(value, known)}")
    return value


def suggestion(value: str, known: Iterable[str]) -> str:
    """`; did you mean dev?`, or all that is known where nothing is close."""
    known = list(known)
    close = difflib.get_close_matches(value, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; it knows {', '.join(known)}"
