"""A watched folder: what appears, changes, moves and goes in it does so in the library, whatever the trouble."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.errors import LibraryDamaged
from wherefrom.ingest import waking
from wherefrom.ingest.watch import Watch, WatchEvent, WatchRules
from wherefrom.types import Filter


class Watching:
    """A library, a folder, and a watch that looks when it is told to."""

    def __init__(self, place: Path, rules: WatchRules) -> None:
        self.folder = place / "files"
        self.folder.mkdir()
        self.library = Library(place / "library")
        self.library.make()
        self.events: list[WatchEvent] = []
        self.rules = rules
        self.watch = self.another()

    def another(self) -> Watch:
        settings = self.library.settings().ingest
        return Watch(self.library._folder(), [self.folder], settings, self.rules, self.events.append)

    def write(self, name: str, text: str = "The boiler hums.") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def catch_up(self) -> list[tuple[str, str]]:
        self.watch.catch_up()
        return self.new_events()

    def look(self) -> list[tuple[str, str]]:
        """Two looks: in the first a change is seen, in the second it is settled."""
        self.watch.look()
        self.watch.look()
        return self.new_events()

    def new_events(self) -> list[tuple[str, str]]:
        events, self.events[:] = [(event.what, event.name) for event in self.events], []
        return events

    @property
    def ids(self) -> list[str]:
        return [facts.id for facts in self.library.documents()]


@pytest.fixture
def watching(tmp_path: Path) -> Watching:
    return Watching(tmp_path, WatchRules(settle=0.0))


def test_it_catches_up_and_then_does_what_happens(watching: Watching) -> None:
    watching.write("a.md", "# One\n\nThe boiler hums.\n")
    assert watching.catch_up() == [("ready", str(watching.folder))]
    assert watching.ids == ["a.md"]
    assert watching.look() == []

    watching.write("deep/b.txt", "The garden is small.")
    assert watching.look() == [("added", "deep/b.txt")]
    watching.write("a.md", "# One\n\nThe boiler is silent.\n")
    assert watching.look() == [("changed", "a.md")]
    assert "silent" in watching.library.document("a.md").text
    (watching.folder / "deep" / "b.txt").unlink()
    assert watching.look() == [("removed", "deep/b.txt")]
    assert watching.ids == ["a.md"]
    (watching.folder / "a.md").rename(watching.folder / "c.md")
    assert watching.look() == [("renamed", "c.md")]
    assert watching.ids == ["c.md"]


def test_what_moves_keeps_its_documents_and_their_tags(watching: Watching) -> None:
    watching.write("a.md", "# One\n\nThe boiler hums.\n")
    watching.write("notes.jsonl", "\n".join(f'{{"id": "n{number}", "text": "Note {number}."}}' for number in range(3)))
    watching.catch_up()
    watching.library.tag(["a.md", "n1"], add=["home"])
    (watching.folder / "a.md").rename(watching.folder / "b.md")
    (watching.folder / "notes.jsonl").rename(watching.folder / "old.jsonl")
    assert sorted(watching.look()) == [("renamed", "b.md"), ("renamed", "old.jsonl")]
    assert watching.ids == ["b.md", "n0", "n1", "n2"]
    assert [facts.id for facts in watching.library.documents(within=Filter(tags=("home",)))] == ["b.md", "n1"]


def test_a_file_that_was_only_touched_or_is_of_no_kind_is_passed_over_in_silence(watching: Watching) -> None:
    note = watching.write("a.md")
    watching.catch_up()
    os.utime(note, (1, 1))
    watching.write("picture.xyz", "\x00\x01")
    watching.write(".hidden.md")
    assert watching.look() == []


def test_what_is_still_being_written_is_read_when_it_stays_as_it_is(tmp_path: Path) -> None:
    watching = Watching(tmp_path, WatchRules(settle=0.15))
    watching.catch_up()
    watching.new_events()
    growing = watching.write("a.txt", "The boiler")
    for _ in range(4):
        assert not watching.watch.look()
        with growing.open("a") as file:
            file.write(" hums")
    assert watching.ids == []
    assert not watching.watch.look()
    time.sleep(0.16)
    assert watching.watch.look()
    assert watching.library.document("a.txt").text == "The boiler hums hums hums hums"


def test_a_file_that_cannot_be_read_is_named_once_and_tried_again_when_it_changes(watching: Watching) -> None:
    watching.catch_up()
    watching.new_events()
    watching.write("a.pdf", "%PDF-1.4 and then nothing of the kind")
    watching.write("b.txt", "The garden.")
    assert watching.look() == [("not read", str(watching.folder / "a.pdf")), ("added", "b.txt")]
    assert watching.look() == []
    (watching.folder / "a.pdf").unlink()
    assert watching.look() == []
    watching.write("a.pdf", "%PDF-1.4 still nothing")
    assert watching.look() == [("not read", str(watching.folder / "a.pdf"))]


def test_records_that_a_file_is_without_go(watching: Watching) -> None:
    lines = [f'{{"id": "n{number}", "text": "Note {number}."}}' for number in range(3)]
    watching.write("notes.jsonl", "\n".join(lines))
    watching.catch_up()
    watching.write("notes.jsonl", "\n".join(lines[:2]))
    watching.look()
    assert watching.ids == ["n0", "n1"]


def test_where_documents_are_to_be_kept_none_goes(tmp_path: Path) -> None:
    watching = Watching(tmp_path, WatchRules(keep=True, settle=0.0))
    watching.write("a.md").touch()
    watching.catch_up()
    (watching.folder / "a.md").unlink()
    assert watching.look() == [("kept", "a.md")]
    assert watching.another().catch_up()
    assert watching.ids == ["a.md"]


def test_a_folder_that_vanishes_takes_nothing_with_it(watching: Watching, tmp_path: Path) -> None:
    watching.write("a.md")
    watching.catch_up()
    watching.folder.rename(tmp_path / "elsewhere")
    assert watching.look() == [("missing", str(watching.folder))]
    assert watching.look() == []
    assert watching.ids == ["a.md"]
    (tmp_path / "elsewhere").rename(watching.folder)
    watching.write("b.md", "The garden.")
    assert watching.look() == [("added", "b.md")]


def test_where_most_files_go_at_once_their_documents_are_kept_and_it_is_said(watching: Watching) -> None:
    for number in range(12):
        watching.write(f"{number:02}.txt", f"Note {number}.")
    watching.catch_up()
    for number in range(11):
        (watching.folder / f"{number:02}.txt").unlink()
    assert watching.look() == [("kept", str(watching.folder))]
    assert watching.look() == []
    assert len(watching.ids) == 12
    watching.events.clear()
    watching.watch = watching.another()
    assert [what for what, _ in watching.catch_up()] == ["kept", "ready"]
    assert len(watching.ids) == 12


def test_while_another_writes_it_waits_and_says_so_once(watching: Watching) -> None:
    watching.catch_up()
    watching.write("a.md")
    with Library(watching.library.path)._folder().writing():
        assert [what for what, _ in watching.look()] == ["waiting"]
        assert watching.look() == []
    assert watching.look() == [("added", "a.md")]


def test_a_damaged_library_ends_it(watching: Watching) -> None:
    watching.catch_up()
    shutil.rmtree(watching.library.path / "index" / "bm25")
    watching.library.close()
    watching.watch = watching.another()
    watching.write("a.md")
    with pytest.raises(LibraryDamaged):
        watching.look()


@pytest.fixture(params=["reports of the system", "polling"])
def poll(request: pytest.FixtureRequest) -> float | None:
    if request.param == "polling":
        return 0.1
    pytest.importorskip("watchfiles", reason="reports need the extra: pip install 'wherefrom[watch]'")
    return None


def test_it_hears_of_changes_and_ends_when_it_is_told_to(watching: Watching, poll: float | None) -> None:
    with running(watching, poll) as stop:
        until(lambda: any(event.what == "ready" for event in watching.events))
        watching.write("a.md")
        until(lambda: WatchEvent("added", "a.md") in watching.events)
        stop.set()


def test_where_the_system_cannot_report_it_looks_now_and_then(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("watchfiles", reason="reports need the extra: pip install 'wherefrom[watch]'")
    monkeypatch.setattr(waking, "_POLL_SECONDS", 0.1)
    shutil.rmtree(watching.folder)
    with running(watching, None) as stop:
        until(lambda: any(event.what == "missing" for event in watching.events))
        watching.write("a.md")
        until(lambda: WatchEvent("added", "a.md") in watching.events)
        stop.set()


class running:  # noqa: N801 - a context manager
    """The watch, in a thread of its own; it has ended when this has."""

    def __init__(self, watching: Watching, poll: float | None) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=lambda: Library(watching.library.path).watch(
                [watching.folder], watching.events.append, self._stop, watching.rules, poll
            )
        )

    def __enter__(self) -> threading.Event:
        self._thread.start()
        return self._stop

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join(10)
        assert not self._thread.is_alive()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
