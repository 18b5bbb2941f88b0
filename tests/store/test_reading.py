"""Whoever may not write to a library reads it all the same."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from wherefrom import Library
from wherefrom.cli import main
from wherefrom.config import Settings
from wherefrom.errors import LibraryError
from wherefrom.ingest.split import split
from wherefrom.server.folder import ServerFolder
from wherefrom.server.keys import Keys
from wherefrom.store.library import LibraryFolder

CHILD = Path(__file__).with_name("reader_child.py")
NOTES = {"boiler.md": "The boiler was serviced by Marta in May.", "garden.txt": "Roses grow behind the shed."}

as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user, who may not write"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="wherefrom-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def library(folder: Path) -> Library:
    notes = folder / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text)
    library = Library(folder / "library")
    library.ingest([notes])
    library.build_index("tfidf")
    library.close()
    shutil.copytree(library.path, folder / "warm")
    open_to_all(library.path)
    return library


def open_to_all(path: Path) -> None:
    """Others may look, and change nothing."""
    for each in [path, *path.rglob("*")]:
        each.chmod(0o755 if each.is_dir() else 0o644)


def read(library: Library, kind: str = "bm25") -> subprocess.Popen[str]:
    command = [sys.executable, str(CHILD), str(library.path), str(library.path.parent / "warm"), kind]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=library.path.parent)


def sees(reader: subprocess.Popen[str]) -> dict[str, Any]:
    assert reader.stdout is not None
    line = reader.stdout.readline()
    assert line, f"the reader has died with status {reader.wait()}"
    seen: dict[str, Any] = json.loads(line)
    return seen


def listing(path: Path) -> dict[str, tuple[int, int]]:
    return {str(each): (each.stat().st_size, each.stat().st_mtime_ns) for each in path.rglob("*")}


def expect(seen: dict[str, Any], ids: list[str]) -> None:
    assert seen["ids"] == ids
    assert seen["found"] == ["garden.txt"]
    assert seen["text"] == seen["passage"] == NOTES["garden.txt"]
    assert seen["problems"] == []


@as_root
@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
def test_another_user_reads_and_leaves_nothing_behind(library: Library, kind: str) -> None:
    before = listing(library.path)
    with read(library, kind) as reader:
        expect(sees(reader), ["boiler.md", "garden.txt"])
        assert reader.stdin is not None
        reader.stdin.close()
    assert reader.returncode == 0
    assert listing(library.path) == before


@as_root
@pytest.mark.parametrize("kind", ["bm25", "tfidf"])
def test_another_user_sees_what_the_owner_adds(library: Library, kind: str) -> None:
    with read(library, kind) as reader:
        expect(sees(reader), ["boiler.md", "garden.txt"])
        (library.path.parent / "notes" / "shed.txt").write_text("The shed is green.")
        library.ingest([library.path.parent / "notes"])  # and stays open: the reader uses the owner's files
        open_to_all(library.path)
        assert reader.stdin is not None
        reader.stdin.write("again\n")
        reader.stdin.flush()
        expect(sees(reader), ["boiler.md", "garden.txt", "shed.txt"])
    library.close()


@as_root
@pytest.mark.parametrize("left", ["log and index of it", "log alone"])
def test_what_a_killed_writer_left_in_the_log_is_read(library: Library, left: str) -> None:
    """The last document is in the log and not yet in the database's own file."""
    store = library._folder().store
    (library.path.parent / "notes" / "shed.txt").write_text("The shed is green.")
    connection = sqlite3.connect(store.path)  # keeps the log from being cleared when the library is closed
    connection.execute("SELECT count(*) FROM document").fetchone()
    library.ingest([library.path.parent / "notes"])
    killed = library.path.with_name("killed")
    shutil.copytree(library.path, killed)
    connection.close()
    library.close()
    if left == "log alone":
        (killed / "documents.sqlite-shm").unlink()
    assert (killed / "documents.sqlite-wal").stat().st_size
    open_to_all(killed)
    with read(Library(killed)) as reader:
        expect(sees(reader), ["boiler.md", "garden.txt", "shed.txt"])
        assert reader.stdin is not None
        reader.stdin.close()


@as_root
def test_what_a_reader_may_not_do_is_said(library: Library) -> None:
    code = (
        "import os, sys\nfrom wherefrom import Library\nfrom wherefrom.errors import LibraryError\n"
        "warm = Library(sys.argv[2])\nwarm.remove(['garden.txt'])\nwarm.close()\n"
        "os.setresuid(65534, 65534, 65534)\n"
        "try:\n    Library(sys.argv[1]).remove(['garden.txt'])\nexcept LibraryError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(library.path), str(library.path.parent / "warm")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "cannot be written to: Permission denied; it can be read" in done.stdout


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o477, 0o777])
def test_a_library_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = LibraryFolder(tmp_path / "made", Settings(), split, {})
        with suppress(LibraryError):  # nobody can write files that nobody may write
            LibraryFolder.open(folder.path, Settings(), split, {}, create=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


@as_root
def test_read_only_media_are_read_by_every_command_that_only_reads(
    library: Library, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Keys(ServerFolder(library.path)).add("mine", "read")
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a disk")
    try:
        shutil.copytree(library.path, disk / "library")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for line, shown in READING.items():
            assert code_of(f"{line} --library {disk / 'library'}") == 0, capsys.readouterr()
            assert shown in capsys.readouterr().out
        for line in ("remove garden.txt", "index bm25", "keys add other", "serve --port 0", f"ingest {folder}"):
            assert code_of(f"{line} --library {disk / 'library'}") == 3, line
            assert "cannot be written to" in capsys.readouterr().err
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


READING = {
    "list": "garden.txt",
    "show boiler.md": "Marta",
    "search roses --set retrieve.match=none --set rank.kind=none": "garden.txt#0",
    "search roses --set retrieve.kind=tfidf --set retrieve.match=none --set rank.kind=none": "garden.txt#0",
    "check": "sound: 2 documents",
    "check --no-repair": "sound: 2 documents",
    "config": "[retrieve]",
    "keys list": "mine",
}


def code_of(line: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    return ended.value.code


def test_an_earlier_format_that_may_not_be_written_to_is_said(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(library.path / "documents.sqlite") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    monkeypatch.setattr("wherefrom.store.database.os.access", lambda *_: False)
    with pytest.raises(LibraryError, match=r"earlier format .* you may not write to it"):
        library.documents()
