"""Texts as counted n-grams of words, each n-gram a number: the hashing trick, DrQA's way."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from wherefrom.config import IndexSettings
from wherefrom.text import FUNCTION_WORDS, separated

MOST_TIMES = 255  # an n-gram is counted up to this; it fits a byte, and log(1 + 255) is far up the curve

_WORD = re.compile(r"\w+")
_LONGEST_WORD = 100  # characters; longer runs are data, not words
_MOST_WORDS = 500_000  # remembered with their hashes
_LEFT_OUT = FUNCTION_WORDS | {"s", "t"}  # what is left of "it's" and "don't"
_NOTHING = 0  # stands where a word is left out: no n-gram goes over it


class Counted(NamedTuple):
    """N-grams of some texts, by bucket and then by text."""

    buckets: NDArray[numpy.uint32]  # (entries,)
    texts: NDArray[numpy.uint32]  # (entries,) which text
    times: NDArray[numpy.uint8]  # (entries,) how often in it


class NGrams:
    """Cuts texts at everything that is not a letter or digit, and counts n-grams of 1 to `index.ngrams` words.

    Words are lower-cased, folded to ASCII and stemmed as `index.language` says; scripts without spaces are cut by the
    character. English function words are left out, and n-grams do not go over them.
    """

    def __init__(self, settings: IndexSettings) -> None:
        self._orders = settings.ngrams
        self._buckets = settings.buckets
        self._hashes = _Hashes(settings.language)

    def counted(self, texts: Sequence[str]) -> Counted:
        """The n-grams of all texts; the same on every machine and in every process."""
        if len(self._hashes) > _MOST_WORDS:
            self._hashes.clear()
        rows = [list(map(self._hashes.__getitem__, _WORD.findall(separated(text).lower()))) for text in texts]
        lengths = [len(row) for row in rows]
        words = numpy.fromiter(chain.from_iterable(rows), numpy.uint64, sum(lengths))
        texts_of = numpy.repeat(numpy.arange(len(rows), dtype=numpy.uint64), lengths)  # (words,)
        entries = numpy.sort(numpy.concatenate(self._entries(words, texts_of)))
        first = numpy.flatnonzero(numpy.diff(entries, prepend=entries[:1] + numpy.uint64(1)))
        times = numpy.diff(first, append=len(entries))
        distinct = entries[first]
        return Counted(
            (distinct >> numpy.uint64(32)).astype(numpy.uint32),
            distinct.astype(numpy.uint32),  # the lower half
            numpy.minimum(times, MOST_TIMES).astype(numpy.uint8),
        )

    def _entries(self, words: NDArray[numpy.uint64], texts: NDArray[numpy.uint64]) -> list[NDArray[numpy.uint64]]:
        """For each order its n-grams as bucket * 2^32 + text."""
        entries: list[NDArray[numpy.uint64]] = []
        sums = words.copy()
        whole = words != _NOTHING
        for order in range(self._orders):
            if order:  # one word more at the end
                following = words[order:]
                sums = sums[: len(following)] * numpy.uint64(0x9E3779B97F4A7C15) + following  # modulo 2^64
                whole = whole[: len(following)] & (following != _NOTHING)
                whole &= texts[order:] == texts[: len(following)]
            buckets = _mixed(sums[whole]) % numpy.uint64(self._buckets)
            entries.append((buckets << numpy.uint64(32)) | texts[: len(whole)][whole])
        return entries


class _Hashes(dict[str, int]):
    """A word's hash, 0 for words that are left out; worked out once for each word."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._left_out = _LEFT_OUT if language == "english" else frozenset()
        self._stemmer = None
        self._lock = threading.Lock()  # a Snowball stemmer must not be used by two threads at once
        if language != "none":
            import Stemmer

            self._stemmer = Stemmer.Stemmer(language)

    def __missing__(self, word: str) -> int:
        number = self[word] = self._hash(word)
        return number

    def _hash(self, word: str) -> int:
        if word in self._left_out or len(word) > _LONGEST_WORD:
            return _NOTHING
        early = self._language in ("none", "english")  # other stemmers need the accents
        stem = _folded(word) if early else word
        if self._stemmer is not None:
            with self._lock:
                stem = self._stemmer.stemWord(stem)
        stem = stem if early else _folded(stem)
        digest = hashlib.blake2b(stem.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "little") or 1


def _folded(word: str) -> str:
    """Without accents: café is cafe."""
    if word.isascii():
        return word
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", word) if not unicodedata.combining(letter))
    return bare or word


def _mixed(numbers: NDArray[numpy.uint64]) -> NDArray[numpy.uint64]:
    """Every bit of the number moves every bit of the result (the finalizer of splitmix64)."""
    numbers = (numbers ^ (numbers >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> numpy.uint64(31))
