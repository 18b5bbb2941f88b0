"""Documents made of recombined Wikipedia, as many as one likes, for libraries that no download would fill.

A made document is a real article's sentences with those of others between them, and with other names. Which names is
drawn from a tail without end, so that ever more of them are new, as in real text: the words of an index go on growing
with its passages (Heaps' law). The same seed and the same data give the same documents, whichever are asked for.

    python -m bench.made --documents 1400000 --out FOLDER        # some 10 million passages, 7 GB
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.corpus import Source, find_source, records
from bench.running import count as above_none
from wherefrom.durable import write_whole
from wherefrom.text import each_sentence

SEED = 13
DOCUMENTS_A_FILE = 20_000

_SENTENCE = (25, 400)  # characters, from and to: the rest are headings, lists and tables
_LEAST_SENTENCES = 6  # of an article that documents are made after
_STRANGE = 0.35  # of a document's sentences come from other articles
_RENAMED = 0.3  # of the names of a document become others
_TAIL = 0.62  # exponent of Pareto's law, by which names are drawn; different names grow as their number to this power
_KNOWN_NAMES = 5_000  # the head of that law is cut off: everybody's names are in the articles already
_SENTENCES = (25.0, 1.0)  # of a document: the median, and how far its logarithm spreads; long tail, 40 in the mean
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b")  # inside of a sentence
_OPENINGS = ("b br c ch cl d dr f fr g gl h j k kl l m n p pr r s sh sk sl st t th tr v w y z").split()
_VOWELS = ("a e i o u ai ea ei ia oo ou").split()
_CLOSINGS = ("l n r s t d m ck rd st nd x").split()


@dataclass(frozen=True, slots=True)
class SentencePool:
    """The sentences of all articles in a row, and where those of each begin; the last border is their end."""

    sentences: Sequence[str]
    titles: Sequence[str]
    borders: Sequence[int]


def material(source: Source) -> SentencePool:
    """What documents are made of: the sentences of Wikipedia's articles."""
    sentences: list[str] = []
    titles: list[str] = []
    borders = [0]
    for file in source.wikipedia:
        for record in records(file):
            shortest, longest = _SENTENCE
            own = [
                record.text[start:end]
                for start, end in each_sentence(record.text)
                if shortest <= end - start <= longest and "\n" not in record.text[start:end]
            ]
            if len(own) >= _LEAST_SENTENCES:
                sentences += own
                titles.append(record.title)
                borders.append(len(sentences))
    return SentencePool(sentences, titles, borders)


def documents(made_of: SentencePool, first: int, count: int, seed: int = SEED) -> Iterator[tuple[str, str, str]]:
    """The id, title and text of the documents `first`, `first + 1`, ...; each is drawn by itself."""
    for number in range(first, first + count):
        chance = random.Random(f"{seed}/{number}")
        article = chance.randrange(len(made_of.titles))
        start, end = _stretch(chance, made_of.borders[article], made_of.borders[article + 1])
        lines = [
            made_of.sentences[chance.randrange(len(made_of.sentences)) if chance.random() < _STRANGE else own]
            for own in range(start, end)
        ]
        renaming = _Renaming(chance)
        title = f"{made_of.titles[article]} {number}"
        yield f"made-{number}", title, _NAME.sub(renaming, "\n".join(_paragraphs(lines)))


def write_file(path: Path, made_of: SentencePool, first: int, count: int, seed: int = SEED) -> None:
    """The documents as JSON, one a line."""
    with path.open("w", encoding="utf-8") as out:
        for id, title, text in documents(made_of, first, count, seed):
            out.write(json.dumps({"id": id, "title": title, "text": text}, ensure_ascii=False) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    made_of = material(find_source())
    for file, first, count in files(options.out, options.documents):
        if not file.exists():
            write_whole_file(file, made_of, first, count, options.seed)
            print(f"bench: {file.name}", file=sys.stderr, flush=True)
    return 0


def write_whole_file(file: Path, made_of: SentencePool, first: int, count: int, seed: int) -> None:
    """A file of documents that is whole or not there."""
    write_whole(file, partial(write_file, made_of=made_of, first=first, count=count, seed=seed))


def files(folder: Path, wanted: int) -> Iterator[tuple[Path, int, int]]:
    """The files of so many documents: where each lies, its first document, and how many it has."""
    for number, first in enumerate(range(0, wanted, DOCUMENTS_A_FILE)):
        yield folder / f"made-{number:05}.jsonl", first, min(DOCUMENTS_A_FILE, wanted - first)


def _stretch(chance: random.Random, start: int, end: int) -> tuple[int, int]:
    """The part of an article that a document is made after; articles are longer than most documents."""
    median, spread = _SENTENCES
    length = min(max(int(median * chance.lognormvariate(0.0, spread)), _LEAST_SENTENCES), end - start)
    begin = start + chance.randrange(end - start - length + 1)
    return begin, begin + length


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(lines), 5):
        yield " ".join(lines[start : start + 5])


class _Renaming:
    """The names of one document, each of which becomes the same other name throughout, or stays."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names: dict[str, str] = {}

    def __call__(self, match: re.Match[str]) -> str:
        name = match[0]
        known = self._names.get(name)
        if known is None:
            known = spelt(self._drawn()) if self._chance.random() < _RENAMED else name
            self._names[name] = known
        return known

    def _drawn(self) -> int:
        return _KNOWN_NAMES + int((1.0 - self._chance.random()) ** (-1 / _TAIL))


def spelt(number: int) -> str:
    """A name for a number; different numbers have different names."""
    syllables = []
    while True:
        number, opening = divmod(number, len(_OPENINGS))
        number, vowel = divmod(number, len(_VOWELS))
        number, closing = divmod(number, len(_CLOSINGS))
        syllables.append(_OPENINGS[opening] + _VOWELS[vowel] + _CLOSINGS[closing])
        if not number:
            return "".join(syllables).capitalize()
        number -= 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.made", description=__doc__)
    parser.add_argument("--documents", type=above_none, required=True, help="seven to eight passages each")
    parser.add_argument("--seed", type=int, default=SEED, help="(default %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the files; those that are there stay")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
