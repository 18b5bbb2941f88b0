"""Two worker processes over one library: both answer, and killing one under load loses nothing acknowledged."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import psutil

from effort import times
from server.conftest import serving
from wherefrom import Library

KILLS = times(2, 9)
# Without networks, workers start sooner and answer more often: there is more to be killed in.
PLAIN = [
    part
    for setting in ("rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "write.kind=verbatim")
    for part in ("--set", setting)
]


def line_of(process: psutil.Process) -> str:
    """How it was started; nothing, if it has just died."""
    try:
        return " ".join(process.cmdline())
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return ""


def children_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return []


def workers(server: int) -> list[psutil.Process]:
    """The worker processes of a server."""
    return [child for child in psutil.Process(server).children() if "spawn_main" in line_of(child)]


def writer(server: int) -> psutil.Process | None:
    """The worker that works on the jobs: the one with a child that ingests."""
    for worker in workers(server):
        if any("ingest_child" in line_of(child) for child in children_of(worker)):
            return worker
    return None


def some_worker(server: int, killed: Sequence[int]) -> psutil.Process:
    """One that still lives; on a busy machine a new one takes its time to start."""
    for _ in range(300):
        living = [worker for worker in workers(server) if worker.pid not in killed]
        if living:
            return living[0]
        time.sleep(0.1)
    raise AssertionError("the supervisor started no new worker")


class Client(threading.Thread):
    """Sends documents and asks questions until it is stopped; remembers what was acknowledged."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__()
        self._address = address
        self._number = number
        self.stopped = threading.Event()
        self.acknowledged: dict[str, str] = {}
        self.statuses: list[int] = []
        self.broken = 0

    def run(self) -> None:
        count = 0
        while not self.stopped.wait(0.05):
            count += 1
            name = f"client{self._number}/note{count}.txt"
            text = f"Note{self._number}x{count} is about thing {count}."
            try:
                with httpx.Client(base_url=self._address, timeout=30) as http:
                    sent = http.post("/documents", files={"files": (name, text.encode())})
                    self.statuses.append(sent.status_code)
                    if sent.status_code == 202:
                        self.acknowledged[name] = text
                    response = http.post("/ask", json={"question": f"What is note {count} about?", "stream": False})
                    self.statuses.append(response.status_code)
            except httpx.TransportError:
                self.broken += 1  # its worker was killed: nothing was acknowledged


def test_killing_workers_under_load_loses_no_acknowledged_upload(library_path: Path) -> None:
    with serving(library_path, "--workers", "2", "--set", "server.jobs=100000", *PLAIN) as (address, process):
        clients = [Client(address, number) for number in range(3)]
        for client in clients:
            client.start()
        killed = []
        for kill in range(KILLS):
            time.sleep(1.5)
            # The one that writes, and now and then the other.
            victim = writer(process.pid) if kill % 2 == 0 else None
            victim = victim or some_worker(process.pid, killed)
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)
        time.sleep(1.5)
        for client in clients:
            client.stopped.set()
        for client in clients:
            client.join()
        assert len(set(killed)) == KILLS
        _wait_for_jobs(address)
        for _ in range(300):
            if len(workers(process.pid)) == 2:
                break
            time.sleep(0.1)
        assert len(workers(process.pid)) == 2, "the supervisor started no new worker"
        alive = {worker.pid for worker in workers(process.pid)}
        assert alive.isdisjoint(killed)
    acknowledged = {name: text for client in clients for name, text in client.acknowledged.items()}
    statuses = [status for client in clients for status in client.statuses]
    assert set(statuses) <= {200, 202, 503}, statuses
    assert len(acknowledged) > 3  # many more, unless the machine is busy with other things
    with Library(library_path) as library:
        for name, text in acknowledged.items():
            assert library.document(name).text == text
            hits = library.search(text.split()[0], k=1).hits
            assert [hit.passage.document_id for hit in hits] == [name]
        assert library.check(repair=False).sound


def _wait_for_jobs(address: str) -> None:
    """Until no job waits; a worker may just be starting again."""
    for _ in range(600):
        try:
            text = httpx.get(f"{address}/metrics", timeout=30).text
            (waiting,) = re.findall(r"^wherefrom_jobs_waiting ([\d.]+)", text, re.MULTILINE)
            if float(waiting) == 0:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError("jobs are still waiting")


def test_both_workers_count_and_what_one_writes_the_other_finds(library_path: Path) -> None:
    with serving(library_path, "--workers", "2") as (address, process):
        sent = httpx.post(
            f"{address}/documents",
            files={"files": ("comet.txt", b"The comet comes in June.")},
            params={"wait": 20},
            timeout=30,
        )
        assert sent.json()["state"] == "done"
        for _ in range(30):  # a connection each, so that both workers get some
            trace = httpx.post(f"{address}/ask", json={"question": "When does the comet come?", "stream": False}).json()
            assert trace["answer"]["text"] == "June"
        text = httpx.get(f"{address}/metrics").text
        (answered,) = re.findall(r'^wherefrom_questions_total{outcome="answered"} ([\d.]+)', text, re.MULTILINE)
        assert float(answered) == 30
        resident = re.findall(r'^wherefrom_resident_bytes{pid="(\d+)"} ([\d.e+]+)', text, re.MULTILINE)
        assert {int(pid) for pid, _ in resident} == {worker.pid for worker in workers(process.pid)}
        assert all(float(size) > 10e6 for _, size in resident)


def test_metrics_of_one_process(library_path: Path) -> None:
    with serving(library_path) as (address, _):
        for question in ("Who serviced the boiler?", "What do zebras eat?"):
            httpx.post(f"{address}/ask", json={"question": question})
        httpx.post(f"{address}/search", json={"question": "boiler"})
        text = httpx.get(f"{address}/metrics").text
    for line in (
        'wherefrom_questions_total{outcome="answered"} 1.0',
        'wherefrom_questions_total{outcome="declined"} 1.0',
        'wherefrom_questions_total{outcome="searched"} 1.0',
        'wherefrom_stage_seconds_count{stage="retrieve"} 3.0',
        'wherefrom_stage_seconds_count{stage="read"} 2.0',
        'wherefrom_requests_total{method="POST",status="200"} 3.0',
        "wherefrom_questions_under_way 0.0",
        "wherefrom_jobs_waiting 0.0",
    ):
        assert line in text.splitlines(), line
    assert re.search(r"^wherefrom_resident_bytes \d", text, re.MULTILINE)
