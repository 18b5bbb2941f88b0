"""What reading a file gives: records, and failures for those records that could not be read."""

from __future__ import annotations

from dataclasses import dataclass

from wherefrom.types import Place


@dataclass(frozen=True, slots=True)
class Record:
    """One readable text of a file."""

    id: str | None  # its own id, where the format has one
    title: str
    text: str
    place: str = ""  # where in the file it begins, such as "line 12"; empty when it is the whole file
    source: str | None = None  # the address it was taken from, where the record says so
    date: str = ""  # of this version, where the file says so itself
    places: tuple[Place, ...] = ()  # pages, slides, headings: where its parts stand in the file
    complaints: tuple[tuple[str, str], ...] = ()  # parts that could not be read, and why: ("page 3", "it is damaged")


@dataclass(frozen=True, slots=True)
class IngestFailure:
    """A record that could not be read, while the rest of its file could."""

    name: str  # file:line
    reason: str
