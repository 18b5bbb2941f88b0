"""Backups: consistent while somebody writes, whole or not there, verified when they are restored."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import LibraryDamaged, LibraryError, LibraryTooNew
from wherefrom.store.feedback import Feedback
from wherefrom.types import Document

DOCUMENTS = [Document(f"n{each}.md", f"Note {each}: the boiler hums.\n\nSo it does.", "Notes") for each in range(9)]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "library", resolve(overrides=["retrieve.kind=tfidf"]))
    library.put(DOCUMENTS)
    library.put([Document("n1.md", "Changed.")])
    library.remove(["n2.md"])
    library.add_feedback(Feedback("Does it hum?", "right", "Yes", given="2026-01-01"))
    return library


def test_what_is_restored_is_what_there_was_with_every_index(library: Library, tmp_path: Path) -> None:
    written = library.backup(tmp_path / "notes.backup")
    assert (written.documents, written.bytes) == (8, (tmp_path / "notes.backup").stat().st_size)
    report, extras = Library.restore(tmp_path / "notes.backup", tmp_path / "new" / "place")
    assert (report.documents, report.passages, extras) == (*library.counts(), {})
    again = Library(tmp_path / "new" / "place")
    assert again.documents() == library.documents()
    assert all(again.document(facts.id) == library.document(facts.id) for facts in library.documents())
    assert list(again.feedback()) == list(library.feedback())
    assert again.check(repair=False).problems == ()
    assert sorted(folder.name for folder in (again.path / "index").iterdir()) == ["bm25", "tfidf"]
    (best, *_) = again.search("note 5", 5).hits
    assert best.passage == Library(library.path).search("note 5", 5).hits[0].passage
    assert best.passage.document_id == "n5.md"
    assert again.settings().split == library.settings().split
    assert oct(again.path.stat().st_mode)[-3:] == "700"
    again.put([Document("later.md", "It can be written to.")])
    assert again.check().problems == ()


def test_a_backup_is_of_one_instant_though_somebody_writes(library: Library, tmp_path: Path) -> None:
    """A writer puts pairs; a backup that had one of a pair alone would be of no instant."""
    ended = threading.Event()

    def write() -> None:
        with Library(library.path) as writer:
            for number in range(1000):
                if ended.is_set():
                    return
                writer.put([Document(f"pair{number}a", "one"), Document(f"pair{number}b", "other")])

    writing = threading.Thread(target=write)
    writing.start()
    try:
        for number in range(3):
            library.backup(tmp_path / f"{number}.backup")
    finally:
        ended.set()
        writing.join()
    counts = []
    for number in range(3):
        Library.restore(tmp_path / f"{number}.backup", tmp_path / f"new{number}")
        ids = [facts.id for facts in Library(tmp_path / f"new{number}").documents() if facts.id.startswith("pair")]
        assert len(ids) % 2 == 0
        assert {id[:-1] + "a" for id in ids} | {id[:-1] + "b" for id in ids} == set(ids)
        counts.append(len(ids))
    assert counts == sorted(counts)


def test_a_damaged_backup_is_refused_or_harmless_wherever_it_is_damaged(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "notes.backup"
    library.backup(file)
    sound = file.read_bytes()
    chance, refused = random.Random(3), 0
    places = [*range(0, 30, 7), *chance.sample(range(len(sound)), 12), *range(len(sound) - 60, len(sound), 9)]
    for number, place in enumerate(places):
        file.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        new = tmp_path / f"new{number}"
        try:
            Library.restore(file, new)
        except LibraryError:
            refused += 1
            assert not new.exists()
        else:
            assert Library(new).documents() == library.documents()
    assert refused > len(places) / 2
    for length in (0, 10, len(sound) // 2, len(sound) - 1):
        file.write_bytes(sound[:length])
        with pytest.raises(LibraryDamaged, match=r"notes\.backup"):
            Library.restore(file, tmp_path / "cut")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".cut")]


def test_a_manifest_that_lies_is_not_believed(library: Library, tmp_path: Path) -> None:
    library.backup(tmp_path / "good.backup", {"keys.json": b"[]"})
    with zipfile.ZipFile(tmp_path / "good.backup") as good:
        contents = {name: good.read(name) for name in good.namelist()}
    manifest = json.loads(contents["manifest.json"])
    for change, error, message in (
        ({"format": 1000}, LibraryTooNew, "Upgrade wherefrom"),
        ({"archive": 2}, LibraryTooNew, "later version"),
        ({"kind": "another"}, LibraryDamaged, "is no backup of a library"),
        ({"files": {}}, LibraryDamaged, "without documents"),
        ({"files": {**manifest["files"], "keys.json": {"bytes": 2, "blake2b": "00"}}}, LibraryDamaged, r"keys\.json"),
        ({"files": {**manifest["files"], "../../x": {"bytes": 2, "blake2b": "00"}}}, LibraryDamaged, "x"),
    ):
        with zipfile.ZipFile(tmp_path / "bad.backup", "w") as bad:
            for name, content in contents.items():
                bad.writestr(name, json.dumps({**manifest, **change}) if name == "manifest.json" else content)
        with pytest.raises(error, match=message):
            Library.restore(tmp_path / "bad.backup", tmp_path / "new")
        assert not (tmp_path / "new").exists()


def test_a_damaged_library_is_not_backed_up(library: Library, tmp_path: Path) -> None:
    library.backup(tmp_path / "notes.backup")
    before = (tmp_path / "notes.backup").read_bytes()
    library.close()
    with sqlite3.connect(library.path / "documents.sqlite") as connection:
        connection.execute("UPDATE document SET text = 'Another.' WHERE id = 'n3.md'")
    with pytest.raises(LibraryDamaged, match=r"not backed up \(document 'n3.md': its text is not the one"):
        library.backup(tmp_path / "notes.backup", force=True)
    assert (tmp_path / "notes.backup").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "notes.backup"]


def test_nothing_that_is_there_is_written_over(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "notes.backup"
    library.backup(file)
    with pytest.raises(LibraryError, match="--force"):
        library.backup(file)
    library.backup(file, force=True)
    with pytest.raises(LibraryError, match="there is no folder"):
        library.backup(tmp_path / "none" / "notes.backup")
    with pytest.raises(LibraryError, match="already"):
        Library.restore(file, library.path)
    with pytest.raises(LibraryError, match="there is no file"):
        Library.restore(tmp_path / "none.backup", tmp_path / "new")
    (tmp_path / "empty").mkdir()
    Library.restore(file, tmp_path / "empty")
    assert Library(tmp_path / "empty").counts() == library.counts()


def wherefrom(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wherefrom", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ})


def test_the_command_line_leaves_keys_out_unless_they_are_asked_for(library: Library, tmp_path: Path) -> None:
    here = ["--library", str(library.path)]
    assert wherefrom(*here, "keys", "add", "me").returncode == 0
    plain, full = str(tmp_path / "plain.backup"), str(tmp_path / "full.backup")
    done = wherefrom(*here, "backup", plain)
    assert done.stdout.startswith(f"{plain} holds 8 documents in ")
    assert " and the keys; " in wherefrom(*here, "backup", full, "--keys").stdout
    assert json.loads(wherefrom(*here, "backup", full, "--keys", "--force", "--json").stdout)["extras"] == ["keys.json"]
    for file, options, expected in (
        (plain, ["--keys"], ""),
        (full, [], "The backup also has the keys of its server, which were left out; --keys takes them."),
        (full, ["--keys"], "Its server has the 1 keys of then."),
    ):
        new = str(tmp_path / f"new{len(options)}{len(expected)}")
        done = wherefrom("restore", file, new, *options)
        assert done.returncode == 0, done.stderr
        assert (done.stdout.splitlines()[1:] or [""]) == [expected]
        listed = wherefrom("--library", new, "keys", "list").stdout
        assert ("me" in listed) == expected.startswith("Its server")
    assert wherefrom("restore", full, new).returncode == 3
