"""Hostile files of every format: none may crash the reader, take too long, or come out with wrong offsets."""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import io
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import wherefrom.cli
import wherefrom.cli.ingest_command
import wherefrom.ingest.run
from attack.campaign import Attempt, Campaign, Outcome
from attack.children import Say, ran
from attack.files import sample_files, some_file
from wherefrom import Library
from wherefrom.config import Settings
from wherefrom.errors import IngestError
from wherefrom.ingest.formats import Record, read
from wherefrom.ingest.split import split
from wherefrom.text import clean, sections

INPUTS = 250  # of one attempt
TAKEN_IN = 20  # of these, brought into a library by the command line too
CPU_SECONDS = 2.0  # of one input, none longer than 240 kB unpacked, but for what is packed
MEMORY_BYTES = 1_500_000_000
_LOOK_SECONDS = 0.1


def attempt(given: Attempt) -> Outcome:
    outcome = Outcome()
    samples = sample_files()
    inputs = [some_file(given.chance, samples) for _ in range(given.share(INPUTS))]
    begin = 0
    while begin < len(inputs):
        begin = _read_on(given, inputs, begin, outcome)
    _taken_in(given, inputs[: given.share(TAKEN_IN)], outcome)
    return outcome


# ------------------------------------------------------------------------------------- one after the other


def _read_on(given: Attempt, inputs: list[tuple[str, bytes]], begin: int, outcome: Outcome) -> int:
    """Read inputs in a process of its own until one ends it; the number of the next."""
    notes = given.folder / "stack.txt"
    said, saying = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(said)
        _reader(given, inputs, begin, saying, notes)
    os.close(saying)
    at = begin - 1
    used, finished = 0.0, True
    with os.fdopen(said, "rb") as lines:
        os.set_blocking(said, False)
        left = b""
        while True:
            time.sleep(_LOOK_SECONDS)
            piece = lines.read()
            if piece == b"":
                break
            for line in (left + (piece or b"")).splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    left = line
                    break
                left = b""
                at = _noted(line.decode("utf-8", "replace").rstrip("\n"), inputs, given, outcome, at)
                used = cpu(process)
            if cpu(process) - used > CPU_SECONDS:
                finished = False
                os.kill(process, signal.SIGUSR1)
                time.sleep(0.2)
                os.kill(process, signal.SIGKILL)
                break
    _, status = os.waitpid(process, 0)
    if at + 1 >= len(inputs) and finished:
        return len(inputs)
    suffix, data = inputs[min(at + 1, len(inputs) - 1)]
    if kind := _end(finished, status):
        outcome.break_(f"{kind} in {_innermost(notes)}", f"{len(data)} bytes of {suffix}", kept(given, suffix, data))
    outcome.tried += 1
    return at + 2


def _end(finished: bool, status: int) -> str:
    """Why a process ended before its inputs did."""
    if not finished:
        return f"over {CPU_SECONDS:g} s"
    if os.WIFSIGNALED(status):
        return f"the process dies: signal {os.WTERMSIG(status)}"
    return f"the process dies: status {os.WEXITSTATUS(status)}" if status else ""


def _noted(line: str, inputs: list[tuple[str, bytes]], given: Attempt, outcome: Outcome, at: int) -> int:
    """`N` when an input is done; before it what was wrong with it, and what it took."""
    what, _, rest = line.partition("\t")
    if what == "wrong":
        kind, _, about = rest.partition("\t")
        suffix, data = inputs[at + 1]
        outcome.break_(kind, f"{len(data)} bytes of {suffix}: {about}", kept(given, suffix, data))
        return at
    if what == "took":
        outcome.reach("slowest_ms", float(rest))
        if float(rest) > 1000 * CPU_SECONDS:  # it ended by itself between two looks
            suffix, data = inputs[at + 1]
            kind = f"over {CPU_SECONDS:g} s in {suffix}"
            outcome.break_(kind, f"{len(data)} bytes: {rest} ms", kept(given, suffix, data))
        return at
    if what == "read":
        outcome.count("read")
        return at
    outcome.tried += 1
    return int(what)


def kept(given: Attempt, suffix: str, data: bytes) -> str:
    """The input, kept to be read again: `wherefrom ingest FILE`."""
    breaks = given.shared.parent / "breaks"
    breaks.mkdir(exist_ok=True)
    path = breaks / f"{hashlib.blake2b(data, digest_size=6).hexdigest()}{suffix or '.none'}"
    path.write_bytes(data)
    return f"python -m attack.fuzz {path}"


def cpu(process: int) -> float:
    """Seconds that a process has worked."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _innermost(notes: Path) -> str:
    """The innermost of our functions that was at work, as `faulthandler` noted it."""
    text = notes.read_text(encoding="utf-8", errors="replace") if notes.exists() else ""
    for line in text.splitlines():
        if "/wherefrom/" in line and " in " in line:
            file, _, function = line.partition(" in ")
            return f"{file.rpartition('/')[2].rstrip(chr(34)).partition(chr(34))[0].removesuffix('.py')}.{function}"
    return "a place not known"


def _reader(given: Attempt, inputs: list[tuple[str, bytes]], begin: int, saying: int, notes: Path) -> None:
    with notes.open("w") as file:
        faulthandler.enable(file)
        faulthandler.register(signal.SIGUSR1, file)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in range(begin, len(inputs)):
            suffix, data = inputs[number]
            path = given.folder / f"input{suffix}"
            path.write_bytes(data)
            before = time.process_time()
            for line in examined(path):
                os.write(saying, line.encode("utf-8", "backslashreplace")[:4000] + b"\n")
            took = f"took\t{1000 * (time.process_time() - before):.1f}\n{number}\n"
            os.write(saying, took.encode())
            path.unlink()
    os._exit(0)


# ------------------------------------------------------------------------------------------- what must hold


def examined(path: Path) -> Iterator[str]:
    """Read a file; lines that say what is wrong with what comes out."""
    try:
        for outcome in read(path, Settings().ingest):
            if isinstance(outcome, Record):
                yield "read"
                for kind, what in faults(outcome):
                    yield f"wrong\t{kind}\t{what}"
            else:
                "".join((outcome.name, outcome.reason)).encode("utf-8")
    except IngestError:
        pass
    except BaseException as error:  # noqa: BLE001 - whatever comes out is a hole
        yield f"wrong\t{type(error).__name__} in {place_of(error)}\t{str(error)[:200]!r}"


def place_of(error: BaseException) -> str:
    """The innermost of our functions on the way of an error."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/wherefrom/" in frame.filename]
    return f"{Path(frames[-1].filename).stem}.{frames[-1].name}" if frames else "no place of ours"


def faults(record: Record) -> Iterator[tuple[str, str]]:
    """What is wrong with a record: its characters, its passages, their offsets."""
    text = record.text
    for name, value in (("text", text), ("title", record.title), ("id", record.id or ""), ("place", record.place)):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            yield f"a lone surrogate in the {name}", str(error)
            return
    if not text.strip():
        yield "an empty text", repr(text[:40])
    if clean(text) != text:
        yield "a text that is not clean", _differing(text, clean(text))
    spans = split(text)
    if any(not 0 <= start < end <= len(text) for start, end in spans) or spans != sorted(spans):
        yield "passages out of order", repr(spans[:5])
        return
    if any(text[start].isspace() or text[end - 1].isspace() for start, end in spans):
        yield "a passage with white space at its end", repr(spans[:5])
    covered = 0
    for start, end in spans:
        if text[covered:start].strip():
            yield "text in no passage", repr(text[covered:start][:60])
        covered = max(covered, end)
    if text[covered:].strip():
        yield "text in no passage", repr(text[covered:][:60])
    if len(sections(text, spans, record.title)) != len(spans):
        yield "sections that do not fit", str(len(spans))


def _differing(text: str, cleaned: str) -> str:
    at = next((at for at, (a, b) in enumerate(zip(text, cleaned, strict=False)) if a != b), 0)
    return f"{text[at : at + 20]!r} becomes {cleaned[at : at + 20]!r}"


# ------------------------------------------------------------------------------------- by the command line


def _taken_in(given: Attempt, inputs: list[tuple[str, bytes]], outcome: Outcome) -> None:
    """The same files as people bring them in: a folder of them, by `wherefrom ingest`."""
    folder = given.folder / "taken"
    folder.mkdir()
    for number, (suffix, data) in enumerate(inputs):
        (folder / f"{number}{suffix}").write_bytes(data)
    library = given.folder / "library"

    def work(say: Say) -> None:
        with _captured() as errors:
            code = run_command("ingest", str(folder), "--library", str(library), "--quiet")
        if code not in (0, 1) or "Traceback" in errors.getvalue():
            say(f"wrong ingest ends with {code}\t{errors.getvalue()[-300:]!r}")

    def look(say: Say) -> None:
        if not (library / "documents.sqlite").exists():
            return
        with Library(library) as opened:
            for problem in opened.check().problems:
                say(f"wrong check finds something after an ingest\t{problem.what}")
            for facts in opened.documents():
                document, passages = opened.document(facts.id), opened.passages_of(facts.id)
                if len(passages) != facts.passages or any(
                    document.text[each.start : each.end] != each.text for each in passages
                ):
                    say(f"wrong offsets in a library\t{facts.id}")
                say("read")

    for function, most in ((work, 30.0 + TAKEN_IN * CPU_SECONDS), (look, 60.0)):
        for line in ran(function, most_seconds=most).lines:
            if line == "read":
                outcome.count("in_libraries")
            elif not line.startswith("where "):
                kind, _, what = line.removeprefix("wrong ").partition("\t")
                outcome.break_(
                    f"by the command line: {kind[:80]}", f"{what} {kind}", f"attempt {given.number}, {folder}"
                )


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        yield errors


def run_command(*arguments: str) -> int:
    """The command line in this process; its exit code."""
    try:
        wherefrom.cli.main(list(arguments))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    return 0


FUZZ = Campaign(
    name="fuzz",
    unit="inputs",
    over="files of every format, by grammars that are bent and by mutation of sample files: each within 2 s of work "
    "and 1.5 GB, every passage at its offsets; one in twelve brought into a library too",
    attempts=400,
    seconds=900,
    attempt=attempt,
)


def main(paths: list[str]) -> int:
    """Read files again that an attempt kept."""
    wrong = 0
    for path in paths:
        before = time.process_time()
        lines = [line for line in examined(Path(path)) if line != "read"]
        print(f"{path}: {1000 * (time.process_time() - before):.0f} ms", *lines, sep="\n  ")
        wrong += bool(lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
