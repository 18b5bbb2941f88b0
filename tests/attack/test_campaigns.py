"""The campaigns of `attack/`, each for a few seconds; and each of them notices what it is there to notice."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("psutil", reason="`pip install 'wherefrom[dev]'` brings psutil")

from attack.campaign import Attempt, Broke, Campaign, Outcome, run
from attack.private_postgres import NoPostgres, programs
from bench.measure import ROOT

from attack import coverage, coverage_child, damage, fuzz, kills, shared
from effort import times
from wherefrom import Library
from wherefrom.types import Document

# Python warns of forks of a process with threads, as a worker of pytest-xdist is; these forks run Python alone.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def held(campaign: Campaign, work: Path, size: float, seed: int = 1) -> dict[str, Any]:
    """One attempt of a campaign, of a share of its size, in which nothing gives way; its figures."""
    command = [sys.executable, "-m", "attack", "--only", campaign.name, "--scale", str(1 / campaign.attempts)]
    command += ["--size", str(size), "--seed", str(seed), "--work", str(work)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    line: dict[str, Any] = msgspec.json.decode((work / "attack.jsonl").read_bytes())
    assert line["metrics"]["broke"] == 0
    return line


def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    assert held(kills.KILLS, tmp_path, 0.3)["n"] >= 6


def test_killed_writers_and_servers_of_a_shared_database_lose_nothing(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="documents in PostgreSQL: pip install 'wherefrom[scale]'")
    try:
        programs()
    except NoPostgres as missing:
        pytest.skip(str(missing))
    assert held(shared.SHARED, tmp_path, times(2, 20) / shared.KILLS_A_LIFE)["n"] >= 2


def test_damage_is_seen_and_said_in_words(tmp_path: Path) -> None:
    assert held(damage.DAMAGE, tmp_path, 0.25)["n"] == 1


def test_files_that_coverage_leads_to_are_read(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="`pip install 'wherefrom[dev]'` brings atheris on Linux")
    assert held(coverage.COVERAGE, tmp_path, 0.04)["n"] >= 60


# What the campaigns themselves promise.


def fails_now_and_then(given: Attempt) -> Outcome:
    outcome = Outcome(tried=2)
    outcome.count("drawn", given.chance.randrange(100))
    if given.number == 2:
        outcome.break_("a hole", "it gave way", "python -m attack")
    if given.number == 3:
        raise ValueError("the campaign is wrong")
    return outcome


TOY = Campaign("toy", "things", "nothing", attempts=5, seconds=20, attempt=fails_now_and_then)


def test_what_broke_is_told_and_what_was_tried_is_counted(tmp_path: Path) -> None:
    summary = run(TOY, tmp_path, jobs=2)
    assert (summary.attempts, summary.tried, summary.breaks) == (5, 8, 2)
    assert {kind for kind, _, _ in summary.kinds} == {"a hole", "the campaign itself failed"}
    assert Broke("a hole", "it gave way", "python -m attack") in summary.broke


def test_an_interrupted_campaign_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = run(TOY, tmp_path / "whole")
    run(TOY, tmp_path / "parts", scale=0.4)
    journal = tmp_path / "parts" / "toy-seed1" / "journal.jsonl"
    assert len(journal.read_bytes().splitlines()) == 2
    journal.write_bytes(journal.read_bytes() + b'{"tried": 1, "num')  # killed as it wrote
    resumed = run(TOY, tmp_path / "parts")
    assert resumed.tried == whole.tried
    assert resumed.counts == whole.counts  # the chances are those of seed and number


def test_an_attempt_that_hangs_is_ended_and_told(tmp_path: Path) -> None:
    def hangs(_given: Attempt) -> Outcome:
        while True:
            pass

    summary = run(replace(TOY, attempt=hangs, seconds=0.5), tmp_path, scale=0.2)
    assert [kind for kind, _, _ in summary.kinds] == ["an attempt hangs"]


def test_a_lost_document_would_be_noticed(tmp_path: Path) -> None:
    life = kills.Life(tmp_path / "library", tmp_path, "bm25")
    outcome = Outcome()
    with life.library() as library:
        library.put([])
    life.states["d1"] = {7}  # acknowledged, and not there
    kills._verified(life, False, "ingest", outcome, "")
    assert [broke.kind for broke in outcome.broke] == ["after ingest: lost document"]


def test_damage_that_check_calls_sound_would_be_noticed(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.put([Document("one", "A text.")])
    outcome = Outcome()
    damage._judged(tmp_path / "library", [{"counts": "[2, 2]"}], "bm25:.term", outcome, "")
    assert [broke.kind for broke in outcome.broke] == [
        f"check calls sound ({how}) what differs in counts, damaged in bm25:.term" for how in ("looked at", "repaired")
    ]


def test_a_rescue_that_loses_a_document_without_a_word_would_be_noticed(tmp_path: Path) -> None:
    with Library(tmp_path / "library") as library:
        library.put([Document("one", "A text.")])
        earlier = {"document: one": damage._of(lambda: damage._plain(library.document, "one"))}
    outcome = Outcome()
    damage._rescued(tmp_path / "library", {"document: one": "{}", "document: two": "{}"}, earlier, "it", outcome, "")
    assert [broke.kind for broke in outcome.broke] == [
        "rescue: a document is rescued that was not written so (it)",
        "rescue: a document is lost without a word (it)",
    ]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [("title", "good", "a lone surrogate in the title"), ("text", "a\u0301b \ud800", "a lone surrogate in the text")],
)
def test_a_wrong_record_would_be_noticed(name: str, text: str, kind: str) -> None:
    record = fuzz.Record(None, "a \udc80" if name == "title" else "title", text)
    assert [fault for fault, _ in fuzz.faults(record)] == [kind]


def test_a_file_that_takes_too_long_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(path: Path, *_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(fuzz, "CPU_SECONDS", 0.2)
    monkeypatch.setattr(fuzz, "read", endless)
    outcome = Outcome()
    (tmp_path / "shared").mkdir()
    given = Attempt(0, random.Random(1), tmp_path, tmp_path / "shared")
    assert fuzz._read_on(given, [(".txt", b"text"), (".txt", b"text")], 0, outcome) == 1
    fuzz._noted("took\t250.0", [(".txt", b"text")], given, outcome, -1)  # that ended by itself between two looks
    assert [broke.kind.partition(" in ")[0] for broke in outcome.broke] == ["over 0.2 s"] * 2


@pytest.mark.parametrize("suffix", [".docx", ".epub", ".txt"])
def test_coverage_bends_what_is_inside_an_archive(suffix: str) -> None:
    data = coverage_child.packed(suffix, b"<w>bent")
    if suffix == ".txt":
        assert data == b"<w>bent"
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [archive.read(name) for name in archive.namelist()]
    assert members.count(b"<w>bent") == 1
    assert coverage_child.unpacked(data) == max(members, key=len) != b"<w>bent"


def covered(suffix: str, work: Path, inputs: int) -> Attempt:
    """The attempt that bends this format."""
    (work / "shared").mkdir()
    (work / "own").mkdir()
    number = list(coverage.FORMATS).index(suffix)
    return Attempt(number, random.Random(1), work / "own", work / "shared", size=inputs / coverage.RUNS)


def test_what_ends_the_reader_is_kept_as_the_file_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(command: list[str], **_: object) -> None:
        folder, corpus = map(Path, command[4:6])
        (folder / "crash-1").write_bytes(b"<w>bent")
        (corpus / "seed").write_bytes(b"<w>bent")

    monkeypatch.setattr(subprocess, "run", dies)
    outcome = coverage.attempt(covered(".docx", tmp_path, inputs=1))
    (file,) = (tmp_path / "breaks").glob("*.docx")
    assert outcome.broke[0].again.endswith(file.name)
    with zipfile.ZipFile(file) as archive:
        assert [archive.read(name) for name in archive.namelist()].count(b"<w>bent") == 1
    assert not (tmp_path / "shared" / "corpus.docx" / "seed").exists()  # the next process would end at it again


def test_a_process_that_reads_nothing_is_no_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(RuntimeError, match="no input was read"):
        coverage.attempt(covered(".txt", tmp_path, inputs=3))


def test_a_member_that_cannot_be_unpacked_is_bent_as_it_is() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", "text " * 1000)
    broken = out.getvalue().replace(out.getvalue()[35:45], bytes(10))  # of the packed text, behind 35 bytes of names
    assert coverage_child.unpacked(broken) == broken


def test_what_coverage_finds_would_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def finds(command: list[str], **_: object) -> None:
        folder = Path(command[4])
        notes = coverage_child.Notes(folder)
        notes.wrong("an empty text", "it is empty", b"hollow")
        notes.wrong("an empty text", "the same hole", b"again")
        notes.took(fuzz.CPU_SECONDS + 1, ".txt", b"slow where it is watched")
        for done in (2, 3):
            notes.hear("read", b"sound")
            notes.done = done
            notes.count()
        for number, data in enumerate((b"for ever", b"only where it is watched", b"the end of it")):
            (folder / f"timeout-{number}").write_bytes(data)

    def read(path: Path) -> Iterator[str]:
        while path.read_bytes() == b"for ever":
            yield "read"
        if path.read_bytes() == b"the end of it":
            os._exit(3)

    monkeypatch.setattr(subprocess, "run", finds)
    monkeypatch.setattr(coverage, "examined", read)
    monkeypatch.setattr(coverage, "_PATIENCE", 1)
    outcome = coverage.attempt(covered(".txt", tmp_path, inputs=6))
    assert (outcome.tried, outcome.counts["read"]) == (6, 2)
    assert outcome.counts["too long only while watched"] == 1
    assert [broke.kind for broke in outcome.broke] == ["an empty text", *["the process dies: timeout in .txt"] * 2]
