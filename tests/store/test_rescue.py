"""What can be read of a damaged library is saved into a new one; the rest is named, and the old one is left alone."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from attack.damage import place

from wherefrom import Library
from wherefrom.cli import main
from wherefrom.config import resolve
from wherefrom.errors import LibraryBusy, LibraryDamaged, LibraryError, LibraryMissing
from wherefrom.store.feedback import Feedback
from wherefrom.types import Document, Place

PAGE = 4096


def text_of(number: int) -> str:
    chance = random.Random(number)
    words = [f"{chance.choice('abcdefgh')}{chance.randrange(300)}" for _ in range(chance.randrange(20, 900))]
    return f"Mark{number} is the näme.\n\n" + ". ".join(" ".join(words[at : at + 9]) for at in range(0, len(words), 9))


PLACES = (Place(0, "page 1", 1), Place(9, "Notes"))
DOCUMENTS = {
    f"note-{number}.md": Document(
        f"note-{number}.md", text_of(number), f"Note {number}", f"/n/{number}", "2024-02-03", PLACES
    )
    for number in range(30)
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With documents that were replaced and removed, so that old pages lie about."""
    path = tmp_path_factory.mktemp("made") / "library"
    with Library(path, resolve(overrides=["split.words=40"])) as library:
        library.put([Document(id, text_of(900 + at), "Old", "/old") for at, id in enumerate(DOCUMENTS)])
        library.put([Document(f"gone-{number}", text_of(500 + number), "Gone") for number in range(10)])
        library.put(list(DOCUMENTS.values()))
        library.remove([f"gone-{number}" for number in range(10)])
        library.add_feedback(Feedback("Who?", "right", "Me"))
    return path


@pytest.fixture
def old(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "old"))


def contents(path: Path) -> dict[str, Document]:
    with Library(path) as library:
        assert library.check(repair=False).problems == ()
        return {facts.id: library.document(facts.id) for facts in library.documents()}


def listing(path: Path) -> dict[str, tuple[int, int]]:
    return {str(each): (each.stat().st_size, each.stat().st_mtime_ns) for each in path.rglob("*")}


def overwrite(file: Path, at: int, data: bytes) -> None:
    with file.open("r+b") as handle:
        handle.seek(at)
        handle.write(data)


def test_a_sound_library_comes_through_whole(old: Path, tmp_path: Path) -> None:
    before = listing(old)
    report = Library(old).rescue(tmp_path / "new")
    assert report.whole
    assert listing(old) == before
    assert contents(tmp_path / "new") == DOCUMENTS
    with Library(tmp_path / "new") as library:
        assert [feedback.question for feedback in library.feedback()] == ["Who?"]
        assert library.settings().split.words == 40
        assert library.passages_of("note-3.md") == Library(old).passages_of("note-3.md")


def test_a_lost_text_is_named_with_its_file_and_all_others_are_saved(old: Path, tmp_path: Path) -> None:
    data = (old / "documents.sqlite").read_bytes()
    overwrite(old / "documents.sqlite", data.index(b"Mark7 is"), b"Mark8")
    report = Library(old).rescue(tmp_path / "new")
    assert [(lost.id, lost.source) for lost in report.lost] == [("note-7.md", "/n/7")]
    assert report.again == ("/n/7",)
    assert contents(tmp_path / "new") == {id: each for id, each in DOCUMENTS.items() if id != "note-7.md"}


@pytest.mark.parametrize("length", [100, 3000])
def test_without_the_head_of_the_database_nothing_else_is_lost(old: Path, tmp_path: Path, length: int) -> None:
    overwrite(old / "documents.sqlite", 0, bytes(length))
    report = Library(old).rescue(tmp_path / "new")
    assert contents(tmp_path / "new") == DOCUMENTS
    assert not report.lost
    assert report.feedback == 1


@pytest.mark.parametrize("seed", range(6))
def test_whatever_breaks_what_is_saved_is_right_and_what_is_not_is_named(old: Path, tmp_path: Path, seed: int) -> None:
    chance, file = random.Random(seed), old / "documents.sqlite"
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 4, 20))):
        at, _ = place(bytes(data), file.name, chance)
        length = chance.choice((1, 30, PAGE))
        data[at : at + length] = chance.randbytes(len(data[at : at + length]))
    file.write_bytes(data)
    report = Library(old).rescue(tmp_path / "new")
    saved = contents(tmp_path / "new")
    for id, document in saved.items():
        assert document == DOCUMENTS[id] or id in report.unsure
    missing = DOCUMENTS.keys() - saved.keys() - {lost.id for lost in report.lost}
    assert len(missing) <= sum(not lost.id for lost in report.lost) or any("missing" in note for note in report.notes)


def test_what_a_killed_writer_left_in_the_log_is_saved(old: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom wherefrom import Library\nfrom wherefrom.types import Document\n"
        "library = Library(sys.argv[1])\nlibrary.put([Document('late', 'A late text.', 'Late')])\nos._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(old)], check=True, timeout=60)
    assert (old / "documents.sqlite-wal").stat().st_size
    before = listing(old)
    report = Library(old).rescue(tmp_path / "new")
    assert report.whole
    assert contents(tmp_path / "new").keys() == {*DOCUMENTS, "late"}
    assert listing(old) == before


def test_a_library_of_the_first_format_is_rescued(old: Path, tmp_path: Path) -> None:
    from attack.kills import aged

    aged(old)
    report = Library(old).rescue(tmp_path / "new")
    assert (report.lost, report.unsure, report.notes) == ((), (), ())
    assert {id: each.text for id, each in contents(tmp_path / "new").items()} == {
        id: each.text for id, each in DOCUMENTS.items()
    }


def nothing_left(old: Path) -> None:
    (old / "documents.sqlite").write_bytes(b"garbage" * 1000)
    (old / "library.toml").unlink()


def nothing_there(old: Path) -> None:
    shutil.rmtree(old)


def something_in_the_way(old: Path) -> None:
    (old.parent / "new").mkdir()
    (old.parent / "new" / "mine.txt").touch()


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (nothing_left, LibraryDamaged, "nothing can be read"),
        (nothing_there, LibraryMissing, "there is no library"),
        (something_in_the_way, LibraryError, "is there already"),
    ],
)
def test_what_cannot_be_done_is_said(
    old: Path, tmp_path: Path, spoil: Callable[[Path], None], error: type[LibraryError], message: str
) -> None:
    spoil(old)
    with pytest.raises(error, match=message):
        Library(old).rescue(tmp_path / "new")
    assert not (tmp_path / "new.unfinished").exists()


def test_one_that_is_being_written_to_is_not_rescued(old: Path, tmp_path: Path) -> None:
    with Library(old) as library, library._folder().writing(), pytest.raises(LibraryBusy):
        Library(old).rescue(tmp_path / "new")


def test_the_command_says_what_was_saved_what_was_lost_and_what_to_do(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(old / "documents.sqlite")) as connection, connection:
        connection.execute("UPDATE document SET text = 'other' WHERE id = 'note-7.md'")
        connection.execute("DELETE FROM document WHERE id = 'note-9.md'")
    with pytest.raises(SystemExit) as ended:
        main(["rescue", str(old), str(tmp_path / "new")])
    assert ended.value.code == 1
    shown = capsys.readouterr().out
    assert "saved  28 documents" in shown
    assert "lost   note-7.md: its text is not the one that was written" in shown
    assert "lost   1 document of which not even the name can be read" in shown
    assert "ingest again: /n/7" in shown
    with pytest.raises(SystemExit):
        main(["rescue", str(old), str(tmp_path / "newer"), "--json"])
    written = json.loads(capsys.readouterr().out)
    assert (written["documents"], written["again"]) == (28, ["/n/7"])
