"""An upload that was taken stays until its documents are in, or it is said which file failed and why."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest

from effort import times
from server.conftest import serving
from server.test_workers import PLAIN, children_of, line_of
from wherefrom import Library
from wherefrom.config import Settings, resolve
from wherefrom.server.folder import ServerFolder
from wherefrom.server.ingest_worker import IngestWorker
from wherefrom.server.jobs import FINISHED, Job, Jobs

TESTS = Path(__file__).parent.parent
KILLS = times(6, 60)


@pytest.fixture
def jobs(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    folder = ServerFolder(library_path)
    folder.make()
    return Jobs(folder)


def sent(library: Path, jobs: Jobs, *names: str, id: str = "x") -> Job:
    """An upload as the server keeps it; each file says its own name."""
    folder = ServerFolder(library).uploads / id
    files = []
    for number, name in enumerate(names):
        file = folder / str(number) / name
        file.parent.mkdir(parents=True)
        file.write_text(f"This is {name}.")
        files.append(file)
    return jobs.add("upload", names, files, "", id)


@contextmanager
def working(library: Path, settings: Settings | None = None) -> Iterator[None]:
    worker = IngestWorker(library, settings or resolve(), ServerFolder(library), "server.deadly")
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def ended(jobs: Jobs, job: Job, seconds: float = 40.0) -> Job:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        now = jobs.get(job.id)
        assert now is not None
        if now.finished:
            return now
        time.sleep(0.05)
    raise AssertionError(f"not finished in {seconds} s: {now}")


def noted(library: Path, job: Job) -> tuple[bool, int]:
    """Whether a job has ended, and how many deaths of its files are known."""
    with ServerFolder(library).opened() as connection:
        state, fates = connection.execute("SELECT state, fates FROM job WHERE id = ?", (job.id,)).fetchone()
    return state in FINISHED, sum(fate["deaths"] for fate in json.loads(fates or "{}").values())


def ids(library: Path) -> set[str]:
    with Library(library) as opened:
        return {facts.id for facts in opened.documents()}


class TestOneFileOfMany:
    @pytest.mark.parametrize(
        ("deadly", "why"),
        [
            ("kill", "SIGKILL"),
            ("segv", "SIGSEGV"),
            ("exit", "ended the process"),
            ("memory", "server.job_megabytes"),
            ("value", "ValueError"),
            ("damaged", "wherefrom check"),
        ],
    )
    def test_is_named_with_its_reason_and_the_others_get_in(
        self, library_path: Path, jobs: Jobs, deadly: str, why: str
    ) -> None:
        job = sent(library_path, jobs, "early.txt", f"w-{deadly}.txt", "zulu.txt")
        with working(library_path):
            done = ended(jobs, job)
        assert done.state == "done"
        assert done.result is not None
        (failure,) = done.result["failures"]
        assert failure["name"] == f"w-{deadly}.txt"
        assert why in failure["reason"]
        assert "/secret" not in failure["reason"]
        assert {"early.txt", "zulu.txt"} <= ids(library_path)
        assert f"w-{deadly}.txt" not in ids(library_path)
        assert list(ServerFolder(library_path).uploads.iterdir()) == []

    def test_alone_it_has_failed_and_the_next_upload_is_worked_on(self, library_path: Path, jobs: Jobs) -> None:
        first = sent(library_path, jobs, "w-kill.txt")
        second = sent(library_path, jobs, "fine.txt", id="y")
        with working(library_path):
            assert "w-kill.txt" in (ended(jobs, first).reason or "")
            assert ended(jobs, second).state == "done"

    @pytest.mark.parametrize("deadly", ["kill", "exit", "damaged"])
    def test_that_dies_once_is_read_again(self, library_path: Path, jobs: Jobs, deadly: str) -> None:
        names = ["early.txt", f"w-once-{deadly}.txt", "zulu.txt"]
        with working(library_path):
            done = ended(jobs, sent(library_path, jobs, *names))
            alone = ended(jobs, sent(library_path, jobs, f"alone-once-{deadly}.txt", id="y"))
        assert done.result is not None
        assert done.result["failures"] == []
        assert alone.state == "done"
        assert {*names, f"alone-once-{deadly}.txt"} <= ids(library_path)

    def test_that_stands_still_is_ended_and_the_others_get_in(self, library_path: Path, jobs: Jobs) -> None:
        chosen = resolve()
        chosen = replace(chosen, server=replace(chosen.server, job_seconds=5.0))
        job = sent(library_path, jobs, "early.txt", "w-stop.txt", "zulu.txt")
        with working(library_path, chosen):
            done = ended(jobs, job)
        assert done.result is not None
        (failure,) = done.result["failures"]
        assert failure["name"] == "w-stop.txt"
        assert "server.job_seconds" in failure["reason"]
        assert {"early.txt", "zulu.txt"} <= ids(library_path)

    def test_what_is_known_of_it_outlives_the_worker(self, library_path: Path, jobs: Jobs) -> None:
        """A server that starts again does not begin to count anew."""
        job = sent(library_path, jobs, "early.txt", "w-kill.txt")
        for _ in range(12):  # workers that are stopped as soon as they have noted a death
            before = noted(library_path, job)
            with working(library_path):
                until = time.monotonic() + 20
                while noted(library_path, job) == before and time.monotonic() < until:
                    time.sleep(0.05)
            now = jobs.get(job.id)
            assert now is not None
            if now.finished:
                break
        assert now.finished
        assert ids(library_path) >= {"early.txt"}


class TestABusyMachine:
    def test_what_was_sent_is_no_file_s_fault_and_waits(self, library_path: Path, jobs: Jobs) -> None:
        """Where the process that reads does not begin, nothing that was acknowledged is given up."""
        job = sent(library_path, jobs, "early.txt", "w-once-unready.txt")
        with working(library_path):
            done = ended(jobs, job)
        assert done.result is not None
        assert done.result["failures"] == []
        assert {"early.txt", "w-once-unready.txt"} <= ids(library_path)


class TestFullDisks:
    def test_what_was_sent_waits_for_room(self, library_path: Path, jobs: Jobs) -> None:
        job = sent(library_path, jobs, "early.txt", "w-once-full.txt")
        with working(library_path):
            done = ended(jobs, job)
        assert done.result is not None
        assert done.result["failures"] == []
        assert {"early.txt", "w-once-full.txt"} <= ids(library_path)

    def test_waiting_is_told_and_can_be_cancelled(self, library_path: Path, jobs: Jobs) -> None:
        job = sent(library_path, jobs, "w-full.txt")
        with working(library_path):
            for _ in range(300):
                now = jobs.get(job.id)
                if now and now.progress:
                    break
                time.sleep(0.05)
            assert now is not None
            assert "disk of the server is full" in (now.progress or {})["waiting"]
            jobs.cancel(job.id)
            assert ended(jobs, job).state == "cancelled"

    def test_a_real_one_refuses_loses_nothing_and_goes_on(self, made_library: Path, tmp_path: Path) -> None:
        small = tmp_path / "small"
        small.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(small)], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("needs to mount a small disk")
        try:
            library = Path(shutil.copytree(made_library, small / "library"))
            with serving(library, *PLAIN, log=tmp_path / "log") as (address, _):
                kept = {}
                for number in range(8):  # until there is no room, and again
                    text = "".join(random.Random(number).choices("abcdefgh ", k=1_500_000))
                    name = f"big{number}.txt"
                    answered = httpx.post(f"{address}/documents", files={"files": (name, text.encode())}, timeout=60)
                    assert answered.status_code in (202, 503, 507), answered.text
                    assert answered.headers["content-type"].startswith("application/")
                    if answered.status_code == 202:
                        kept[name] = answered.headers["location"]
                assert len(kept) < 8
                refused = httpx.post(f"{address}/documents", files={"files": ("b.txt", b"x" * 6_000_000)}, timeout=60)
                assert refused.status_code == 507
                assert refused.json()["type"] == "urn:wherefrom:problem:disk-full"
                assert httpx.post(f"{address}/ask", json={"question": "Who hums?"}, timeout=60).status_code == 200
                subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
                for location in kept.values():
                    assert finished(address, location)["state"] == "done"
            assert ids(library) >= set(kept)
            assert "Traceback" not in (tmp_path / "log").read_text()
        finally:
            subprocess.run(["umount", "--lazy", str(small)], check=True)


def finished(address: str, location: str) -> dict[str, object]:
    for _ in range(10):
        job: dict[str, object] = httpx.get(f"{address}{location}", params={"wait": 10}, timeout=30).json()
        if job["state"] in ("done", "failed", "cancelled"):
            return job
    raise AssertionError(f"not finished: {job}")


class TestTablesThatAreLost:
    def test_files_that_were_taken_are_taken_up_again(self, library_path: Path, jobs: Jobs) -> None:
        sent(library_path, jobs, "early.txt", "zulu.txt")
        folder = ServerFolder(library_path)
        for file in folder.path.glob("state.sqlite*"):
            file.unlink()
        folder.make()
        with working(library_path):
            (job,) = _until_there(jobs)
            assert ended(jobs, job).state == "done"
        assert {"early.txt", "zulu.txt"} <= ids(library_path)

    def test_what_is_done_is_not_done_again(self, library_path: Path, jobs: Jobs) -> None:
        """A process that died between the note that it is done and the removing of the files."""
        job = sent(library_path, jobs, "early.txt")
        kept = ServerFolder(library_path).uploads / job.id
        copy = Path(shutil.copytree(kept, library_path / "copy"))
        with working(library_path):
            assert ended(jobs, job).state == "done"
        copy.rename(kept)
        with Library(library_path) as library:
            library.remove(["early.txt"])
        jobs.recover()
        assert jobs.take() is None
        assert not kept.exists()


def _until_there(jobs: Jobs) -> list[Job]:
    for _ in range(100):
        if found := jobs.recent(10):
            return found
        time.sleep(0.05)
    raise AssertionError("no job")


def child_of(server: int) -> psutil.Process | None:
    for process in children_of(psutil.Process(server)):
        if "ingest_child" in line_of(process):
            return process
    return None


def test_killing_the_process_that_reads_loses_no_upload(library_path: Path) -> None:
    """By any signal, at any moment: what was answered with 202 gets in."""
    dice = random.Random(4)
    kept: dict[str, str] = {}
    with serving(library_path, "--set", "server.jobs=100000", *PLAIN) as (address, process):
        stopped = threading.Event()

        def send() -> None:
            number = 0
            while not stopped.wait(0.2):
                names = [f"note{number + each}.txt" for each in range(3)]
                number += 3
                files = [("files", (name, f"Thing {name} is here. ".encode() * 200)) for name in names]
                answered = httpx.post(f"{address}/documents", files=files, timeout=30)
                if answered.status_code == 202:
                    kept.update(dict.fromkeys(names, answered.headers["location"]))

        sender = threading.Thread(target=send)
        sender.start()
        kills, there = 0, len(ids(library_path))
        until = time.monotonic() + 30 + 10 * KILLS
        while kills < KILLS and time.monotonic() < until:
            time.sleep(dice.uniform(0.2, 1.2))
            if kills and len(ids(library_path)) == there:
                continue  # a file that is met by every kill of a slow machine is given up, as it should be
            if child := child_of(process.pid):
                there = len(ids(library_path))
                child.send_signal(dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT]))
                kills += 1
        stopped.set()
        sender.join()
        assert kills == KILLS
        jobs = [finished(address, location) for location in dict.fromkeys(kept.values())]
    in_it = ids(library_path)
    told = {failure["name"] for job in jobs for failure in (job["result"] or {}).get("failures", ())}  # type: ignore[attr-defined]
    assert set(kept) - in_it - told == set()
    assert told == set(), "no file was at fault"
    assert len(kept) > 20
