"""What can be read whole of a damaged library is put into a new one; the damaged one is only read."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from wherefrom.config import FIXED_SECTIONS, Settings, from_mapping
from wherefrom.errors import DiskFull, LibraryBusy, LibraryDamaged, LibraryError, LibraryMissing, SettingsError, is_full
from wherefrom.store import schema
from wherefrom.store.library import OLDER, LibraryFolder, MakeIndex, SplitText, noted_changes
from wherefrom.store.pages import Pages, StoredRow, Unreadable
from wherefrom.store.rows import content_hash, document_sum
from wherefrom.store.sums import row_sum
from wherefrom.types import Document, Place

_BATCH_CHARACTERS = 8_000_000
_GROWN = ("passage", *schema.SUMMED)  # tables that had a column less in earlier formats
_KINDS: Mapping[str, type] = {"INTEGER": int, "TEXT": str, "BLOB": bytes}


@dataclass(frozen=True, slots=True)
class Lost:
    """A document that cannot be saved: its id and the file it came from, as far as they can be read, and why."""

    id: str
    source: str
    why: str


@dataclass(frozen=True, slots=True)
class RescueReport:
    """What was saved, and what was not."""

    path: Path  # of the new library
    documents: int
    passages: int
    feedback: int
    lost: tuple[Lost, ...]
    unsure: tuple[str, ...]  # ids of what was saved whole, though its id, source or date cannot be verified
    notes: tuple[str, ...]  # whatever else is not as it was, in words
    stays: tuple[str, ...]  # what is nobody's loss, and not in the new library either

    @property
    def whole(self) -> bool:
        """Whether all there was is in the new library, as it was."""
        return not (self.lost or self.unsure or self.notes)

    @property
    def again(self) -> tuple[str, ...]:
        """The files to ingest again."""
        return tuple(sorted({lost.source or lost.id for lost in self.lost if lost.source or lost.id}))


def rescue(old: Path, new: Path, split: SplitText, indexes: Mapping[str, MakeIndex]) -> RescueReport:
    """Make a library of what can be read of the one at `old`; it is at `new` when it is finished, and not before."""
    _refuse(old, new)
    unfinished = new.with_name(f"{new.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        with closing(_Remains(old)) as remains:
            report = _saved(remains, unfinished, new, split, indexes)
        with suppress(FileNotFoundError):
            new.rmdir()
        unfinished.rename(new)
    except (OSError, DiskFull) as error:
        if is_full(error):
            raise DiskFull(new) from error
        raise LibraryError(
            f"the library at {new} cannot be made: {getattr(error, 'strerror', None) or error}"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return report


def _refuse(old: Path, new: Path) -> None:
    """An error where there is nothing to read, or something in the way."""
    if not old.is_dir() or not any((old / name).exists() for name in ("documents.sqlite", "library.toml")):
        raise LibraryMissing(f"there is no library at {old}; name the folder that holds its documents.sqlite")
    if new.resolve().is_relative_to(old.resolve()):
        raise LibraryError(f"{new} is in the library that is to be rescued; name a folder beside it")
    if new.exists() and (not new.is_dir() or any(new.iterdir())):
        raise LibraryError(f"{new} is there already; name a folder that is not, and the new library is made there")
    lock = old / "writer.lock"
    with suppress(OSError, ImportError), lock.open("rb") as file:
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LibraryBusy(f"another process is writing to the library at {old}; end it and try again") from None


def _saved(
    remains: _Remains, path: Path, new: Path, split: SplitText, indexes: Mapping[str, MakeIndex]
) -> RescueReport:
    remains.read()
    if not (remains.kept or remains.feedback or remains.settings_known):
        raise LibraryDamaged(
            f"nothing can be read of {remains.path / 'documents.sqlite'}; ingest your files again, into a new library"
        )
    folder = LibraryFolder.open(path, remains.settings, split, indexes, create=True)
    with closing(folder):
        with folder.writing():
            for batch in remains.batches():
                folder.put(batch)
            for id, tag in remains.tags():
                folder.store.tag([id], [tag])
            for name in sorted(indexes):
                if name not in folder.indexes and list((remains.path / "index").glob(f"{name}*")):
                    folder.build_index(name)
        for given, body in remains.feedback:
            folder.store.add_feedback(given, body)
        documents, passages = folder.store.counts()
    unsure = tuple(kept.id for kept in remains.kept if not kept.sure)
    lost, notes = tuple(remains.lost()), tuple(remains.notes())
    return RescueReport(new, documents, passages, len(remains.feedback), lost, unsure, notes, tuple(remains.stays()))


class _Text(NamedTuple):
    """What has to be known of a document's text."""

    fault: str  # "" where it is whole
    length: int


@dataclass(slots=True)
class _Table:
    """What can be read of one table: the rows that its tree leads to, and those on pages that nothing leads to."""

    rows: dict[int, StoredRow] = field(default_factory=dict)
    strays: dict[int, StoredRow] = field(default_factory=dict)
    faults: int = 0  # parts of its tree that cannot be read
    texts: dict[int, _Text] = field(default_factory=dict)  # in place of long ones, which stay on the disk

    def keep(self, row: StoredRow, name: str, rows: dict[int, StoredRow]) -> None:
        if name == "document":
            self.texts[row.number] = _Text(_fault(row), len(str(row.values[-1])))
            row = replace(row, values=(*row.values[:-1], ""))
        rows[row.number] = row

    def all(self) -> list[StoredRow]:
        return [row for _, row in sorted((self.strays | self.rows).items())]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A document that is whole: where its row stands, and whether all else of it is verified too."""

    number: int
    page: int
    id: str
    date: str
    places: tuple[Place, ...]
    sure: bool


class _Remains:
    """The rows of a damaged database: those of its trees and, where one is broken, those of all its pages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pages = Pages(path / "documents.sqlite")
        self._tables: dict[str, _Table] = {}
        self._summed = True
        self._names: dict[int, tuple[str, str]] = {}  # the id and the source of each document that can be named
        self._why: dict[int, str] = {}  # why a document is not kept
        self.kept: list[_Kept] = []
        self.feedback: list[tuple[str, str]] = []
        self.settings = Settings()
        self.settings_known = False
        self._unplaced = 0  # documents that are kept without their places

    def close(self) -> None:
        self._pages.close()

    def read(self) -> None:
        """Look at every row, and decide what of it is kept."""
        declared = int.from_bytes(self._pages.page(1)[60:64], "big")
        self._summed = not 0 < declared < schema.SUMS_SINCE
        self._tables, roots = _tables_of(self._pages)
        self._read_settings()
        self._read_documents(_indexed(self._pages, roots))
        for row in self._tables["feedback"].all():
            if self._right("feedback", row) and _is_json(row.values[2]):
                self.feedback.append((str(row.values[1]), str(row.values[2])))
            else:
                self._tables["feedback"].faults += 1

    def batches(self) -> Iterator[list[Document]]:
        """The documents that are whole, some at a time."""
        batch: list[Document] = []
        for kept in self.kept:
            row = next(row for row in self._pages.rows_on(kept.page) if row and row.number == kept.number)
            source, title, text = (str(value) for value in row.values[-3:])
            batch.append(Document(kept.id, text, title, source, kept.date, kept.places))
            if sum(len(document.text) for document in batch) >= _BATCH_CHARACTERS:
                yield batch
                batch = []
        if batch:
            yield batch

    def tags(self) -> Iterator[tuple[str, str]]:
        """Documents' ids with a tag of theirs each."""
        for row in self._tables["tag"].all():
            if self._right("tag", row):
                yield str(row.values[0]), str(row.values[1])

    def lost(self) -> Iterator[Lost]:
        """What is not kept in any version, by its name where that can be read."""
        ids = {kept.id for kept in self.kept}
        seen: set[str] = set()
        for number in sorted(self._why):
            id, source = self._names.get(number, ("", ""))
            if id not in ids | seen:
                yield Lost(id, source, self._why[number])
                seen |= {id} - {""}

    def notes(self) -> Iterator[str]:
        if not self.settings_known:
            yield "the settings that the library was made with are lost; the new one has the usual ones"
        if self._tables["feedback"].faults:
            yield f"not all that people said of answers can be read; {len(self.feedback):,} verdicts can"
        if self._tables["tag"].faults or not all(self._right("tag", row) for row in self._tables["tag"].all()):
            yield "not all tags of documents can be read; `wherefrom tag list` shows those that can"
        if self._tables["document"].faults and (not self._summed or self._tables["checksum"].faults):
            yield "documents may be missing of which not even the name is left; ingest your folders again to be sure"
        if self._unplaced:
            yield f"the pages or headings of {self._unplaced:,} documents are lost; ingest those files again"
        if fault := self._pages.fault():
            yield f"the log of the last changes is damaged ({fault}); ingest again what was changed last"
        elif noted_changes(self.path) > self._changes():
            yield f"{OLDER}: the last changes are lost; ingest again what was changed last"

    def stays(self) -> Iterator[str]:
        uploads = self.path / "server" / "uploads"
        waiting = [folder for folder in uploads.iterdir() if folder.is_dir()] if uploads.is_dir() else []
        if waiting:
            yield f"{len(waiting):,} uploads to its server are not in the library yet; they are in {uploads}"
        if (self.path / "server" / "guarded").exists():
            yield "the keys of its server; `wherefrom keys add` makes new ones"

    def _right(self, table: str, row: StoredRow) -> bool:
        """Whether a row is what was written, where that can be told."""
        columns = len(schema.SUMMED[table])
        values = [row.number if value is None else value for value in row.values[:columns]]
        return row.whole and (not self._summed or row.values[columns:] == (row_sum(values),))

    def _meta(self, name: str) -> object:
        """A fact about the library, where it is what was written."""
        saved: object = None
        for row in self._tables["meta"].all():
            if row.values[0] == name and self._right("meta", row):
                with suppress(ValueError):
                    saved = json.loads(str(row.values[1]))
        return saved

    def _changes(self) -> int:
        """How often documents came in or went."""
        changes = self._meta("changes")
        return changes if isinstance(changes, int) else 0

    def _read_settings(self) -> None:
        saved = self._meta("settings")
        if not isinstance(saved, dict):
            with suppress(OSError, ValueError):
                saved = tomllib.loads((self.path / "library.toml").read_text(encoding="utf-8")).get("settings")
        with suppress(SettingsError):
            if isinstance(saved, dict) and all(name in saved for name in FIXED_SECTIONS):
                self.settings = from_mapping(saved)
                self.settings_known = True

    def _read_documents(self, indexed: Mapping[int, tuple[str, str]]) -> None:
        """Which documents are whole; the others by name, as far as any row or index still has it."""
        sums, passages, places = self._tables["checksum"], self._passages(), self._places()
        trusted = (
            self._summed and sums.rows and not sums.faults
        )  # then every document has a checksum, and what was removed has none
        document_rows = self._tables["document"].rows
        newest: dict[str, _Kept] = {}
        self._names = dict(indexed)
        self._why = dict.fromkeys({*indexed, *sums.rows, *passages}, "its row cannot be read")
        for row in self._tables["document"].all():
            id, live, source = row.values[1], row.values[2], row.values[-3]
            if trusted and row.number not in sums.rows:
                continue
            if isinstance(id, str) and isinstance(source, str):
                self._names.setdefault(row.number, (id, source))
            text = self._tables["document"].texts[row.number]
            self._why[row.number] = text.fault
            if not self._why[row.number] and live != 1 and row.number not in indexed:
                self._why[row.number] = "it was still being written"
            if self._why[row.number]:
                continue
            noted = (sums.rows | sums.strays).get(row.number)
            placed = places.get(row.number, [])
            summed = document_sum([row.number, id, *row.values[3:-1]], passages.get(row.number, []), placed)
            sure = noted.values[-1] == summed if noted else not self._summed and row.number in document_rows
            where = _places(placed, text.length) if sure or not noted else ()
            self._unplaced += len(where) < len(placed)
            sure = sure or indexed.get(row.number) == (id, source)
            date, dated = self._date(row.number)
            newest[str(id)] = _Kept(row.number, row.page, str(id), date, where, sure and dated)
        self.kept = sorted(newest.values(), key=lambda kept: kept.number)
        self._why = {number: why for number, why in self._why.items() if why}

    def _passages(self) -> dict[int, list[list[Any]]]:
        """The rows of each document's passages, as its checksum is made of them."""
        passages: dict[int, list[list[Any]]] = defaultdict(list)
        for row in self._tables["passage"].all():
            if isinstance(row.values[1], int):
                section = row.values[6] if len(row.values) > 6 else ""
                passages[row.values[1]].append([row.number, *row.values[1:6], section])
        return passages

    def _places(self) -> dict[int, list[list[Any]]]:
        """The rows of each document's places, as its checksum is made of them."""
        places: dict[int, list[list[Any]]] = defaultdict(list)
        for row in self._tables["place"].all():
            document, start, *rest = row.values
            if row.whole and isinstance(document, int) and isinstance(start, int):
                places[document].append([start, *rest])
        return {document: sorted(rows, key=lambda row: row[0]) for document, rows in places.items()}

    def _date(self, number: int) -> tuple[str, bool]:
        """A document's date, and whether it is known that it has this one or none."""
        table = self._tables["dated"]
        row = table.rows.get(number, table.strays.get(number))
        if row is None:
            return "", not table.faults
        return (str(row.values[1]), True) if self._right("dated", row) else ("", False)


def _places(rows: Sequence[Sequence[Any]], length: int) -> tuple[Place, ...]:
    """A document's places; none where they cannot be those of a text of this length."""
    right = all(type(number) in (int, NoneType) for _, _, number in rows)
    starts = [start for start, _, _ in rows]
    rising = all(before < after for before, after in pairwise([-1, *starts, length]))
    return tuple(Place(*row) for row in rows) if right and rising else ()


def _fault(row: StoredRow) -> str:
    """What is wrong with a document's row, in words; "" where it is whole."""
    _, id, _, _, _, _, hash, source, title, text = row.values
    if not all(isinstance(value, str) for value in (id, source, title, text)):
        return "its text cannot be read" if isinstance(id, str) else "its row cannot be read"
    right = content_hash(Document(str(id), str(text), str(title), str(source))) == hash
    return "" if right else "its text is not the one that was written"


# ------------------------------------------------------------------------------------------ the tables


def _tables_of(pages: Pages) -> tuple[dict[str, _Table], dict[str, int]]:
    """What can be read of every table, and where each table and index begins, where that can be read."""
    shapes = _shapes()
    roots: dict[str, int] = {}
    master = list(pages.tree(1))
    for row in master:
        if row and len(row.values) == 5 and isinstance(row.values[1], str) and isinstance(row.values[3], int):
            roots[row.values[1]] = row.values[3]
    tables = {name: _Table() for name in shapes}
    for name, table in tables.items():
        lacking = [] if None not in master and "document" in roots else [None]  # an earlier format has no such table
        for row in pages.tree(roots[name]) if name in roots else lacking:
            if row is None or row.number in table.rows or not _fits(row, name, shapes[name]):
                table.faults += 1
            else:
                table.keep(row, name, table.rows)
    if any(table.faults for table in tables.values()):
        _find_strays(pages, tables, shapes)
    return tables, roots


def _find_strays(pages: Pages, tables: Mapping[str, _Table], shapes: Mapping[str, Sequence[_Column]]) -> None:
    """Look for rows of broken tables on pages that no tree leads to; a row tells its table by its shape."""
    passed_over = pages.visited | pages.free()
    for number in pages.leaves():
        if number in passed_over:
            continue
        for row in pages.rows_on(number):
            fitting = [name for name, shape in shapes.items() if row and _fits(row, name, shape)]
            if row and len(fitting) == 1 and tables[fitting[0]].faults and row.number not in tables[fitting[0]].rows:
                tables[fitting[0]].keep(row, fitting[0], tables[fitting[0]].strays)


def _indexed(pages: Pages, roots: Mapping[str, int]) -> dict[int, tuple[str, str]]:
    """The id and the source of each document, as two indexes of the table have them."""
    columns: list[dict[int, str]] = []
    for name in ("document_id", "document_source"):
        records = pages.tree(roots[name], index=True) if name in roots else iter(())
        columns.append({})
        for record in records:
            if record and len(record.values) == 2:
                value, number = record.values
                if isinstance(value, str) and isinstance(number, int):
                    columns[-1][number] = value
    ids, sources = columns
    return {number: (id, sources.get(number, "")) for number, id in ids.items()}


class _Column(NamedTuple):
    kind: type | None  # None: of any
    is_number: bool  # of the row, which then stands before it and not in it


def _shapes() -> dict[str, list[_Column]]:
    """What the columns of every table hold."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        schema.create(connection)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [
                _Column(_KINDS.get(kind) if filled or kind != "INTEGER" else None, bool(key) and kind == "INTEGER")
                for _, _, kind, filled, _, key in connection.execute(f"PRAGMA table_info({name})")
            ]
            for name in names
        }


def _fits(row: StoredRow, table: str, shape: Sequence[_Column]) -> bool:
    """Whether a row may be one of a table; one of an earlier format may lack the last column."""
    least = len(shape) - (table in _GROWN)
    return least <= len(row.values) <= len(shape) and all(
        value is None if column.is_number else isinstance(value, (column.kind or object, Unreadable))
        for value, column in zip(row.values, shape, strict=False)
    )


def _is_json(value: object) -> bool:
    try:
        return isinstance(json.loads(str(value)), dict)
    except ValueError:
        return False
