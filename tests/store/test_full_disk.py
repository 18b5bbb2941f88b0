"""A disk that is full is told with its remedy, nothing acknowledged is lost, and the library can be asked meanwhile."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack.kills import text_of

from wherefrom import Library
from wherefrom.cli import main
from wherefrom.config import Settings, resolve
from wherefrom.errors import DiskFull
from wherefrom.store.feedback import Feedback
from wherefrom.types import Document

OLD = [Document(f"d{number}", text_of(f"d{number}", 1)) for number in range(12)]


def settings() -> Settings:
    return resolve(overrides=["ingest.batch_passages=15", "retrieve.match=none", "rank.kind=none"])


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """New versions of some documents, and new ones: several batches."""
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps({"id": f"d{n}", "text": text_of(f"d{n}", 2)}) for n in range(6, 60)))
    return file


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "small"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, left: int) -> Path:
    file = disk / "fill"
    with file.open("wb") as handle:
        handle.write(bytes(max(shutil.disk_usage(disk).free - left, 0)))
    return file


def versions(library: Library) -> dict[str, int]:
    """Which version of each document is there, and that it is found."""
    there = {}
    for facts in library.documents():
        text = library.document(facts.id).text
        there[facts.id] = next(version for version in (1, 2) if text == text_of(facts.id, version))
        found_first = library.search(f"Mark{facts.id}v{there[facts.id]}", 1).hits[0].passage.id
        assert found_first == f"{facts.id}#0"
    return there


@pytest.mark.parametrize("left", [0, 20_000, 150_000, 500_000])
def test_whatever_is_written_it_is_said_and_all_that_was_acknowledged_is_there(
    small: Path, rows: Path, left: int
) -> None:
    with Library(small / "library", settings()) as library:
        library.put(OLD)
    filler = fill(small, left)
    safe = {document.id: 1 for document in OLD}
    full = 0
    for write in (
        lambda library: library.ingest([rows], acknowledged=lambda ids: safe.update(dict.fromkeys(ids, 2))),
        lambda library: library.build_index("bm25"),
        lambda library: [library.add_feedback(Feedback("?" * 5000, "right", "yes")) for _ in range(200)],
        lambda library: library.rescue(small / "new"),
    ):
        with Library(small / "library", settings()) as library:
            try:
                write(library)
            except DiskFull as error:
                assert "is full: make room" in str(error)  # noqa: PT017 - one of them may have had room
                full += 1
        with Library(small / "library", settings()) as library:  # while the disk is full
            assert {id: versions(library)[id] for id in safe} == safe
            assert all("library.toml" in problem.what for problem in library.check(repair=False).problems)
    assert full
    filler.unlink()
    with Library(small / "library", settings()) as library:
        library.ingest([rows])
        assert library.check().problems == ()
        assert versions(library) == {f"d{number}": 1 if number < 6 else 2 for number in range(60)}


def test_commands_say_it_and_end_with_a_code_of_its_own(small: Path, rows: Path) -> None:
    with Library(small / "library", settings()) as library:
        library.put(OLD)
    fill(small, 0)
    at = ["--library", str(small / "library")]
    for command in (["ingest", str(rows)], ["index", "tfidf"], ["keys", "add", "me"], ["remove", "d1"], ["check"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, *at])
        assert ended.value.code == 6, command
    for command in (["list"], ["show", "d1"], ["search", "mark"], ["check", "--no-repair"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, *at])
        assert ended.value.code == 0, command


def test_where_files_may_not_grow_the_same_is_said(tmp_path: Path, rows: Path) -> None:
    """A quota of one process, which needs no small disk."""
    with Library(tmp_path / "library", settings()) as library:
        library.put(OLD)
    code = (
        "import resource, sys\nfrom wherefrom.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "main(['ingest', sys.argv[1], '--library', sys.argv[2], '--quiet'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(rows), str(tmp_path / "library")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (3, 6), done.stderr
    with Library(tmp_path / "library", settings()) as library:
        assert versions(library).keys() >= {document.id for document in OLD}
        assert all("library.toml" in problem.what for problem in library.check().problems)
