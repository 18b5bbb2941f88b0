"""Writers are killed at any instant and at any call that changes the disk; nothing acknowledged may be lost."""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

# All of it is imported before processes fork: a kill then takes milliseconds.
import psutil
import tantivy
import tomli_w  # noqa: F401

import wherefrom.build
import wherefrom.ingest.run
import wherefrom.retrieve.tfidf  # noqa: F401
from attack.campaign import PATIENCE, Attempt, Campaign, Outcome
from attack.children import NEVER, Ended, Instant, Say, can_watch, ran, some_instant
from wherefrom import Library
from wherefrom.config import Settings, resolve
from wherefrom.errors import LibraryMissing
from wherefrom.ingest.split import split
from wherefrom.server.folder import ServerFolder
from wherefrom.server.ingest_worker import IngestWorker
from wherefrom.server.jobs import Jobs
from wherefrom.types import Document, Question

assert tantivy

DOCUMENTS = 24
KILLS_A_LIFE = 25
_LOOK_SECONDS = 0.2  # between two looks at the jobs; to look more often takes the processor from who works on them
_PLAIN = ("rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "write.kind=verbatim", "rerank.kind=none")
_EXACT = "index.buckets=4294967296"  # tfidf: no other word shares the hash of a mark

States = dict[str, set[int]]  # for each document, the versions it may be in; 0 is "not there"


def text_of(id: str, version: int) -> str:
    """What a document says in a version: a mark of its own, then enough for a few passages."""
    chance = random.Random(f"{id} {version}")
    words = [f"{chance.choice('abcdefgh')}{chance.randrange(500)}" for _ in range(chance.randrange(5, 250))]
    sentences = [" ".join(words[at : at + 12]).capitalize() + "." for at in range(0, len(words), 12)]
    return f"Mark{id}v{version} is here. " + " ".join(sentences)


@dataclass
class Life:
    """One library that is killed again and again, and what we know of it."""

    path: Path
    work: Path
    kind: str  # its index beside bm25, or bm25
    states: States = field(default_factory=dict)
    version: int = 0
    usual: dict[str, float] = field(default_factory=dict)  # seconds that each operation takes
    files: dict[str, int] = field(default_factory=dict)  # the version that each file on disk is in
    damaged: bool = False  # by us, so that a check has something to mend
    full: bool = False  # the disk, likewise
    sent: dict[str, dict[str, int]] = field(default_factory=dict)  # uploads that were acknowledged: versions by name
    begun: dict[str, dict[str, int]] = field(default_factory=dict)  # those that were not: a server may still take them

    @property
    def settings(self) -> Settings:
        return resolve(overrides=["ingest.batch_passages=15", f"retrieve.kind={self.kind}", _EXACT, *_PLAIN])

    def library(self) -> Library:
        return Library(self.path, self.settings)

    def may_be(self, id: str, version: int) -> None:
        self.states.setdefault(id, {0}).add(version)

    def safe(self, line: str) -> None:
        """A line that the writer said: `done ID VERSION`."""
        _, id, version = line.split()
        self.states[id] = {int(version), *(names[id] for names in self.begun.values() if id in names)}


Work = Callable[[Say], None]


def attempt(given: Attempt) -> Outcome:
    chance, outcome = given.chance, Outcome(counts={"lost": 0})
    calls = (given.shared / "strace").exists()
    disk = given.folder / "disk"
    disk.mkdir()
    small = (given.shared / "small disks").exists() and small_disk(disk)
    life = Life(disk / "library", given.folder, chance.choice(("bm25", "bm25", "tfidf")))
    kills = given.share(KILLS_A_LIFE)
    for _ in range(kills * 4):
        if outcome.tried >= kills:
            break
        name = chance.choice(list(OPERATIONS)) if life.path.exists() else "ingest"
        work = OPERATIONS[name](life, chance)
        instant = some_instant(chance, life.usual.get(name, 0.08), calls)
        if small and life.states and chance.random() < 0.15:
            life.full = True
            fill(disk, chance)
            instant = NEVER if chance.random() < 0.6 else instant
        if name == "serve" and (life.full or instant.call):
            # It waits for room as long as it takes; and strace would kill each process that reads for it, every time.
            instant = Instant(seconds=chance.uniform(0.0, 4.0))
        ended = ran(work, instant)
        _heard(life, ended, instant, name, outcome)
        if ended.killed:
            outcome.tried += 1
            outcome.count(f"killed in {name}{', disk full' * life.full}")
        elif not life.full:
            life.usual[name] = 0.5 * life.usual.get(name, ended.seconds) + 0.5 * ended.seconds
        again = f"seed and attempt {given.number}, kill {outcome.tried}: {name}, {instant}"
        if not _looked_at(life, disk, name, outcome, again):
            return outcome
    return outcome


def _looked_at(life: Life, disk: Path, name: str, outcome: Outcome, again: str) -> bool:
    """Whether the library is as it may be: while the disk is full too, and then as the next ones find it."""
    if life.full and not life.damaged and not _verified(life, False, f"{name}, disk full", outcome, again):
        return False
    (disk / _FILLER).unlink(missing_ok=True)
    life.full = False
    looks = (True,) if life.damaged else (False, True) if outcome.tried % 5 < 2 else (False,)
    if not all(_verified(life, repair, name, outcome, again) for repair in looks):
        return False
    return not life.sent or _taken_in(life, outcome, again)


def _heard(life: Life, ended: Ended, instant: Instant, name: str, outcome: Outcome) -> None:
    for line in ended.lines:
        if line.startswith("done "):
            life.safe(line)
            outcome.count("acknowledged")
        elif line.startswith("sent "):
            id, names = line.removeprefix("sent ").split(maxsplit=1)
            life.sent[id] = json.loads(names)
            life.begun.pop(id, None)
            outcome.count("acknowledged", len(life.sent[id]))
        elif line.startswith("raised "):
            if "DiskFull" in line and life.full:
                outcome.count(f"full disks in {name}")
            elif "process that reads files did not begin" in line and instant.call:
                outcome.count("readers killed")  # by strace, which looks at what a process starts too
            elif "LibraryMissing" not in line or any(0 not in versions for versions in life.states.values()):
                outcome.break_(f"{name}: {line.partition(':')[0]}", "; ".join(ended.lines[-2:]))


# ------------------------------------------------------------------------------------------ small disks

_FILLER = "filler"
_DISK_BYTES = 40_000_000
_CLONE_NEWNS = 0x20000  # mounts of a process and its children alone, gone with it


def small_disk(folder: Path) -> bool:
    """Mount a small disk in a folder, for this process and its children; whether that is possible."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNS):
            return False
    except (OSError, AttributeError):
        return False
    for command in (("--make-rprivate", "/"), ("-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "none", str(folder))):
        if subprocess.run(["mount", *command], capture_output=True, check=False).returncode:
            return False
    return True


def fill(disk: Path, chance: random.Random) -> None:
    """Leave nothing, or a little."""
    left = chance.choice((0, int(2 ** chance.uniform(10, 21))))
    with (disk / _FILLER).open("wb") as file:
        file.write(bytes(max(shutil.disk_usage(disk).free - left, 0)))


def _verified(life: Life, repair: bool, name: str, outcome: Outcome, again: str) -> bool:
    """Look at the library in a process of its own; whether it is as it may be."""

    may_find = life.damaged

    def look(say: Say) -> None:
        with life.library() as library:
            if repair and there_is(library):
                for problem in library.check().problems:
                    if not (problem.what.startswith("library.toml is ") or (may_find and problem.repaired)):
                        say(f"wrong check finds something\t{problem.what}")
            for fault, what in faults(library, life.states, say):
                say(f"wrong {fault}\t{what}")

    ended = ran(look)
    life.damaged = False
    good = True
    for line in ended.lines:
        if line.startswith("seen "):
            life.safe(line.replace("seen", "done", 1))
        else:
            fault, _, what = line.removeprefix("wrong ").partition("\t")
            if line.startswith("where ") or (life.full and "DiskFull" in line and name.startswith("upgrade")):
                continue  # one of an earlier format is read once there is room to bring it up to date
            if line.startswith("raised "):
                fault, what = f"reading fails: {fault.partition(':')[0]}", "; ".join(ended.lines[-2:])
            good = False
            outcome.break_(f"after {name}{', checked' * repair}: {fault}", what, again)
            if fault.startswith("lost"):
                outcome.count("lost")
    return good


def there_is(library: Library) -> bool:
    try:
        library.counts()
    except LibraryMissing:
        return False
    return True


def faults(library: Library, states: States, say: Say) -> list[tuple[str, str]]:
    """What is not as it may be; every document that is there is said, in its version."""
    found: list[tuple[str, str]] = []
    if not there_is(library):
        lost = [id for id, versions in states.items() if 0 not in versions]
        return [("lost library", f"{len(lost)} documents were acknowledged")] if lost else []
    there = {facts.id for facts in library.documents()}
    marks: dict[str, str] = {}
    for id, versions in states.items():
        if id not in there:
            if 0 not in versions:
                found.append(("lost document", f"{id} was acknowledged in version {versions}"))
            else:
                say(f"seen {id} 0")
            continue
        text = library.document(id).text
        version = next((version for version in versions if version and text == text_of(id, version)), None)
        if version is None:
            found.append(("document in no version", f"{id} may be in {versions} and reads {text[:60]!r}"))
            continue
        say(f"seen {id} {version}")
        marks[id] = f"Mark{id}v{version}"
        passages = library.passages_of(id)
        if [(passage.start, passage.end) for passage in passages] != split(text) or any(
            text[passage.start : passage.end] != passage.text for passage in passages
        ):
            found.append(("passages half there", id))
    if extra := there - states.keys():
        found.append(("documents from nowhere", ", ".join(sorted(extra))))
    questions = [Question("", mark) for mark in marks.values()]
    for id, trace in zip(marks, library.pipeline(3).find_many(questions) if questions else [], strict=True):
        if [hit.passage.id for hit in trace.hits[:1]] != [f"{id}#0"]:
            found.append(("document cannot be found", f"{marks[id]}: {[hit.passage.id for hit in trace.hits]}"))
    if marks:
        library.ask(f"What is {next(iter(marks.values()))}?")
    return found


# ----------------------------------------------------------------------------------------- what is killed


def _rows(life: Life, ids: Sequence[str]) -> Path:
    life.version += 1
    for id in ids:
        life.may_be(id, life.version)
    rows = [json.dumps({"id": id, "text": text_of(id, life.version)}) for id in ids]
    file = life.work / "rows.jsonl"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def _ingest(life: Life, chance: random.Random) -> Work:
    """New documents and new versions of old ones, in several batches."""
    file = _rows(life, chance.sample([f"d{number}" for number in range(DOCUMENTS)], chance.randrange(1, DOCUMENTS)))
    version = life.version

    return _taking_in(life, file, version, chance)


def _taking_in(life: Life, file: Path, version: int, chance: random.Random) -> Work:
    """Mostly without the process that reads files, which takes longer to begin than all the rest."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    from_file, batch = chance.random() < 0.25, chance.randrange(1, 8)

    def work(say: Say) -> None:
        def safe(ids: Sequence[str]) -> None:
            for id in ids:
                say(f"done {id} {version}")

        with life.library() as library:
            if from_file:
                library.ingest([file], acknowledged=safe)
                return
            for at in range(0, len(rows), batch):
                library.put([Document(row["id"], row["text"]) for row in rows[at : at + batch]])
                safe([row["id"] for row in rows[at : at + batch]])

    return work


def _replace(life: Life, chance: random.Random) -> Work:
    """New versions of what is there."""
    there = [id for id, versions in life.states.items() if id.startswith("d") and 0 not in versions]
    if not there:
        return _ingest(life, chance)
    file = _rows(life, chance.sample(there, max(1, len(there) // 2)))
    version = life.version

    return _taking_in(life, file, version, chance)


def _remove(life: Life, chance: random.Random) -> Work:
    there = [id for id, versions in life.states.items() if id.startswith("d") and versions != {0}]
    gone = chance.sample(there, min(len(there), chance.randrange(1, 6)))
    for id in gone:
        life.may_be(id, 0)

    def work(say: Say) -> None:
        with life.library() as library:
            library.remove(gone)
        for id in gone:
            say(f"done {id} 0")

    return work


def _prune(life: Life, chance: random.Random) -> Work:
    """A folder of files of which a few have gone and some have changed."""
    folder = life.work / "files"
    folder.mkdir(exist_ok=True)
    life.version += 1
    version = life.version
    files = [folder / f"p{number}.txt" for number in range(10)]
    gone = chance.sample(files, 2)
    for file in files:
        if file in gone:
            file.unlink(missing_ok=True)
            life.files.pop(file.name, None)
            life.may_be(file.name, 0)
            continue
        if not file.exists() or chance.random() < 0.5:
            file.write_text(text_of(file.name, version), encoding="utf-8")
            life.files[file.name] = version
        life.may_be(file.name, life.files[file.name])  # it may not have come to that before the last kill

    def work(say: Say) -> None:
        def safe(ids: Sequence[str]) -> None:
            for id in ids:
                say(f"done {id} {life.files[id]}")

        with life.library() as library:
            library.ingest([folder], prune=True, acknowledged=safe)
        for file in gone:
            say(f"done {file.name} 0")

    return work


def _serve(life: Life, chance: random.Random) -> Work:
    """Uploads are acknowledged and worked on; the server is killed, or the process that reads for it."""
    life.version += 1
    version = life.version
    names = chance.sample([f"s{number}.txt" for number in range(8)], 3)
    for name in names:
        life.may_be(name, version)
    life.begun[f"upload{version}"] = dict.fromkeys(names, version)
    child_dies = chance.random() < 0.5
    after = chance.uniform(0.0, 1.0)

    def work(say: Say) -> None:
        with life.library() as library:
            library.counts()
        folder, id = ServerFolder(life.path), f"upload{version}"
        folder.make()
        files = []
        for number, name in enumerate(names):
            file = folder.uploads / id / f"{number}" / name
            file.parent.mkdir(parents=True)
            file.write_text(text_of(name, version), encoding="utf-8")
            files.append(file)
        Jobs(folder).add("upload", names, files, "", id)
        say(f"sent {id} {json.dumps(dict.fromkeys(names, version))}")
        _worked_on(life, after if child_dies else None)

    return work


def _worked_on(life: Life, kill_after: float | None = None) -> None:
    """Have a server's worker do its jobs, until none is left; its child is killed once, after so many seconds."""
    folder = ServerFolder(life.path)
    folder.make()
    worker = IngestWorker(life.path, life.settings, folder)
    worker.start()
    try:
        begun = time.monotonic()
        while any(not job.finished for job in Jobs(folder).recent(100)):
            left = _LOOK_SECONDS if kill_after is None else kill_after - (time.monotonic() - begun)
            time.sleep(min(max(left, 0.0), _LOOK_SECONDS))
            if kill_after is not None and time.monotonic() - begun > kill_after:
                for child in psutil.Process().children():
                    child.kill()
                kill_after = None
    finally:
        worker.stop()


def _taken_in(life: Life, outcome: Outcome, again: str) -> bool:
    """Whether what was sent is in the library once a server has run, whatever happened to those before."""

    def work(say: Say) -> None:
        _worked_on(life)
        folder = ServerFolder(life.path)
        for job in Jobs(folder).recent(100):
            if job.id in life.sent and job.state != "done":
                say(f"wrong upload ends as {job.state}\t{job.reason}")
            for failure in (job.result or {}).get("failures", []):
                say(f"wrong file of an upload is given up\t{failure}")

    ended = ran(work, most_seconds=120 * PATIENCE)
    wrong = [line for line in ended.lines if line.startswith(("wrong ", "raised "))]
    for line in wrong:
        fault, _, what = line.removeprefix("wrong ").partition("\t")
        outcome.break_(f"after serve: {fault.partition(':')[0]}", what or "; ".join(ended.lines[-2:]), again)
    for versions in life.sent.values():  # oldest first: the newest of a name is the one that stays
        for name, version in versions.items():
            life.states[name] = {version}
    life.sent.clear()
    life.begun.clear()  # what they noted has been taken in, as it may be already
    return not wrong and _verified(life, False, "serve, all taken in", outcome, again)


def _rebuild(life: Life, chance: random.Random) -> Work:
    def work(_say: Say) -> None:
        with life.library() as library:
            library.build_index(life.kind if chance.random() < 0.7 else "bm25")

    return work


def _check(life: Life, chance: random.Random) -> Work:
    """Mending an index of which a file has gone."""
    folders = [folder for folder in (life.path / "index").glob("*") if folder.name.partition(".")[0] == life.kind]
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    if files:
        chance.choice(files).unlink()
        life.damaged = True

    def work(_say: Say) -> None:
        with life.library() as library:
            library.check()

    return work


def _upgrade(life: Life, _chance: random.Random) -> Work:
    """The first opening of a library that an earlier version made."""
    if not ran(lambda _: _recovered(life)).status:
        aged(life.path)

    def work(_say: Say) -> None:
        with life.library() as library:
            library.counts()
            library.remove(["no such document"])

    return work


def _recovered(life: Life) -> None:
    with life.library() as library:
        library.remove(["no such document"])


OPERATIONS: dict[str, Callable[[Life, random.Random], Work]] = {
    "ingest": _ingest,
    "replace": _replace,
    "remove": _remove,
    "prune": _prune,
    "serve": _serve,
    "rebuild": _rebuild,
    "check": _check,
    "upgrade": _upgrade,
}

# The tables of the first format, as version 0.1 laid them.
_FIRST_FORMAT = """
CREATE TABLE document (key INTEGER PRIMARY KEY, id TEXT NOT NULL, live INTEGER NOT NULL, first INTEGER NOT NULL,
    passages INTEGER NOT NULL, characters INTEGER NOT NULL, hash BLOB NOT NULL, source TEXT NOT NULL,
    title TEXT NOT NULL, text TEXT NOT NULL);
CREATE UNIQUE INDEX document_id ON document (id) WHERE live;
CREATE INDEX document_source ON document (source) WHERE live;
CREATE TABLE passage (key INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES document (key),
    start INTEGER NOT NULL, end INTEGER NOT NULL, byte_start INTEGER NOT NULL, byte_end INTEGER NOT NULL);
CREATE TABLE retired (key INTEGER PRIMARY KEY);
CREATE TABLE file (source TEXT PRIMARY KEY, hash BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL);
PRAGMA application_id = 0x77667230;
PRAGMA user_version = 1;
"""
_COPIED = {
    "document": "key, id, live, first, passages, characters, hash, source, title, text",
    "passage": "key, document, start, end, byte_start, byte_end",
    "retired": "key",
    "file": "source, hash",
    "meta": "name, value",
}
_THEN = {"documents.sqlite", "index", "library.toml", "writer.lock"}  # all that a library of then held
_FACTS_THEN = ("next_key", "settings")


def aged(path: Path) -> None:
    """Make of a library one as the first version left it: the same documents in the tables of then."""
    old = path / "aged.sqlite"
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(_FIRST_FORMAT)
        connection.execute("ATTACH ? AS now", (str(path / "documents.sqlite"),))
        for table, columns in _COPIED.items():
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}")
        connection.execute("DELETE FROM meta WHERE name NOT IN (?, ?)", _FACTS_THEN)
        folders = connection.execute("SELECT value FROM now.meta WHERE name = 'folders'").fetchone()
        connection.commit()
        connection.execute("DETACH now")
        connection.execute("PRAGMA journal_mode = WAL")
    for name, folder in json.loads(folders[0] if folders else "{}").items():  # then, each index had its own place
        if folder != name:
            shutil.rmtree(path / "index" / name, ignore_errors=True)
            (path / "index" / folder).rename(path / "index" / name)
    for entry in path.iterdir():
        if entry.name.startswith("documents.sqlite") or entry.name not in {*_THEN, old.name}:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink(missing_ok=True)
    old.rename(path / "documents.sqlite")
    toml = path / "library.toml"
    if toml.exists():
        toml.unlink()


def ready(shared: Path) -> None:
    if can_watch():
        (shared / "strace").touch()
    process = os.fork()
    if process == 0:
        os._exit(0 if small_disk(shared) else 1)
    if os.waitpid(process, 0)[1] == 0:
        (shared / "small disks").touch()


KILLS = Campaign(
    name="kills",
    unit="kills",
    over="ingest, replace, remove, prune, uploads to a server and the process that reads them, rebuild of an index, "
    "repair and upgrade of a library, killed at any instant and at any call that changes the disk, which is full now "
    "and then",
    attempts=40,
    seconds=600,
    attempt=attempt,
    ready=ready,
)
