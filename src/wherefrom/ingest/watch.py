"""A library is kept as folders are: what appears, changes and goes in them does so in the library too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Literal, Protocol

from wherefrom.config import IngestSettings
from wherefrom.errors import IngestError, LibraryDamaged, LibraryError, PruneRefused
from wherefrom.ingest.outcome import IngestFailure
from wherefrom.ingest.run import IngestReport, ingest, ingest_changes
from wherefrom.ingest.source import file_hash
from wherefrom.ingest.walk import InputFile, walk
from wherefrom.store.library import LibraryFolder

SETTLE = 1.0  # seconds that a file has to stay as it is before it is read: it may still be being written
_MOST_GONE = 0.5  # of a folder's files at once, from so many on: more likely a disk has gone than a person tidied up
_FROM_FILES = 10
_BUSY_SECONDS = 1.0  # until a library that cannot be written to is tried again
_NET_SECONDS = 60.0  # between two looks though nothing was reported: reports get lost, and some disks give none

_Stamp = tuple[int, int, int]  # what changes with a file's content: when it was changed, its size, which file it is

What = Literal["ready", "added", "changed", "renamed", "removed", "kept", "not read", "warning", "waiting", "missing"]


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One thing that was done, or could not be: `name` is a file or folder, `detail` what there is to say of it."""

    what: What
    name: str
    detail: str = ""


class Waker(Protocol):
    """Waits until something may have happened in the folders."""

    def wait(self, seconds: float) -> None:
        """Return after so many seconds, or before where something has happened or the watch is to end."""
        ...


class Polling:
    """Looks again every so often."""

    def __init__(self, seconds: float, stop: Event) -> None:
        self._seconds = seconds
        self._stop = stop

    def wait(self, seconds: float) -> None:
        self._stop.wait(min(seconds, self._seconds))


@dataclass(frozen=True, slots=True)
class WatchRules:
    """`keep`: documents stay though their file has gone. `settle`: see `SETTLE`."""

    keep: bool = False
    settle: float = SETTLE


@dataclass
class _Root:
    """One watched folder, and what of its files is in the library."""

    path: Path
    identity: tuple[int, int] | None
    handled: dict[Path, _Stamp] = field(default_factory=dict)
    missing: bool = False


class Watch:
    """Brings folders' changes into a library until it is told to stop.

    Whatever is wrong with a file, a folder or the library at the moment is told and tried again; a damaged library
    alone ends it.
    """

    def __init__(
        self,
        library: LibraryFolder,
        folders: Sequence[Path],
        settings: IngestSettings,
        rules: WatchRules,
        tell: Callable[[WatchEvent], None],
    ) -> None:
        self._library = library
        self._settings = settings
        self._rules = rules
        self._tell = tell
        self._roots = [_Root(path.absolute(), _identity(path)) for path in folders]
        self._seen: dict[Path, tuple[_Stamp | None, float]] = {}  # what is not yet as it was for long enough
        self._waiting = ""

    def run(self, waker: Waker, stop: Event) -> None:
        """Until `stop` is set: catch up, then do what happens."""
        while not stop.is_set() and not self.catch_up():
            stop.wait(_BUSY_SECONDS)
        while not stop.is_set():
            settled = self.look()
            if not stop.is_set():
                waker.wait(_NET_SECONDS if settled else self._rules.settle / 2)

    def catch_up(self) -> bool:
        """Bring in whatever has changed since the folders were last ingested; whether that could be done."""
        before = {root.path: _stamps(root) or {} for root in self._roots}
        paths = [root.path for root in self._roots]
        try:
            try:
                report = ingest(self._library, paths, self._settings, prune=not self._rules.keep)
            except PruneRefused as refused:
                self._tell(WatchEvent("kept", ", ".join(map(str, paths)), str(refused)))
                report = ingest(self._library, paths, self._settings)
        except LibraryError as error:
            return self._later(error)
        self._waiting = ""
        self._tell_failures(report)
        for id in report.removed:
            self._tell(WatchEvent("removed", id, "its file has gone"))
        for root in self._roots:
            root.handled = dict(before[root.path])
        counts = f"{report.added:,} added, {report.replaced:,} replaced, {report.unchanged:,} unchanged"
        self._tell(
            WatchEvent(
                "ready", ", ".join(map(str, paths)), f"{counts}; the library holds {report.documents:,} documents"
            )
        )
        return True

    def look(self) -> bool:
        """Do what has happened since the last look; False where some of it is not settled yet or has to wait."""
        settled = True
        for root in self._roots:
            stamps = _stamps(root)
            if stamps is None:
                self._missing(root)
                continue
            root.missing = False
            changed, gone, unsettled = self._changes(root, stamps)
            settled = settled and not unsettled
            if gone and self._too_many(root, gone, stamps):
                gone = []
            if (changed or gone) and not self._bring_in(root, changed, gone, stamps):
                settled = False
        return settled

    def _changes(self, root: _Root, stamps: Mapping[Path, _Stamp]) -> tuple[list[Path], list[Path], bool]:
        """Files that are new or other than they were, files that are gone, and whether any is still changing."""
        now = time.monotonic()
        differing = [path for path in {**root.handled, **stamps} if root.handled.get(path) != stamps.get(path)]
        waiting = {path: (stamps.get(path), self._since(path, stamps.get(path), now)) for path in differing}
        self._seen = {path: noted for path, noted in self._seen.items() if not _inside(root, path)} | waiting
        ready = [path for path in differing if now - waiting[path][1] >= self._rules.settle]
        changed = [path for path in ready if path in stamps]
        return changed, [path for path in ready if path not in stamps], len(ready) < len(differing)

    def _since(self, path: Path, stamp: _Stamp | None, now: float) -> float:
        """Since when a file is as it is now, as far as was seen."""
        before = self._seen.get(path)
        return before[1] if before is not None and before[0] == stamp else now

    def _bring_in(
        self, root: _Root, changed: Sequence[Path], gone: Sequence[Path], stamps: Mapping[Path, _Stamp]
    ) -> bool:
        store = self._library.store
        before = {path: store.file_hash(str(path)) for path in (*changed, *gone)}
        known = {path: store.with_source(str(path)) for path in (*changed, *gone)}
        renamed = _renamed([path for path in changed if not known[path]], {path: before[path] for path in gone})
        tags = {path: [list(store.tags(id)) for id in known[old]] for path, old in renamed.items()}
        leaving = [id for path in gone for id in known[path]] if not self._rules.keep else []
        files = [InputFile(path, path.relative_to(root.path).as_posix(), named=False) for path in changed]
        try:
            report = ingest_changes(self._library, files, leaving, self._settings)
        except LibraryError as error:
            return self._later(error)
        self._waiting = ""
        self._tell_failures(report)
        for path in changed:
            after = store.file_hash(str(path))
            if path in renamed:
                for id, names in zip(store.with_source(str(path)), tags[path], strict=False):
                    store.tag([id], names)
                self._tell(WatchEvent("renamed", _name(root, path), f"from {_name(root, renamed[path])}"))
            elif after is not None and after != before[path]:
                self._tell(WatchEvent("changed" if known[path] else "added", _name(root, path)))
        for path in gone:
            if known[path] and path not in renamed.values():
                what: What = "kept" if self._rules.keep else "removed"
                self._tell(WatchEvent(what, _name(root, path), "its file has gone"))
        for path in changed:
            root.handled[path] = stamps[path]
        for path in gone:
            root.handled.pop(path, None)
        return True

    def _too_many(self, root: _Root, gone: Sequence[Path], stamps: Mapping[Path, _Stamp]) -> bool:
        """Whether so much has gone at once that it had better stay; told once."""
        lost = [path for path in gone if self._library.store.with_source(str(path))]
        if self._rules.keep or len(lost) < _FROM_FILES or len(lost) <= _MOST_GONE * len(root.handled):
            return False
        for path in gone:
            root.handled.pop(path, None)
        self._tell(
            WatchEvent(
                "kept",
                str(root.path),
                f"{len(lost):,} of its {len(stamps) + len(gone):,} files have gone at once; their documents are kept. "
                "Is its disk mounted? If they are to go: `wherefrom remove --gone`",
            )
        )
        return True

    def _missing(self, root: _Root) -> None:
        if not root.missing:
            self._tell(
                WatchEvent(
                    "missing",
                    str(root.path),
                    "the folder is not there, or another disk is in its place; waiting for it",
                )
            )
        root.missing = True

    def _later(self, error: LibraryError) -> bool:
        """False, after telling once why it has to wait; a library that will not get better by itself is an error."""
        if isinstance(error, LibraryDamaged) or not self._library.writable:
            raise error
        if str(error) != self._waiting:
            self._waiting = str(error)
            self._tell(WatchEvent("waiting", str(self._library.path), str(error)))
        return False

    def _tell_failures(self, report: IngestReport) -> None:
        told_apart: tuple[tuple[What, Iterable[IngestFailure]], ...] = (
            ("not read", report.failures),
            ("warning", report.warnings),
        )
        for what, complaints in told_apart:
            for each in complaints:
                self._tell(WatchEvent(what, each.name, each.reason))


def _stamps(root: _Root) -> dict[Path, _Stamp] | None:
    """Every file of a folder as it is now; None where the folder is not there, or another stands in its place.

    Another does where a disk is not mounted, or is mounted over it: what is not seen then has not gone.
    """
    now = _identity(root.path)
    if now is None or (root.identity is not None and now[0] != root.identity[0]):
        return None
    root.identity = now
    stamps: dict[Path, _Stamp] = {}
    for file in walk([root.path]):
        if isinstance(file, IngestFailure):  # told when the watch began
            continue
        try:
            facts = file.path.stat()
        except OSError:  # gone in this moment; or a link that leads nowhere
            continue
        stamps[file.path.absolute()] = facts.st_mtime_ns, facts.st_size, facts.st_ino
    return stamps if root.path.is_dir() else None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which disk a folder is on, and which folder of it."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _renamed(fresh: Sequence[Path], gone: Mapping[Path, bytes | None]) -> dict[Path, Path]:
    """Of new files, those that are what one that is gone was, byte for byte, and which one that is."""
    left = {digest: path for path, digest in gone.items() if digest is not None}
    renamed: dict[Path, Path] = {}
    for path in fresh if left else ():
        try:
            digest = file_hash(path)
        except IngestError:
            continue
        if digest in left:
            renamed[path] = left.pop(digest)
    return renamed


def _inside(root: _Root, path: Path) -> bool:
    return root.path in path.parents


def _name(root: _Root, path: Path) -> str:
    return path.relative_to(root.path).as_posix()
