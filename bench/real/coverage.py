"""How much of what a person sees of the documents is stored: python -m bench.real.coverage DIR.

For every document the share of its triples of words in a row that the stored text holds; words glued together, broken
apart or left out all lower it. Words are compared without case and punctuation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.real.fetch import collections, folder_of
from bench.real.run import library_of
from bench.real.visible import PdfReaderMissing, visible_text, words
from bench.running import row
from wherefrom.config import Settings
from wherefrom.errors import NotFound, WherefromError
from wherefrom.library import Library

_WORST = 5  # documents that are named
_LEAST_WORDS = 100  # of a document that is named


def stored_share(seen: str, stored: str) -> float:
    """The share of the triples of words in one text that the other has too."""
    wanted, there = _triples(seen), frozenset(_triples(stored))
    return sum(triple in there for triple in wanted) / len(wanted) if wanted else 1.0


def _triples(text: str) -> list[tuple[str, str, str]]:
    split = words(text).split()
    return list(zip(split, split[1:], split[2:], strict=False))


def shares(folder: Path, library: Library) -> dict[str, tuple[float, int]]:
    """The share that is stored of each document, and how many words it has."""
    found: dict[str, tuple[float, int]] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        seen = visible_text(file)
        try:
            stored = library.document(name).text
        except NotFound:
            stored = ""
        found[name] = stored_share(seen, stored), len(words(seen).split())
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.real.coverage", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir", type=Path, help="where the collections are")
    options = parser.parse_args(arguments)
    print(row(["collection", "documents", "stored", "documents below 90 %", "worst"]) + "\n|---|--:|--:|--:|---|")
    try:
        for collection in collections().values():
            with library_of(collection, options.dir, Settings()) as library:
                print(_line(collection.name, shares(folder_of(collection, options.dir), library)), flush=True)
    except (PdfReaderMissing, WherefromError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0


def _line(name: str, found: dict[str, tuple[float, int]]) -> str:
    size = sum(count for _, count in found.values()) or 1
    mean = sum(share * count for share, count in found.values()) / size
    low = sum(share < 0.9 for share, _ in found.values())
    long = sorted((share, each) for each, (share, count) in found.items() if count >= _LEAST_WORDS)
    worst = ", ".join(f"{each} {100 * share:.0f} %" for share, each in long[:_WORST])
    return row([name, str(len(found)), f"{100 * mean:.1f} %", str(low), worst])


if __name__ == "__main__":
    sys.exit(main())
