"""A library's documents are moved: from its folder into a database server, from there into a folder, or onwards.

What is moved is only read. What comes to be keeps every key, and is no library before all of it was read back and
compared; a move that was interrupted goes on where it was, because what is there already is compared first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from wherefrom.config import Settings, without_password
from wherefrom.durable import force_names
from wherefrom.errors import DiskFull, LibraryBusy, LibraryDamaged, LibraryError, is_full
from wherefrom.store.library import LibraryFolder, MakeIndex, SplitText
from wherefrom.store.postgres import PostgresStore
from wherefrom.store.rows import DocumentRows, Rest, Written, misfit
from wherefrom.store.sqlite import SQLiteStore

_CHARACTERS = 4_000_000  # of documents that are written together
_DOCUMENTS = 1_000  # likewise
_DATABASE = "documents.sqlite"

Report = Callable[[str, int, int], None]  # what is being done, how many documents are done, and of how many


class Moment(Protocol):
    """All that a store holds, as of one instant."""

    def written(self) -> dict[int, Written]:
        """Each document by its key, with its checksum of when it was written."""
        ...

    def rows(self, keys: Sequence[int]) -> list[DocumentRows]: ...

    def rest(self) -> Rest:
        """What belongs to no single document."""
        ...


class Source(Protocol):
    """A store that can be read as of one instant."""

    def moment(self) -> AbstractContextManager[Moment]: ...


class Target(Source, Protocol):
    """A store that is being filled, under the keys that documents have already."""

    def fill(self, documents: Sequence[DocumentRows]) -> None: ...

    def unfill(self, keys: Sequence[int]) -> None: ...

    def fill_rest(self, rest: Rest) -> None: ...


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What was moved, and where it is now."""

    target: str
    documents: int
    passages: int
    already: int  # documents that an interrupted move had brought there
    seconds: float


def move(
    folder: LibraryFolder,
    target: str,
    split: SplitText,
    indexes: Mapping[str, MakeIndex],
    report: Report = lambda *_: None,
) -> MoveReport:
    """Copy a library to a database's URL or to a folder that is not there, verified; the one that there is stays."""
    begun = time.perf_counter()
    with folder.looking():  # nobody writes to it meanwhile
        if "://" in target:
            already, shown = _to_database(folder, target, split, report), without_password(target)
        else:
            already, shown = _to_folder(folder, Path(target).expanduser(), split, indexes, report), target
    documents, passages = folder.store.counts()
    return MoveReport(shown, documents, passages, already, time.perf_counter() - begun)


def copy_to_file(store: Source, path: Path) -> None:
    """Make a database in one file of what a store holds at this instant."""
    with closing(SQLiteStore(path, lambda *_: [])) as target:
        target.begin_filling("")
        _copied(store, target, lambda *_: None)
        target.end_filling()


def _to_database(folder: LibraryFolder, url: str, split: SplitText, report: Report) -> int:
    with closing(PostgresStore(url, lambda text, sections: split(text, folder.settings.split, sections))) as target:
        target.begin_filling(_name(folder))
        already = _copied(folder.store, target, report)
        target.end_filling()
    return already


def _to_folder(
    folder: LibraryFolder, new: Path, split: SplitText, indexes: Mapping[str, MakeIndex], report: Report
) -> int:
    if new.exists() and (not new.is_dir() or any(new.iterdir())):
        raise LibraryError(f"there is something at {new} already; name a folder that is not there")
    unfinished = new.absolute().with_name(f".{new.name}.moving")
    try:
        unfinished.mkdir(parents=True, mode=0o700, exist_ok=True)
        with _alone(unfinished):
            with closing(SQLiteStore(unfinished / _DATABASE, lambda *_: [])) as target:
                target.begin_filling(_name(folder))
                already = _copied(folder.store, target, report)
                target.end_filling()
            made = LibraryFolder.open(unfinished, Settings(), split, indexes)
            with closing(made):
                made.build_all(sorted(folder.indexes), lambda done, total: report("passages indexed", done, total))
            if new.exists():
                new.rmdir()
            unfinished.rename(new)
        for left in ("move.lock", "writer.lock"):
            (new / left).unlink(missing_ok=True)
        force_names(new.absolute().parent)
    except OSError as error:
        if is_full(error):
            raise DiskFull(new) from error
        raise LibraryError(f"the library cannot be moved to {new}: {error.strerror or error}") from error
    return already


def _alone(unfinished: Path) -> FileLock:
    lock = FileLock(unfinished / "move.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise LibraryBusy(f"another process is moving a library to {unfinished.name}; wait until it is done") from None
    return lock


def _copied(store: Any, target: Target, report: Report) -> int:
    """Have in the target what the store has, and nothing else; how many documents were there already."""
    source: Source = store
    with source.moment() as moment:
        wanted = moment.written()
        with target.moment() as there:
            present = {key: each.sum for key, each in there.written().items()}
        target.unfill([key for key, sum in present.items() if key not in wanted or wanted[key].sum != sum])
        already = {key for key, sum in present.items() if key in wanted and wanted[key].sum == sum}
        done = len(already)
        for keys in _pieces({key: each for key, each in wanted.items() if key not in already}):
            documents = moment.rows(keys)
            for rows in documents:
                wrong = misfit(rows, wanted[rows.facts.key].sum)
                if wrong:
                    raise LibraryDamaged(
                        f"document '{wrong.id}': {wrong.what}, so it is not moved; `wherefrom check` says what to do"
                    )
            target.fill(documents)
            done += len(documents)
            report("documents moved", done, len(wanted))
        target.fill_rest(moment.rest())
        _verify(moment, wanted, target, report)
    return len(already)


def _verify(moment: Moment, wanted: Mapping[int, Written], target: Target, report: Report) -> None:
    """Read all of it back: every text by its hash, every passage with its key, and all that is beside them."""
    with target.moment() as there:
        written = there.written()
        if written != wanted:
            raise LibraryDamaged("what was moved is not what is there; is something else writing to it? Move it again")
        done = 0
        for keys in _pieces(wanted):
            documents = there.rows(keys)
            for rows in documents:
                wrong = misfit(rows, wanted[rows.facts.key].sum)
                if wrong:
                    raise LibraryDamaged(
                        f"document '{wrong.id}' did not arrive as it was ({wrong.what}); the library that was moved is "
                        "as it was. Look whether the disk of the new one is in order"
                    )
            done += len(documents)
            report("documents verified", done, len(wanted))
        if there.rest() != moment.rest():
            raise LibraryDamaged("tags, dates or what was said of answers did not arrive as they were; move it again")


def _pieces(documents: Mapping[int, Written]) -> Iterator[list[int]]:
    """Keys of documents that are not too much at a time."""
    piece: list[int] = []
    characters = 0
    for key in sorted(documents):
        if piece and (len(piece) == _DOCUMENTS or characters + documents[key].characters > _CHARACTERS):
            yield piece
            piece, characters = [], 0
        piece.append(key)
        characters += documents[key].characters
    if piece:
        yield piece


def _name(folder: LibraryFolder) -> str:
    """By which an unfinished copy knows what it is a copy of."""
    store = folder.store
    return store.name if isinstance(store, PostgresStore) else str(folder.path.absolute())
