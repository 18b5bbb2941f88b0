"""The library folder: documents, the indexes derived from them, and one writer at a time.

    library.toml       what the library is, for people: format, counts, settings
    documents.sqlite   the documents, the source of truth
    index/<name>/      one folder an index: always bm25, others where they were built; <name>.2 where it was built anew
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w
from filelock import FileLock, Timeout

from wherefrom import __version__
from wherefrom.config import FIXED_SECTIONS, IndexSettings, Settings, SplitSettings, from_mapping, to_mapping
from wherefrom.errors import (
    DiskFull,
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryForeign,
    LibraryMissing,
    LibraryTooNew,
    SettingsError,
    is_full,
)
from wherefrom.stages import Index, ServedIndex, SlowIndex
from wherefrom.store import schema
from wherefrom.store.database import UNREADABLE, damaged
from wherefrom.store.documents import DocumentStore
from wherefrom.store.rows import Misfit, heading
from wherefrom.store.sqlite import SQLiteStore, Staged
from wherefrom.store.sums import FileSum, differing, file_sums, row_sum
from wherefrom.text import Span
from wherefrom.types import Document

MakeIndex = Callable[[Path, IndexSettings], Index]
SplitText = Callable[[str, SplitSettings, Sequence[int]], list[Span]]

_DATABASE = "documents.sqlite"
SHARED = "store.toml"  # in a folder whose documents are in a database server: which one
# All there is when a process dies while making a library.
_UNFINISHED = {
    "index",
    "writer.lock",
    "writer.txt",
    *(f"{_DATABASE}{part}" for part in ("", "-journal", "-wal", "-shm")),
}
BATCH = 20_000
ALWAYS = ("bm25",)  # indexes that every library has, unless it was made to be searched on a server
_SERVED = ("qdrant",)  # indexes on a server: what is kept there is not kept here too
_SLOW_BATCH = 1_024  # passages that a slow index is given at a time, and what an interruption loses
OLDER = "the database is older than library.toml"
_BUSY_PAUSE = 0.5  # seconds until it is tried again to write where another process does
_NEEDED = {"hybrid": "dense"}  # by kinds of retrieval that are not called like an index


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
        self.split = split  # may be replaced by one that has the passages of some texts already
        self._make_indexes = indexes
        # The database in the folder: the documents, and what the files of the indexes are to be.
        self.local = SQLiteStore(
            path / _DATABASE, lambda text, sections: self.split(text, self.settings.split, sections)
        )
        self.store: DocumentStore = self.local
        self.indexes: dict[str, Index] = {}
        self._opened_at: dict[str, Path] = {}
        self._lock = FileLock(path / "writer.lock")
        self._seen = -1

    @classmethod
    def open(
        cls, path: Path, settings: Settings, split: SplitText, indexes: Mapping[str, MakeIndex], create: bool = False
    ) -> LibraryFolder:
        """Open the library at `path`; with `create`, make it if there is none."""
        folder = cls(path, settings, split, indexes)
        try:
            if folder._finished():
                folder._open_store()
            elif create:
                if not path.exists():
                    path.mkdir(parents=True)
                    path.chmod(0o700)  # what people write is for their own eyes, whatever their umask
                with folder._locked():
                    folder._create()
            else:
                raise LibraryMissing(f"there is no library at {path}; `wherefrom ingest FOLDER` makes one")
        except OSError as error:  # no permission, a file in the way, a full disk
            if is_full(error):
                raise DiskFull(path) from error
            raise LibraryError(f"the library at {path} cannot be opened: {error.strerror or error}") from error
        return folder

    @property
    def writable(self) -> bool:
        """Whether this user may change it; whoever may not can ask, search, list, show and look for damage."""
        return os.access(self.path, os.W_OK) and self.store.writable

    # Writing.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one writer; clears away what a killed writer left behind."""
        with self._in_words(), self._locked(), self._closed_indexes():
            self.local.settle()
            self._find_indexes()
            self._refuse_damage()
            self._recover()
            try:
                yield
            except BaseException:
                with suppress(LibraryError, OSError):  # where that fails too, the next writer does it
                    self._end_writing()
                raise
            self._end_writing()

    @contextmanager
    def mending(self) -> Iterator[None]:
        """Be the one writer of a library whose indexes may be broken."""
        with self._in_words(), self._locked(), self._closed_indexes():
            self._find_indexes()
            yield

    @contextmanager
    def looking(self) -> Iterator[None]:
        """See to it that nobody writes meanwhile, where this user may."""
        with self._locked() if self.writable else nullcontext():
            yield

    def _end_writing(self) -> None:
        self.local.recover()  # an interrupted batch was staged and will not be published
        self._drop_retired()
        self._write_toml()

    @contextmanager
    def _closed_indexes(self) -> Iterator[None]:
        """Have the indexes closed in the end, so that the next writer can take them."""
        try:
            yield
        finally:
            for index in self.indexes.values():
                index.close()

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """What a disk that is full or fails says while it is written to, and what comes of damaged rows."""
        try:
            yield
        except DiskFull:  # of whatever disk it is
            raise
        except (OSError, LibraryError) as error:
            if is_full(error):
                raise DiskFull(self.path) from error
            if isinstance(error, OSError):
                where = f"{error.filename}: " if error.filename else ""
                raise LibraryError(
                    f"the library at {self.path} cannot be written to: {where}{error.strerror or error}"
                ) from error
            raise
        except UNREADABLE as error:  # of the library's rows, if these are damaged; else of what was to be written
            if any(self.local.problems()) or any(True for _ in self.local.misfits()):
                raise damaged(self.local.path, error) from None
            raise

    def put(self, documents: Sequence[Document], files: Mapping[str, bytes] | None = None) -> None:
        """Write documents, replacing old versions; when this returns they are safe and can be found.

        `files` are files that are wholly in the library with these documents, and their hashes.
        """
        staged = self.local.stage(documents)
        retired = self.local.retired()
        for index in self.indexes.values():
            index.remove(retired)
            if not isinstance(index, SlowIndex):  # which follows by and by
                index.put(staged.keys, self._indexed(staged))
            index.commit()
        self.local.publish(staged, forgotten=retired, files=files, sealed=self._sums())
        self._write_toml()  # before it is acknowledged: it knows how many changes there were

    def remove(self, ids: Sequence[str]) -> list[str]:
        """Take documents out everywhere; the ids of those that were there."""
        removed = self.local.remove(ids)
        self._write_toml()
        self._drop_retired()
        return removed

    def damaged(self, ids: Iterable[str]) -> bool:
        """Whether any of these documents is not what was written: then it counts as changed."""
        return any(True for _ in self.store.misfits(ids))

    def build_index(self, name: str, report: Callable[[int, int], None] = lambda *_: None) -> int:
        """Build an index that the library lacks, or build it anew; how many passages it has.

        `report` is called with how many passages of how many are done. From then on the index follows every change.
        """
        known = sorted(self._make_indexes)
        if name not in known:
            raise SettingsError(f"there is no {name} index; there are {', '.join(known)}")
        self._rebuild(name, report)
        return self.store.counts()[1]

    def fill_slow(self, name: str, report: Callable[[int, int], None] = lambda *_: None) -> int:
        """Put into a slow index all that it lacks, laying it where there is none; how many passages it then has.

        A batch at a time, each of which is safe once it is reported; others may write and ask meanwhile.
        """
        with self._soon_writing():
            index = self.indexes.get(name)
            if not isinstance(index, SlowIndex) or not index.fits():
                self._rebuild(name)
            held = self.indexes[name].keys()
        while lacking := sorted(self.store.live_keys() - held):
            total = len(held) + len(lacking)
            report(len(held), total)
            for first in range(0, len(lacking), _SLOW_BATCH):
                batch = lacking[first : first + _SLOW_BATCH]
                self._fill_some(name, batch)
                held.update(batch)  # also those that have gone meanwhile: they are not asked for again
                report(len(held), total)
        return len(self.index(name).keys())

    def _fill_some(self, name: str, keys: Sequence[int]) -> None:
        """Put some passages into a slow index, as far as they are still there when they are ready."""
        passages = self.store.passages_at(keys)
        texts = {
            key: self._with_title(heading(passage.title, passage.section), passage.text)
            for key, passage in passages.items()
        }
        index = self.indexes[name]
        assert isinstance(index, SlowIndex)
        prepared = index.prepare(list(texts.values()))
        with self._soon_writing():
            index = self.indexes[name]
            assert isinstance(index, SlowIndex)
            live = self.store.passages_at(keys)
            still = [place for place, key in enumerate(texts) if key in live]
            self.local.begin_indexing()
            index.put_prepared([list(texts)[place] for place in still], [prepared[place] for place in still])
            index.commit()
            self.local.seal(self._sums())

    @contextmanager
    def _soon_writing(self) -> Iterator[None]:
        """Be the one writer, once nobody else is."""
        while True:
            with ExitStack() as stack:
                try:
                    stack.enter_context(self.writing())
                except LibraryBusy:
                    time.sleep(_BUSY_PAUSE)
                    continue
                yield
                return

    def build_all(self, names: Iterable[str], report: Callable[[int, int], None] = lambda *_: None) -> None:
        """Build these indexes of a library whose documents were put there without any."""
        with self.mending():
            self.local.recover()
            for name in names:
                self._rebuild(name, report)
            self.local.forget(self.local.retired(), self._sums())
            self._write_toml()

    # Reading.

    def index(self, name: str) -> Index:
        """An index as of now, whoever has written to it."""
        self._need(name)
        version = self.store.version()
        if version != self._seen:
            self._find_indexes()
            for index in self.indexes.values():
                index.refresh()
            self._seen = version
        return self.indexes[name]

    def _need(self, name: str) -> None:
        """An error where the library lacks an index."""
        if name not in self.indexes:
            self._find_indexes()
            if name not in self.indexes:
                raise LibraryError(
                    f"the library at {self.path} has no {name} index; `wherefrom index {name} --library {self.path}` "
                    "builds it"
                )

    def close(self) -> None:
        for index in self.indexes.values():
            index.close()
        self.store.close()

    # Checking.

    def problems(self, repair: bool) -> Iterator[Problem]:
        """Look at everything; what can be derived from the documents is made anew if `repair`.

        To repair, be `mending`. Nothing is written before the database is known to be sound.
        """
        lost = self.local.damaged_log()
        damages = list(self.store.problems())
        if damages:
            yield from (Problem(damage, repaired=False) for damage in damages)
            yield Problem(f"`wherefrom rescue {self.path} NEW` saves what is whole into a new library", repaired=False)
            return
        if not lost and noted_changes(self.path) > self.local.changes():
            lost = OLDER
        misfits = list(self.store.misfits())
        interrupted = self._interrupted()
        faults = {name: self._index_fault(name, interrupted) for name in self.indexes}
        if repair:
            self._mend_indexes(faults)
        mended = [repair and self._mended(misfit) for misfit in misfits]
        if any(mended):
            self.local.recount()
        for misfit, repaired in zip(misfits, mended, strict=True):
            yield Problem(in_words(misfit), repaired)
        for name in [*self.indexes] if repair and misfits else []:
            # The passages of before would count on in what is cut again; which ones there were may be damaged too.
            if any(mended) or self._index_fault(name, interrupted=False):
                self._rebuild(name)
        for name, fault in faults.items():
            if fault:
                slow = isinstance(self.indexes[name], SlowIndex)
                rest = f"; `wherefrom index {name}` then fills it again" if slow else ""
                yield Problem(f"index '{name}': {fault}{rest}", repaired=repair)
        toml = _text_or_none(self.path / "library.toml")
        if lost:
            yield Problem(f"{lost}: the last changes are lost; ingest again what was changed last", repaired=False)
        elif toml != self._toml_text():
            if repair:
                self._write_toml()
            state = "missing" if toml is None else "out of date"
            yield Problem(f"library.toml is {state}; `wherefrom check` writes it from the database", repair)

    def _mend_indexes(self, faults: dict[str, str | None]) -> None:
        """Build anew what is at fault, or turns out to be once it is written to; that is then noted too."""
        for name, fault in faults.items():
            if fault and not self._caught_up(name):
                self._rebuild(name)
        try:
            self._recover()
        except LibraryDamaged as error:
            for name in faults:
                faults[name] = faults[name] or str(error)
                self._rebuild(name)
            self._recover()

    def _caught_up(self, name: str) -> bool:
        """Whether nothing is wrong with an index any more once its server was given what it had lost."""
        if not isinstance(self.indexes[name], ServedIndex):
            return False
        try:
            self._catch_up(name)
        except LibraryDamaged:
            return False
        return self._index_fault(name, self._interrupted()) is None

    def _mended(self, misfit: Misfit) -> bool:
        """Cut a document into passages again; a text that has changed by itself has to come from its file again."""
        document = self.store.document(misfit.id) if misfit.text_right else None
        if document is None:
            self.store.read_again(misfit.source)
            return False
        self.put([document])
        return True

    def _index_fault(self, name: str, interrupted: bool) -> str | None:
        """What is wrong with an index, in words; a killed writer has left it ahead of what is known of it."""
        known = self.local.sealed(name)
        changed = differing(self._folder(name), known, deep=True, rewritten=not interrupted)
        if interrupted:  # and the files that it has taken away are not missed
            changed = [file for file in changed if (self._folder(name) / file).exists()]
        if changed:
            return f"{len(changed)} of its files are not what was written, such as {changed[0]}"
        expected, leaving = self._expected_keys(name)
        try:
            indexed = self.indexes[name].keys()
        except LibraryDamaged as error:
            return str(error)
        missing = 0 if isinstance(self.indexes[name], SlowIndex) else len(expected - indexed)
        extra = 0 if interrupted else len(indexed - expected - leaving)
        if missing or extra:
            return f"{missing} passages are missing from it and {extra} are too many"
        return None

    def _expected_keys(self, name: str) -> tuple[set[int], set[int]]:  # noqa: ARG002
        """The keys that an index has to hold, and those that it may still hold beside them."""
        return self.store.live_keys(), set(self.local.retired())

    def _rebuild(self, name: str, report: Callable[[int, int], None] = lambda *_: None) -> None:
        """Build an index beside the old one, which serves until one transaction says that the new one is it."""
        unfinished = self.path / "index" / f"{name}.new"
        index = self._laid(name, unfinished)
        notes = self._fill(name, index, report)
        index.commit()
        index.close()
        before = self._folder(name)
        fresh = before if not before.exists() else before.with_name(name if before.name != name else f"{name}.2")
        if fresh != before:
            shutil.rmtree(fresh, ignore_errors=True)
        unfinished.rename(fresh)
        self.local.seal({name: file_sums(fresh, {})}, {name: fresh.name}, self._interrupted(), notes)
        if name in self.indexes:
            _erased(self.indexes.pop(name))
        if fresh != before:
            shutil.rmtree(before, ignore_errors=True)
        self._find_indexes()

    def _laid(self, name: str, folder: Path) -> Index:
        """An empty index in a folder, whatever a killed writer left there: nothing counts on that."""
        if folder.exists():
            _erased(self._make_indexes[name](folder, self.settings.index))
        shutil.rmtree(folder, ignore_errors=True)
        index = self._make_indexes[name](folder, self.settings.index)
        index.create()
        return index

    def _fill(self, name: str, index: Index, report: Callable[[int, int], None]) -> dict[str, object]:  # noqa: ARG002
        """Put all passages into an empty index, unless it is a slow one; what is to be noted of it."""
        if isinstance(index, SlowIndex):
            return {}
        passages, done = self.store.counts()[1], 0
        keys: list[int] = []
        texts: list[str] = []
        for key, title, text in self.store.live_passages():
            keys.append(key)
            texts.append(self._with_title(title, text))
            if len(keys) == BATCH:
                index.put(keys, texts)
                done += len(keys)
                report(done, passages)
                keys, texts = [], []
        index.put(keys, texts)
        report(passages, passages)
        return {}

    # Inside.

    def _wanted(self) -> set[str]:
        """The indexes that a library has from its first day."""
        kind = self.settings.retrieve.kind
        return {_NEEDED.get(kind, kind), *(() if kind in _SERVED else ALWAYS)} & self._make_indexes.keys()

    def _create(self) -> None:
        """Indexes first: tables that are laid then mean that the library is whole, with its settings."""
        wanted = self._wanted()
        sealed = {}
        for name in sorted(wanted):
            folder = self.path / "index" / name
            self._laid(name, folder).close()
            sealed[name] = file_sums(folder, {})
        self.local.create({"settings": to_mapping(self.settings)}, sealed)
        self._find_indexes()
        self._write_toml()

    def _open_store(self) -> None:
        if self.local.format() < (schema.FORMAT if self.writable else schema.READABLE):
            if not self.writable:
                raise LibraryError(
                    f"the library at {self.path} is of an earlier format and has to be brought up to date, but you may "
                    "not write to it: its owner does so with any command, or copy it to where you may"
                )
            try:
                with self._locked():
                    self.local.upgrade()
                    self._find_indexes()
                    with suppress(LibraryDamaged):  # a broken index is for `check` to find
                        self._recover()
            except DiskFull:
                when = "the library, which is of an earlier format, can be asked once it is brought up to date"
                raise DiskFull(self.path, when) from None
        saved = self.store.meta("settings")
        if saved is None:
            raise LibraryDamaged(
                f"the library at {self.path} has lost the settings it was made with; "
                f"`wherefrom rescue {self.path} NEW` makes a new one of its documents"
            )
        self.settings = with_fixed(self.settings, saved, self.path)
        self._find_indexes()

    def _finished(self) -> bool:
        """Whether a whole library is there; False for nothing or an unfinished one, an error for anything else."""
        if not self.path.exists():
            return False
        if not self.path.is_dir():
            raise LibraryForeign(f"{self.path} is a file; a library is a folder")
        names = {entry.name for entry in self.path.iterdir()}
        declared = _declared_format(self.path)
        if declared is not None and declared > schema.FORMAT:
            raise LibraryTooNew(schema.too_new(declared))
        if _DATABASE in names and self.local.format() > 0 and not self._unsettled():
            return True
        if "library.toml" in names:
            raise LibraryDamaged(
                f"the library at {self.path} has lost its {_DATABASE}, or what was in it; put it back from a backup, "
                "or delete the folder and ingest again"
            )
        if names - _UNFINISHED:
            raise LibraryForeign(f"{self.path} is not a library and is not empty; name another folder with --library")
        return False

    def _unsettled(self) -> bool:
        """Whether an earlier version of wherefrom was killed after it had laid the tables, and before all else."""
        return self.store.meta("settings") is None and self.store.counts() == (0, 0)

    def _folder(self, name: str) -> Path:
        """Where an index is: as it was laid, or as it was last built anew."""
        return self.path / "index" / str((self.local.meta("folders") or {}).get(name, name))

    def _find_indexes(self) -> None:
        """The indexes that the library has; another process may have built one since, or taken one away."""
        made_with = (self.store.meta("settings") or {}).get("retrieve", {})
        always = () if made_with.get("kind") in _SERVED else ALWAYS
        for name, make in self._make_indexes.items():
            path = self._folder(name)
            there = name in always or path.exists()
            if name in self.indexes and (not there or self._opened_at[name] != path):
                self.indexes.pop(name).close()
            if there and name not in self.indexes:
                self.indexes[name], self._opened_at[name] = make(path, self.settings.index), path

    def _interrupted(self) -> bool:
        """Whether the indexes may be ahead of what is known of them: a writer was killed, or an upgrade."""
        return self.local.indexing() or any(not self.local.sealed(name) for name in self.indexes)

    def _refuse_damage(self) -> None:
        """An error where an index is not what was written: what is put into it now would hide that."""
        if not self._interrupted():
            for name in self.indexes:
                changed = differing(self._folder(name), self.local.sealed(name), deep=False)
                if changed:
                    raise LibraryDamaged(
                        f"the index in {self._folder(name)} is not what was written ({changed[0]}); "
                        "`wherefrom check` makes it anew"
                    )

    def _recover(self) -> None:
        """Clear away what a killed writer left behind."""
        interrupted = self._interrupted()
        self.local.recover()
        if interrupted:
            for index in self.indexes.values():
                index.put([], [])  # takes away files that belong to no commit
                index.commit()
            self.local.seal(self._sums())
        for name in self.indexes:
            self._catch_up(name)
        self._drop_retired()
        kept = {self._folder(name).name for name in self._make_indexes}
        for folder in (self.path / "index").iterdir():
            if folder.name not in kept and folder.name.partition(".")[0] in self._make_indexes:
                shutil.rmtree(folder, ignore_errors=True)

    def _catch_up(self, name: str) -> None:
        """Give a server that has lost passages what it lacks; where that does not help, `check` builds it anew."""
        index = self.indexes[name]
        if not isinstance(index, ServedIndex) or not index.behind():
            return
        live, leaving = self._expected_keys(name)
        index.catch_up(live | leaving, self._texts_of)
        if index.behind():
            raise LibraryDamaged(
                f"the server does not hold what the index in {self.path} counts; `wherefrom check` makes it anew"
            )

    def _texts_of(self, keys: set[int]) -> Iterator[tuple[int, str]]:
        """The passages of these keys that are live, as they are indexed."""
        for key, title, text in self.store.live_passages() if keys else ():
            if key in keys:
                yield key, self._with_title(title, text)

    def _sums(self) -> dict[str, dict[str, FileSum]]:
        """What the files of all indexes are now that they have committed."""
        return {name: file_sums(self._folder(name), self.local.sealed(name)) for name in self.indexes}

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
        except OSError as error:
            raise LibraryError(
                f"the library at {self.path} cannot be written to: {error.strerror or error}; it can be read"
            ) from error
        try:
            with suppress(OSError):  # only said to those who find it locked; a full disk is told where it matters
                note.write_text(f"process {os.getpid()} (since {time.strftime('%Y-%m-%d %H:%M:%S')})", encoding="utf-8")
            yield
        finally:
            with suppress(OSError):
                note.unlink(missing_ok=True)
            self._lock.release()

    def _drop_retired(self) -> None:
        retired = self.local.retired()
        if retired:
            self.local.begin_indexing()
            for index in self.indexes.values():
                index.remove(retired)
                index.commit()
            self.local.forget(retired, self._sums())

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
                "changes": _with_check(self.local.changes()),
                "settings": self.store.meta("settings"),
            }
        )
        return "# Written by wherefrom after every change, for people to read; edits here have no effect.\n" + body

    def _write_toml(self) -> None:
        fresh = self.path / "library.toml.new"
        fresh.write_text(self._toml_text(), encoding="utf-8")
        fresh.replace(self.path / "library.toml")


def _erased(index: Index) -> None:
    """Close an index whose folder goes, and have its server forget it, where that can be."""
    if isinstance(index, ServedIndex):
        with suppress(LibraryError):
            index.erase()
    index.close()


def is_library(path: Path) -> bool:
    """Whether a library's folder seems to be there, wherever its documents are."""
    return (path / _DATABASE).exists() or (path / SHARED).exists()


def _declared_format(path: Path) -> int | None:
    text = _text_or_none(path / "library.toml")
    if text is None:
        return None
    try:
        declared = tomllib.loads(text).get("format")
    except tomllib.TOMLDecodeError:
        return None  # made anew from the database by the next writer
    return declared if isinstance(declared, int) else None


def _with_check(changes: int) -> str:
    """A number that is not taken for another where a byte of it is damaged."""
    return f"{changes}-{row_sum(('changes', changes)).hex()[:8]}"


def noted_changes(path: Path) -> int:
    """How many changes the library.toml of a library knows of; 0 where it cannot be read."""
    with suppress(tomllib.TOMLDecodeError, ValueError):
        noted = str(tomllib.loads(_text_or_none(path / "library.toml") or "").get("changes", ""))
        number = int(noted.partition("-")[0])
        return number if noted == _with_check(number) else 0
    return 0


def with_fixed(settings: Settings, saved: Mapping[str, object], path: Path) -> Settings:
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


def in_words(misfit: Misfit) -> str:
    remedy = "" if misfit.text_right else f"; ingest its file again ({misfit.source}), or `wherefrom remove` it"
    return f"document '{misfit.id}': {misfit.what}{remedy}"


def _text_or_none(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
