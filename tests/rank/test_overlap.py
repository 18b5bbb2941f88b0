"""The overlap ranker: its contract, and which passage it puts first."""

from __future__ import annotations

import pytest

from contracts.material import GARDEN, HARBOUR, passage
from contracts.stages import RankerContract
from wherefrom.rank.overlap import OverlapRanker
from wherefrom.stages import Ranker
from wherefrom.types import Hit, Question


class TestContract(RankerContract):
    """OverlapRanker is a Ranker."""

    @pytest.fixture
    def ranker(self) -> Ranker:
        return OverlapRanker("english")


def test_the_passage_with_the_rare_words_comes_first() -> None:
    hits = [Hit(GARDEN, 9.0), Hit(HARBOUR, 1.0)]
    (ranked,) = OverlapRanker("english").rank([Question("", "Who built the lighthouse?")], [hits])
    assert [hit.passage for hit in ranked] == [HARBOUR, GARDEN]


def test_of_equal_overlap_the_shorter_comes_first() -> None:
    short, long = passage("b#0", "Roses bloom."), passage("a#0", "Roses bloom here and there and everywhere today.")
    (ranked,) = OverlapRanker("english").rank([Question("", "roses bloom")], [[Hit(long, 1.0), Hit(short, 1.0)]])
    assert ranked[0].passage == short
