"""Documents whose file has gone are said to be so; whole folders and patterns are removed, after they were shown."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FILES = ("reports/a.pdf.txt", "reports/b[1].md", "reports/old/c.md", "letters/d.md", "e.md")
TEXTS = {"letters/d.md": "The boiler was serviced by Marta in May."}


class Place:
    """Files and a library of them, and the command line over it."""

    def __init__(self, folder: Path) -> None:
        self.files, self.library = folder / "files", folder / "library"

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "wherefrom", "--library", str(self.library), *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    @property
    def ids(self) -> list[str]:
        return [facts["id"] for facts in json.loads(self("list", "--json").stdout)]


@pytest.fixture
def place(made_once: Callable[..., Path], tmp_path: Path) -> Place:
    def make(folder: Path) -> None:
        for name in FILES:
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(TEXTS.get(name, f"A note of {name}."))

    place = Place(Path(shutil.copytree(made_once("files-to-remove", make), tmp_path / "place")))
    assert place("ingest", str(place.files), "--quiet").returncode == 0
    return place


def test_a_file_that_is_gone_is_said_to_be_gone_wherever_it_is_a_source(place: Place) -> None:
    assert not any(facts["gone"] for facts in json.loads(place("list", "--json").stdout))
    (place.files / "letters" / "d.md").unlink()
    assert [facts["id"] for facts in json.loads(place("list", "--json").stdout) if facts["gone"]] == ["letters/d.md"]
    assert f"{place.files / 'letters' / 'd.md'} (gone)" in place("list").stdout
    assert "letters/d.md, from " in (shown := place("show", "letters/d.md").stdout)
    assert ", which is gone, 40 characters" in shown
    answered = place("ask", "Who serviced the boiler?")
    assert answered.stdout.startswith("Marta")
    assert "(letters/d.md), characters 27 to 32, whose file is gone:" in answered.stdout
    assert json.loads(place("ask", "Who serviced the boiler?", "--json").stdout)["answer"]["gone"] == ["letters/d.md"]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["reports/*"], ["e.md", "letters/d.md", "reports/old/c.md"]),
        (["reports/**"], ["e.md", "letters/d.md"]),
        (["*.md", "letters/?.md"], ["reports/a.pdf.txt", "reports/b[1].md", "reports/old/c.md"]),
        (["reports/b[1].*"], ["e.md", "letters/d.md", "reports/a.pdf.txt", "reports/old/c.md"]),
        (["--in", "reports", "--type", "md"], ["e.md", "letters/d.md", "reports/a.pdf.txt"]),
        (["**c.md", "--in", "reports"], ["e.md", "letters/d.md", "reports/a.pdf.txt", "reports/b[1].md"]),
    ],
)
def test_patterns_and_filters_are_shown_first_and_removed_with_yes(
    place: Place, arguments: list[str], left: list[str]
) -> None:
    before = place.ids
    going = sorted(set(before) - set(left))
    preview = place("remove", *arguments)
    assert preview.returncode == 1
    assert [line.split("  ")[1] for line in preview.stdout.splitlines()] == going
    assert preview.stderr.startswith("Nothing was removed; add --yes to remove th")
    assert json.loads(place("remove", "--json", *arguments).stdout) == {"removed": [], "would_remove": going}
    assert place.ids == before
    done = place("remove", "--yes", *arguments)
    assert done.returncode == 0
    assert done.stdout == "".join(f"removed {id}\n" for id in going)
    assert place.ids == left
    assert (place.files / "e.md").exists()


def test_what_has_gone_can_be_removed_alone(place: Place) -> None:
    assert place("remove", "--gone", "--yes").returncode == 5
    (place.files / "e.md").unlink()
    assert place("remove", "--gone", "--yes").stdout == "removed e.md\n"
    assert "e.md" not in place.ids


def test_an_exact_id_goes_at_once_and_nothing_named_is_a_mistake(place: Place) -> None:
    assert place("remove", "reports/b[1].md").stdout == "removed reports/b[1].md\n"
    assert place("remove").returncode == 2
    assert place("remove", "x*").returncode == 5


@pytest.mark.parametrize(("answer", "left"), [("n", 5), ("y", 2)])
def test_a_person_is_asked(place: Place, answer: str, left: int) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "wherefrom", "--library", str(place.library), "remove", "reports/**"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as process:
        os.close(theirs)
        output = b""
        while b"Remove these 3 documents? [y/N]:" not in output:
            output += os.read(ours, 1000)
        os.write(ours, f"{answer}\n".encode())
        assert process.wait(30) == (0 if answer == "y" else 1)
    os.close(ours)
    assert len(place.ids) == left
