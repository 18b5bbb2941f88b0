"""Measure the server under load: python -m bench.server [--seconds 60] [--clients 16] [--library DIR].

Sixteen clients ask and send documents for a minute; then the same questions are asked of a server that reads them
together and of one that reads them one by one. The clients run on the same machine and take their share of it. The
page is weighed, and loaded in a browser where there is one.
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
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil

from bench.browser import NoBrowser, chromium
from bench.facts import Facts, collect
from bench.measure import ROOT, percentile
from wherefrom.config import resolve
from wherefrom.library import Library
from wherefrom.server.app import PAGE

WORK = ROOT / "bench" / "work"
SAMPLE = ROOT / "sample"
UPLOAD_EVERY = 25  # requests of a client
MOST_PAGE_BYTES = 150_000  # of all files of the page: asked for
MOST_PAGE_SECONDS = 1.0  # until the page can be used: asked for
PAGE_LOADS = 5
MOST_FIRST = 0.100  # seconds to the first event, p50: asked for
LEAST_RATIO = 1.5  # throughput of batches beside one by one: asked for with the network as the default reader
MOST_GROWTH = 0.05  # of memory from the second quarter of the run to the last: flat, but for the allocator's noise


@dataclass
class Load:
    """What the clients of one run saw; one number a request."""

    clients: int
    seconds: float
    statuses: dict[int, int] = field(default_factory=dict)
    broken: int = 0
    first_event: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    acknowledged: int = 0
    lost: int = 0
    memory: list[int] = field(default_factory=list)  # bytes of the server and its processes, twice a second
    own: list[int] = field(default_factory=list)  # of it what is no page of a file, such as the index

    def count(self, status: int) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1

    @property
    def answered(self) -> int:
        return len(self.whole)

    @property
    def per_second(self) -> float:
        return self.answered / self.seconds

    @property
    def growth(self) -> float:
        return grown(self.memory)

    @property
    def own_growth(self) -> float:
        return grown(self.own)

    @property
    def server_errors(self) -> int:
        """Answers of 5xx but 503, which says when to come back."""
        return sum(count for status, count in self.statuses.items() if status >= 500 and status != 503)


@dataclass(frozen=True)
class PageLoads:
    """The page's weight, and the seconds until it could be used, load by load in a fresh browser; () without one."""

    bytes: int
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Run:
    """Everything measured, with what it depends on."""

    date: str
    facts: Facts
    whose: str  # pipeline: the default one, or another
    pipeline: dict[str, str]
    documents: int
    passages: int
    load: Load
    alone: Load  # one client, for the time that nothing else takes
    together: Load
    one_by_one: Load
    questions_a_batch: float
    page: PageLoads


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    facts = collect()
    settings = resolve(options.settings)
    chosen = ("--settings", str(options.settings)) if options.settings else ()
    rows = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(row)["question"] for row in rows]
    with tempfile.TemporaryDirectory() as work:
        path = options.library or _sample_library(Path(work))
        with Library(path) as library:
            documents, passages = library.counts()
        short = max(options.seconds / 3, 1.0)
        with serving(path, chosen) as server:
            load = asyncio.run(_load(server, questions, options.clients, options.seconds, uploads=not options.library))
            alone = asyncio.run(_load(server, questions, 1, short, uploads=False))
            page = _page_loads(server.address)
        with serving(path, chosen) as server:
            together = asyncio.run(_load(server, questions, options.clients, short, uploads=False))
            batch = _mean_batch(server.address)
        with serving(path, (*chosen, "--set", "server.batch=1", "--set", "server.wait_ms=0")) as server:
            one_by_one = asyncio.run(_load(server, questions, options.clients, short, uploads=False))
    run = Run(
        date=datetime.now(UTC).date().isoformat(),
        facts=facts,
        whose="the default" if not options.settings else "another than the default",
        pipeline={"rank": settings.rank.kind, "read": settings.read.kind, "judge": settings.judge.kind},
        documents=documents,
        passages=passages,
        load=load,
        alone=alone,
        together=together,
        one_by_one=one_by_one,
        questions_a_batch=batch,
        page=page,
    )
    text = markdown(run)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, encoding="utf-8")
    options.out.with_suffix(".json").write_text(json.dumps(_plain(run), indent=1) + "\n", encoding="utf-8")
    print(text)
    return 0


# ------------------------------------------------------------------------------------------------- a server


@dataclass(frozen=True)
class Server:
    address: str
    process: int

    def memory(self) -> tuple[int, int]:
        """Resident bytes of the server and the processes below it, and how many of them are no pages of files.

        A process that ends meanwhile is not counted.
        """
        total = own = 0
        root = psutil.Process(self.process)
        for process in [root, *root.children(recursive=True)]:
            try:
                found = process.memory_info()
            except psutil.NoSuchProcess:
                continue
            total += found.rss
            own += found.rss - getattr(found, "shared", 0)  # Linux alone tells pages of files apart
        return total, own


@contextmanager
def serving(path: Path, arguments: Sequence[str]) -> Iterator[Server]:
    """`wherefrom serve` in a process of its own, ready."""
    with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "wherefrom", "serve", str(path), "--port", "0", *arguments],
            stderr=log,
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env=dict(os.environ),
        )
        try:
            address = _until_ready(process, Path(log.name))
            yield Server(address, process.pid)
        finally:
            process.terminate()
            process.wait(60)


def _until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    for _ in range(1200):
        found = re.search(r"http://[^/]+", log.read_text(encoding="utf-8"))
        if found:
            try:
                if httpx.get(f"{found[0]}/ready").status_code == 200:
                    return found[0]
            except httpx.TransportError:
                pass
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")


def _sample_library(work: Path) -> Path:
    with Library(work / "library") as library:
        library.ingest([SAMPLE / "library"])
    return work / "library"


def _mean_batch(address: str) -> float:
    """How many questions were read together, in the mean."""
    text = httpx.get(f"{address}/metrics").text
    (total,) = re.findall(r"^wherefrom_batch_questions_sum ([\d.e+]+)", text, re.MULTILINE)
    (count,) = re.findall(r"^wherefrom_batch_questions_count ([\d.e+]+)", text, re.MULTILINE)
    return float(total) / max(float(count), 1.0)


# -------------------------------------------------------------------------------------------------- clients


async def _load(server: Server, questions: Sequence[str], clients: int, seconds: float, uploads: bool) -> Load:
    """All clients at once, each asking as soon as it has its answer."""
    load = Load(clients, seconds)
    sent: dict[str, str] = {}
    until = time.perf_counter() + seconds
    limits = httpx.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx.AsyncClient(base_url=server.address, timeout=60, limits=limits) as http:
        watching = asyncio.create_task(_watch(server, load))
        await asyncio.gather(
            *(_client(http, number, questions, until, load, sent, uploads) for number in range(clients))
        )
        watching.cancel()
        load.acknowledged = len(sent)
        load.lost = await _lost(http, sent)
    return load


async def _client(
    http: httpx.AsyncClient,
    number: int,
    questions: Sequence[str],
    until: float,
    load: Load,
    sent: dict[str, str],
    uploads: bool,
) -> None:
    count = 0
    while time.perf_counter() < until:
        count += 1
        try:
            if uploads and count % UPLOAD_EVERY == number % UPLOAD_EVERY:
                await _send(http, f"bench/{number}-{count}.txt", load, sent)
            else:
                # A number makes each question new: what a network has read it remembers.
                place = (count * 31 + number * 7) % len(questions)
                await _ask(http, f"{questions[place]} ({number}.{count})", load)
        except httpx.TransportError:
            load.broken += 1


async def _ask(http: httpx.AsyncClient, question: str, load: Load) -> None:
    begun = time.perf_counter()
    first: float | None = None
    ended = False
    async with _posted(http, question) as answered:
        load.count(answered.status_code)
        if answered.status_code != 200:
            await answered.aread()
            await asyncio.sleep(float(answered.headers.get("retry-after", "1")))
            return
        async for piece in answered.aiter_bytes():
            first = first or time.perf_counter() - begun
            ended = ended or b"event: trace" in piece
    if first is None or not ended:
        load.broken += 1
        return
    load.first_event.append(first)
    load.whole.append(time.perf_counter() - begun)


@asynccontextmanager
async def _posted(http: httpx.AsyncClient, question: str) -> AsyncIterator[httpx.Response]:
    async with http.stream("POST", "/ask", json={"question": question}) as answered:
        yield answered


async def _send(http: httpx.AsyncClient, name: str, load: Load, sent: dict[str, str]) -> None:
    text = f"The load test {name} wrote this sentence."
    answered = await http.post("/documents", files={"files": (name, text.encode())})
    load.count(answered.status_code)
    if answered.status_code == 202:
        sent[name] = text
    elif answered.status_code == 503:
        await asyncio.sleep(float(answered.headers.get("retry-after", "1")))


async def _lost(http: httpx.AsyncClient, sent: dict[str, str]) -> int:
    """How many acknowledged documents are not there once all jobs are done."""
    while sent:
        text = (await http.get("/metrics")).text
        if re.search(r"^wherefrom_jobs_waiting 0\.0$", text, re.MULTILINE):
            break
        await asyncio.sleep(0.2)
    lost = 0
    for name, text in sent.items():
        found = await http.get(f"/documents/{name}")
        lost += found.status_code != 200 or found.json()["text"] != text
    return lost


async def _watch(server: Server, load: Load) -> None:
    while True:
        total, own = server.memory()
        load.memory.append(total)
        load.own.append(own)
        await asyncio.sleep(0.5)


# ------------------------------------------------------------------------------------------------- the page


def _page_loads(address: str) -> PageLoads:
    weight = sum(path.stat().st_size for path in PAGE.rglob("*") if path.is_file())
    seconds: list[float] = []
    try:
        with chromium() as browser:
            for _ in range(PAGE_LOADS):
                context = browser.new_context()  # with nothing kept from the load before
                page = context.new_page()
                page.goto(address)
                page.wait_for_selector("#styles input")
                (mark,) = page.evaluate("performance.getEntriesByName('interactive').map(mark => mark.startTime)")
                seconds.append(mark / 1000)
                context.close()
    except NoBrowser as error:
        print(f"the page is weighed and not loaded: {error}", file=sys.stderr)
    return PageLoads(weight, tuple(seconds))


# --------------------------------------------------------------------------------------------------- report


def grown(memory: Sequence[int]) -> float:
    """Median of the last quarter over that of the second: the first is warming up."""
    quarter = max(len(memory) // 4, 1)
    return median(memory[-quarter:]) / median(memory[quarter : 2 * quarter]) - 1


def verdicts(run: Run) -> list[tuple[str, str, str, bool | None]]:
    """(what, asked, measured, met); None where the target is for another pipeline, or could not be measured."""
    load = run.load
    ratio = run.together.per_second / run.one_by_one.per_second
    first = percentile(load.first_event, 50)
    neural = run.pipeline["read"] == "span"
    loads = run.page.seconds
    return [
        (
            "5xx but an honest 503, broken answers",
            "none",
            f"{load.server_errors}, {load.broken}",
            not (load.server_errors or load.broken),
        ),
        ("acknowledged uploads lost", "none", f"{load.lost} of {load.acknowledged:,}", load.lost == 0),
        (
            "memory, last quarter beside the second",
            f"at most {MOST_GROWTH:+.0%}",
            f"{load.growth:+.1%}",
            load.growth <= MOST_GROWTH,
        ),
        (
            "... without pages of files, which the system takes back",
            f"at most {MOST_GROWTH:+.0%}",
            f"{load.own_growth:+.1%}",
            load.own_growth <= MOST_GROWTH,
        ),
        (
            f"first event, p50, {load.clients} clients",
            f"below {1000 * MOST_FIRST:.0f} ms",
            f"{1000 * first:.0f} ms",
            first < MOST_FIRST,
        ),
        (
            "read together beside one by one",
            f"at least {LEAST_RATIO}× with the network",
            f"{ratio:.2f}×",
            ratio >= LEAST_RATIO if neural else None,
        ),
        (
            "all files of the page",
            f"below {MOST_PAGE_BYTES / 1000:.0f} kB",
            f"{run.page.bytes / 1000:.0f} kB",
            run.page.bytes < MOST_PAGE_BYTES,
        ),
        (
            f"the page can be used, median of {PAGE_LOADS} loads",
            f"below {1000 * MOST_PAGE_SECONDS:.0f} ms",
            f"{1000 * median(loads):.0f} ms" if loads else "no browser",
            median(loads) < MOST_PAGE_SECONDS if loads else None,
        ),
    ]


def markdown(run: Run) -> str:
    stages = ", ".join(f"{stage}.kind={kind}" for stage, kind in run.pipeline.items())
    rows = []
    for name, load in (
        ("asking and sending", run.load),
        ("one client", run.alone),
        ("read together", run.together),
        ("one by one", run.one_by_one),
    ):
        rows.append(
            f"| {name} | {load.clients} | {load.seconds:.0f} | {load.answered:,} | {load.per_second:.1f} "
            f"| {1000 * percentile(load.first_event, 50):.0f} / {1000 * percentile(load.first_event, 95):.0f} "
            f"| {1000 * percentile(load.whole, 50):.0f} / {1000 * percentile(load.whole, 95):.0f} "
            f"| {max(load.memory) / 1e6:.0f} |"
        )
    words = {True: "met", False: "missed", None: "not judged"}
    judged = [f"| {what} | {asked} | {found} | {words[met]} |" for what, asked, found, met in verdicts(run)]
    statuses = ", ".join(f"{status}: {count:,}" for status, count in sorted(run.load.statuses.items()))
    facts = run.facts
    changed = " with uncommitted changes" if facts.uncommitted_changes else ""
    return "\n".join(
        [
            "# The server under load\n",
            f"One worker over {run.documents:,} documents ({run.passages:,} passages), with {run.whose} pipeline:",
            f"{stages}. Every question is new to the server. Clients run on the same machine, and wait for an",
            f'answer before they ask again. While "asking and sending", every {UPLOAD_EVERY}th request of a client is',
            "an upload.\n",
            "| | clients | seconds | answers | answers/s | first event, ms, p50 / p95 | whole, ms, p50 / p95 | MB |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
            *rows,
            f"\nAnswers by status while asking and sending: {statuses}. Read together, a batch held",
            f"{run.questions_a_batch:.1f} questions in the mean. MB: the most memory of the server's processes.\n",
            "## Asked / measured / verdict\n",
            "| what | asked | measured | verdict |",
            "|---|---|--:|---|",
            *judged,
            "\n## Where the numbers come from\n",
            f"- `python -m bench.server --seconds {run.load.seconds:.0f} --clients {run.load.clients}`, {run.date}",
            f"- commit {facts.commit}{changed}",
            f"- {facts.cpu}, {facts.cores} cores, {facts.system}, Python {facts.python}; load average "
            f"{facts.load_before:.1f} before the run\n",
        ]
    )


_PERCENTS = (5, 25, 50, 75, 90, 95, 99, 100)


def _plain(run: Run) -> dict[str, Any]:
    found = asdict(run)
    for name in ("load", "alone", "together", "one_by_one"):
        for times in ("first_event", "whole"):
            seconds = found[name][times]
            found[name][times] = {f"p{percent}": round(percentile(seconds, percent), 5) for percent in _PERCENTS}
            found[name][times]["count"] = len(seconds)
    found["verdicts"] = [
        {"what": what, "asked": asked, "measured": measured, "met": met} for what, asked, measured, met in verdicts(run)
    ]
    return found


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--library", type=Path, help="a library of your own, which is then only asked")
    parser.add_argument(
        "--settings", type=Path, help="a TOML file with settings, for another pipeline than the default"
    )
    parser.add_argument("--out", type=Path, default=WORK / "server.md")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
