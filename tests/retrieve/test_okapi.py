"""BM25's numbers, by hand and as tantivy has them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from wherefrom.config import IndexSettings
from wherefrom.retrieve import okapi
from wherefrom.retrieve.bm25 import BM25Index


def test_a_weight_by_hand() -> None:
    """3 of 20 terms, 10 in the mean: 3 * 2.2 / (3 + 1.2 * (0.25 + 0.75 * 2)) = 6.6 / 5.1."""
    assert okapi.weight(3, 20, 10.0) == pytest.approx(6.6 / 5.1)
    assert okapi.idf(2, 7) == pytest.approx(math.log(1 + 5.5 / 2.5))


@pytest.mark.parametrize("length", [0, 1, 7, 90, 5_000])
@pytest.mark.parametrize("mean", [1.5, 60.25, 400.0])
def test_a_weight_gives_back_what_it_was_made_of(length: int, mean: float) -> None:
    for frequency in (1, 2, 3, 17, 120):
        kept = float(f"{okapi.weight(frequency, length, mean):.7g}")  # as 32 bits keep it
        assert okapi.frequency(kept, length, mean) == frequency


def test_lengths_are_kept_in_a_byte() -> None:
    assert [okapi.kept_length(terms) for terms in (0, 1, 23, 39, 40, 41, 55, 57, 63, 100)] == [
        0, 1, 23, 39, 40, 40, 54, 56, 60, 96,
    ]  # fmt: skip
    assert len({okapi.kept_length(terms) for terms in range(0, 2_000_000, 97)}) < 256


@pytest.mark.parametrize("terms", [20, 41, 57, 101, 700, 5_003])
def test_they_are_those_of_tantivy(tmp_path: Path, terms: int) -> None:
    """A passage of so many terms scores there as the formula says of the length that is kept here."""
    index = BM25Index(tmp_path, IndexSettings())
    index.create()
    index.put([1, 2], ["kite " + "red " * (terms - 1), "fox"])
    index.commit()
    ((_, score),) = index.search(["kite"], 1)[0]
    expected = okapi.idf(1, 2) * okapi.weight(1, okapi.kept_length(terms), (terms + 1) / 2)
    assert score == pytest.approx(expected, rel=1e-5)
    index.close()
