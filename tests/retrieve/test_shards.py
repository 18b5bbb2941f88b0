"""Several parts of one BM25 index: the same passages with the same scores as one index over all of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from effort import times
from wherefrom.config import IndexSettings
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.retrieve.shards import Shard, ShardedSearch, ShardFacts, ShardsHere, _Bounds, _saturated

_WORDS = [f"word{number}" for number in range(300)]


def _texts(count: int, seed: int, longest: int) -> list[str]:
    """Passages with words by Zipf's law, of very different lengths."""
    chance = random.Random(seed)
    weights = [1 / rank for rank in range(1, len(_WORDS) + 1)]
    return [" ".join(chance.choices(_WORDS, weights, k=chance.randint(1, longest))) for _ in range(count)]


def _one(path: Path, texts: list[str]) -> BM25Index:
    index = BM25Index(path, IndexSettings())
    index.create()
    index.put(range(len(texts)), texts)
    index.commit()
    return index


def _parts(path: Path, texts: list[str], parts: list[list[int]]) -> ShardedSearch:
    shards = []
    for number, keys in enumerate(parts):
        shard = Shard(path / str(number), IndexSettings())
        shard.create()
        shard.put(keys, [texts[key] for key in keys])
        shard.commit()
        shards.append(shard)
    return ShardedSearch(ShardsHere(shards), IndexSettings())


def _same(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> None:
    """The same scores, and the same keys but for those whose scores cannot be told apart at seven digits."""
    assert [score for _, score in one] == pytest.approx([score for _, score in other], rel=2e-5)
    last = one[-1][1] if one else 0.0
    for first, second in ((one, other), (other, one)):
        known = dict(second)
        for key, score in first:
            assert key in known or score == pytest.approx(last, rel=2e-5)


@pytest.mark.parametrize("seed", range(times(3, 30)))
def test_parts_find_what_one_index_finds_with_the_same_scores(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    # The worst for a part's own counts: sorted by length, so that averages differ, and of very different sizes.
    texts = sorted(_texts(600, seed, longest=chance.choice([8, 60, 200])), key=len)
    borders = sorted(chance.sample(range(1, 600), 3))
    parts = [list(range(start, end)) for start, end in zip([0, *borders], [*borders, 600], strict=True)]
    one, several = _one(tmp_path / "one", texts), _parts(tmp_path / "parts", texts, parts)
    for _ in range(25):
        question = " ".join(chance.choices(_WORDS, k=chance.randint(1, 6)))
        for k in (1, 10, 100):
            (expected,), (found,) = one.search([question], k), several.search([question], k)
            _same(expected, found)


def test_scores_of_the_parts_alone_would_be_others(tmp_path: Path) -> None:
    """Without this the test above would show nothing."""
    texts = sorted(_texts(600, 1, longest=60), key=len)
    one, part = _one(tmp_path / "one", texts), _one(tmp_path / "part", texts[:200])
    (expected,), (alone,) = one.search(["word3 word40"], 600), part.search(["word3 word40"], 600)
    shared = dict(alone).keys() & dict(expected).keys()
    assert any(abs(dict(alone)[key] / dict(expected)[key] - 1) > 0.1 for key in shared)


def test_a_word_that_some_parts_lack_and_an_empty_part_do_no_harm(tmp_path: Path) -> None:
    texts = ["a boiler", "a gate", "a boiler and a gate", "nothing"]
    several = _parts(tmp_path / "parts", texts, [[0, 1], [], [2, 3]])
    (expected,) = _one(tmp_path / "one", texts).search(["boiler gate unheard"], 10)
    (found,) = several.search(["boiler gate unheard"], 10)
    _same(expected, found)
    assert several.search(["unheard"], 10) == [[]]
    assert several.search([""], 10) == [[]]


@pytest.mark.parametrize("average", [3.0, 40.0, 800.0])
def test_the_bounds_hold_whatever_a_passage_is_like(average: float) -> None:
    chance = random.Random(5)
    for _ in range(500):
        own = chance.uniform(1, 1000)
        frequency, length = chance.randint(1, 50), chance.randint(1, 5000)
        bounds = _Bounds.of(ShardFacts(10, own * 10), average)
        ratio = _saturated(frequency, length, average) / _saturated(frequency, length, own)
        assert bounds.low <= ratio <= bounds.high
