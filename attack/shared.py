"""Documents in PostgreSQL: writers of two folders, and the database server itself, are killed at any instant."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tomli_w  # noqa: F401 - imported before processes fork: a kill then takes milliseconds

import wherefrom.ingest.run
import wherefrom.store.shared  # noqa: F401
from attack.campaign import Attempt, Campaign, Outcome
from attack.children import NEVER, Ended, Instant, Say, ran
from attack.kills import Life, faults, text_of, there_is
from attack.private_postgres import NoPostgres, PrivatePostgres, private_postgres
from wherefrom.config import Settings, resolve
from wherefrom.errors import LibraryUnreachable
from wherefrom.types import Document, Question

KILLS_A_LIFE = 20
DOCUMENTS = 24
_PLAIN = ("rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "write.kind=verbatim", "rerank.kind=none")
_SECONDS = 2.5  # after which what is to be killed is killed at the latest

Work = Callable[[Say], None]


@dataclass
class Folder(Life):
    """One folder of indexes over the database; several of them know the same documents."""

    url: str = ""

    @property
    def settings(self) -> Settings:
        return resolve(overrides=["ingest.batch_passages=15", "store.kind=postgres", f"store.url={self.url}", *_PLAIN])


def attempt(given: Attempt) -> Outcome:
    chance, outcome = given.chance, Outcome(counts={"lost": 0})
    with private_postgres() as server:
        folders = [Folder(given.folder / name, given.folder, "bm25", url=server.url()) for name in ("one", "two")]
        folders[1].states = folders[0].states
        for number in range(given.share(KILLS_A_LIFE)):
            folder = chance.choice(folders)
            what = chance.choice(("writer", "writer", "server while written", "server while asked"))
            ended = _killed(what, folder, server, chance)
            outcome.tried += 1
            outcome.count(f"killed: {what}")
            again = f"seed and attempt {given.number}, kill {number}: {what}"
            _heard(folder, ended, what, outcome, again)
            if not all(_verified(each, number % 3 == 0, outcome, again) for each in folders):
                return outcome
    return outcome


def _killed(what: str, folder: Folder, server: PrivatePostgres, chance: random.Random) -> Ended:
    """Have something die; when this returns, the server runs again."""
    delay = chance.uniform(0.0, _SECONDS)
    if what == "writer":
        ended = ran(_writing(folder, chance), Instant(seconds=delay))
        # What it had sent before it died may still be committed: that is neither lost nor acknowledged, and it ends.
        server.wait_for_the_dead()
        return ended

    work = _asking if what == "server while asked" else _writing
    doing = work(folder, chance)

    def with_server_killed(say: Say) -> None:
        pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        if os.fork() == 0:
            time.sleep(delay)
            os.kill(pid, signal.SIGQUIT)  # immediate shutdown
            os._exit(0)
        doing(say)

    ended = ran(with_server_killed, NEVER)
    server.kill()  # where the work was done before
    begun = time.monotonic()
    server.start()
    ended.lines.append(f"started {time.monotonic() - begun:.3f}")
    return ended


def _writing(folder: Folder, chance: random.Random) -> Work:
    """New documents and new versions of old ones, a few at a time, and some removed: until it is killed, or done."""
    steps: list[tuple[list[str], int, bool]] = []
    for _ in range(40):
        remove = chance.random() < 0.2
        ids = chance.sample([f"d{number}" for number in range(DOCUMENTS)], chance.randrange(1, 8))
        folder.version += 1
        version = 0 if remove else folder.version * 10 + (folder.path.name == "two")
        steps.append((ids, version, remove))

    def work(say: Say) -> None:
        with folder.library() as library:
            for ids, version, remove in steps:
                if remove and not there_is(library):
                    continue
                for id in ids:
                    say(f"try {id} {version}")
                if remove:
                    library.remove(ids)
                else:
                    library.put([Document(id, text_of(id, version)) for id in ids])
                for id in ids:
                    say(f"done {id} {version}")

    return work


def _asking(folder: Folder, chance: random.Random) -> Work:
    """Questions without end, until the database is gone; each is answered, or told that it is."""
    marks = [f"Mark{id}v{version}" for id, versions in folder.states.items() for version in versions if version]
    texts = chance.sample(marks, min(len(marks), 6))
    until = _SECONDS + 0.5

    def work(say: Say) -> None:
        begun = time.monotonic()
        with folder.library() as library:
            if not there_is(library):
                return
            while time.monotonic() < begun + until:
                for text in texts:
                    library.pipeline(3).find_many([Question("", text)])
                    say("answered")

    return work


def _heard(folder: Folder, ended: Ended, what: str, outcome: Outcome, again: str) -> None:
    """What was acknowledged counts from now on; the only thing that may be said is that the database is gone."""
    down = f"{LibraryUnreachable.__module__}.{LibraryUnreachable.__qualname__}"
    for line in ended.lines:
        if line.startswith("try "):
            _, id, version = line.split()
            folder.may_be(id, int(version))
        elif line.startswith("done "):
            folder.safe(line)
            outcome.count("acknowledged")
        elif line == "answered":
            outcome.count("questions answered")
        elif line.startswith("started "):
            outcome.reach("server_back_s", float(line.split()[1]))
        elif line.startswith("raised "):
            if down in line and what != "writer":
                outcome.count("told that the database is gone")
            else:
                outcome.break_(f"{what}: {line.partition(':')[0]}", "; ".join(ended.lines[-3:]), again)


def _verified(folder: Folder, check: bool, outcome: Outcome, again: str) -> bool:
    """Look at the library through one of its folders, in a process of its own; whether it is as it may be."""

    def look(say: Say) -> None:
        with folder.library() as library:
            begun = time.monotonic()
            for fault, what in faults(library, folder.states, say):
                say(f"wrong {fault}\t{what}")
            say(f"looked {time.monotonic() - begun:.3f}")
            if check and there_is(library):
                for problem in library.check(repair=False).problems:
                    say(f"wrong check finds something\t{problem.what}")

    ended = ran(look)
    good = True
    for line in ended.lines:
        if line.startswith("seen "):
            folder.safe(line.replace("seen", "done", 1))
        elif line.startswith("looked "):
            outcome.count("looks")
        elif not line.startswith("where "):
            fault, _, what = line.removeprefix("wrong ").partition("\t")
            good = False
            outcome.break_(f"afterwards: {fault[:80]}", what or "; ".join(ended.lines[-3:]), again)
            if fault.startswith("lost"):
                outcome.count("lost")
    return good


def _ready(_shared: Path) -> None:
    """An error before anything is tried, where there is no server to kill."""
    try:
        with private_postgres():
            pass
    except NoPostgres as missing:
        raise SystemExit(str(missing)) from None


SHARED = Campaign(
    name="shared",
    unit="kills",
    over="writers of two folders over one PostgreSQL, and its server (immediate shutdown) while written to and asked",
    attempts=20,
    seconds=240.0,
    attempt=attempt,
    ready=_ready,
)
