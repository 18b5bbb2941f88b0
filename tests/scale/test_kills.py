"""A server and writers are killed at random instants; nothing acknowledged is lost."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

from bench.qdrant import QdrantProcess
from bench.served_kills import campaign

from effort import times
from store.test_crash import States, run_and_kill, verify
from wherefrom import Library
from wherefrom.config import resolve


def test_a_server_killed_while_it_is_written_to_and_asked_loses_nothing(tmp_path: Path, qdrant: QdrantProcess) -> None:
    tally = campaign(times(9, 60), seed=2, folder=tmp_path)  # nine: one of them with the server's disk
    assert tally.lost == 0
    assert tally.disks > 0
    assert tally.errors >= tally.kills
    assert tally.acknowledged > 0
    assert tally.asked > 0


def test_a_writer_killed_while_its_index_is_on_a_server_loses_nothing(tmp_path: Path, qdrant: QdrantProcess) -> None:
    chance = random.Random(3)
    states: States = defaultdict(lambda: {0})
    acknowledged = 0
    (tmp_path / "work").mkdir()
    path = tmp_path / "library"
    for number in range(1, 1 + times(4, 30)):
        acknowledged += run_and_kill(
            path, tmp_path / "work", number, f"qdrant@{qdrant.url}", chance.random() * 2, True, states
        )
        with Library(path, resolve(overrides=["retrieve.kind=qdrant"])) as library:
            if number % 2:
                assert library.check().sound
            verify(library, states)
    assert acknowledged > 0
