"""Hostile files that coverage leads to: inputs that reach new code of the readers are kept and bent further.

The grammars of `fuzz` know what a format looks like; this finds what nobody thought of. libFuzzer, by Atheris, watches
which branches of our code an input takes; what it keeps for a format is gone on from by the next attempt. In a packed
format it bends a member of the archive, since a changed byte of the archive itself only breaks its checksum.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

from attack.campaign import Attempt, Campaign, Outcome
from attack.coverage_child import CPU_SECONDS, MOST_BYTES, packed, unpacked
from attack.files import FORMATS, sample_files, some_file
from attack.fuzz import examined, kept

RUNS = 1500  # inputs of one attempt
SEEDS = 40  # by grammar, for a format's first attempt
_PATIENCE = 60  # seconds of work of an input that is read again
_ARTIFACTS = ("crash", "timeout", "oom", "leak")  # begin the names of what libFuzzer leaves of an input that ends it


def attempt(given: Attempt) -> Outcome:
    """One format after the other, each going on from what the attempts before found."""
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
    corpus.mkdir(parents=True)
    samples = sample_files()
    for number in range(SEEDS):
        _, data = some_file(chance, samples, suffix)
        (corpus / f"seed{number}").write_bytes(unpacked(data)[:MOST_BYTES])


def _fuzzed(given: Attempt, suffix: str, corpus: Path, runs: int, turn: int, outcome: Outcome) -> int:
    """One process, until it has done its runs or an input has ended it; how many it did."""
    folder = given.folder / f"turn{turn}"
    folder.mkdir()
    seed = given.chance.randrange(1, 2**31)
    command = [sys.executable, "-m", "attack.coverage_child", suffix, str(folder), str(corpus), str(runs), str(seed)]
    with (folder / "log").open("wb") as log:
        subprocess.run(command, stdout=log, stderr=log, check=False, timeout=120 + runs * CPU_SECONDS)
    done = _noted(given, suffix, folder, outcome) + _ended(given, suffix, folder, corpus, outcome)
    if not done:
        raise RuntimeError(f"no input was read: {(folder / 'log').read_text(errors='replace')[-1000:]}")
    return done


def _noted(given: Attempt, suffix: str, folder: Path, outcome: Outcome) -> int:
    """What the process wrote down; how many inputs it did."""
    notes = folder / "notes"
    lines = notes.read_text(encoding="utf-8", errors="replace").splitlines() if notes.exists() else []
    counted = {"done": 0, "read": 0, "slowest_ms": 0.0}
    for note in map(json.loads, lines):
        if "done" in note:
            counted = note  # of all inputs so far
        else:
            data = (folder / note["file"]).read_bytes()
            if note["kind"].startswith("over ") and _seconds(folder / f"again{suffix}", data) <= CPU_SECONDS:
                continue  # to be watched takes several times as long
            outcome.break_(note["kind"], f"{len(data)} bytes of {suffix}: {note['what']}", kept(given, suffix, data))
    outcome.reach("slowest_ms", counted["slowest_ms"])
    outcome.count("read", counted["read"])
    return int(counted["done"])


def _seconds(path: Path, data: bytes) -> float:
    """Of work that an input takes where nobody watches; no number, where that ends the process."""
    path.write_bytes(data)
    process = os.fork()
    if process == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (_PATIENCE, _PATIENCE))
            for _ in examined(path):
                pass
            os._exit(0)
        finally:
            os._exit(1)
    _, status, used = os.wait4(process, 0)
    return math.inf if status else used.ru_utime + used.ru_stime


def _ended(given: Attempt, suffix: str, folder: Path, corpus: Path, outcome: Outcome) -> int:
    """How many inputs ended the process; they leave the corpus, or the next process would end at them again."""
    artifacts = [file for file in folder.iterdir() if file.name.partition("-")[0] in _ARTIFACTS]
    for file in artifacts:
        how, inner = file.name.partition("-")[0], file.read_bytes()
        data = packed(suffix, inner)
        if how == "timeout" and _seconds(folder / f"again{suffix}", data) <= CPU_SECONDS:
            outcome.count("too long only while watched")
        else:
            outcome.break_(f"the process dies: {how} in {suffix}", f"{len(data)} bytes", kept(given, suffix, data))
        for known in corpus.iterdir():
            if known.read_bytes() == inner:
                known.unlink()
    return len(artifacts)


def _ready(_shared: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("coverage needs Atheris: pip install 'wherefrom[dev]' on Linux, Python 3.11 to 3.13")


COVERAGE = Campaign(
    name="coverage",
    unit="inputs",
    over="files of every format, bent towards what reaches new code of the readers (libFuzzer by Atheris): each "
    "within 2 s of work and 1.5 GB, every passage at its offsets",
    attempts=70,
    seconds=1800,
    attempt=attempt,
    ready=_ready,
)
