"""`--in`, `--since`, `--until` and `--type`, as they are written on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FILES = {
    "reports/2023.md": ("# The year\n\nThe boiler was serviced by Marta.\n", 1_672_600_000),
    "reports/2025.md": ("# The year\n\nThe boiler was serviced by Ivo.\n", 1_750_000_000),
    "letters/march.txt": ("A letter\n\nDear Anna, the boiler was serviced by Petra. Yours, Jan.\n", 1_700_000_000),
}


def wherefrom(library: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wherefrom", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, "WHEREFROM_LIBRARY": str(library)},
    )


@pytest.fixture(scope="module")
def folder(made_once: Callable[..., Path]) -> Path:
    """Files of three years, and a library of them beside."""

    def make(folder: Path) -> None:
        for name, (text, changed) in FILES.items():
            path = folder / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            os.utime(path, (changed, changed))
        assert wherefrom(folder / "library", "ingest", str(folder / "files")).returncode == 0

    return made_once("dated-files", make)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--in", "letters"], "Petra"),
        (["--until", "2023-06"], "Marta"),
        (["--since", "2024", "--type", "md"], "Ivo"),
        (["--type", "text"], "Petra"),
    ],
)
def test_the_answer_is_from_that_part(folder: Path, options: list[str], expected: str) -> None:
    done = wherefrom(folder / "library", "ask", "Who serviced the boiler?", "--min-chance", "0", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == expected


def test_a_folder_may_be_named_as_it_is_from_here(folder: Path) -> None:
    for place, cwd in (
        (".", folder / "files" / "letters"),
        ("files/letters", folder),
        ("../letters", folder / "files/reports"),
    ):
        done = wherefrom(folder / "library", "list", "--in", place, cwd=cwd)
        assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["letters/march.txt"]


def test_search_and_list_are_narrowed_alike(folder: Path) -> None:
    done = wherefrom(folder / "library", "search", "boiler", "--in", "reports", "--json")
    trace = json.loads(done.stdout)
    assert {hit["passage"]["document_id"] for hit in trace["hits"]} == {"reports/2023.md", "reports/2025.md"}
    assert trace["question"]["within"]["folders"][0] == "reports"
    done = wherefrom(folder / "library", "list", "--since", "2025", "--json")
    assert [each["id"] for each in json.loads(done.stdout)] == ["reports/2025.md"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--in", "nowhere", "--type", "pdf"], 5, "no document of the library is in nowhere or "),
        (["--since", "last week"], 2, "'last week' is not a date; write a year, a month or a day: 2024, 2024-05"),
    ],
)
def test_what_is_wrong_with_a_filter_is_said(folder: Path, options: list[str], code: int, message: str) -> None:
    done = wherefrom(folder / "library", "ask", "Who serviced the boiler?", *options)
    assert done.returncode == code
    assert done.stderr.startswith(f"wherefrom: {message}")
    assert done.stdout == ""
