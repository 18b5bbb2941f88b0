"""The folder of a library whose documents are in a database server that other folders share.

    store.toml         which database it is, without its password
    index.sqlite       what the files of the indexes are to be, and up to which change they have come
    index/<name>/      the indexes, as in every library
    library.toml       what the library is, for people
    writer.lock        held by the process that writes; index.lock by the one that brings the indexes up to date

A writer makes documents visible in the database first, and every folder, its own too, takes the change into its indexes
afterwards: a question first looks whether there is anything new. So writers on several machines need not know of each
other, and a folder can be thrown away: another one is filled from the database.
"""

from __future__ import annotations

import os
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import tomli_w
from filelock import FileLock, Timeout

from wherefrom import __version__
from wherefrom.config import Settings, StoreSettings, to_mapping, without_password
from wherefrom.errors import (
    DiskFull,
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryForeign,
    LibraryMissing,
    SettingsError,
    is_full,
)
from wherefrom.stages import Index
from wherefrom.store import postgres_schema
from wherefrom.store.library import BATCH, SHARED, LibraryFolder, MakeIndex, Problem, SplitText, in_words, with_fixed
from wherefrom.store.postgres import News, PostgresStore, Reached
from wherefrom.store.sqlite import SQLiteStore
from wherefrom.store.sums import file_sums
from wherefrom.types import Document

_LOCAL = "index.sqlite"
_OURS = {SHARED, "store.toml.new", _LOCAL, "index", "library.toml", "library.toml.new", "server"}
_WAIT = 60.0  # seconds, for another process that brings the indexes up to date
_TIMES = 3  # that a building begins anew where the database was put back meanwhile

Report = Callable[[int, int], None]


class SharedFolder(LibraryFolder):
    """Indexes of one's own over documents that others read and write too."""

    def __init__(
        self, path: Path, settings: Settings, split: SplitText, indexes: Mapping[str, MakeIndex], url: str
    ) -> None:
        super().__init__(path, settings, split, indexes)
        self.local = SQLiteStore(path / _LOCAL, lambda *_: [])
        self.database = PostgresStore(url, lambda text, sections: self.split(text, self.settings.split, sections))
        self.store = self.database
        self.catching_up: Report = lambda *_: None  # told how many passages of how many the indexes have taken in
        self._catching = threading.RLock()
        self._index_lock = FileLock(path / "index.lock")

    @classmethod
    def open(
        cls,
        path: Path,
        settings: Settings,
        split: SplitText,
        indexes: Mapping[str, MakeIndex],
        create: bool = False,
        catching_up: Report = lambda *_: None,
    ) -> SharedFolder:
        """Open the library in the database; with `create`, make it there if there is none.

        A folder that is not there is made where the database has a library: it can be filled from that.
        """
        noted = _noted(path)
        url = settings.store.url or str(noted.get("url", ""))
        if not url:
            raise SettingsError("store.kind=postgres needs store.url, such as postgres://USER@HOST:5432/DATABASE")
        _refuse_others(path)
        folder = cls(path, settings, split, indexes, url)
        folder.catching_up = catching_up
        try:
            folder._open(str(noted.get("id", "")), create)
        except BaseException as error:
            folder.close()
            if isinstance(error, OSError):
                if is_full(error):
                    raise DiskFull(path) from error
                raise LibraryError(f"the library at {path} cannot be opened: {error.strerror or error}") from error
            raise
        return folder

    # Writing.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one writer of this folder; others may be writing from theirs."""
        with self._in_words(), self._locked(), self.database.noting():
            self.catch_up()
            try:
                yield
            except BaseException:
                with suppress(LibraryError, OSError):  # the next one does it
                    self.catch_up()
                raise
            self.catch_up()
            self._write_toml()

    @contextmanager
    def mending(self) -> Iterator[None]:
        with self._in_words(), self._locked():
            self._find_indexes()
            yield

    def put(self, documents: Sequence[Document], files: Mapping[str, bytes] | None = None) -> None:
        self.database.put(documents, files)
        self.catch_up()

    def remove(self, ids: Sequence[str]) -> list[str]:
        removed = self.database.remove(ids)
        self.catch_up()
        return removed

    # Reading.

    def index(self, name: str) -> Index:
        """An index as of now, whoever has written to the database."""
        version = self.database.version()
        if version != self._seen or name not in self.indexes:
            if not self._is_reached(version):
                self.catch_up()
            self._find_indexes()
            for index in self.indexes.values():
                index.refresh()
            self._seen = version
            self._need(name)
        return self.indexes[name]

    def catch_up(self) -> None:
        """Take into the indexes what has changed; one process at a time does it, and others wait for it.

        Whoever may not write to the folder takes them as they are.
        """
        if not os.access(self.path, os.W_OK):
            return
        with self._in_words(), self._alone():
            self._find_indexes()
            for name in list(self.indexes):
                self._follow(name)
                self._catch_up(name)

    def close(self) -> None:
        super().close()
        self.local.close()

    # Checking.

    def problems(self, repair: bool) -> Iterator[Problem]:
        """Look at everything; what can be derived from the documents is made anew if `repair`."""
        damages = list(self.database.problems())
        if damages:
            yield from (Problem(damage, repaired=False) for damage in damages)
            yield Problem("restore the database from its backup; `wherefrom backup` makes one", repaired=False)
            return
        damages = list(self.local.problems()) + [log for log in [self.local.damaged_log()] if log]
        if damages:
            yield from (Problem(damage, repaired=False) for damage in damages)
            yield Problem(f"remove the folder {self.path}: it is filled anew from the database", repaired=False)
            return
        misfits = list(self.database.misfits())
        faults = {name: self._index_fault(name, self._interrupted()) for name in self.indexes}
        for name, fault in faults.items():
            if fault and repair:
                self._rebuild(name)
            if fault:
                yield Problem(f"index '{name}': {fault}", repaired=repair)
        for misfit in misfits:
            yield Problem(in_words(misfit), repair and self._mended(misfit))
        if repair:
            self.catch_up()
            self._write_toml()

    def _expected_keys(self, name: str) -> tuple[set[int], set[int]]:
        """As of the change up to which the index has come, whoever is writing meanwhile."""
        return self.database.keys_as_of(self._reached(name))

    # Inside.

    def _open(self, known: str, create: bool) -> None:
        facts = {"settings": {name: values for name, values in to_mapping(self.settings).items() if name != "store"}}
        if not self.database.open(facts if create else None):
            raise LibraryMissing(
                f"there is no library in {self.database.name}; `wherefrom ingest FOLDER` makes one, and "
                "`wherefrom move` brings one there"
            )
        identity = self.database.identity()
        if known and known != identity:
            raise LibraryForeign(
                f"the indexes in {self.path} are those of another database than {self.database.name}; name another "
                "folder with --library, or remove this one: it can be filled anew"
            )
        saved = self.database.meta("settings")
        if saved is None:
            raise LibraryDamaged(f"{self.database.name} has lost the settings that its library was made with")
        where = StoreSettings("postgres", without_password(self.database.name))
        self.settings = replace(with_fixed(self.settings, saved, self.path), store=where)
        if not self.path.exists():
            self.path.mkdir(parents=True)
            self.path.chmod(0o700)
        if os.access(self.path, os.W_OK):
            with self._alone():
                self._lay(identity)
        self._find_indexes()

    def _lay(self, identity: str) -> None:
        """What the folder needs and has not."""
        noted = {"kind": "postgres", "url": without_password(self.database.name), "id": identity}
        if _noted(self.path) != noted:
            fresh = self.path / f"{SHARED}.new"
            fresh.write_text(
                "# Which database has the documents of this library; written by wherefrom.\n" + tomli_w.dumps(noted),
                encoding="utf-8",
            )
            fresh.replace(self.path / SHARED)
        self.local.open(create=True)
        for name in sorted(self._wanted()):
            folder = self._folder(name)
            if not folder.exists() or not self.local.sealed(name):
                self._laid(name, folder).close()
                self.local.seal({name: file_sums(folder, {})})
        if not (self.path / "library.toml").exists():
            self._write_toml()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the only one, of all processes and threads, who changes the indexes."""
        try:
            self._index_lock.acquire(timeout=_WAIT)
        except Timeout:
            raise LibraryBusy(
                f"another process is bringing the indexes in {self.path} up to date, and has much to do; try again"
            ) from None
        try:
            with self._catching:
                yield
        finally:
            self._index_lock.release()

    def _reached(self, name: str) -> Reached:
        number, token = (self.local.meta("reached") or {}).get(name, (0, ""))
        return Reached(int(number), str(token))

    def _is_reached(self, version: int) -> bool:
        return bool(self.indexes) and all(self._reached(name).is_at(version) for name in self.indexes)

    def _notes(self, name: str, reached: Reached) -> dict[str, object]:
        """That an index is whole, and as of which change."""
        noted = self.local.meta("reached") or {}
        return {"reached": {**noted, name: [reached.number, reached.token]}, "taking": sorted(self._taking() - {name})}

    def _taking(self) -> set[str]:
        """The indexes that are being changed, or were when the process that did so was killed."""
        return set(self.local.meta("taking") or ())

    def _interrupted(self) -> bool:
        return bool(self._taking()) or any(not self.local.sealed(name) for name in self.indexes)

    def _follow(self, name: str) -> None:
        """Bring one index to the last change, a batch at a time: each is kept, whatever happens to the next."""
        taken_in = 0
        again = name in self._taking()  # a killed process may have put in some of what is put in now
        while True:
            reached = self._reached(name)
            news = self.database.news(reached, BATCH)
            if news is None:
                self._rebuild(name)
                return
            if news.documents or news.retired or again:
                self._refuse_damage()
                self.local.set_meta("taking", sorted(self._taking() | {name}))
                index = self._make_indexes[name](self._folder(name), self.settings.index)
                try:
                    taken_in += self._take_in(index, news, again)
                    index.commit()
                finally:
                    index.close()
                sums = file_sums(self._folder(name), self.local.sealed(name))
                self.local.seal({name: sums}, notes=self._notes(name, news.reached))
                self.indexes[name].refresh()
                self.catching_up(taken_in, taken_in + news.more)
            elif news.reached != reached:
                self.local.set_meta("reached", self._notes(name, news.reached)["reached"])
            if not news.more:
                return
            again = False

    def _take_in(self, index: Index, news: News, again: bool) -> int:
        """Put into an index what has come, and take out of it what has gone; how many passages have come."""
        if again:
            index.put([], [])  # takes away files that belong to no commit
        index.remove([key for first, count in news.retired for key in range(first, first + count)])
        keys: list[int] = []
        texts: list[str] = []
        for key, title, text in self.database.passages_of(news.documents):
            keys.append(key)
            texts.append(self._with_title(title, text))
        if again:
            index.remove(keys)
            index.commit()
        index.put(keys, texts)
        return len(keys)

    def _rebuild(self, name: str, report: Report = lambda *_: None) -> None:
        with self._alone():
            super()._rebuild(name, report)

    def fill_slow(self, name: str, report: Report = lambda *_: None) -> int:
        """At once, and from the beginning: what comes later is taken in with all else that has changed."""
        return self.build_index(name, report)

    def _fill(self, name: str, index: Index, report: Report) -> dict[str, object]:
        for _ in range(_TIMES):
            reached, done = Reached(), 0
            while (news := self.database.news(reached, BATCH)) is not None:
                done += self._take_in(index, news, again=False)
                report(done, done + news.more)
                reached = news.reached
                if not news.more:
                    return self._notes(name, reached)
            index.remove(list(index.keys()))
            index.commit()
        raise LibraryBusy(f"the database {self.database.name} is being put back; try again when that is done")

    def _toml_text(self) -> str:
        documents, passages = self.database.counts()
        body = tomli_w.dumps(
            {
                "format": postgres_schema.FORMAT,
                "wherefrom": __version__,
                "database": without_password(self.database.name),
                "documents": documents,
                "passages": passages,
                "settings": self.database.meta("settings"),
            }
        )
        return (
            "# Written by wherefrom after changes from this folder, for people to read; edits here have no effect.\n"
            + body
        )


def _noted(path: Path) -> dict[str, object]:
    """Which database a folder names; nothing where it names none."""
    try:
        return tomllib.loads((path / SHARED).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LibraryDamaged(
            f"{path / SHARED} cannot be read; remove it, and name the database with store.kind and store.url"
        ) from error


def _refuse_others(path: Path) -> None:
    """An error where a folder holds something else than indexes over a database."""
    if not path.exists():
        return
    if not path.is_dir():
        raise LibraryForeign(f"{path} is a file; a library is a folder")
    names = {entry.name for entry in path.iterdir()}
    if "documents.sqlite" in names:
        raise LibraryForeign(
            f"the library at {path} has its documents in its folder. To have them in a database: `wherefrom move --to "
            "URL`, then name another folder with --library for the indexes"
        )
    if SHARED not in names and {name for name in names if not name.startswith((_LOCAL, "writer", "index"))} - _OURS:
        raise LibraryForeign(f"{path} is not a library and is not empty; name another folder with --library")
