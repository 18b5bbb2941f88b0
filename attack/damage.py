"""Bytes of a library change by themselves; `check` must see it, and no command may fail in an unclean way."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import wherefrom.build
import wherefrom.cli
import wherefrom.ingest.run
import wherefrom.retrieve.tfidf
import wherefrom.store.feedback
from attack.campaign import PATIENCE, Attempt, Campaign, Outcome
from attack.children import Ended, Say, ran
from attack.fuzz import run_command
from wherefrom import Library
from wherefrom.config import Settings, resolve
from wherefrom.errors import WherefromError
from wherefrom.server.folder import ServerFolder
from wherefrom.server.jobs import Jobs
from wherefrom.server.keys import Keys
from wherefrom.server.rates import Rates
from wherefrom.store.feedback import Feedback
from wherefrom.types import Document, Passage, Question

assert wherefrom.build
assert wherefrom.retrieve.tfidf

CORRUPTIONS = 4  # of one attempt
BASES = ("library", "killed")  # one that was closed, and one whose last writer was killed
SECRET = "secret"  # the key of its server, beside a library until it is damaged
PLAIN = ("rank.kind=none", "read.kind=sentence", "judge.kind=lexical", "write.kind=verbatim", "retrieve.match=none")
CANARY = "quixotry"  # in every text, and in no message: errors do not quote documents
QUESTIONS = ("Who repairs the boiler?", "Where is the key of cellar 7?", "When does the comet 12 return?", "zebra")

_COMMANDS = {  # every command that reads or writes a library; {l} is its folder
    "rescue": "rescue {l} {l}-rescued",
    "list": "list --library {l}",
    "show": "show comet-12.txt --library {l}",
    "passages": "show cellar-7.txt --passages --library {l}",
    "search": "search boiler --library {l}",
    "tfidf": "search boiler --library {l} --set retrieve.kind=tfidf",
    "ask": "ask boiler --library {l} " + " ".join(f"--set {each}" for each in PLAIN),
    "look": "check --no-repair --library {l}",
    "feedback": "feedback export --library {l}",
    "keys": "keys list --library {l}",
    "where": "where --library {l}",
    "backup": "backup {l}-backup --library {l}",
    "tags": "tag list --library {l}",
    "tag": "tag add one cellar-7.txt --library {l}",
    "filtered": "list --tag cellar --since 2020 --library {l}",
    "config": "config --library {l}",
    "remove": "remove cellar-7.txt --library {l}",
    "ingest": "ingest {f} --library {l} --quiet",
    "index": "index bm25 --library {l} --quiet",
    "check": "check --library {l}",
}


def ready(shared: Path) -> None:
    """Libraries as they are after some weeks of use, one of them left by a killed writer, and what they do."""
    if (shared / "expected.json").exists():
        return
    for name, offset in (("library", 0), ("other", 100)):
        shutil.rmtree(shared / name, ignore_errors=True)
        ended = ran(partial(_made, shared / name, offset), most_seconds=120 * PATIENCE)
        assert ended.status == 0, ended.lines
    (shared / "fresh.txt").write_text("A fresh text about otters.\n", encoding="utf-8")
    shutil.copytree(shared / "library", shared / "killed", dirs_exist_ok=True)
    assert ran(partial(_killed, shared / "killed")).killed
    assert (shared / "killed" / "documents.sqlite-wal").stat().st_size
    expected = {name: _expected(shared, name) for name in BASES}
    (shared / "expected.json").write_text(json.dumps(expected), encoding="utf-8")


def _expected(shared: Path, name: str) -> list[dict[str, str]]:
    """What a library does, and what it does with indexes that were built anew."""
    rebuilt = shared / f"{name}-rebuilt"
    for copy in (rebuilt, shared / f"{name}-asked"):
        shutil.copytree(shared / name, copy, dirs_exist_ok=True)

    def work(_say: Say) -> None:
        with Library(rebuilt) as library:
            library.build_index("bm25")
            library.build_index("tfidf")

    assert ran(work).status == 0
    return [_told(shared / f"{name}-asked"), _told(rebuilt)]


def _killed(path: Path, _say: Say) -> None:
    """What was written last is in the log alone, and its writer never closed it."""
    library = Library(path, resolve(overrides=["retrieve.kind=tfidf"]))
    library.remove(["boiler-8.txt"])
    library.put([_document(number, "late") for number in range(14)])
    os.kill(os.getpid(), signal.SIGKILL)


def _made(path: Path, offset: int, _say: Say) -> None:
    """Batches, replaced and removed documents, both indexes, dates, tags, feedback, keys, a job and a long text."""
    with Library(path, resolve(overrides=["retrieve.kind=tfidf"])) as library:
        library.put([_document(number, "cellar") for number in range(offset, offset + 10)])
        library.put([_document(number, "comet") for number in range(offset + 10, offset + 20)])
        library.put([_document(number, "boiler") for number in range(offset + 5, offset + 12)])
        long = "\n\n".join(_text(number, "long") for number in range(120))
        library.put([Document("long.md", long, "Long", "", "2024-01-02")])
        library.remove([f"cellar-{offset + 3}.txt", f"comet-{offset + 15}.txt"])
        library.tag([f"cellar-{number}.txt" for number in range(offset, offset + 8)], add=["cellar", "deep below"])
        passage = Passage("comet-12.txt#0", "comet-12.txt", "A comet.", 0, 8, "Comet")
        library.add_feedback(Feedback("When?", "right", "June", None, "short", (passage,), (), "me", "2024-01-01", 1))
        folder = ServerFolder(path)
        folder.make()
        (path / SECRET).write_text(Keys(folder).add("one", "read", 10))
        Rates(folder).wait("one", 10)
        Jobs(folder).add("remove", ["nothing"], [], "")
        file = folder.uploads / "sent" / "0" / "sent.txt"
        file.parent.mkdir(parents=True)
        file.write_text("What was sent.")
        Jobs(folder).add("upload", ["sent.txt"], [file], "", "sent")


def _document(number: int, about: str) -> Document:
    date = f"2024-01-{number % 28 + 1:02}"
    return Document(f"{about}-{number}.txt", _text(number, about), f"The {about} {number}", f"/notes/{about}", date)


def _text(number: int, about: str) -> str:
    chance = random.Random(f"{about} {number}")
    words = [f"{chance.choice('abcdefgh')}{chance.randrange(200)}" for _ in range(chance.randrange(60, 300))]
    lines = [" ".join(words[at : at + 11]).capitalize() + "." for at in range(0, len(words), 11)]
    first = f"The {about} {number} is the {CANARY} of Ångström. Marta repairs boilers; the key lies in cellar {number}."
    return " ".join([first, *lines])


# --------------------------------------------------------------------------------------------- one corruption


def attempt(given: Attempt) -> Outcome:
    outcome = Outcome(counts={"missed": 0})
    expected: dict[str, list[dict[str, str]]] = json.loads((given.shared / "expected.json").read_text("utf-8"))
    for number in range(given.share(CORRUPTIONS)):
        path = given.folder / f"{number}"
        base = BASES[(given.number + number) % len(BASES)]
        shutil.copytree(given.shared / base, path)
        secret = (path / SECRET).read_text(encoding="utf-8")
        (path / SECRET).unlink()
        what = corrupted(path, given.shared / "other", given.chance)
        outcome.tried += 1
        outcome.count(f"in {what.split()[0]}")
        again = f"attempt {given.number}, {path}: {what}"
        again_path = given.folder / f"{number}-again"
        shutil.copytree(path, again_path)
        for copy in ("rescued", "served"):
            shutil.copytree(path, given.folder / copy)
        _judged(path, expected[base], what, outcome, again)
        _rescued(given.folder / "rescued", expected[base][0], expected["library"][0], what, outcome, again)
        _guarded(given.folder / "served", secret, what, outcome, again)
        _commanded(again_path, given.shared / "fresh.txt", what, outcome, again)
        if not outcome.broke:
            shutil.rmtree(path)
            shutil.rmtree(again_path)
        for copy in ("rescued", "served"):
            shutil.rmtree(given.folder / copy)
    return outcome


def _rescued(
    path: Path, expected: Mapping[str, str], earlier: Mapping[str, str], what: str, outcome: Outcome, again: str
) -> None:
    """What is rescued is what was written, or was before changes that are said to be lost; what is not is named."""
    shutil.rmtree(path.with_suffix(".new"), ignore_errors=True)

    def work(say: Say) -> None:
        try:
            report = Library(path).rescue(path.with_suffix(".new"))
        except WherefromError as error:
            say(f"refused {type(error).__name__}")
            return
        with Library(path.with_suffix(".new"), _settings("bm25")) as library:
            there = {facts.id: _of(partial(_plain, library.document, facts.id)) for facts in library.documents()}
            for problem in library.check().problems:
                say(f"wrong the new library is not sound\t{problem.what}")
        older = any("what was changed last" in note for note in report.notes)
        for id, text in there.items():
            may_be = {each.get(f"document: {id}") for each in ([expected, earlier] if older else [expected])}
            if text not in may_be and id not in report.unsure:
                say(f"wrong a document is rescued that was not written so\t{id}: {text}")
        documents = {name.removeprefix("document: ") for name in expected if name.startswith("document: ")}
        missing = {id for id in documents if not expected[f"document: {id}"].startswith("refused")} - there.keys()
        unnamed = missing - {lost.id for lost in report.lost}
        if len(unnamed) > sum(not lost.id for lost in report.lost) and not report.notes:
            say(f"wrong a document is lost without a word\t{sorted(unnamed)}")
        say(f"rescued {len(there)} {len(missing)}")

    ended = ran(work)
    part = what.split()[0]
    for line in ended.lines:
        if line.startswith("rescued "):
            outcome.count("documents rescued", int(line.split()[1]))
            outcome.count("documents that were not", int(line.split()[2]))
        elif line.startswith(("wrong ", "raised ")):
            fault, _, more = line.removeprefix("wrong ").partition("\t")
            outcome.break_(f"rescue: {fault[:60]} ({part})", more or "; ".join(ended.lines[-2:]), again)
    if ended.status and not ended.lines:
        outcome.break_(f"rescue dies of status {ended.status}", what, again)
    shutil.rmtree(path.with_suffix(".new"), ignore_errors=True)


def _guarded(path: Path, secret: str, what: str, outcome: Outcome, again: str) -> None:
    """Whatever is damaged of what a server keeps, it is not open to all, and what was sent is not lost."""

    def work(say: Say) -> None:
        folder = ServerFolder(path)
        try:
            folder.make()
            keys = Keys(folder)
            keys.check()
            rates = Rates(folder)
            rates.wait("one", 10)
            key = keys.find(secret)
            if not keys.needed() or keys.find("wf_another"):
                say("wrong the library is open to all")
            if key is not None and key.may("write"):
                say("wrong a key may do more than before")
            jobs = Jobs(folder)
            jobs.recover()
            jobs.recent(10)
            while jobs.take():
                outcome.count("jobs taken")
        except WherefromError as error:
            say(f"refused {type(error).__name__}")

    ended = ran(work)
    for line in ended.lines:
        if line.startswith(("wrong ", "raised ")):
            kind = line.removeprefix("wrong ").split(":")[0]
            outcome.break_(f"server: {kind} ({what.split()[0]})", "; ".join(ended.lines[-2:]), again)


def _judged(path: Path, expected: list[dict[str, str]], what: str, outcome: Outcome, again: str) -> None:
    """Whether `check` says what there is to say, before and after it repairs."""
    for repair in (False, True):
        shutil.copytree(path, path.with_suffix(".looked"))
        verdict = _verdict(path.with_suffix(".looked"), repair)
        shutil.rmtree(path.with_suffix(".looked")) if not repair else None
        kind, part = "repaired" if repair else "looked at", what.split()[0]
        raised = [line for line in verdict.lines if line.startswith("raised ")]
        for line in raised:
            said = "; ".join(verdict.lines[-2:])
            outcome.break_(f"check ends in {line.split(':')[0]} {_where(verdict)} ({part})", said, again)
        if verdict.status and not raised:
            outcome.break_(f"check dies of status {verdict.status}", what, again)
        if "sound" not in verdict.lines:
            outcome.count(f"{kind}: unsound")
            continue
        outcome.count(f"{kind}: sound")
        told = _told(path.with_suffix(".looked") if repair else path)
        wrong = [name for name in expected[0] if told.get(name) not in [each[name] for each in expected]]
        if wrong:
            outcome.count("missed")
            shown = "; ".join(f"{name}: {told.get(name, 'nothing')[:150]}" for name in wrong[:2])
            differs = wrong[0].split(":")[0]
            outcome.break_(f"check calls sound ({kind}) what differs in {differs}, damaged in {part}", shown, again)
        else:
            outcome.count("harmless" if not repair else "mended")
    shutil.rmtree(path.with_suffix(".looked"), ignore_errors=True)


def _verdict(path: Path, repair: bool) -> Ended:
    def work(say: Say) -> None:
        try:
            with Library(path, _settings("bm25")) as library:
                report = library.check(repair=repair)
        except WherefromError as error:
            say(f"refused {type(error).__name__}")
            return
        for problem in report.problems:
            if CANARY in problem.what:
                say(f"raised Quoting: {problem.what!r}")
        say("sound" if report.sound else "unsound")

    return ran(work)


def _settings(kind: str) -> Settings:
    return resolve(overrides=[*PLAIN, f"retrieve.kind={kind}"])


def _told(path: Path) -> dict[str, str]:
    """All that a library does, each thing as text; what it refuses by the kind of its error."""
    told: dict[str, str] = {}

    def work(say: Say) -> None:
        for name, value in _behaviour(path):
            say(json.dumps([name, value]))

    ended = ran(work)
    for line in ended.lines:
        with contextlib.suppress(ValueError):
            name, value = json.loads(line)
            told[name] = value
    if ended.status:
        told["it ends"] = f"status {ended.status}: {ended.lines[-2:]}"
    return told


def _behaviour(path: Path) -> Iterator[tuple[str, str]]:
    about = ("cellar", "comet", "boiler", "late")
    ids = [*(f"{each}-{number}.txt" for each in about for number in range(20)), "long.md"]
    for kind in ("bm25", "tfidf"):
        with contextlib.closing(Library(path, _settings(kind))) as library:
            for question in QUESTIONS:
                yield f"search by {kind}: {question}", _of(partial(_hits, library, question))
                yield f"ask by {kind}: {question}", _of(partial(_answer, library, question))
    with contextlib.closing(Library(path, _settings("bm25"))) as library:
        yield "list", _of(lambda: [msgspec.to_builtins(facts) for facts in library.documents()])
        yield "counts", _of(library.counts)
        yield "feedback", _of(lambda: [msgspec.to_builtins(each) for each in library.feedback()])
        for id in ids:
            yield f"document: {id}", _of(partial(_plain, library.document, id))
            yield f"passages: {id}", _of(partial(_plain, library.passages_of, id))


def _hits(library: Library, question: str) -> list[tuple[str, str]]:
    """Of equals, it does not matter which: a document that was mended comes after the others."""
    hits = library.pipeline(5).find_many([Question("", question)])[0].hits
    scores = [f"{hit.score:.3g}" for hit in hits]
    alone = [scores.count(score) == 1 and score != scores[-1] for score in scores]
    return [(hit.passage.id if each else "", score) for hit, score, each in zip(hits, scores, alone, strict=True)]


def _answer(library: Library, question: str) -> Any:
    return msgspec.to_builtins(library.ask(question).answer)


def _plain(read: Callable[[str], object], id: str) -> Any:
    return msgspec.to_builtins(read(id))


def _of(work: Callable[[], Any]) -> str:
    """The result as text, by its hash where it is long; the kind of error where it is refused."""
    try:
        text = json.dumps(work(), default=str)
    except WherefromError as error:
        return f"refused: {type(error).__name__}"
    except BaseException as error:  # noqa: BLE001 - told, and then judged
        return f"fails: {type(error).__name__}"
    return text if len(text) < 200 else f"{text[:100]} {hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


def _commanded(path: Path, fresh: Path, what: str, outcome: Outcome, again: str) -> None:
    """Every command on the damaged library: an answer or an error in words, and no text of a document in it."""
    for name, line in _COMMANDS.items():
        arguments = line.replace("{l}", str(path)).replace("{f}", str(fresh)).split()

        def work(say: Say, arguments: list[str] = arguments) -> None:
            noted = path.with_suffix(".errors")
            with noted.open("wb") as errors, open(os.devnull, "wb") as nothing:  # noqa: PTH123
                os.dup2(nothing.fileno(), 1)
                os.dup2(errors.fileno(), 2)  # what is not Python writes there too
                code = run_command(*arguments)
            said = noted.read_text(encoding="utf-8", errors="replace")
            if CANARY in said:
                say(f"raised Quoting: {said[:200]!r}")
            if "Traceback" in said or "panicked" in said:
                say(f"raised Traceback: {said[-300:]!r}")
            say(f"code {code}")

        ended = ran(work)
        outcome.count("commands")
        raised = [line for line in ended.lines if line.startswith("raised ")]
        where = f"{name} on damaged {what.split()[0]}"
        if raised:
            kind = f"{where}: {raised[0].split(':')[0]} {_where(ended)}"
            outcome.break_(kind, "; ".join(ended.lines[-3:]), again)
        elif ended.status:
            outcome.break_(f"{where}: dies of status {ended.status}", what, again)


def _where(ended: Ended) -> str:
    return next((line.split(" <")[0] for line in ended.lines if line.startswith("where ")), "")


# ------------------------------------------------------------------------------------------- ways to damage


def corrupted(path: Path, other: Path, chance: random.Random) -> str:
    """Change one file of a library; in words what was done, the kind of file first."""
    locks = ("writer.lock", "jobs.lock")  # empty, and nobody reads them
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.name not in locks]
    by_kind: dict[str, list[Path]] = {}
    for file in files:
        by_kind.setdefault(_kind(file, path), []).append(file)
    kinds = list(by_kind)
    # The database holds all there is to lose: a third of the damage is there.
    kind = "documents.sqlite" if chance.random() < 0.33 else chance.choice(kinds)
    file = chance.choice(by_kind[kind])
    done = chance.choice(_WAYS)(file, _foreign(file, path, other), chance)
    return f"{kind} {file.relative_to(path)}: {done}"


def _kind(file: Path, path: Path) -> str:
    """Files of one kind are damaged as often as those of another: by their suffix, or by their name."""
    part = file.relative_to(path).parts
    if part[0] == "index":
        return f"{part[1]}:{file.suffix or file.name}" if part[1] == "bm25" else f"{part[1]}:{file.name.split('-')[0]}"
    return "/".join(part)


def _foreign(file: Path, path: Path, other: Path) -> Path | None:
    """The same kind of file in another library."""
    kind = _kind(file, path)
    return next((each for each in sorted(other.rglob("*")) if each.is_file() and _kind(each, other) == kind), None)


def _byte(file: Path, _other: Path | None, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    if not data:
        return _longer(file, _other, chance)
    at, area = place(bytes(data), file.name, chance)
    before = data[at]
    others = (before ^ 1 << chance.randrange(8), 0, 255, (before + 1) % 256)
    data[at] = chance.choice([value for value in others if value != before])
    file.write_bytes(data)
    return f"byte {at} ({area}) from {before} to {data[at]}"


def _stretch(file: Path, _other: Path | None, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    if not data:
        return _longer(file, _other, chance)
    at, area = place(bytes(data), file.name, chance)
    length = min(int(2 ** chance.uniform(1, 12)), len(data) - at)
    data[at : at + length] = chance.choice((bytes(length), b"\xff" * length, chance.randbytes(length)))
    file.write_bytes(data)
    return f"{length} bytes from {at} ({area})"


def _shorter(file: Path, _other: Path | None, chance: random.Random) -> str:
    size = file.stat().st_size
    length = chance.choice((0, size // 2, max(size - 1, 0), chance.randrange(size + 1)))
    file.write_bytes(file.read_bytes()[:length])
    return f"cut to {length} of {size} bytes"


def _longer(file: Path, _other: Path | None, chance: random.Random) -> str:
    more = chance.randbytes(chance.choice((1, 100, 4096)))
    with file.open("ab") as end:
        end.write(more)
    return f"{len(more)} bytes more"


def _gone(file: Path, _other: Path | None, _chance: random.Random) -> str:
    file.unlink()
    return "gone"


def _swapped(file: Path, other: Path | None, chance: random.Random) -> str:
    # Another library's database is a whole one: where it stands, nothing is left of what stood there.
    if other is None or file.name == "documents.sqlite" or other.read_bytes() == file.read_bytes():
        return _stretch(file, other, chance)
    file.write_bytes(other.read_bytes())
    return "that of another library"


def _moved(file: Path, _other: Path | None, chance: random.Random) -> str:
    """A block of the file stands where another should: a write that went to the wrong place."""
    data = bytearray(file.read_bytes())
    if len(data) < 1024:
        return _stretch(file, _other, chance)
    size = 512 if len(data) < 16_384 else 4096
    a, b = (chance.randrange(len(data) // size) * size for _ in range(2))
    if data[a : a + size] == data[b : b + size]:
        return _stretch(file, _other, chance)
    data[b : b + size] = data[a : a + size]
    file.write_bytes(data)
    return f"the {size} bytes at {b} are those at {a}"


_WAYS = (_byte, _byte, _byte, _byte, _byte, _stretch, _stretch, _shorter, _longer, _gone, _swapped, _moved)


def place(data: bytes, name: str, chance: random.Random) -> tuple[int, str]:
    """A byte to change, and in which area of the file it lies: every area as often as the others."""
    if name.endswith(".sqlite") and data[:15] == b"SQLite format 3":
        return _sqlite_place(data, chance)
    if name.endswith((".json", ".toml")):
        areas: Mapping[str, list[int]] = {
            "digit": [at for at, byte in enumerate(data) if 48 <= byte <= 57],
            "letter": [at for at, byte in enumerate(data) if chr(byte).isalpha()],
            "sign": [at for at, byte in enumerate(data) if byte in b'{}[]:,"='],
        }
        area = chance.choice([name for name, places in areas.items() if places] or ["any"])
        return chance.choice(areas.get(area) or range(len(data))), area
    size = len(data)
    ends = {"head": range(min(32, size)), "tail": range(max(size - 64, 0), size), "body": range(size)}
    area = chance.choice(list(ends))
    return chance.choice(ends[area]), area


def _sqlite_place(data: bytes, chance: random.Random) -> tuple[int, str]:
    if chance.random() < 0.12:
        return chance.randrange(100), "header"
    size = int.from_bytes(data[16:18], "big") or 65536
    size = 65536 if size == 1 else size
    page = chance.randrange(max(len(data) // size, 1))
    start = page * size
    begin = start + (100 if page == 0 else 0)
    names = {2: "inner index page", 5: "inner table page", 10: "index page", 13: "table page"}
    kind = names.get(data[begin] if begin < len(data) else 0)
    if kind is None:
        return min(start + chance.randrange(size), len(data) - 1), "overflow or free page"
    cells = int.from_bytes(data[begin + 3 : begin + 5], "big")
    content = int.from_bytes(data[begin + 5 : begin + 7], "big") or 65536
    head = 12 if data[begin] in (2, 5) else 8
    areas = {"head": (begin, begin + head), "content": (start + content, start + size)}
    if cells:
        areas["pointers"] = (begin + head, begin + head + 2 * cells)
        pointer = begin + head + 2 * chance.randrange(cells)
        cell = start + int.from_bytes(data[pointer : pointer + 2], "big")
        areas["cell's head"] = (cell, cell + 12)
    if begin + head + 2 * cells < start + content:
        areas["unused space"] = (begin + head + 2 * cells, start + content)
    name = chance.choice(list(areas))
    low, high = areas[name]
    return min(chance.randrange(low, max(high, low + 1)), len(data) - 1), f"{name} of a {kind}"


DAMAGE = Campaign(
    name="damage",
    unit="corruptions",
    over="bytes, stretches, blocks and files of a library changed, cut, swapped or gone, every kind of file and area: "
    "what `check` calls sound answers as before, and every command ends in words",
    attempts=100,
    seconds=300,
    attempt=attempt,
    ready=ready,
)
