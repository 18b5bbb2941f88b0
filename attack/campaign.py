"""A campaign: many attempts drawn from one seed, each in a process of its own, noted as they end."""

from __future__ import annotations

import os
import random
import selectors
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

_KEPT = 20  # folders of attempts that broke something, to be looked at
_SHOW_SECONDS = 0.5  # between two lines of progress
PATIENCE = float(os.environ.get("WHEREFROM_PATIENCE", "1"))  # times longer than usual, on a busy machine
_NAMED = 40  # breaks kept in a report, so that a hole that every attempt finds does not fill the disk


class Broke(msgspec.Struct, frozen=True):
    """Something that gave way: `kind` is the same for the same hole, `again` says how to see it once more."""

    kind: str
    what: str
    again: str = ""


class Outcome(msgspec.Struct):
    """What one attempt did: `counts` add up over attempts, of `highest` the largest is kept."""

    tried: int = 0
    broke: list[Broke] = []
    counts: dict[str, float] = {}
    highest: dict[str, float] = {}
    number: int = 0

    def count(self, name: str, more: float = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + more

    def reach(self, name: str, value: float) -> None:
        self.highest[name] = max(self.highest.get(name, value), value)

    def break_(self, kind: str, what: str, again: str = "") -> None:
        self.count("breaks")
        if len(self.broke) < _NAMED:
            self.broke.append(Broke(kind, what[:2000], again))


@dataclass(frozen=True)
class Attempt:
    """One attempt, with chances of its own and a folder that is its own; `shared` is what all of them read."""

    number: int
    chance: random.Random
    folder: Path
    shared: Path
    size: float = 1.0  # share of what an attempt does, for trying a campaign out

    def share(self, count: int) -> int:
        return max(1, round(count * self.size))


def _nothing(_shared: Path) -> None:
    """Most campaigns need no common material."""


@dataclass(frozen=True)
class Campaign:
    """What is tried, how often at full scale, and how long one attempt may take."""

    name: str
    unit: str  # what is counted: kills, inputs
    over: str  # what it is tried on, in words
    attempts: int
    seconds: float
    attempt: Callable[[Attempt], Outcome]
    ready: Callable[[Path], None] = _nothing
    alone: bool = False  # it measures times: nothing may run beside it


@dataclass
class Summary:
    """All attempts of a campaign together."""

    attempts: int = 0
    tried: int = 0
    breaks: int = 0
    seconds: float = 0.0
    broke: list[Broke] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    highest: dict[str, float] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        self.attempts += 1
        self.tried += outcome.tried
        self.breaks += int(outcome.counts.get("breaks", 0))
        self.broke += outcome.broke
        for name, more in outcome.counts.items():
            self.counts[name] += more  # type: ignore[assignment]
        for name, value in outcome.highest.items():
            self.highest[name] = max(self.highest.get(name, value), value)

    @property
    def kinds(self) -> list[tuple[str, int, Broke]]:
        """Every hole with how often it was found and one example, the most frequent first."""
        first: dict[str, Broke] = {}
        for broke in self.broke:
            first.setdefault(broke.kind, broke)
        often = Counter(broke.kind for broke in self.broke)
        return [(kind, times, first[kind]) for kind, times in often.most_common()]


def run(
    campaign: Campaign,
    work: Path,
    seed: int = 1,
    scale: float = 1.0,
    jobs: int = 1,
    label: str = "",
    show: Callable[[str], None] = lambda _: None,
    size: float = 1.0,
) -> Summary:
    """Run all attempts that WORK does not know of yet; interrupted, it goes on where it stopped.

    `label` tells runs of different code apart, such as a commit.
    """
    folder = work / "-".join(part for part in (campaign.name, f"seed{seed}", label) if part)
    shared = folder / "shared"
    shared.mkdir(parents=True, exist_ok=True)
    numbers = range(max(1, round(campaign.attempts * scale)))
    summary = Summary()
    known = set()
    for outcome in _noted(folder / "journal.jsonl"):
        if outcome.number in numbers:
            known.add(outcome.number)
            summary.add(outcome)
    campaign.ready(shared)
    begun, before = time.monotonic(), len(known)
    progress = _Progress(campaign, len(numbers), before, show)
    with (folder / "journal.jsonl").open("ab") as journal:
        left = [number for number in numbers if number not in known]
        for outcome in _outcomes(campaign, left, seed, folder, shared, 1 if campaign.alone else max(jobs, 1), size):
            journal.write(msgspec.json.encode(outcome) + b"\n")
            journal.flush()
            summary.add(outcome)
            summary.seconds = time.monotonic() - begun
            progress.tell(summary)
    progress.tell(summary, last=True)
    return summary


def _noted(journal: Path) -> Iterator[Outcome]:
    for line in journal.read_bytes().splitlines() if journal.exists() else []:
        with suppress(msgspec.DecodeError):  # the last line, where it was interrupted
            yield msgspec.json.decode(line, type=Outcome)


# --------------------------------------------------------------------------------------------- processes


@dataclass
class _Running:
    number: int
    process: int
    pipe: int
    until: float
    folder: Path
    said: bytes = b""


def _outcomes(
    campaign: Campaign, numbers: Sequence[int], seed: int, folder: Path, shared: Path, jobs: int, size: float
) -> Iterator[Outcome]:
    """Outcomes as attempts end, `jobs` of them running at a time."""
    waiting = list(reversed(numbers))
    running: list[_Running] = []
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    one = _begun(campaign, waiting.pop(), seed, folder, shared, size)
                    running.append(one)
                    selector.register(one.pipe, selectors.EVENT_READ, one)
                for key, _ in selector.select(timeout=0.2):
                    one = key.data
                    piece = os.read(one.pipe, 1 << 16)
                    one.said += piece
                    if not piece:
                        selector.unregister(one.pipe)
                        running.remove(one)
                        yield _ended(one, campaign)
                for one in [one for one in running if time.monotonic() > one.until]:
                    selector.unregister(one.pipe)
                    running.remove(one)
                    one.said = b""
                    yield _ended(one, campaign, late=True)
        finally:
            for one in running:
                _killed(one)


def _begun(campaign: Campaign, number: int, seed: int, folder: Path, shared: Path, size: float) -> _Running:
    """Fork: what is imported is there at once, and nothing of one attempt is left for the next."""
    own = folder / str(number)
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        os.setsid()
        os.close(reading)
        try:
            chance = random.Random(f"{campaign.name} {seed} {number}")
            outcome = campaign.attempt(Attempt(number, chance, own, shared, size))
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            outcome = Outcome()
            outcome.break_("the campaign itself failed", traceback.format_exc()[-1800:])
        outcome.number = number
        said = msgspec.json.encode(outcome)
        while said:
            said = said[os.write(writing, said) :]
        os._exit(0)
    os.close(writing)
    return _Running(number, process, reading, time.monotonic() + campaign.seconds * PATIENCE, own)


def _ended(one: _Running, campaign: Campaign, late: bool = False) -> Outcome:
    _killed(one)
    try:
        outcome = msgspec.json.decode(one.said, type=Outcome)
    except msgspec.DecodeError:
        outcome = Outcome(number=one.number)
        what = f"attempt {one.number} did not end within {campaign.seconds:g} s" if late else "its process died"
        outcome.break_("an attempt hangs" if late else "an attempt's process died", what)
    if not outcome.broke or len([each for each in one.folder.parent.iterdir() if each.name.isdigit()]) > _KEPT:
        shutil.rmtree(one.folder, ignore_errors=True)
    return outcome


def _killed(one: _Running) -> None:
    """The attempt and every process that it left behind."""
    with suppress(ProcessLookupError):
        os.killpg(one.process, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(one.process, 0)
    os.close(one.pipe)


# ---------------------------------------------------------------------------------------------- progress


class _Progress:
    """A line from time to time: how far, how fast, how long still."""

    def __init__(self, campaign: Campaign, attempts: int, before: int, show: Callable[[str], None]) -> None:
        self._campaign = campaign
        self._attempts = attempts
        self._before = before
        self._show = show
        self._begun = time.monotonic()
        self._at = 0.0

    def tell(self, summary: Summary, last: bool = False) -> None:
        now = time.monotonic()
        if not last and now - self._at < _SHOW_SECONDS:
            return
        self._at = now
        done, seconds = summary.attempts - self._before, max(now - self._begun, 1e-9)
        each = seconds / done if done else 0.0
        left = each * (self._attempts - summary.attempts)
        rate = summary.tried / max(summary.attempts, 1) / each if each else 0.0
        self._show(
            f"{self._campaign.name}: {summary.tried:,} {self._campaign.unit}, {rate:,.1f} a second, "
            f"{summary.breaks:,} broke something; {int(left) // 60}:{int(left) % 60:02} left"
        )
