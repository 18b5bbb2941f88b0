"""Whether misspelt questions find their passage: python -m bench.misspelt [--passages N] [--questions N] [--record].

SQuAD's validation questions over its paragraphs and Wikipedia, as they are, with one slip in every second word of more
than five letters, and the same with those slips mended as `retrieve.respell` does. WHEREFROM_DATA names the data.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench import corpus
from bench.corpus import AskedQuestion
from bench.measure import ROOT
from bench.runs import RUNS, RunLine, record
from wherefrom import Library
from wherefrom.origin import commit_of
from wherefrom.train.typed import edited
from wherefrom.types import Question

DEPTHS = (1, 5, 20)
SEED = 7
_LONGER_THAN = 5
_WORD = re.compile(r"[A-Za-z]+")
WORK = ROOT / "bench" / "work" / "misspelt"


@dataclass(frozen=True, slots=True)
class Variant:
    """The questions in one spelling."""

    name: str
    texts: Sequence[str]
    baseline: bool


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    questions, hashes, library = prepared(options.passages, options.questions, options.work)
    with library:
        lines = measured(
            library, questions, hashes, " ".join(["python -m bench.misspelt", *(arguments or sys.argv[1:])])
        )
    for line in lines:
        print(f"{line.system}: " + ", ".join(f"{name} {value:g}" for name, value in line.metrics.items()))
    if options.record:
        record(lines, RUNS)
    return 0


def prepared(passages: int, questions: int, work: Path) -> tuple[Sequence[AskedQuestion], dict[str, str], Library]:
    """The library with the passages, made if it is not there, and the questions asked of it."""
    work.mkdir(parents=True, exist_ok=True)
    made = corpus.prepare(corpus.find_source(), work, passages, questions)
    library = Library(work / "library")
    library.ingest([Path(file) for file in json.loads((work / corpus.FILES).read_text())])
    return made.questions, made.hashes, library


def measured(
    library: Library, questions: Sequence[AskedQuestion], hashes: dict[str, str], command: str
) -> list[RunLine]:
    """A line for each spelling."""
    chance = random.Random(SEED)
    clean = [question.text for question in questions]
    slipped = [every_second_word(text, chance) for text in clean]
    mended, milliseconds = respelt(library, slipped)
    left, _ = respelt(library, clean)
    changed = sum(one != other for one, other in zip(clean, left, strict=True))
    commit, _ = commit_of()
    variants = [
        Variant("as they are", clean, baseline=False),
        Variant("as they are, respelt", left, baseline=False),
        Variant("misspelt", slipped, baseline=True),
        Variant("misspelt, respelt", mended, baseline=False),
    ]
    extra = {
        "as they are, respelt": {"changed": 100 * changed / len(clean)},
        "misspelt, respelt": {
            "words_restored": 100 * words_restored(clean, slipped, mended),
            "respelling_ms": milliseconds,
        },
    }
    return [
        RunLine(
            topic="misspelt",
            system=variant.name,
            dataset="squad",
            split="valid",
            over=f"{library.counts()[1]:,} passages, BM25 alone",
            n=len(clean),
            metrics={**reached(library, questions, variant.texts), **extra.get(variant.name, {})},
            baseline=variant.baseline,
            settings={"longer_than": _LONGER_THAN},
            seed=SEED,
            commit=commit,
            date=datetime.now(UTC).date().isoformat(),
            command=command,
            files=hashes,
        )
        for variant in variants
    ]


def every_second_word(text: str, chance: random.Random) -> str:
    """The text with one slip in the first, third, fifth ... of its long words."""
    long_words = 0

    def slipped(match: re.Match[str]) -> str:
        nonlocal long_words
        if len(match[0]) <= _LONGER_THAN:
            return match[0]
        long_words += 1
        return edited(match[0], chance) if long_words % 2 else match[0]

    return _WORD.sub(slipped, text)


def respelt(library: Library, texts: Sequence[str]) -> tuple[list[str], float]:
    """What a library makes of the questions, and how many milliseconds that takes (p50)."""
    respell = library.pipeline().respell
    assert respell is not None, "retrieve.respell is off"
    respell(Question("", "warm up the vocabluary"))
    mended, seconds = [], []
    for text in texts:
        begun = time.perf_counter()
        mended.append(respell(Question("", text)).text)
        seconds.append(time.perf_counter() - begun)
    return mended, 1000 * median(seconds)


def words_restored(clean: Sequence[str], slipped: Sequence[str], mended: Sequence[str]) -> float:
    """The share of misspelt words that became the word they were."""
    words = [
        (was.lower() == now.lower())
        for question in zip(clean, slipped, mended, strict=True)
        for was, typed, now in zip(*map(_WORD.findall, question), strict=False)
        if was != typed
    ]
    return float(sum(words)) / len(words)


def reached(library: Library, questions: Sequence[AskedQuestion], texts: Sequence[str]) -> dict[str, float]:
    """For how many per cent of the questions a passage that answers is among the first."""
    folder = library._folder()
    index, store = folder.index("bm25"), folder.store
    ranks = []
    for question, scored in zip(questions, index.search(texts, max(DEPTHS)), strict=True):
        keys = [key for key, _ in scored]
        passages = store.passages_at(keys)
        ranks.append(next((rank for rank, key in enumerate(keys) if passages[key].id in question.gold), max(DEPTHS)))
    return {f"top_{depth}": 100 * sum(rank < depth for rank in ranks) / len(ranks) for depth in DEPTHS}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=300_000, help="of Wikipedia, beside SQuAD's [300000]")
    parser.add_argument("--questions", type=int, default=1000, help="evenly spread [1000]")
    parser.add_argument("--work", type=Path, default=WORK, help="where the library is kept [bench/work/misspelt]")
    parser.add_argument("--record", action="store_true", help="write the lines to runs/misspelt.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
