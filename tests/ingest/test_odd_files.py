"""One odd thing in a folder does not keep the rest out: it is named, skipped and counted."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from wherefrom import Library
from wherefrom.ingest.run import IngestProgress
from wherefrom.ingest.source import whole

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="files are of other kinds there"),
    pytest.mark.timeout(60),  # what is opened though it should not be never ends
]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "first.txt").write_text("The garden opens at nine.")
    (notes / "sub" / "zebra.txt").write_text("Zebras live in Africa.")
    return notes


def failures(library: Path, *paths: Path, prune: bool = False) -> dict[str, str]:
    """What is not read of these paths, with the reasons; the two good files always are."""
    with Library(library) as opened:
        report = opened.ingest(paths, prune)
        assert {facts.id for facts in opened.documents()} == {"first.txt", "sub/zebra.txt"}
    msgspec.json.encode(report)  # whatever the names are, the report can be written down
    return {Path(failure.name).name: failure.reason for failure in report.failures}


@pytest.mark.parametrize("prune", [False, True])
def test_pipes_sockets_devices_and_links_to_nowhere(tmp_path: Path, notes: Path, prune: bool) -> None:
    os.mkfifo(notes / "pipe.txt")
    (notes / "endless.txt").symlink_to("/dev/zero")
    (notes / "loop.md").symlink_to("loop.md")
    (notes / "gone.html").symlink_to("nowhere")
    (notes / "sub" / "up").symlink_to(notes)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(notes / "socket"))  # its path must be short
    assert failures(tmp_path / "library", notes, prune=prune) == {
        "pipe.txt": "it is a pipe, not a file",
        "endless.txt": "it is a device, not a file",
        "loop.md": "it cannot be read: too many levels of symbolic links",
        "gone.html": "it is a link to a file that is not there",
        "socket": "it is a socket, not a file",
    }


def test_links_to_nowhere_are_passed_over_where_what_they_name_would_be(tmp_path: Path, notes: Path) -> None:
    for name in ("jquery.js", "style.css", "logo.png", "fonts", "guide.html"):
        (notes / name).symlink_to("nowhere")
    with Library(tmp_path / "library") as library:
        report = library.ingest([notes])
    assert {each.sort: each.files for each in report.passed_over} == {
        "source code": 1,
        "style sheets": 1,
        "pictures": 1,
    }
    assert {Path(failure.name).name for failure in report.failures} == {"fonts", "guide.html"}


def test_the_same_when_they_are_named(tmp_path: Path, notes: Path) -> None:
    os.mkfifo(notes / "pipe.txt")
    named = [notes / "pipe.txt", Path("/dev/zero"), notes / "gone.txt"]
    assert failures(tmp_path / "library", notes, *named) == {
        "pipe.txt": "it is a pipe, not a file",
        "zero": "it is a device, not a file",
        "gone.txt": "it is not there",
    }


def test_names_that_are_not_utf8(tmp_path: Path, notes: Path) -> None:
    inside = os.fsencode(notes)
    with open(inside + b"/caf\xe9.txt", "w") as file:  # noqa: PTH123 - a name of bytes
        file.write("Coffee.")
    os.mkdir(inside + b"/sub/\xff")  # noqa: PTH102
    with open(inside + b"/sub/\xff/tea.txt", "w") as file:  # noqa: PTH123
        file.write("Tea.")
    why = "its name is not UTF-8, so it cannot be kept; rename it"
    assert failures(tmp_path / "library", notes, prune=True) == {r"caf\xe9.txt": why, r"\xff": why}
    assert failures(tmp_path / "library", notes, Path(os.fsdecode(inside + b"/caf\xe9.txt"))) == {
        r"caf\xe9.txt": why,
        r"\xff": why,
    }


def test_control_characters_in_a_page(tmp_path: Path, notes: Path) -> None:
    (notes / "page.html").write_bytes(b"<p>\x01One<nav>a\x02</nav>\x03 two</p><form>\x05x</form>\x08" + b"Text. " * 200)
    with Library(tmp_path / "library") as library:
        report = library.ingest([notes])
        assert not report.failures
        assert library.document("page.html").text.startswith("One two")


def test_a_file_that_vanishes_between_the_list_and_its_turn(tmp_path: Path, notes: Path) -> None:
    (notes / "second.txt").write_text("It will be gone.")

    def report(progress: IngestProgress) -> None:
        if progress.current == "second.txt":
            (notes / "second.txt").unlink(missing_ok=True)

    with Library(tmp_path / "library") as library:
        result = library.ingest([notes], report=report)
    assert [(Path(each.name).name, each.reason) for each in result.failures] == [("second.txt", "it is not there")]
    assert result.added == 2


def test_a_file_that_grows_while_it_is_read_is_read_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"line\n" * 100_000)

    def grow(_reached: int) -> None:
        with path.open("ab") as file:
            file.write(b"more\n" * 100_000)

    assert whole(path, 50_000_000, grow) == b"line\n" * 100_000


# What may not be read.

_LIKE_ANYBODY = """
import ctypes, os, sys
if os.geteuid() == 0:  # root reads everything, but for these two powers
    libc = ctypes.CDLL(None, use_errno=True)
    for power in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH; gone with the next exec
        assert libc.prctl(24, power, 0, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.executable, [sys.executable, "-m", "wherefrom", *sys.argv[1:]])
"""


def like_anybody(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _LIKE_ANYBODY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(sys.platform != "linux", reason="that is how Linux bounds the powers of root")
def test_files_and_folders_that_may_not_be_read(tmp_path: Path) -> None:
    library, notes = str(tmp_path / "library"), tmp_path / "notes"
    for folder in ("private", "listed"):
        (notes / folder).mkdir(parents=True)
        (notes / folder / "in.txt").write_text("Not for everybody.")
    for name in ("first.txt", "secret.txt", "secret"):
        (notes / name).write_text(f"This is {name}.")
    first = like_anybody("ingest", str(notes), "--library", library)
    assert first.returncode == 0, first.stderr
    (notes / "new.txt").write_text("New.")
    for path, mode in (("private", 0o000), ("listed", 0o600), ("secret.txt", 0o000), ("secret", 0o000)):
        (notes / path).chmod(mode)
    try:
        for options in ((), ("--prune",)):
            done = like_anybody("ingest", str(notes), "--library", library, *options)
            assert done.returncode == 1
            assert "Traceback" not in done.stderr
            assert f"{notes}/private: this folder cannot be looked into: permission denied" in done.stderr
            for name in ("secret.txt", "secret", "listed/in.txt"):
                assert f"{notes}/{name}: it may not be read: permission denied" in done.stderr
            assert "4 not read" in done.stdout
    finally:
        for folder in ("private", "listed"):
            (notes / folder).chmod(0o700)
    with Library(library) as opened:
        ids = [facts.id for facts in opened.documents()]
    assert ids == ["first.txt", "listed/in.txt", "new.txt", "private/in.txt", "secret", "secret.txt"]
