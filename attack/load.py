"""Many who ask at once: how long they wait, and whether who is told to come back is told when, and is then answered.

Beside the campaign, `python -m attack.load --source OTHER/src` puts the same load on another version of the server, to
be compared with this one on the same machine in the same minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from bench.measure import ROOT, percentile

from attack.campaign import Attempt, Campaign, Outcome
from wherefrom import Library

SAMPLE = ROOT / "sample"
CLIENTS = (1, 4, 16, 64)
SECONDS = 60.0  # of each number of clients
_LONGEST = 120.0  # that a client waits for one response
_LATE = 15.0  # over the patience and the time of a batch: a question that was let in is answered by then


@dataclass
class Waited:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    answered: list[float] = field(default_factory=list)  # seconds of a request that was answered
    whole: list[float] = field(default_factory=list)  # from the first request of a question to its answer
    refused: list[float] = field(default_factory=list)  # seconds until it was said to come back
    wrong: list[str] = field(default_factory=list)


async def load(address: str, questions: Sequence[str], clients: int, seconds: float, begin: int = 0) -> Waited:
    """All clients at once, each asking as soon as it has its answer, and coming back when it is told to."""
    waited = Waited()
    until = time.perf_counter() + seconds
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=address, timeout=_LONGEST, limits=limits) as http:
        each = (_client(http, begin + number, questions, until, waited) for number in range(clients))
        await asyncio.gather(*each)
    return waited


async def _client(http: httpx.AsyncClient, number: int, questions: Sequence[str], until: float, waited: Waited) -> None:
    count = 0
    while time.perf_counter() < until:
        count += 1
        # A number makes each question new: what a network has read it remembers.
        question = f"{questions[(count * 31 + number * 7) % len(questions)]} ({number}.{count})"
        begun = time.perf_counter()
        while not await _asked(http, question, begun, waited):
            pass


async def _asked(http: httpx.AsyncClient, question: str, since: float, waited: Waited) -> bool:
    """Ask once; whether that was the end of it."""
    begun = time.perf_counter()
    try:
        answer = await http.post("/ask", json={"question": question, "stream": False})
    except httpx.TransportError as error:
        waited.wrong.append(f"no answer: {type(error).__name__}")
        return True
    took = time.perf_counter() - begun
    waited.statuses[answer.status_code] += 1
    if answer.status_code == 200:
        waited.answered.append(took)
        waited.whole.append(time.perf_counter() - since)
        return True
    retry = answer.headers.get("retry-after", "")
    if answer.status_code != 503 or not retry.isdigit() or not 1 <= int(retry) <= 60:
        waited.wrong.append(f"status {answer.status_code}, Retry-After {retry!r}")
        await asyncio.sleep(1)
        return True
    waited.refused.append(took)
    await asyncio.sleep(int(retry))
    return False


# ------------------------------------------------------------------------------------------------ a server


def sample_library(path: Path, source: str = "") -> list[str]:
    """The sample library at `path`; the questions that go with it."""
    if not path.exists():
        environment = {**os.environ, "PYTHONPATH": source or os.environ.get("PYTHONPATH", "")}
        command = [sys.executable, "-m", "wherefrom", "ingest", str(SAMPLE / "library"), "--library", str(path), "-q"]
        subprocess.run(command, check=True, env=environment)
    rows = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(row)["question"] for row in rows]


@contextmanager
def serving(library: Path, *arguments: str, log: Path | None = None, source: str = "") -> Iterator[tuple[str, int]]:
    """`wherefrom serve` in a process of its own, ready: its address and its number."""
    log = log or library.with_name("serve.log")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": source or os.environ.get("PYTHONPATH", "")}
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "wherefrom", "serve", str(library), "--port", "0", *arguments],
            stderr=errors,
            stdout=subprocess.DEVNULL,
            env=environment,
        )
    try:
        yield _until_ready(process, log), process.pid
    finally:
        process.terminate()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if match := re.search(r"http://[^/]+", log.read_text(encoding="utf-8", errors="replace")):
            try:
                if httpx.get(f"{match[0]}/ready", timeout=10).status_code == 200:
                    return match[0]
            except httpx.TransportError:
                pass
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text(encoding='utf-8', errors='replace')[-1000:]}")


# ------------------------------------------------------------------------------------------- the campaign


def attempt(given: Attempt) -> Outcome:
    """One number of clients after the other, on one server."""
    outcome = Outcome()
    questions = sample_library(given.folder / "library")
    with Library(given.folder / "library") as library:
        patience = library.settings().server.patience_seconds
    with serving(given.folder / "library") as (address, _):
        for number, clients in enumerate(CLIENTS):
            begin = 1000 * (number + 10 * given.number)
            waited = asyncio.run(load(address, questions, clients, SECONDS * given.size, begin))
            _judged(waited, clients, patience, outcome)
    return outcome


def _judged(waited: Waited, clients: int, patience: float, outcome: Outcome) -> None:
    outcome.tried += sum(waited.statuses.values())
    outcome.count(f"answered, {clients} clients", len(waited.answered))
    outcome.count(f"told to come back, {clients} clients", len(waited.refused))
    for name, seconds in figures(waited).items():
        outcome.reach(f"{name} s, {clients} clients", round(seconds, 3))
    for wrong in sorted(set(waited.wrong)):
        outcome.break_(f"{clients} clients: {wrong}", f"{waited.wrong.count(wrong)} times")
    if not waited.answered:
        outcome.break_(f"{clients} clients: nobody is answered", "")
    elif max(waited.answered) > patience + _LATE:
        outcome.break_(f"{clients} clients: who was let in waits too long", f"{max(waited.answered):.1f} s")


def figures(waited: Waited) -> dict[str, float]:
    return {
        "p50": percentile(waited.answered, 50) if waited.answered else 0.0,
        "p99": percentile(waited.answered, 99) if waited.answered else 0.0,
        "whole p50": percentile(waited.whole, 50) if waited.whole else 0.0,
        "whole p99": percentile(waited.whole, 99) if waited.whole else 0.0,
        "slowest refusal": max(waited.refused, default=0.0),
    }


LOAD = Campaign(
    name="load",
    unit="requests",
    over=f"{', '.join(map(str, CLIENTS))} clients, each asking as soon as it has its answer, {SECONDS:g} s each; "
    "whole: with the times of coming back",
    attempts=1,
    seconds=900,
    attempt=attempt,
    alone=True,
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attack.load", description=__doc__)
    parser.add_argument("--source", default="", help="the src folder of another version")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as work:
        questions = sample_library(Path(work) / "library", options.source)
        with serving(Path(work) / "library", source=options.source) as (address, _):
            waited = asyncio.run(load(address, questions, options.clients, options.seconds))
    shown = ", ".join(f"{name} {value:.2f}" for name, value in figures(waited).items())
    print(f"{options.clients} clients, {options.seconds:g} s: {len(waited.answered)} answered, {shown}")
    print(f"statuses {dict(waited.statuses)}; wrong {Counter(waited.wrong)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
