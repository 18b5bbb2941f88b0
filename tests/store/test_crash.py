"""A writer is killed at random instants, again and again; nothing acknowledged is lost, nothing is left half done."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from effort import ALL, times
from store.crash_child import text_of
from wherefrom import Library
from wherefrom.config import resolve
from wherefrom.errors import LibraryMissing
from wherefrom.ingest.split import split
from wherefrom.types import Question

CHILD = Path(__file__).with_name("crash_child.py")
KILLS = 10  # for each of the seeds below
SEEDS = [int(seed) for seed in os.environ.get("WHEREFROM_CRASH_SEEDS", "1 2 3 4 5 6" if ALL else "1 2").split()]

TOML_LAGS = {
    f"library.toml is {how}; `wherefrom check` writes it from the database" for how in ("missing", "out of date")
}
States = dict[str, set[int]]  # for each document, the versions it may be in; 0 is "not there"


def run_and_kill(
    path: Path, work: Path, seed: int, kind: str, delay: float, from_first_done: bool, states: States
) -> int:
    """Let the child write for a while, kill it, and note what it may have done; how much was acknowledged.

    The while is counted from the child's start, or from its first acknowledgement.
    """
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(path), str(work), str(seed), kind], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        early, line = "", ""
        while from_first_done and not line.startswith("done"):
            line = child.stdout.readline()
            assert line, f"the child ended by itself, with status {child.wait()}; it had said: {early[-200:]!r}"
            early += line
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        output = early + child.communicate()[0]
    acknowledged = 0
    for line in output.splitlines(keepends=True):
        if not line.endswith("\n"):
            break  # cut off in mid-word
        what, id, version = line.split()
        if what == "try":
            states[id].add(int(version))
        else:
            states[id] = {int(version)}
            acknowledged += 1
    return acknowledged


def verify(library: Library, states: States) -> None:
    """Every document is whole, in a version that was acknowledged or at least tried after that."""
    there = {facts.id for facts in library.documents()}
    for id, possible in states.items():
        if id not in there:
            assert 0 in possible, f"{id} is lost; it was acknowledged in version {possible}"
            continue
        text = library.document(id).text
        version = next((version for version in possible if version and text == text_of(id, version)), None)
        assert version is not None, f"{id} is in none of the versions {possible}: {text[:60]}"
        passages = library.passages_of(id)
        assert [(passage.start, passage.end) for passage in passages] == split(text)
        assert all(text[passage.start : passage.end] == passage.text for passage in passages)
        hits = library.pipeline(3).find_many([Question("", f"Mark{id}v{version}")])[0].hits
        assert [hit.passage.id for hit in hits] == [f"{id}#0"], f"{id} in version {version} cannot be found"
    assert there <= states.keys()


@pytest.mark.parametrize(
    ("kind", "seed"), [*(("bm25", seed) for seed in SEEDS), *(("tfidf", seed) for seed in SEEDS[: times(1, 3)])]
)
def test_killed_at_random_instants_nothing_acknowledged_is_lost(
    tmp_path: Path, kind: str, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    path = tmp_path / "library"
    states: States = defaultdict(lambda: {0})
    acknowledged = 0
    for kill in range(KILLS):
        delay = chance.uniform(0.15, 0.9)  # from before the first import, or in mid-batch
        acknowledged += run_and_kill(path, tmp_path, seed * 100 + kill, kind, delay, kill % 2 == 1, states)
        # Not with all of the child's settings: whoever only reads and checks must not note his own as the library's.
        library = Library(path, resolve(overrides=[f"retrieve.kind={kind}"]))
        try:
            verify(library, states)  # as a reader finds it, before any writer has cleared up
            # Store and index agree once a writer has been there; counts in library.toml, for people, may lag.
            assert {problem.what for problem in library.check().problems} <= TOML_LAGS
            verify(library, states)
        except LibraryMissing:
            assert all(possible >= {0} for possible in states.values()), "the library itself is lost"
        library.close()
    with capsys.disabled():
        print(f"[crash {kind} seed {seed}: {KILLS} kills, {acknowledged} acknowledged]", end=" ")
    assert acknowledged > 0, "no child lived long enough to be tested"
