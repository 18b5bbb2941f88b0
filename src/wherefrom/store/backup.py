"""A library in one file, taken while it may be written to; and made of that file again, whole or not at all.

The file is a zip archive of `documents.sqlite` as it was at one instant, of whatever else is asked for, and of
`manifest.json`, which has the checksum of each. Indexes are not in it: they are made of the
documents when it is restored.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from wherefrom import __version__
from wherefrom.config import Settings
from wherefrom.durable import force_names, write_whole
from wherefrom.errors import LibraryDamaged, LibraryError, LibraryTooNew
from wherefrom.store import schema
from wherefrom.store.library import LibraryFolder, MakeIndex, SplitText
from wherefrom.store.sqlite import SQLiteStore

_KIND = "wherefrom backup"
_FORMAT = 1  # of the archive; what is in the database has a format of its own
_MANIFEST = "manifest.json"
_DATABASE = "documents.sqlite"
_PIECE = 1 << 20
_LEVEL = 3  # of compression: half the time of the usual 6, and a tenth more bytes

Extras = Mapping[str, bytes]  # more files of a backup, by name


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What a backup holds, or what was restored from one."""

    path: str
    documents: int
    passages: int
    bytes: int  # of the backup
    made: str
    extras: tuple[str, ...]
    seconds: float


def backup(folder: LibraryFolder, file: Path, extras: Extras, force: bool) -> BackupReport:
    """Write a library into one file, which is there whole or not at all; nobody has to stop writing.

    A damaged library is refused: its backup would take the place of a sound one.
    """
    begun = time.perf_counter()
    if file.exists() and not force:
        raise LibraryError(f"{file} is there already; name another file, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise LibraryError(f"there is no folder {file.absolute().parent}")
    manifest: dict[str, Any] = {}
    try:
        write_whole(file, lambda unfinished: manifest.update(_written(folder, unfinished, extras)))
    except OSError as error:
        raise LibraryError(f"the backup {file} cannot be written: {error.strerror or error}") from error
    return _report(file, manifest, file.stat().st_size, begun)


def restore(
    file: Path,
    new: Path,
    split: SplitText,
    indexes: Mapping[str, MakeIndex],
    report: Callable[[int, int], None] = lambda *_: None,
) -> tuple[BackupReport, dict[str, bytes]]:
    """Make a library at `new` of a backup: verified, with its indexes built; and what else was in the backup.

    `report` is called with how many passages of how many are indexed. Until all is done there is nothing at `new`.
    """
    begun = time.perf_counter()
    if new.exists() and (not new.is_dir() or any(new.iterdir())):
        raise LibraryError(f"there is something at {new} already; name a folder that is not there")
    try:
        new.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{new.name}-", dir=new.absolute().parent) as workplace:
            made = Path(workplace) / "library"
            made.mkdir(mode=0o700)
            manifest, extras = _unpacked(file, made)
            _completed(made, manifest, split, indexes, report)
            if new.exists():
                new.rmdir()
            made.rename(new)
        force_names(new.absolute().parent)
    except OSError as error:
        raise LibraryError(f"the backup {file} cannot be restored to {new}: {error.strerror or error}") from error
    return _report(new, manifest, file.stat().st_size, begun), extras


def _written(folder: LibraryFolder, unfinished: Path, extras: Extras) -> dict[str, Any]:
    copy = unfinished.with_name(_DATABASE)
    folder.store.copy_to(copy)
    facts = _verified(copy)
    files: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        with copy.open("rb") as source, archive.open(_DATABASE, "w", force_zip64=True) as target:
            files[_DATABASE] = _copied(source, target)
        for name, content in extras.items():
            archive.writestr(name, content)
            files[name] = {"bytes": len(content), "blake2b": _digest(content)}
        manifest = {
            "kind": _KIND,
            "archive": _FORMAT,
            "wherefrom": __version__,
            "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **facts,
            "indexes": sorted(folder.indexes),
            "files": files,
        }
        archive.writestr(_MANIFEST, json.dumps(manifest, indent=2))
    copy.unlink()
    return manifest


def _verified(copy: Path) -> dict[str, int]:
    """What the copied database holds, once it is known to be sound."""
    store = SQLiteStore(copy, lambda *_: [])
    with closing(store):
        faults = [*store.problems(), *(f"document '{misfit.id}': {misfit.what}" for misfit in store.misfits())]
        if faults:
            more = f", and {len(faults) - 1:,} more" if len(faults) > 1 else ""
            raise LibraryDamaged(
                f"the library is damaged and was not backed up ({faults[0]}{more}); `wherefrom check` says what to do"
            )
        documents, passages = store.counts()
        return {"format": store.format(), "documents": documents, "passages": passages}


def _unpacked(file: Path, made: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The database in its place, and the other files; an error where any of them is not what was written."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _manifest(file, archive.read(_MANIFEST))
            with archive.open(_DATABASE) as source, (made / _DATABASE).open("xb") as target:
                sums = {_DATABASE: _copied(source, target)}
            extras = {name: archive.read(name) for name in manifest["files"] if name != _DATABASE}
    except FileNotFoundError as error:
        raise LibraryError(f"there is no file {file}") from error
    except (zipfile.BadZipFile, zipfile.LargeZipFile, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        raise LibraryDamaged(f"{file} is no backup of a library, or a damaged one ({error})") from error
    except Exception as error:  # zlib's own error has no public class that all versions share
        if type(error).__module__ != "zlib":
            raise
        raise LibraryDamaged(f"{file} is damaged ({error})") from error
    sums |= {name: {"bytes": len(content), "blake2b": _digest(content)} for name, content in extras.items()}
    for name, written in manifest["files"].items():
        if sums.get(name) != written:
            raise LibraryDamaged(f"{file} is damaged: {name} in it is not what was written; use another backup")
    return manifest, extras


def _manifest(file: Path, data: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
        if not isinstance(manifest, dict) or manifest.get("kind") != _KIND:
            raise LibraryDamaged(f"{file} is no backup of a library")
        if manifest["archive"] > _FORMAT:
            raise LibraryTooNew(f"{file} was made by a later version of wherefrom; upgrade wherefrom to restore it")
        if manifest["format"] > schema.FORMAT:
            raise LibraryTooNew(schema.too_new(manifest["format"]))
        if _DATABASE not in manifest["files"]:
            raise LibraryDamaged(f"{file} is a backup without documents")
    except (ValueError, KeyError, TypeError) as error:
        raise LibraryDamaged(f"{file} is a damaged backup: what it says of itself cannot be read") from error
    return manifest


def _completed(
    made: Path,
    manifest: Mapping[str, Any],
    split: SplitText,
    indexes: Mapping[str, MakeIndex],
    report: Callable[[int, int], None],
) -> None:
    """Build the indexes, and look whether all is as it should be."""
    folder = LibraryFolder.open(made, Settings(), split, indexes)
    with closing(folder):
        folder.build_all(sorted({*manifest["indexes"]} & {*indexes}), report)
        with folder.mending():
            problems = [problem.what for problem in folder.problems(repair=False)]
        if problems:
            raise LibraryDamaged(f"what the backup gave is not sound: {problems[0]}; use another backup")
    (made / "writer.lock").unlink(missing_ok=True)


def _copied(source: BinaryIO | Any, target: BinaryIO | Any) -> dict[str, Any]:
    """Copy, and give the checksum of what was copied."""
    digest, length = hashlib.blake2b(digest_size=32), 0
    while piece := source.read(_PIECE):
        digest.update(piece)
        target.write(piece)
        length += len(piece)
    return {"bytes": length, "blake2b": digest.hexdigest()}


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def _report(path: Path, manifest: Mapping[str, Any], size: int, begun: float) -> BackupReport:
    return BackupReport(
        str(path),
        manifest["documents"],
        manifest["passages"],
        size,
        manifest["made"],
        tuple(name for name in manifest["files"] if name != _DATABASE),
        time.perf_counter() - begun,
    )
