"""Documents over HTTP: listed, read, sent, replaced, removed; jobs told, cancelled, and kept through the worst."""

from __future__ import annotations

import gzip
import io
import lzma
import threading
import time
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import quote

import docx
import httpx
import psutil
import pytest
from fastapi.testclient import TestClient
from filelock import FileLock

from server.conftest import MakeClient, serving
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.server.folder import ServerFolder
from wherefrom.server.ingest_worker import IngestWorker
from wherefrom.server.jobs import Jobs
from wherefrom.types import Document, Place


def send(client: TestClient, *files: tuple[str, bytes], wait: float = 20) -> Any:
    return client.post("/documents", files=[("files", file) for file in files], params={"wait": wait})


def ask(client: TestClient, question: str) -> str | None:
    answer: dict[str, Any] = client.post("/ask", json={"question": question, "stream": False}).json()["answer"]
    return answer["text"]


def own_memory(process: int) -> int:
    """Without the pages of files: the database is mapped, and the system takes these back."""
    used = psutil.Process(process).memory_info()
    return int(used.rss - getattr(used, "shared", 0))


class TestReading:
    def test_listed_by_id_a_page_at_a_time(self, client: TestClient) -> None:
        first = client.get("/documents", params={"limit": 2}).json()
        assert [document["id"] for document in first["documents"]] == ["boiler.md", "garden/roses.txt"]
        assert (first["documents_in_all"], first["passages_in_all"]) == (3, 3)
        rest = client.get("/documents", params={"limit": 2, "after": first["next"]}).json()
        assert [document["id"] for document in rest["documents"]] == ["keys.txt"]
        assert rest["next"] is None

    def test_where_files_lie_on_the_disk_is_not_told(self, client: TestClient) -> None:
        assert client.get("/documents").json()["documents"][0]["source"] == "boiler.md"
        assert "/home/somebody" not in client.get("/documents").text + client.get("/documents/boiler.md").text

    def test_a_document_with_the_offsets_of_its_passages(self, client: TestClient, library_path: Path) -> None:
        long = " ".join(f"Sentence number {number} of this text is here." for number in range(100))
        with Library(library_path) as library:
            library.put([Document("a/b c?#.txt", long, places=(Place(0, "page 1", 1), Place(50, "Notes")))])
            expected = library.passages_of("a/b c?#.txt")
        document = client.get("/documents/a/b%20c%3F%23.txt").json()
        assert document["text"] == long
        assert document["places"] == [
            {"start": 0, "label": "page 1", "number": 1},
            {"start": 50, "label": "Notes", "number": None},
        ]
        assert len(expected) > 3
        assert [(p["id"], p["start"], p["end"]) for p in document["passages"]] == [
            (p.id, p.start, p.end) for p in expected
        ]
        assert all(document["text"][p["start"] : p["end"]] for p in document["passages"])
        assert (document["start"], document["end"], document["length"]) == (0, len(long), len(long))

    def test_a_part_of_a_document(self, client: TestClient, library_path: Path) -> None:
        long = " ".join(f"Sentence «{number}» of this \N{GLOBE WITH MERIDIANS} is here." for number in range(300))
        with Library(library_path) as library:
            library.put([Document("long.txt", long)])
            every = library.passages_of("long.txt")
        for start, characters in ((0, 10), (777, 2000), (len(long) - 5, 50), (10**9, 1)):
            part = client.get("/documents/long.txt", params={"start": start, "characters": characters}).json()
            begin, end = min(start, len(long)), min(start + characters, len(long))
            assert (part["text"], part["start"], part["end"]) == (long[begin:end], begin, end)
            assert (part["length"], part["passages_in_all"]) == (len(long), len(every))
            there = [passage.id for passage in every if passage.end > begin and passage.start < end]
            assert [passage["id"] for passage in part["passages"]] == there
        for wrong in ({"start": -1}, {"characters": 0}, {"start": 10**30}, {"start": "x"}):
            assert client.get("/documents/long.txt", params=wrong).status_code == 422

    def test_a_long_document_is_sent_as_it_is_read(self, library_path: Path) -> None:
        """8 MB: they were held ten times in memory at once."""
        line = "A line of words that say next to nothing, in a document of many. "
        with Library(library_path) as library:
            library.put([Document("long.txt", line * 120_000)])
        with serving(library_path) as (address, process):
            before = own_memory(process.pid)
            most = before
            characters = 0
            with httpx.stream("GET", f"{address}/documents/long.txt", timeout=60) as response:
                for piece in response.iter_raw():
                    characters += piece.count(b"next to nothing")
                    most = max(most, own_memory(process.pid))
            assert characters > 119_000
            assert most - before < 20_000_000

    @pytest.mark.parametrize(
        "id", ["nothing", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%00", "a" * 900, "documents.sqlite"]
    )
    def test_what_is_not_a_document_is_404(self, client: TestClient, id: str) -> None:
        for refused in (client.get(f"/documents/{id}"), client.delete(f"/documents/{id}")):
            assert refused.status_code == 404
            assert refused.headers["content-type"] == "application/problem+json"


class TestSending:
    def test_sent_found_replaced_removed(self, client: TestClient) -> None:
        sent = send(
            client, ("notes/moon.md", b"# Moon\n\nThe moon key is under the mat."), ("sun.txt", b"The sun is hot.")
        )
        assert sent.status_code == 200
        job = sent.json()
        assert sent.headers["location"] == f"/jobs/{job['id']}"
        assert (job["state"], job["kind"], job["names"]) == ("done", "upload", ["notes/moon.md", "sun.txt"])
        assert (job["result"]["added"], job["result"]["failures"]) == (2, [])
        assert ask(client, "Where is the moon key?") == "under the mat"
        assert client.get("/documents/notes/moon.md").json()["title"] == "Moon"
        again = send(client, ("notes/moon.md", b"# Moon\n\nThe moon key is in the drawer.")).json()
        assert (again["result"]["added"], again["result"]["replaced"]) == (0, 1)
        assert ask(client, "Where is the moon key?") == "in the drawer"
        removed = client.delete("/documents/notes/moon.md", params={"wait": 20})
        assert removed.json()["result"] == {"removed": ["notes/moon.md"]}
        assert client.get("/documents/notes/moon.md").status_code == 404
        assert ask(client, "Where is the moon key?") != "in the drawer"

    def test_without_waiting_it_is_202_and_the_job_tells(self, client: TestClient) -> None:
        sent = send(client, ("moon.txt", b"The moon is far."), wait=0)
        assert sent.status_code == 202
        assert sent.json()["state"] == "queued"
        job = client.get(sent.headers["location"], params={"wait": 20}).json()
        assert job["state"] == "done"
        assert client.get("/jobs").json()["jobs"][0] == job

    def test_one_of_a_known_id_replaces_it_wherever_it_came_from(self, client: TestClient) -> None:
        job = send(client, ("boiler.md", b"The boiler was serviced by Ivo in June.")).json()
        assert job["result"]["replaced"] == 1
        assert ask(client, "Who serviced the boiler?") == "Ivo"
        assert client.get("/documents").json()["documents_in_all"] == 3

    def test_names_may_be_those_that_people_give(self, client: TestClient) -> None:
        name = "Größe? 10:30 <draft> & *all*.txt"
        assert send(client, (name, b"The draft is short.")).json()["names"] == [name]
        assert client.get("/documents/" + quote(name)).json()["text"] == "The draft is short."

    def test_records_that_a_file_no_longer_has_go(self, client: TestClient) -> None:
        rows = [b'{"id": "x", "text": "Xenia sings."}', b'{"id": "y", "text": "Yann dances."}']
        assert send(client, ("rows.jsonl", b"\n".join(rows))).json()["result"]["added"] == 2
        job = send(client, ("rows.jsonl", rows[0])).json()
        assert job["result"]["removed"] == ["y"]
        assert client.get("/documents/x").status_code == 200
        assert client.get("/documents/y").status_code == 404

    def test_the_same_sent_twice_is_unchanged_and_comes_back_after_being_replaced(
        self, client: TestClient, library_path: Path
    ) -> None:
        send(client, ("moon.txt", b"The moon is far."))
        assert send(client, ("moon.txt", b"The moon is far.")).json()["result"]["unchanged"] == 1
        with Library(library_path) as library:
            library.put([Document("moon.txt", "The moon is near.")])
        assert send(client, ("moon.txt", b"The moon is far.")).json()["result"]["replaced"] == 1
        assert client.get("/documents/moon.txt").json()["text"] == "The moon is far."

    def test_nothing_is_left_of_an_upload_that_is_done(self, client: TestClient, library_path: Path) -> None:
        send(client, ("moon.txt", b"The moon is far."))
        send(client, ("broken.pdf", b"%PDF-1.7 and then nothing"))
        send(client, ("program.exe", b"MZ\x00\x01"))
        assert list((library_path / "server" / "uploads").iterdir()) == []

    def test_what_another_process_ingests_is_seen_without_a_restart(
        self, client: TestClient, library_path: Path, tmp_path: Path
    ) -> None:
        assert ask(client, "Where is the comet book?") is None
        (tmp_path / "comet.txt").write_text("The comet book lies on the piano.")
        with Library(library_path) as other:
            other.ingest([tmp_path / "comet.txt"])
        assert ask(client, "Where is the comet book?") == "on the piano"


class TestHostileUploads:
    @pytest.mark.parametrize(
        "name",
        [
            "../../evil.txt",
            "/etc/passwd.txt",
            "a/../b.txt",
            "..",
            "a//b.txt",
            "a\\b.txt",
            ".",
            "x" * 300 + ".txt",
            "a\u0000b.txt",
            "a\nb.txt",
            " a.txt",
            "a/ b.txt",
            "folder/",
        ],
    )
    def test_names_that_lead_elsewhere_are_refused(self, client: TestClient, library_path: Path, name: str) -> None:
        body = b'--x\r\nContent-Disposition: form-data; name="files"; filename="' + name.replace("\\", "\\\\").encode()
        body += b'"\r\n\r\ntext\r\n--x--\r\n'  # by hand: a client would mend the name
        refused = client.post("/documents", content=body, headers={"content-type": "multipart/form-data; boundary=x"})
        assert refused.status_code in (400, 422), refused.text
        assert list((library_path / "server" / "uploads").iterdir()) == []
        assert sorted(path.name for path in library_path.parent.iterdir()) == ["library"]
        assert client.get("/documents").json()["documents_in_all"] == 3

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("program.exe", b"MZ\x90\x00" + bytes(range(256)) * 20),
            ("picture.gif", b"\x89PNG\r\n\x1a\n" + bytes(100)),
            ("renamed.pdf", b"MZ\x90\x00" + bytes(range(256)) * 20),
            ("renamed.docx", b"just text"),
            ("renamed.txt", b"\x7fELF" + bytes(range(256)) * 20),
            ("empty.txt", b""),
        ],
    )
    def test_what_its_bytes_do_not_bear_out_is_refused(self, client: TestClient, name: str, data: bytes) -> None:
        refused = send(client, (name, data))
        assert refused.status_code == 415
        assert name in refused.json()["detail"]

    def test_an_archive_that_is_none_is_named_by_its_job(self, client: TestClient) -> None:
        job = send(client, ("archive.docx", b"PK\x03\x04" + b"not a word file")).json()
        assert job["state"] == "failed"
        assert job["reason"] == "archive.docx: it is damaged, or not a Word document"
        assert client.get("/documents").json()["documents_in_all"] == 3

    def test_a_script_is_read_as_code_and_run_by_nobody(self, client: TestClient) -> None:
        assert send(client, ("script.sh", b"#!/bin/sh\nrm -rf /\n")).json()["state"] == "done"
        assert "rm -rf /" in client.get("/documents/script.sh").json()["text"]

    def test_one_refused_refuses_all(self, client: TestClient) -> None:
        assert send(client, ("good.txt", b"Good text."), ("bad.exe", b"MZ\x00")).status_code == 415
        assert client.get("/documents/good.txt").status_code == 404
        assert client.get("/jobs").json()["jobs"] == []
        refused = send(client, ("same.txt", b"One."), ("same.txt", b"Two."))
        assert refused.status_code == 422
        assert "same name" in refused.json()["detail"]

    def test_zip_bombs_in_docx_are_not_unpacked(self, client: TestClient) -> None:
        bomb = io.BytesIO()
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as parts:
            parts.writestr("[Content_Types].xml", "<Types/>")
            parts.writestr("word/document.xml", b"<a>" + b" " * 200_000_000)
        assert len(bomb.getvalue()) < 1_000_000
        job = send(client, ("bomb.docx", bomb.getvalue())).json()
        assert job["state"] == "failed"
        assert "longer than 64 MB" in job["reason"]

    @pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
    def test_packed_bombs_are_not_unpacked(self, client_with: MakeClient, suffix: str, pack: Any) -> None:
        client = client_with(unpacked_megabytes=1.0)
        line = b'{"text": "' + b"a " * 1000 + b'"}\n'
        job = send(client, (f"bomb.jsonl{suffix}", pack(line * 2000)), ("fine.txt", b"Fine text.")).json()
        assert job["state"] == "done"  # for the other one
        assert [failure["name"] for failure in job["result"]["failures"]] == [f"bomb.jsonl{suffix}"]
        assert "server.unpacked_megabytes" in job["result"]["failures"][0]["reason"]
        assert client.get("/documents").json()["documents_in_all"] == 4

    def test_a_file_that_eats_memory_harms_neither_the_server_nor_the_next(self, client_with: MakeClient) -> None:
        client = client_with(job_megabytes=200)
        hungry = io.BytesIO()
        document = docx.Document()
        paragraph = document.add_paragraph("word " * 40_000)._p
        for _ in range(299):
            paragraph.addnext(deepcopy(paragraph))  # 133 kB as a file, many times 60 MB when it is read
        document.save(hungry)
        assert send(client, ("hungry.docx", hungry.getvalue()), wait=30).json()["state"] == "failed"
        assert send(client, ("modest.txt", b"Modest text."), wait=30).json()["state"] == "done"
        assert ask(client, "Who serviced the boiler?") is not None

    def test_limits_of_size_and_number(self, client_with: MakeClient) -> None:
        client = client_with(upload_megabytes=0.01, upload_files=2)
        assert send(client, ("long.txt", b"a" * 20_000)).status_code == 413
        refused = send(client, *((f"{number}.txt", b"text") for number in range(3)))
        assert refused.status_code == 400
        assert "Maximum number of files is 2" in refused.json()["detail"]
        assert send(client, ("short.txt", b"Short text.")).json()["state"] == "done"

    def test_forms_that_are_none(self, client: TestClient) -> None:
        assert client.post("/documents").status_code == 415
        assert client.post("/documents", json={"files": []}).status_code == 415
        assert client.post("/documents", data={"files": "text"}).status_code == 415
        broken = client.post(
            "/documents", content=b"--x\r\nbroken", headers={"content-type": "multipart/form-data; boundary=x"}
        )
        assert broken.status_code in (400, 422)
        empty = client.post(
            "/documents", content=b"--x--\r\n", headers={"content-type": "multipart/form-data; boundary=x"}
        )
        assert empty.status_code == 422

    def test_text_is_told_as_it_is_and_never_as_markup(self, client: TestClient) -> None:
        text = "<script>alert(1)</script> <img src=x onerror=alert(1)> & the vault is open."
        send(client, ("evil.txt", text.encode()))
        response = client.get("/documents/evil.txt")
        assert response.headers["content-type"] == "application/json"
        assert response.json()["text"] == text


class TestJobs:
    def test_a_queued_job_can_be_cancelled_and_a_finished_one_is_left(
        self, client: TestClient, library_path: Path
    ) -> None:
        with FileLock(library_path / "writer.lock"):  # another process writes
            first = send(client, ("one.txt", b"One text."), wait=0).json()
            second = send(client, ("two.txt", b"Two text."), wait=0).json()
            for _ in range(100):
                running = client.get(f"/jobs/{first['id']}").json()
                if running["progress"]:
                    break
                time.sleep(0.05)
            assert running["state"] == "running"
            assert "is writing to the library" in running["progress"]["waiting"]
            assert client.delete(f"/jobs/{second['id']}").json()["state"] == "cancelled"
            assert client.delete(f"/jobs/{first['id']}", params={"wait": 20}).json()["state"] == "cancelled"
        third = send(client, ("three.txt", b"Three text.")).json()
        assert third["state"] == "done"
        assert client.delete(f"/jobs/{third['id']}").json()["state"] == "done"
        ids = [document["id"] for document in client.get("/documents").json()["documents"]]
        assert "three.txt" in ids
        assert "one.txt" not in ids
        assert "two.txt" not in ids

    def test_unknown_jobs_are_404(self, client: TestClient) -> None:
        assert client.get("/jobs/none").status_code == 404
        assert client.delete("/jobs/none").status_code == 404

    def test_too_many_jobs_are_503(self, client_with: MakeClient, library_path: Path) -> None:
        client = client_with(jobs=1)
        with FileLock(library_path / "writer.lock"):
            assert send(client, ("one.txt", b"One text."), wait=0).status_code == 202
            refused = send(client, ("two.txt", b"Two text."), wait=0)
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "5"
            assert client.delete("/documents/keys.txt").status_code == 503

    def test_a_job_that_takes_too_long_is_ended(self, client_with: MakeClient) -> None:
        client = client_with(job_seconds=0.01)
        job = send(client, ("slow.txt", b"Slow text. " * 100_000)).json()
        assert job["state"] == "failed"
        assert "server.job_seconds" in job["reason"]

    def test_jobs_of_a_dead_process_are_done_by_the_next(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        jobs = Jobs(folder)
        file = folder.uploads / "x" / "0" / "moon.txt"
        file.parent.mkdir(parents=True)
        file.write_text("The moon is far.")
        job = jobs.add("upload", ["moon.txt"], [file], "", "x")
        assert jobs.take() is not None  # and its process dies
        worker = IngestWorker(library_path, resolve(), folder)
        worker.start()
        for _ in range(200):
            if jobs.get(job.id).finished:  # type: ignore[union-attr]
                break
            time.sleep(0.05)
        worker.stop()
        assert jobs.get(job.id).state == "done"  # type: ignore[union-attr]
        with Library(library_path) as library:
            assert library.document("moon.txt").text == "The moon is far."

    def test_a_job_that_kills_its_processes_is_given_up(self, library_path: Path) -> None:
        folder = ServerFolder(library_path)
        folder.make()
        jobs = Jobs(folder)
        job = jobs.add("remove", ["keys.txt"], [], "")
        for _ in range(20):
            assert jobs.take() is not None
            jobs.recover()
        ended = jobs.get(job.id)
        assert ended is not None
        assert ended.state == "failed"
        assert "died 20 times" in (ended.reason or "")

    def test_stopping_in_the_middle_of_a_job_keeps_it_for_the_next_start(self, library_path: Path) -> None:
        with FileLock(library_path / "writer.lock"), serving(library_path) as (address, process):
            sent = httpx.post(f"{address}/documents", files={"files": ("moon.txt", b"The moon is far.")})
            assert sent.status_code == 202
            time.sleep(0.5)
            process.terminate()
            assert process.wait(30) is not None
        with serving(library_path) as (address, _):
            job = httpx.get(f"{address}{sent.headers['location']}", params={"wait": 20}, timeout=30).json()
            assert job["state"] == "done"
            assert httpx.get(f"{address}/documents/moon.txt").json()["text"] == "The moon is far."


def test_many_uploads_at_once_all_arrive(client: TestClient) -> None:
    done: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda n=n: done.append(send(client, (f"n{n}.txt", f"Number {n} is here.".encode()), wait=30))
        )
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answered.json()["state"] for answered in done] == ["done"] * 12
    assert client.get("/documents").json()["documents_in_all"] == 15
