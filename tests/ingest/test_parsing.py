"""What reads a file has a process of its own, bounds of time and memory, and costs no other file anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wherefrom import Library
from wherefrom.config import IngestSettings, Settings
from wherefrom.errors import IngestError, WherefromError
from wherefrom.ingest import parsing
from wherefrom.ingest.messages import ParsedRecord
from wherefrom.ingest.outcome import IngestFailure
from wherefrom.ingest.parsing import Parser, parser

DEADLY = "ingest.deadly_parser"
needs_resource = pytest.mark.skipif(sys.platform == "win32", reason="there is no bound on memory there")


def texts(one: Parser, path: Path) -> list[str]:
    """The texts of a file's records; a failure by its reason."""
    return [each.record.text if isinstance(each, ParsedRecord) else each.reason for each in one.read(path)]


def refusal(one: Parser, path: Path) -> str:
    with pytest.raises(IngestError) as error:
        texts(one, path)
    return str(error.value)


@pytest.fixture(autouse=True)
def _reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process finds the module of this folder."""
    tests = str(Path(__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]))


def put(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_the_process_stays_for_the_files_and_the_ingests_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wherefrom.ingest.parsing._idle", [])  # others may have read nearly as many as one may
    held = b"x" * 400_000_000  # what the parent holds is not the child's
    good = put(tmp_path, "a.txt", "The garden opens at nine.")
    with parser(IngestSettings()) as one:
        assert texts(one, good) == ["The garden opens at nine."]
        assert one._process is not None
        process = one._process._process.pid
        assert one.kind(good) == "txt"
        assert "not there" in refusal(one, tmp_path / "b.txt")
        assert texts(one, good) == ["The garden opens at nine."]
        assert one._process._process.pid == process
    with parser(IngestSettings()) as other:
        texts(other, good)
        assert other._process is not None
        assert other._process._process.pid == process
    assert held


@pytest.mark.parametrize("word", ["sleep", "spin"])
def test_a_file_over_its_time_is_given_up_and_the_next_is_read(tmp_path: Path, word: str) -> None:
    bad, good = put(tmp_path, "a.txt", f"{word}\n"), put(tmp_path, "b.txt", "Good.")
    with parser(IngestSettings(seconds_per_file=1.0), DEADLY) as one:
        texts(one, good)
        begun = time.monotonic()
        assert refusal(one, bad) == "reading it took more than 1 s; raise ingest.seconds_per_file"
        assert time.monotonic() - begun < 20
        assert texts(one, good) == ["Good."]


@needs_resource
def test_a_file_over_its_memory_is_given_up_and_the_next_is_read(tmp_path: Path) -> None:
    bad, good = put(tmp_path, "a.txt", "eat\n"), put(tmp_path, "b.txt", "Good.")
    with parser(IngestSettings(parse_megabytes=256), DEADLY) as one:
        assert refusal(one, bad) == "reading it took more than 256 MB of memory; raise ingest.parse_megabytes"
        assert texts(one, good) == ["Good."]


@needs_resource
def test_what_files_before_have_left_behind_is_not_held_against_a_file(tmp_path: Path) -> None:
    swell, need = put(tmp_path, "a.txt", "swell\nText."), put(tmp_path, "b.txt", "need\nMore.")
    with parser(IngestSettings(parse_megabytes=256), DEADLY) as one:
        texts(one, swell)
        assert texts(one, need) == ["need\nMore."]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals to be named there")
def test_a_file_that_ends_the_process_is_named_with_how(tmp_path: Path) -> None:
    bad, good = put(tmp_path, "a.txt", "die\n"), put(tmp_path, "b.txt", "print\nGood.")
    with parser(IngestSettings(), DEADLY) as one:
        texts(one, good)  # a process that printed something goes on
        assert "ended the process that read it (SIGSEGV)" in refusal(one, bad)
        assert texts(one, good) == ["print\nGood."]


def test_what_nobody_foresaw_is_a_reason_and_no_traceback(tmp_path: Path) -> None:
    with parser(IngestSettings(), DEADLY) as one:
        reason = refusal(one, put(tmp_path, "a.txt", "raise\n"))
        assert "nobody foresaw (ValueError)" in reason


def test_records_that_were_read_before_a_file_broke_its_reader_stay(tmp_path: Path) -> None:
    bad = put(tmp_path, "a.txt", "record die\n")
    taken: list[ParsedRecord | IngestFailure] = []
    with parser(IngestSettings(), DEADLY) as one:
        texts(one, put(tmp_path, "b.txt", "Good."))
        with pytest.raises(IngestError):
            taken.extend(one.read(bad))
    assert [each.record.text for each in taken if isinstance(each, ParsedRecord)] == ["The first record of the file."]


def test_a_process_that_was_left_in_the_middle_of_a_file_is_not_used_again(tmp_path: Path) -> None:
    lines = put(tmp_path, "a.jsonl", '{"text": "First."}\n{"text": "Second."}\n')
    with parser(IngestSettings()) as one:
        for _ in one.read(lines):
            break
        assert texts(one, lines) == ["First.", "Second."]


def test_a_process_that_does_not_begin_is_an_error_with_a_remedy() -> None:
    with pytest.raises(WherefromError, match=r"parser_child` tells why"), parser(IngestSettings(), "no.such") as one:
        one.kind(Path("a.txt"))


def test_a_json_py_in_the_folder_of_the_user_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "json.py", "open('ran', 'w').close()")
    monkeypatch.setattr(parsing, "_idle", [])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(parsing.__file__).parents[2]))
    with parser(IngestSettings()) as one:
        assert one.kind(Path("json.py")) == "code"
        one._drop()
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers there")
def test_a_process_that_is_left_behind_in_the_middle_of_a_file_ends_by_itself(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "spin\n")
    script = (
        "import sys, time, threading; from pathlib import Path; from wherefrom.config import IngestSettings\n"
        "from wherefrom.ingest.parsing import Parser\n"
        f"one = Parser(IngestSettings(seconds_per_file=2.0), {DEADLY!r})\n"
        "pid = one._fit_process()._process.pid; print(pid, flush=True)\n"
        "threading.Timer(0.5, lambda: __import__('os')._exit(9)).start()\n"
        "list(one.read(Path(sys.argv[1])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a.txt")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 9, done.stderr
    until = time.monotonic() + 30
    while _running(int(done.stdout)):
        assert time.monotonic() < until, "it goes on for ever"
        time.sleep(0.1)


def _running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_bad_file_among_many_is_named_and_the_others_get_in(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(5):
        put(notes, f"{number}.txt", f"The number of this note is {number}.")
    # What a page of so many cells takes is more than it may: by a bound that plain notes keep.
    put(notes, "big.html", "<table><tr>" + "<td><b>a</b></td>" * 300_000)
    settings = Settings(ingest=IngestSettings(seconds_per_file=0.3, parse_megabytes=2048))
    report = Library(tmp_path / "library", settings).ingest([notes])
    assert report.added == 5
    assert [failure.reason for failure in report.failures] == [
        "reading it took more than 0.3 s; raise ingest.seconds_per_file"
    ]
