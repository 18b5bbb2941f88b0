"""The library folder: documents, the indexes derived from them, and one writer at a time.

    library.toml       what the library is, for people: format, counts, settings
    documents.sqlite   the documents, the source of truth
    index/<name>/      one folder an index: always bm25, others where they were asked for
    writer.lock        held by the process that writes

Why a crash at any instant loses nothing: documents are first staged (in the database, seen by nobody),
then the indexes take their passages and commit, then one transaction makes the documents visible and
retires their old versions. Passage keys are never used twice, so what an index holds too much (passages
staged but never published, or retired) is simply not found in the store; the next writer clears it away.
"""

from __future__ import annotations

import os
import shutil
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w
from filelock import FileLock, Timeout

from wherefrom import __version__
from wherefrom.config import FIXED_SECTIONS, IndexSettings, Settings, SplitSettings, from_mapping, to_mapping
from wherefrom.errors import (
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryForeign,
    LibraryMissing,
    LibraryTooNew,
    SettingsError,
)
from wherefrom.stages import Index
from wherefrom.store import schema
from wherefrom.store.sqlite import SQLiteStore, Staged
from wherefrom.text import Span
from wherefrom.types import Document

MakeIndex = Callable[[Path, IndexSettings], Index]
SplitText = Callable[[str, SplitSettings], list[Span]]

_DATABASE = "documents.sqlite"
_UNFINISHED = {"index", "writer.lock", "writer.txt"}  # all there is when a process dies while making a library
_REBUILD_BATCH = 20_000
_ALWAYS = ("bm25",)  # indexes that every library has


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a library, and whether it has been put right."""

    what: str
    repaired: bool


class LibraryFolder:
    """One folder on disk; open it with `open`, write inside `with folder.writing():`."""

    def __init__(self, path: Path, settings: Settings, split: SplitText, indexes: Mapping[str, MakeIndex]) -> None:
        self.path = path
        self.settings = settings
        self._make_indexes = indexes
        self.store = SQLiteStore(path / _DATABASE, lambda text: split(text, self.settings.split))
        self.indexes: dict[str, Index] = {}
        self._lock = FileLock(path / "writer.lock")
        self._seen = -1

    @classmethod
    def open(
        cls, path: Path, settings: Settings, split: SplitText, indexes: Mapping[str, MakeIndex], create: bool = False
    ) -> LibraryFolder:
        """Open the library at `path`; with `create`, make it if there is none."""
        folder = cls(path, settings, split, indexes)
        try:
            if _finished(path):
                folder._open_store(create=False)
            elif create:
                path.mkdir(parents=True, exist_ok=True)
                with folder._locked():
                    folder._create()
            else:
                raise LibraryMissing(f"there is no library at {path}; `wherefrom ingest FOLDER` makes one")
        except OSError as error:  # no permission, a file in the way, a full disk
            raise LibraryError(f"the library at {path} cannot be opened: {error.strerror or error}") from error
        return folder

    # Writing.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one writer; clears away what a killed writer left behind."""
        with self._locked():
            self._find_indexes()
            self.store.recover()
            self._drop_retired()
            try:
                yield
            finally:
                self.store.recover()  # an interrupted batch was staged and will not be published
                self._drop_retired()
                self._write_toml()
                for index in self.indexes.values():
                    index.close()

    @contextmanager
    def mending(self) -> Iterator[None]:
        """Be the one writer of a library whose indexes may be broken."""
        with self._locked():
            self._find_indexes()
            self.store.recover()
            with suppress(LibraryDamaged):  # then the index is built anew, without what is retired
                self._drop_retired()
            yield
            for index in self.indexes.values():
                index.close()

    def put(self, documents: Sequence[Document], files: Mapping[str, bytes] | None = None) -> None:
        """Write documents, replacing old versions; when this returns they are safe and can be found.

        `files` are files that are wholly in the library with these documents, and their hashes.
        """
        staged = self.store.stage(documents)
        retired = self.store.retired()
        for index in self.indexes.values():
            index.remove(retired)
            index.put(staged.keys, self._indexed(staged))
            index.commit()
        self.store.publish(staged, forgotten=retired, files=files)

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Take documents out everywhere; the ids of those that were there."""
        removed = self.store.remove(ids)
        self._drop_retired()
        return removed

    def build_index(self, name: str, report: Callable[[int, int], None] = lambda *_: None) -> int:
        """Build an index that the library lacks, or build it anew; how many passages it has.

        `report` is told how many passages of how many are done. From then on the index follows every change.
        """
        known = sorted(self._make_indexes)
        if name not in known:
            raise SettingsError(f"there is no {name} index; there are {', '.join(known)}")
        self._rebuild(name, report)
        return self.store.counts()[1]

    # Reading.

    def index(self, name: str) -> Index:
        """An index as of now, whoever has written to it."""
        if name not in self.indexes:
            self._find_indexes()
            if name not in self.indexes:
                raise LibraryError(
                    f"the library at {self.path} has no {name} index; `wherefrom index {name} --library {self.path}` "
                    "builds it"
                )
        version = self.store.version()
        if version != self._seen:
            for index in self.indexes.values():
                index.refresh()
            self._seen = version
        return self.indexes[name]

    def close(self) -> None:
        for index in self.indexes.values():
            index.close()
        self.store.close()

    # Checking.

    def problems(self, repair: bool) -> Iterator[Problem]:
        """Look at everything; what can be derived from the documents is made anew if `repair`."""
        damages = list(self.store.problems())
        if damages:
            yield from (Problem(damage, repaired=False) for damage in damages)
            return
        for id, what in list(self.store.misfits()):
            yield Problem(f"document '{id}': {what}", repaired=repair and self._mended(id, what))
        for name in list(self.indexes):
            fault = self._index_fault(name)
            if fault:
                if repair:
                    self._rebuild(name)
                yield Problem(f"index '{name}': {fault}", repaired=repair)
        if repair:
            self._drop_retired()
        if self._toml_text() != _text_or_none(self.path / "library.toml"):
            if repair:
                self._write_toml()
            yield Problem("library.toml is missing or out of date", repaired=repair)

    def _mended(self, id: str, what: str) -> bool:
        """Cut a document into passages again; a text that has changed by itself cannot be mended."""
        document = self.store.document(id)
        if document is None or "text is not the one" in what:
            return False
        self.put([document])
        return True

    def _index_fault(self, name: str) -> str | None:
        expected = {key for key, _, _ in self.store.live_passages()}
        try:
            indexed = self.indexes[name].keys()
        except LibraryDamaged as error:
            return str(error)
        missing, extra = len(expected - indexed), len(indexed - expected)
        if missing or extra:
            return f"{missing} passages are missing from it and {extra} are too many"
        return None

    def _rebuild(self, name: str, report: Callable[[int, int], None] = lambda *_: None) -> None:
        """Build an index beside the old one and put it in its place."""
        passages, done = self.store.counts()[1], 0
        fresh = self.path / "index" / f"{name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        index = self._make_indexes[name](fresh, self.settings.index)
        index.create()
        keys: list[int] = []
        texts: list[str] = []
        for key, title, text in self.store.live_passages():
            keys.append(key)
            texts.append(self._with_title(title, text))
            if len(keys) == _REBUILD_BATCH:
                index.put(keys, texts)
                done += len(keys)
                report(done, passages)
                keys, texts = [], []
        index.put(keys, texts)
        index.commit()
        index.close()
        if name in self.indexes:
            self.indexes[name].close()
        shutil.rmtree(self.path / "index" / name, ignore_errors=True)
        fresh.rename(self.path / "index" / name)
        self._find_indexes()
        report(passages, passages)

    # Inside.

    def _create(self) -> None:
        """Indexes first: a database that exists then means that the library is whole."""
        wanted = {*_ALWAYS, self.settings.retrieve.kind} & self._make_indexes.keys()
        for name in sorted(wanted):
            index = self._make_indexes[name](self.path / "index" / name, self.settings.index)
            index.create()
            index.close()
        self._open_store(create=True)

    def _open_store(self, create: bool) -> None:
        declared = _declared_format(self.path)
        if declared is not None and declared > schema.FORMAT:
            raise LibraryTooNew(schema.too_new(declared))
        if not create and self.store.needs_upgrade():
            with self._locked():
                self.store.open(create=True)
        else:
            self.store.open(create=create)
        saved = self.store.meta("settings")
        if saved is None:
            self.store.set_meta("settings", to_mapping(self.settings))
        else:
            self.settings = _with_fixed(self.settings, saved, self.path)
        self._find_indexes()
        if create:
            self._write_toml()

    def _find_indexes(self) -> None:
        """The indexes that the library has; another process may have built one since, or taken one away."""
        for name, make in self._make_indexes.items():
            path = self.path / "index" / name
            there = name in _ALWAYS or path.exists()
            if there and name not in self.indexes:
                self.indexes[name] = make(path, self.settings.index)
            elif not there and name in self.indexes:
                self.indexes.pop(name).close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        note = self.path / "writer.txt"
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            who = _text_or_none(note) or "another process"
            raise LibraryBusy(
                f"{who} is writing to the library at {self.path}; wait until it is done and try again "
                "(reading goes on meanwhile)"
            ) from None
        try:
            note.write_text(f"process {os.getpid()} (since {time.strftime('%Y-%m-%d %H:%M:%S')})", encoding="utf-8")
            yield
        finally:
            note.unlink(missing_ok=True)
            self._lock.release()

    def _drop_retired(self) -> None:
        retired = self.store.retired()
        if retired:
            for index in self.indexes.values():
                index.remove(retired)
                index.commit()
            self.store.forget(retired)

    def _indexed(self, staged: Staged) -> list[str]:
        return [self._with_title(title, text) for title, text in zip(staged.titles, staged.texts, strict=True)]

    def _with_title(self, title: str, text: str) -> str:
        return f"{title}\n{text}" if self.settings.index.title and title else text

    def _toml_text(self) -> str:
        documents, passages = self.store.counts()
        body = tomli_w.dumps(
            {
                "format": schema.FORMAT,
                "wherefrom": __version__,
                "documents": documents,
                "passages": passages,
                "settings": self.store.meta("settings"),
            }
        )
        return "# Written by wherefrom after every change, for people to read; edits here have no effect.\n" + body

    def _write_toml(self) -> None:
        fresh = self.path / "library.toml.new"
        fresh.write_text(self._toml_text(), encoding="utf-8")
        fresh.replace(self.path / "library.toml")


def _finished(path: Path) -> bool:
    """Whether a whole library is at `path`; False for nothing or an unfinished one, an error for anything else."""
    if not path.exists():
        return False
    if not path.is_dir():
        raise LibraryForeign(f"{path} is a file; a library is a folder")
    if (path / _DATABASE).exists():
        return True
    names = {entry.name for entry in path.iterdir()}
    if "library.toml" in names:
        raise LibraryDamaged(
            f"the library at {path} has lost its {_DATABASE}; put it back from a backup, or delete the folder "
            "and ingest again"
        )
    if names - _UNFINISHED:
        raise LibraryForeign(f"{path} is not a library and is not empty; name another folder with --library")
    return False


def _declared_format(path: Path) -> int | None:
    text = _text_or_none(path / "library.toml")
    if text is None:
        return None
    try:
        declared = tomllib.loads(text).get("format")
    except tomllib.TOMLDecodeError:
        return None  # made anew from the database by the next writer
    return declared if isinstance(declared, int) else None


def _with_fixed(settings: Settings, saved: Mapping[str, object], path: Path) -> Settings:
    """`settings` with the sections that are fixed since the library was made."""
    made_with = from_mapping({name: saved[name] for name in FIXED_SECTIONS if name in saved})
    before, wanted, defaults = to_mapping(made_with), to_mapping(settings), to_mapping(Settings())
    for section in FIXED_SECTIONS:
        for name, value in wanted[section].items():
            if value not in (before[section][name], defaults[section][name]):
                raise SettingsError(
                    f"the library at {path} was made with {section}.{name} = {before[section][name]}, and that cannot "
                    f"change afterwards; to have {value}, make a new library: name another folder with --library"
                )
        settings = replace(settings, **{section: getattr(made_with, section)})
    return settings


def _text_or_none(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
