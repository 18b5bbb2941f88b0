"""`wherefrom watch` as it is run: what it says, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.md").write_text("# One\n\nThe boiler hums.\n")
    return folder


def command(folder: Path, *options: str) -> list[str]:
    library = folder.parent / "library"
    return [sys.executable, "-m", "wherefrom", "--library", str(library), "watch", str(folder), *options]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_what_it_does_until_it_is_stopped(folder: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        command(folder, "--settle", "0", "--poll", "0.1", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        ready = json.loads(process.stdout.readline())
        assert (ready["what"], ready["detail"][:7]) == ("ready", "1 added")
        (folder / "b.md").write_text("# Two\n\nThe garden is small.\n")
        assert json.loads(process.stdout.readline()) == {"what": "added", "name": "b.md", "detail": ""}
        process.send_signal(number)
        assert process.wait(20) == 0
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""


def test_once_catches_up_and_ends_with_a_code_that_tells_of_failures(folder: Path) -> None:
    done = subprocess.run(command(folder, "--once"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "  ready     " in done.stdout
    assert "1 added, 0 replaced, 0 unchanged" in done.stdout
    (folder / "a.md").unlink()
    (folder / "b.pdf").write_text("%PDF-1.4 nothing of the kind")
    (folder / "c.txt").write_text("The garden is small.")
    done = subprocess.run(command(folder, "--once", "--keep"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "  not read  " in done.stdout


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path / "none"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "does not exist" in done.stderr
