"""A document read in pieces is the document: any part of it, in any script, with a piece of it in memory."""

from __future__ import annotations

import random
import re
import tracemalloc
from pathlib import Path

import pytest

from wherefrom.errors import NotFound
from wherefrom.store import reading
from wherefrom.store.sqlite import SQLiteStore
from wherefrom.types import Document


def at_blank_lines(text: str, _: object = ()) -> list[tuple[int, int]]:
    return [(match.start(), match.end()) for match in re.finditer(r"[^\n]+", text)]


@pytest.fixture
def store(tmp_path: Path) -> SQLiteStore:
    store = SQLiteStore(tmp_path / "documents.sqlite", at_blank_lines)
    store.open(create=True)
    return store


TEXTS = [
    "",
    "\n\n\n",
    "one line",
    "ASCII\nlines\n\n\nand gaps\n",
    "Ærø, 東京, \N{EARTH GLOBE ASIA-AUSTRALIA} and \x00 too\n" * 40,
    "\N{EARTH GLOBE ASIA-AUSTRALIA}" * 300,
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_part_is_that_part(store: SQLiteStore, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_BYTES", 7)  # characters of three and four bytes are cut in two
    monkeypatch.setattr(reading, "_ROWS", 3)
    store.put([Document("before", "another one"), Document("a", text), Document("behind", "a third")])
    stored = store.text("a")
    assert stored is not None
    assert (stored.length, stored.passages) == (len(text), store.passage_count("a"))
    chance = random.Random(1)
    ends = [(0, len(text)), (len(text), len(text)), (0, 10**12)]
    for start, end in ends + [(chance.randrange(len(text) + 2), chance.randrange(len(text) + 2)) for _ in range(60)]:
        assert "".join(stored.pieces(start, end)) == text[start:end]
        there = [span for span in at_blank_lines(text) if span[1] > start and span[0] < end]
        assert [(span.start, span.end) for span in stored.spans(start, end)] == there
    ids = [span.id for span in stored.spans(0, len(text))]
    assert ids == [passage.id for passage in store.passages(ids)]


def test_what_is_not_there_is_none(store: SQLiteStore) -> None:
    assert store.text("a") is None
    store.put([Document("a", "text")])
    store.remove(["a"])
    assert store.text("a") is None


def test_a_long_one_takes_no_memory(store: SQLiteStore) -> None:
    store.put([Document("long", "a line of words that say nothing\n" * 300_000)])  # 10 MB
    tracemalloc.start()
    stored = store.text("long")
    assert stored is not None
    characters = sum(len(piece) for piece in stored.pieces(0, stored.length))
    spans = sum(1 for _ in stored.spans(0, stored.length))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (characters, spans) == (9_900_000, 300_000)
    assert peak < 3_000_000


def test_one_that_is_replaced_meanwhile_is_not_mixed_with_its_successor(
    store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_BYTES", 10)
    store.put([Document("a", "the first version of it")])
    stored = store.text("a")
    assert stored is not None
    pieces = stored.pieces(0, stored.length)
    assert next(pieces) == "the first "
    store.put([Document("a", "THE SECOND VERSION OF IT")])
    with pytest.raises(NotFound, match="replaced or removed while it was read"):
        next(pieces)
