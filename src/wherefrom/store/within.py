"""A filter as SQL: which documents of a library fit it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from wherefrom.errors import NotFound, SettingsError
from wherefrom.stages import KeyRanges
from wherefrom.types import Filter

# What people call several suffixes; any other name is a suffix itself.
TYPES: Mapping[str, tuple[str, ...]] = {
    "html": ("html", "htm", "xhtml"),
    "markdown": ("md", "markdown"),
    "text": ("txt", "text"),
    "word": ("docx", "docm", "odt", "rtf"),
    "slides": ("pptx", "pptm", "ppsx", "odp"),
    "sheets": ("xlsx", "xlsm", "ods", "csv", "tsv", "tab"),
    "pictures": ("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"),
    "mail": ("eml", "mbox"),
    "notebook": ("ipynb",),
    "man": ("1", "2", "3", "4", "5", "6", "7", "8", "9", "man"),
}
MOST_TAG = 100  # characters of a tag
_PACKED = ("", ".gz", ".xz")
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", re.ASCII)
_NONE_LIKE_THAT = "`wherefrom list` shows what there is"


@dataclass(frozen=True, slots=True)
class Conditions:
    """The part of a WHERE that a filter stands for, over the tables `document`, `dated` and `tag`.

    It says the same in SQLite and in PostgreSQL, where each ? is written as %s.
    """

    sql: str
    values: tuple[str, ...]


def conditions(part: Filter, tagged: bool) -> Conditions:
    """An error where a date is none; `tagged` says whether there is a table of tags."""
    parts = [
        _any_of(_in_folder(folder) for folder in part.folders),
        _since(part.since),
        _until(part.until),
        _any_of(_of_suffix(suffix) for name in part.types for suffix in TYPES.get(_plain(name), (_plain(name),))),
        *(_tagged(tag) if tagged else Conditions("FALSE", ()) for tag in part.tags),
    ]
    needed = [each for each in parts if each.sql]
    return Conditions(
        " AND ".join(each.sql for each in needed) or "TRUE", tuple(value for each in needed for value in each.values)
    )


def ranges(rows: Iterable[tuple[int, int]]) -> KeyRanges:
    """Of the first key and the number of passages of documents, by key."""
    firsts: list[int] = []
    stops: list[int] = []
    for first, passages in rows:
        if stops and stops[-1] == first:
            stops[-1] += passages
        elif passages:
            firsts.append(first)
            stops.append(first + passages)
    return KeyRanges(tuple(firsts), tuple(stops))


def fits(id: str, patterns: Sequence[str]) -> bool:
    """Whether an id is any of the patterns."""
    return id in patterns or any(_regular(pattern).fullmatch(id) for pattern in patterns)


@cache
def _regular(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression; brackets mean themselves, since file names have them."""
    signs = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(signs.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)


def nothing_fits(part: Filter) -> NotFound:
    """The error of a filter that no document fits."""
    return NotFound(f"no document of the library is {in_words(part)}; {_NONE_LIKE_THAT}")


def in_words(part: Filter) -> str:
    """A filter as people say it, such as "in reports, since 2024 and tagged tax"."""
    pieces = [
        f"in {' or '.join(part.folders)}" if part.folders else "",
        f"since {part.since}" if part.since else "",
        f"until {part.until}" if part.until else "",
        f"of type {' or '.join(part.types)}" if part.types else "",
        f"tagged {' and '.join(part.tags)}" if part.tags else "",
    ]
    named = [each for each in pieces if each]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def _any_of(parts: Iterable[Conditions]) -> Conditions:
    alternatives = list(parts)
    if not alternatives:
        return Conditions("", ())
    return Conditions(
        f"({' OR '.join(each.sql for each in alternatives)})",
        tuple(value for each in alternatives for value in each.values),
    )


def _in_folder(folder: str) -> Conditions:
    """By its id, which begins with the folder below the one that was ingested; by its file's path; or by both alike."""
    plain = folder.replace("\\", "/").removeprefix("./").rstrip("/") or "/"
    inside = plain.rstrip("/") + "/"
    columns = ("document.id", "replace(document.source, '\\', '/')")
    sql = " OR ".join(f"{column} = ? OR substr({column}, 1, {len(inside)}) = ?" for column in columns)
    return Conditions(f"({sql})", (plain, inside) * len(columns))


def _since(day: str) -> Conditions:
    return Conditions("dated.date >= ?", (_checked(day),)) if day else Conditions("", ())


def _until(day: str) -> Conditions:
    """As exact as it is written: all of June is until 2025-06."""
    if not day:
        return Conditions("", ())
    return Conditions(f"substr(dated.date, 1, {len(day)}) <= ?", (_checked(day),))


def _checked(day: str) -> str:
    if _DATE.fullmatch(day):
        return day
    raise SettingsError(f"'{day}' is not a date; write a year, a month or a day: 2024, 2024-05 or 2024-05-31")


def _of_suffix(suffix: str) -> Conditions:
    """By the name of its file; of one that came without a file, by its id."""
    name = "lower(CASE document.source WHEN '' THEN document.id ELSE document.source END)"
    ends = [f".{suffix}{packed}" for packed in _PACKED]
    # Where the name is shorter, databases differ in what they cut off; it cannot be the longer end all the same.
    sql = " OR ".join(f"substr({name}, length({name}) - {len(end) - 1}) = ?" for end in ends)
    return Conditions(f"({sql})", tuple(ends))


def _tagged(tag: str) -> Conditions:
    return Conditions("document.id IN (SELECT document FROM tag WHERE name = ?)", (tag_name(tag),))


def tag_name(name: str) -> str:
    """A tag as it is kept: upper and lower case, and spaces around it, make no other tag."""
    plain = " ".join(name.split()).casefold()
    if not plain or len(plain) > MOST_TAG or not plain.isprintable():
        raise SettingsError(f"{name!r} cannot be a tag; use up to {MOST_TAG} letters, digits, signs and spaces")
    return plain


def _plain(name: str) -> str:
    return name.lower().lstrip(".")
