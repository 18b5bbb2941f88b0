"""Hostile files that coverage leads to: inputs that reach new code of the readers are kept and bent further.

The grammars of `fuzz` know what a format looks like; this finds what nobody thought of. libFuzzer, by Atheris, watches
which branches of our code an input takes; what it keeps for a format is gone on from by the next attempt. In a packed
format it bends a member of the archive, since a changed byte of the archive itself only breaks its checksum.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attack.campaign import Attempt, Campaign, Outcome

RUNS = 1500  # inputs of one attempt
SEEDS = 40  # by grammar, for a format's first attempt
MOST_BYTES = 20_000
CPU_SECONDS = 2.0  # of one input
_HANG_SECONDS = 20  # of the clock: libFuzzer then ends the process
_MEGABYTES = 1500


# ------------------------------------------------------------------------------------------------ the campaign


def campaign() -> Campaign:
    from attack.campaign import Campaign

    return Campaign(
        name="coverage",
        unit="inputs",
        over="files of every format, bent towards what reaches new code of the readers (libFuzzer by Atheris): each "
        "within 2 s of work and 1.5 GB, every passage at its offsets",
        attempts=70,
        seconds=1800,
        attempt=attempt,
        ready=_ready,
    )


def _ready(_shared: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("coverage needs Atheris: pip install 'wherefrom[dev]' on Linux, Python 3.11 to 3.13")


def attempt(given: Attempt) -> Outcome:
    """One format after the other, each going on from what the attempts before found."""
    from attack.campaign import Outcome
    from attack.files import FORMATS

    suffixes = [suffix for suffix in FORMATS if suffix]
    suffix = suffixes[given.number % len(suffixes)]
    outcome = Outcome()
    corpus = given.shared / f"corpus{suffix}"
    if not corpus.is_dir():
        _seed(corpus, suffix, given.chance)
    left, turn = given.share(RUNS), 0
    while left > 0:
        done = _fuzzed(given, suffix, corpus, left, turn, outcome)
        outcome.tried += done
        left, turn = left - max(done, 1), turn + 1
    outcome.count("kept", len(list(corpus.iterdir())))
    return outcome


def _seed(corpus: Path, suffix: str, chance: random.Random) -> None:
    from attack.files import some_file
    from attack.fuzz import sample_files

    corpus.mkdir(parents=True)
    samples = sample_files()
    for number in range(SEEDS):
        _, data = some_file(chance, samples, suffix)
        inner = unpacked(data)
        (corpus / f"seed{number}").write_bytes(inner[:MOST_BYTES])


def _fuzzed(given: Attempt, suffix: str, corpus: Path, runs: int, turn: int, outcome: Outcome) -> int:
    """One process, until it has done its runs or an input has ended it; how many it did."""
    from attack.fuzz import _kept

    folder = given.folder / f"turn{turn}"
    folder.mkdir()
    seed = given.chance.randrange(1, 2**31)
    command = [sys.executable, "-m", "attack.coverage", suffix, str(folder), str(corpus), str(runs), str(seed)]
    with (folder / "log").open("wb") as log:
        subprocess.run(command, stdout=log, stderr=log, check=False, timeout=given_seconds(runs))
    done = 0
    for line in (folder / "notes").read_text(encoding="utf-8", errors="replace").splitlines():
        note = json.loads(line)
        if "done" in note:
            done = note["done"]
            outcome.reach("slowest_ms", note["slowest_ms"])
            outcome.count("read", note["read"])
        else:
            data = (folder / note["file"]).read_bytes()
            outcome.break_(note["kind"], f"{len(data)} bytes of {suffix}: {note['what']}", _kept(given, suffix, data))
    for file in folder.iterdir():
        how = file.name.partition("-")[0]
        if how in ("crash", "timeout", "oom", "leak"):
            data = packed(suffix, file.read_bytes())
            outcome.break_(f"the process dies: {how} in {suffix}", f"{len(data)} bytes", _kept(given, suffix, data))
            done += 1
    return done


def given_seconds(runs: int) -> float:
    return 120.0 + runs * CPU_SECONDS


# ------------------------------------------------------------------------------------------- archives


def unpacked(data: bytes) -> bytes:
    """Of an archive the member that is read for its text; of other files all."""
    if not data.startswith(b"PK"):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(_member(archive))
    except (zipfile.BadZipFile, ValueError, KeyError, NotImplementedError, RuntimeError, EOFError, OSError):
        return data


def _member(archive: zipfile.ZipFile) -> str:
    """The longest member of markup."""
    markup = [info for info in archive.infolist() if info.filename.endswith((".xml", ".xhtml", ".html"))]
    return max(markup or archive.infolist(), key=lambda info: info.file_size).filename


def packed(suffix: str, inner: bytes) -> bytes:
    """The archive of the sample of a packed format with this in place of its text; other formats as they are."""
    template = _TEMPLATES.get(suffix)
    if template is None:
        return inner
    members, chosen = template
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, inner if name == chosen else data)
    return out.getvalue()


_TEMPLATES: dict[str, tuple[dict[str, bytes], str]] = {}


def _take_template(suffix: str) -> None:
    """A sound file of the format, by its grammar or of the sample library."""
    from attack.files import FORMATS
    from attack.fuzz import sample_files

    chance = random.Random(1)
    for data in (*sample_files().get(suffix, []), *(FORMATS[suffix](chance) for _ in range(20))):
        if not data.startswith(b"PK"):
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                _TEMPLATES[suffix] = {name: archive.read(name) for name in archive.namelist()}, _member(archive)
                return
        except (zipfile.BadZipFile, ValueError, KeyError, NotImplementedError, RuntimeError, EOFError, OSError):
            continue


# ------------------------------------------------------------------------------------------- the process


class _Notes:
    """What was found, a line each as it is found: the process may be ended at any input."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()
        self.done = self.read = 0
        self.slowest = 0.0

    def wrong(self, kind: str, what: str, data: bytes) -> None:
        if kind in self._known:
            return
        self._known.add(kind)
        name = f"input{len(self._known)}"
        (self._folder / name).write_bytes(data)
        self._line({"kind": kind, "what": what, "file": name})

    def count(self) -> None:
        self._line({"done": self.done, "read": self.read, "slowest_ms": self.slowest})

    def _line(self, note: dict[str, object]) -> None:
        with (self._folder / "notes").open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")


def main(suffix: str, folder: str, corpus: str, runs: str, seed: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["wherefrom.ingest", "wherefrom.text"]):
        import attack.fuzz
        import wherefrom.ingest.formats  # noqa: F401
    _take_template(suffix)
    notes, path, most = _Notes(Path(folder)), Path(folder) / f"input{suffix}", int(runs)

    def one(inner: bytes) -> None:
        data = packed(suffix, inner)
        path.write_bytes(data)
        before = time.process_time()
        for line in attack.fuzz.examined(path):
            what, _, rest = line.partition("\t")
            if what == "read":
                notes.read += 1
            else:
                kind, _, about = rest.partition("\t")
                notes.wrong(kind, about, data)
        seconds = time.process_time() - before
        notes.slowest = max(notes.slowest, 1000 * seconds)
        if seconds > CPU_SECONDS:
            notes.wrong(f"over {CPU_SECONDS:g} s in {suffix}", f"{seconds:.1f} s", data)
        notes.done += 1
        if notes.done % 50 == 0 or notes.done >= most:
            notes.count()
        if notes.done >= most:
            os._exit(0)

    limits = [f"-timeout={_HANG_SECONDS}", f"-rss_limit_mb={_MEGABYTES}", f"-max_len={MOST_BYTES}", f"-seed={seed}"]
    # `-runs` counts its own trials alone, not the corpus that is read first.
    atheris.Setup(["coverage", *limits, f"-artifact_prefix={folder}/", "-detect_leaks=0", corpus], one)
    atheris.Fuzz()


COVERAGE = campaign()


if __name__ == "__main__":
    main(*sys.argv[1:])
