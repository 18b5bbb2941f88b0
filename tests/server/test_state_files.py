"""What a server keeps beside the documents: keys that are lost let nobody in, counts that are lost stop nobody."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from attack.children import ran

from attack import kills
from server.conftest import MakeClient
from server.test_commands import run
from wherefrom.errors import LibraryDamaged, LibraryError
from wherefrom.server.folder import ServerFolder
from wherefrom.server.jobs import Jobs
from wherefrom.server.keys import Keys
from wherefrom.server.rates import Rates


def remove(file: Path) -> None:
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def empty(file: Path) -> None:
    remove(file)
    file.touch()


def scribble(file: Path) -> None:
    remove(file)
    file.write_bytes(b"no database at all " * 500)


def zero_the_middle(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    remove(file)
    file.write_bytes(data)


DAMAGES = [remove, empty, scribble, zero_the_middle]


class TestKeysThatAreLost:
    @pytest.mark.parametrize("damage", DAMAGES)
    def test_nobody_is_served_and_the_remedy_is_named(self, library_path: Path, damage: Callable[[Path], None]) -> None:
        Keys(ServerFolder(library_path)).add("reader", "read")
        damage(library_path / "server" / "state.sqlite")
        served = run(library_path, "serve", "--port", "0")
        assert served.returncode == 3
        assert "wherefrom keys add" in served.stderr
        assert "Traceback" not in served.stderr

    @pytest.mark.parametrize("damage", [empty, scribble, zero_the_middle])
    def test_a_damaged_file_is_refused_though_there_were_no_keys(
        self, library_path: Path, damage: Callable[[Path], None]
    ) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        damage(folder.path / "state.sqlite")
        with pytest.raises(LibraryDamaged, match="is damaged"):
            ServerFolder(library_path).make()
        listed = run(library_path, "keys", "list")
        assert listed.returncode == 3
        assert "Traceback" not in listed.stderr

    @pytest.mark.parametrize("damage", DAMAGES)
    def test_while_it_serves_nobody_gets_in_either(
        self, client_with: MakeClient, library_path: Path, damage: Callable[[Path], None]
    ) -> None:
        key = Keys(ServerFolder(library_path)).add("reader", "read")
        client = client_with()
        assert client.get("/documents").status_code == 401
        damage(library_path / "server" / "state.sqlite")
        for headers in ({}, {"Authorization": f"Bearer {key}"}):
            refused = client.get("/documents", headers=headers)
            assert refused.status_code == 503
            assert refused.headers["content-type"] == "application/problem+json"
            assert str(library_path) not in refused.text
        assert client.get("/health").status_code == 200

    def test_the_remedy_helps(self, library_path: Path) -> None:
        keys = Keys(ServerFolder(library_path))
        keys.add("reader", "read")
        shutil.move(library_path / "server" / "state.sqlite", library_path / "server" / "state.damaged")
        keys.add("anew", "read")
        keys.check()
        assert [key.name for key in keys.all()] == ["anew"]

    def test_removing_the_last_key_opens_the_library_again(self, library_path: Path, client_with: MakeClient) -> None:
        keys = Keys(ServerFolder(library_path))
        keys.add("reader", "read")
        keys.remove("reader")
        assert client_with().get("/documents").status_code == 200

    def test_keys_of_before_the_mark_are_guarded_from_the_first_start_on(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        keys = Keys(folder)
        keys.add("reader", "read")
        (folder.path / "guarded").unlink()  # as a version of before left it
        keys.check()
        remove(folder.path / "state.sqlite")
        with pytest.raises(LibraryError):
            keys.check()


class TestCountsThatAreLost:
    @pytest.mark.parametrize("damage", DAMAGES)
    def test_the_server_starts_and_says_it_once(
        self,
        client_with: MakeClient,
        library_path: Path,
        damage: Callable[[Path], None],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        folder = ServerFolder(library_path)
        key = Keys(folder).add("reader", "read", per_minute=6)
        Rates(folder).close()
        file = folder.path / "rates.sqlite"
        file.write_bytes(file.read_bytes().ljust(12_288, b"\0"))
        damage(file)
        with caplog.at_level(logging.WARNING):
            client = client_with()
            answers = [client.get("/documents", headers={"Authorization": f"Bearer {key}"}) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 429, 429]
        said = [record for record in caplog.records if "rates.sqlite" in record.getMessage()]
        assert len(said) == (1 if damage in (scribble, zero_the_middle) else 0)  # an empty one is like a new one

    def test_damage_while_it_serves_stops_nobody(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        rates = Rates(folder)
        assert rates.wait("a", 6) == 0.0
        with (folder.path / "rates.sqlite").open("r+b") as file:
            file.write(b"no database at all " * 500)
        (folder.path / "rates.sqlite-wal").write_bytes(b"")
        assert rates.wait("b", 6) == 0.0
        assert rates.wait("b", 6) > 0
        rates.close()

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a folder that cannot be written")
    def test_where_no_file_can_be_written_this_process_counts(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        folder.path.chmod(0o500)
        rates = Rates(folder)
        assert rates.wait("a", 6) == 0.0
        assert rates.wait("a", 6) > 0
        folder.path.chmod(0o700)

    def test_where_the_file_is_a_folder_this_process_counts(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        (folder.path / "rates.sqlite").unlink(missing_ok=True)  # another test may have served the library
        (folder.path / "rates.sqlite").mkdir()
        rates = Rates(folder)
        assert rates.wait("a", 6) == 0.0
        assert rates.wait("a", 6) > 0
        rates.close()


class TestClocks:
    @pytest.mark.parametrize("back", [30.0, 86_400.0, 1e9])
    def test_a_clock_that_was_set_back_locks_no_key_out(self, library_path: Path, back: float) -> None:
        """A due time that no count can have reached is of an earlier clock: another start of the machine."""
        folder = ServerFolder(library_path)
        folder.make()
        now = 2e9
        rates = Rates(folder, lambda: now)
        while rates.wait("a", 60) == 0.0:
            pass
        now -= back
        assert rates.wait("a", 60) == 0.0
        while rates.wait("a", 60) == 0.0:
            pass
        assert rates.wait("a", 60) <= 1.0  # and it counts from there
        rates.close()

    def test_the_time_of_day_has_no_part_in_it(self, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        rates = Rates(folder)
        while rates.wait("a", 60) == 0.0:
            pass
        monkeypatch.setattr("time.time", lambda: 0.0)
        assert 0 < rates.wait("a", 60) <= 1.0
        rates.close()


def test_tables_are_laid_whole_however_little_room_there_is(tmp_path: Path, library_path: Path) -> None:
    """What SQLite has put in a log, and then finds no room for in the file, is lost without an error."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def lay(say: Callable[[str], None]) -> None:
        if not kills.small_disk(disk):
            say("no disk")
            return
        shutil.copytree(library_path, disk / "library")
        folder = ServerFolder(disk / "library")
        for room in range(0, 130_000, 4096):
            free = shutil.disk_usage(disk).free
            (disk / "filler").write_bytes(bytes(max(free - room, 0)))
            with suppress(LibraryError):
                folder.make()
                say("made")
            (disk / "filler").unlink()
            folder.make()
            say("whole")
            shutil.rmtree(folder.path)

    lines = ran(lay).lines
    if lines == ["no disk"]:
        pytest.skip("no disk can be mounted here")
    assert lines.count("whole") == 32
    assert 0 < lines.count("made") < 32  # there was too little room now, and enough then
    assert not [line for line in lines if line.startswith("raised ")]


class TestDamagedJobs:
    """What is known of an upload stands beside its files too."""

    @pytest.fixture
    def jobs(self, library_path: Path) -> Jobs:
        folder = ServerFolder(library_path)
        folder.make()
        file = folder.uploads / "one" / "0" / "note.txt"
        file.parent.mkdir(parents=True)
        file.write_text("A note.")
        jobs = Jobs(folder)
        jobs.add("upload", ["note.txt"], [file], "", "one")
        jobs.add("remove", ["other.txt"], [], "", "two")
        return jobs

    @pytest.mark.parametrize(
        "damage",
        ["names = '[\"note'", "names = 'null'", "files = '[3]'", "state = 'quexed'", "names = cast(x'ff80' AS TEXT)",
         "fates = '{\"a\": 3}'"],
    )  # fmt: skip
    def test_an_upload_is_taken_up_again_and_the_next_job_too(
        self, library_path: Path, jobs: Jobs, damage: str
    ) -> None:
        with closing(sqlite3.connect(library_path / "server" / "state.sqlite")) as connection, connection:
            connection.execute(f"UPDATE job SET {damage} WHERE id = 'one'")
        assert {job.id for job in jobs.recent(10)} == {"one", "two"}
        jobs.recover()
        taken = [jobs.take(), jobs.take()]
        assert {each.job.id: each.job.names for each in taken if each} == {"one": ("note.txt",), "two": ("other.txt",)}
        assert jobs.take() is None

    def test_a_process_that_died_before_it_noted_the_job_undoes_nothing_later(
        self, library_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = ServerFolder(library_path)
        now = time.time()
        for id, after, names in (("older", 5.0, ["note.txt", "alone.txt"]), ("newer", 10.0, ["note.txt"])):
            files = [folder.uploads / id / str(number) / name for number, name in enumerate(names)]
            for file in files:
                file.parent.mkdir(parents=True)
                file.write_text(id)
            monkeypatch.setattr("time.time", lambda at=now + after: at)
            jobs.add("upload", names, files, "", id)
        with closing(sqlite3.connect(library_path / "server" / "state.sqlite")) as connection, connection:
            connection.execute("DELETE FROM job WHERE id = 'older'")  # it had not come to that
        jobs.recover()
        taken = []
        while each := jobs.take():
            taken.append((each.job.id, each.job.names, [file.name for file in each.files]))
        assert sorted(taken) == [
            ("newer", ("note.txt",), ["note.txt"]),
            ("older", ("alone.txt",), ["alone.txt"]),
            ("one", ("note.txt",), ["note.txt"]),
            ("two", ("other.txt",), []),
        ]

    def test_a_removal_is_said_to_be_damaged(self, library_path: Path, jobs: Jobs) -> None:
        with closing(sqlite3.connect(library_path / "server" / "state.sqlite")) as connection, connection:
            connection.execute("UPDATE job SET names = '{' WHERE id = 'two'")
        first = jobs.take()
        assert first is not None
        assert first.job.id == "one"
        assert jobs.take() is None
        job = jobs.get("two")
        assert job is not None
        assert (job.state, job.reason) == ("failed", "what was noted of this job is damaged; send it again")
