"""Half an hour of mixed use: memory, open files and threads of the server stay as they were."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median

import httpx
import psutil

from attack.campaign import Attempt, Campaign, Outcome
from attack.load import sample_library, serving

SECONDS = 1800.0
CLIENTS = 3
_PAUSE = 0.15  # seconds between two requests of a client: use, not load
_LOOK_SECONDS = 5.0
_MOST_GROWTH = 0.05  # of memory from the second third to the last: what an allocator's noise may be
_MOST_BYTES = 10_000_000  # ... or so many, whichever is more
_WARM_SECONDS = 300.0  # a shorter run is all warming up: of it, memory is not judged
_MOST_MORE = 8  # open files or threads: those of a request that is under way as it is looked at


@dataclass(frozen=True)
class Look:
    """The server as it is at one moment."""

    seconds: float
    memory: int  # bytes of its own: pages of files, which the system takes back, are left out
    files: int
    threads: int


@dataclass
class Use:
    """What the clients did, and what went wrong."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)


def attempt(given: Attempt) -> Outcome:
    outcome = Outcome()
    questions = sample_library(given.folder / "library")
    log = given.folder / "serve.log"
    use, looks = Use(), [Look(0.0, 0, 0, 0)]
    with serving(given.folder / "library", log=log) as (address, number):
        until = time.monotonic() + SECONDS * given.size
        seeds = [given.chance.random() for _ in range(CLIENTS)]
        clients = [threading.Thread(target=_client, args=(address, seed, questions, until, use)) for seed in seeds]
        for client in clients:
            client.start()
        looks = _watched(psutil.Process(number), until)
        for client in clients:
            client.join()
    outcome.tried = sum(use.done.values())
    for name, count in use.done.items():
        outcome.count(name, count)
    for what, times in use.wrong.items():
        outcome.break_(what, f"{times} times")
    if "Traceback" in (text := log.read_text(encoding="utf-8", errors="replace")):
        outcome.break_("a traceback in the server's log", text[-1500:])
    judged(looks, outcome)
    return outcome


def judged(looks: Sequence[Look], outcome: Outcome) -> None:
    """Compare the last third with the second: the first is warming up."""
    third = max(len(looks) // 3, 1)
    second, last = looks[third : 2 * third], looks[-third:]
    if not second:
        return
    hours = max(looks[-1].seconds - second[0].seconds, 1.0) / 3600
    slope = _slope([(look.seconds / 3600, look.memory / 1e6) for look in looks[third:]])
    before, after = median(look.memory for look in second), median(look.memory for look in last)
    outcome.reach("memory MB", round(max(look.memory for look in looks) / 1e6, 1))
    outcome.counts["memory, MB an hour"] = round(slope, 2)
    outcome.counts["memory, last third over the second, %"] = round(100 * (after / before - 1), 2)
    outcome.counts["measured hours"] = round(hours, 3)
    if looks[-1].seconds > _WARM_SECONDS and after - before > max(_MOST_GROWTH * before, _MOST_BYTES):
        outcome.break_("memory grows", f"from {before / 1e6:.1f} to {after / 1e6:.1f} MB, {slope:.1f} MB an hour")
    counted: tuple[tuple[str, Callable[[Look], int]], ...] = (
        ("open files", lambda look: look.files),
        ("threads", lambda look: look.threads),
    )
    for name, of in counted:
        most, least = max(map(of, last)), median(map(of, second))
        outcome.reach(name, max(map(of, looks)))
        outcome.counts[f"{name}, last third over the second"] = median(map(of, last)) - least
        if median(map(of, last)) > least + _MOST_MORE:
            outcome.break_(f"{name} become more", f"from {least} to {most}")


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line that is nearest (least squares)."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def _watched(process: psutil.Process, until: float) -> list[Look]:
    looks = []
    begun = time.monotonic()
    while (now := time.monotonic()) < until:
        used = process.memory_info()
        own = used.rss - getattr(used, "shared", 0)
        looks.append(Look(now - begun, own, process.num_fds(), process.num_threads()))
        time.sleep(min(_LOOK_SECONDS, max(until - now, 0.05)))
    return looks


# ------------------------------------------------------------------------------------------------ clients


def _client(address: str, seed: float, questions: Sequence[str], until: float, use: Use) -> None:
    person = _Person(address, random.Random(seed), questions, use)
    ways = (
        (30, person.asks),
        (8, person.leaves_while_it_is_answered),
        (15, person.searches),
        (10, person.reads),
        (6, person.lists),
        (8, person.sends),
        (4, person.removes),
        (4, person.says_it_was_right),
        (6, person.asks_nonsense),
        (3, person.is_silent),
        (3, person.looks_at_metrics),
        (2, person.opens_the_page),
    )
    actions = [way for weight, way in ways for _ in range(weight)]
    while time.monotonic() < until:
        action = person.chance.choice(actions)
        try:
            action()
        except (httpx.TransportError, OSError) as error:
            use.wrong[f"{action.__name__}: {type(error).__name__}"] += 1
        use.done[action.__name__.replace("_", " ")] += 1
        time.sleep(_PAUSE)


class _Person:
    """Somebody who uses the server in every way there is, now and then wrongly."""

    def __init__(self, address: str, chance: random.Random, questions: Sequence[str], use: Use) -> None:
        self.chance = chance
        self._address = address
        self._http = httpx.Client(base_url=address, timeout=120)
        self._questions = questions
        self._use = use

    def _question(self) -> str:
        return f"{self.chance.choice(self._questions)} ({self.chance.randrange(10**9)})"

    def _expect(self, answer: httpx.Response, *statuses: int) -> None:
        if answer.status_code not in (*statuses, 503):
            self._use.wrong[f"{answer.request.method} {answer.request.url.path[:20]}: {answer.status_code}"] += 1
        elif answer.status_code == 503:
            time.sleep(float(answer.headers.get("retry-after", "1")))

    def asks(self) -> None:
        style = self.chance.choice(("short", "sentence", "passage"))
        body = {"question": self._question(), "style": style, "stream": self.chance.random() < 0.5}
        self._expect(self._http.post("/ask", json=body), 200)

    def leaves_while_it_is_answered(self) -> None:
        with self._http.stream("POST", "/ask", json={"question": self._question()}) as answer:
            for _ in answer.iter_raw():
                break

    def searches(self) -> None:
        self._expect(self._http.post("/search", json={"question": self._question(), "k": 5}), 200)

    def lists(self) -> None:
        self._expect(self._http.get("/documents", params={"limit": 100}), 200)

    def reads(self) -> None:
        documents = self._http.get("/documents", params={"limit": 100}).json().get("documents", [])
        if documents:
            id = self.chance.choice(documents)["id"]
            self._expect(self._http.get(f"/documents/{id}", params={"start": self.chance.randrange(500)}), 200, 404)

    def sends(self) -> None:
        name = f"soak/{self.chance.randrange(30)}.txt"
        text = f"Number {self.chance.random()} is what the soak test wrote. " * self.chance.randrange(1, 40)
        self._expect(self._http.post("/documents", files={"files": (name, text.encode())}), 202)

    def removes(self) -> None:
        self._expect(self._http.delete(f"/documents/soak/{self.chance.randrange(30)}.txt"), 202, 404)

    def says_it_was_right(self) -> None:
        said = {
            "question": self._question(),
            "verdict": "right",
            "answer": "June",
            "passages": ["places/iceland.html#0"],
        }
        self._expect(self._http.post("/feedback", json=said), 201)

    def asks_nonsense(self) -> None:
        for body in (b"{", b'{"question": 3}', b"[" * 1000):
            self._expect(self._http.post("/ask", content=body, headers={"Content-Type": "application/json"}), 400, 422)
        self._expect(self._http.get("/documents/%00"), 404)
        self._expect(self._http.get("/health", headers={"Host": "evil.example"}), 421)

    def is_silent(self) -> None:
        """Opens a connection, sends half a request, and goes."""
        host, _, port = self._address.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), 10) as connection, suppress(OSError):
            connection.sendall(b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Le")
            time.sleep(self.chance.random())

    def looks_at_metrics(self) -> None:
        self._expect(self._http.get("/metrics"), 200)

    def opens_the_page(self) -> None:
        self._expect(self._http.get("/"), 200)
        self._expect(self._http.get("/examples"), 200)


SOAK = Campaign(
    name="soak",
    unit="uses",
    over=f"{CLIENTS} people who ask, leave, search, read, send, remove, judge and err for {SECONDS / 60:g} minutes",
    attempts=1,
    seconds=SECONDS + 600,
    attempt=attempt,
    alone=True,
)
