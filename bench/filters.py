"""What a filter costs a search: BM25 over made passages, narrowed to parts of several shapes.

    python -m bench.filters --work DIR [--passages 300000]

DIR keeps the index for the next time. Times are of the processor, a search, with 100 hits each.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path

from wherefrom.config import IndexSettings
from wherefrom.retrieve.bm25 import BM25Index
from wherefrom.stages import KeyRanges

_WORDS = 50_000
_LENGTH = 60  # words of a passage
_BATCH = 20_000
_QUESTIONS = 20
_HITS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=300_000)
    arguments = parser.parse_args()
    index = _index(arguments.work, arguments.passages)
    chance = random.Random(7)
    questions = [" ".join(f"w{chance.randrange(3, 20_000)}" for _ in range(6)) for _ in range(_QUESTIONS)]
    for name, part in parts(arguments.passages).items():
        index.search(questions[:1], _HITS, part)
        begun = time.process_time()
        for question in questions:
            index.search([question], _HITS, part)
        print(f"{name:<34} {1000 * (time.process_time() - begun) / len(questions):6.1f} ms")


def parts(passages: int) -> Mapping[str, KeyRanges | None]:
    """Parts of a library: a folder's passages have keys in a row, those of a type or a date are scattered."""
    chance = random.Random(1)
    everything = range(1, passages + 1)

    def scattered(share: float) -> KeyRanges:
        return ranges(sorted(chance.sample(everything, int(share * passages))))

    return {
        "no filter": None,
        "a folder, 1 in 100": ranges(range(passages // 50, passages // 50 + passages // 100)),
        "a folder, half": ranges(range(1, passages // 2)),
        "scattered, 1 in 1,000": scattered(0.001),
        "scattered, 1 in 100": scattered(0.01),
        "scattered, 1 in 10": scattered(0.1),
        "every tenth": ranges(range(1, passages, 10)),
        "all but every tenth": ranges(key for key in everything if key % 10),
    }


def ranges(keys: Iterable[int]) -> KeyRanges:
    """Ascending keys, those in a row together."""
    firsts: list[int] = []
    stops: list[int] = []
    for key in keys:
        if stops and stops[-1] == key:
            stops[-1] += 1
        else:
            firsts.append(key)
            stops.append(key + 1)
    return KeyRanges(tuple(firsts), tuple(stops))


def _index(work: Path, passages: int) -> BM25Index:
    index = BM25Index(work / f"made-{passages}", IndexSettings())
    if (index.path / "meta.json").exists():
        return index
    chance = random.Random(1)
    words = [f"w{number}" for number in range(_WORDS)]
    often = list(accumulate(1 / (number + 10) for number in range(_WORDS)))
    index.create()
    for first in range(1, passages + 1, _BATCH):
        keys = range(first, min(first + _BATCH, passages + 1))
        index.put(keys, [" ".join(chance.choices(words, cum_weights=often, k=_LENGTH)) for _ in keys])
        index.commit()
    return index


if __name__ == "__main__":
    main()
