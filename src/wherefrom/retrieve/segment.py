"""Segments: n-grams and the passages they stand in, in files that are written once and mapped into memory."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec
import numpy
from numpy.typing import NDArray

from wherefrom.durable import force_names
from wherefrom.retrieve.ngrams import NGrams

# One file an array, little-endian, nothing else in it.
_DTYPES: dict[str, Any] = {
    "buckets": numpy.dtype("<u4"),  # (terms,) rising; a term is one n-gram's bucket
    "ends": numpy.dtype("<u4"),  # (terms,) where its postings end
    "places": numpy.dtype("<u4"),  # (postings,) which passage of this segment
    "times": numpy.dtype("u1"),  # (postings,) how often it stands there
    "keys": numpy.dtype("<i8"),  # (passages,) rising
}
_LENGTHS = numpy.dtype("<f4")
GONE = -1.0  # the length of a passage that was removed
_TOGETHER = 1_000_000  # postings worked on at a time: what bounds memory, whatever the size of the index
_PACKED = 1 << 24  # buckets at a time when merging: 24 bits fit beside place and times
_DENSE = 1 << 21  # buckets at a time whose frequencies are one array, 16 MB

_Places = NDArray[numpy.uint32]


class SegmentFacts(msgspec.Struct, frozen=True):
    """What the index knows of a segment."""

    name: str
    passages: int
    terms: int
    postings: int
    sums: dict[str, int]  # CRC-32 of each file


class Damaged(Exception):
    """A segment's files are not what was written."""


class Segment:
    """One segment, its arrays mapped."""

    def __init__(self, folder: Path, facts: SegmentFacts) -> None:
        self.folder = folder
        self.facts = facts
        self.buckets: NDArray[numpy.uint32] = self._mapped("buckets", facts.terms)
        self.ends: NDArray[numpy.uint32] = self._mapped("ends", facts.terms)
        self.places: NDArray[numpy.uint32] = self._mapped("places", facts.postings)
        self.times: NDArray[numpy.uint8] = self._mapped("times", facts.postings)
        self.keys: NDArray[numpy.int64] = self._mapped("keys", facts.passages)

    def postings(self, buckets: NDArray[numpy.uint32]) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
        """For each bucket where its postings start and where they stop; both the same where it has none."""
        if not self.facts.terms:
            return numpy.zeros(len(buckets), numpy.int64), numpy.zeros(len(buckets), numpy.int64)
        at = numpy.minimum(numpy.searchsorted(self.buckets, buckets), self.facts.terms - 1)
        stops = self.ends[at].astype(numpy.int64)
        starts = numpy.where(at > 0, self.ends[at - 1], 0).astype(numpy.int64)
        return starts, numpy.where(self.buckets[at] == buckets, stops, starts)

    def between(self, low: int, high: int) -> tuple[NDArray[numpy.uint32], NDArray[numpy.int64], slice]:
        """The terms of the buckets from `low` to below `high`, how many postings each has, and where those lie."""
        first, last = numpy.searchsorted(self.buckets, numpy.array([low, high], numpy.uint64))
        begin = int(self.ends[first - 1]) if first else 0
        ends = self.ends[first:last].astype(numpy.int64)
        return (
            self.buckets[first:last],
            numpy.diff(ends, prepend=begin),
            slice(begin, int(ends[-1]) if len(ends) else begin),
        )

    def check(self) -> None:
        """Read every byte; `Damaged` if one is not what was written."""
        for name, written in self.facts.sums.items():
            data = (self.folder / f"{name}.bin").read_bytes()
            if zlib.crc32(data) != written:
                raise Damaged(f"{self.folder / name}.bin has changed")

    def _mapped(self, name: str, count: int) -> Any:
        return mapped(self.folder / f"{name}.bin", _DTYPES[name], count)


def mapped(path: Path, dtype: Any, count: int) -> Any:
    """The array in a file, mapped into memory."""
    size = path.stat().st_size
    if size != count * dtype.itemsize:
        raise Damaged(f"{path} has {size} bytes and not {count * dtype.itemsize}")
    if not count:
        return numpy.zeros(0, dtype)  # nothing cannot be mapped
    return numpy.memmap(path, dtype, "r").view(numpy.ndarray)  # a plain array is cut faster


def mapped_lengths(path: Path, passages: int) -> NDArray[numpy.float32]:
    """The lengths of passages; GONE for those that were removed."""
    lengths: NDArray[numpy.float32] = mapped(path, _LENGTHS, passages)
    return lengths


def write_lengths(path: Path, lengths: Sequence[NDArray[Any]]) -> int:
    """Write the lengths of all segments, one after another; the CRC-32 of the file."""
    data = b"".join(of_segment.astype(_LENGTHS).tobytes() for of_segment in lengths)
    with path.open("wb") as file:
        file.write(data)
        _force(file)
    return zlib.crc32(data)


def written(folder: Path, ngrams: NGrams, keys: Sequence[int], texts: Sequence[str]) -> SegmentFacts:
    """Make a segment of these texts."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    counted = ngrams.counted([texts[place] for place in order])
    with _Writer(folder) as writer:
        writer.add(counted.buckets, counted.texts, counted.times)
        return writer.finished(numpy.array([keys[place] for place in order], numpy.int64))


def merged(
    folder: Path, segments: Sequence[Segment], kept: Sequence[NDArray[numpy.bool_]], buckets: int
) -> SegmentFacts:
    """Make one segment of several, without the passages that are no longer kept."""
    all_keys = numpy.concatenate([segment.keys[keep] for segment, keep in zip(segments, kept, strict=True)])
    order = numpy.argsort(all_keys, kind="stable")
    new_places = numpy.empty(len(order), numpy.uint64)
    new_places[order] = numpy.arange(len(order), dtype=numpy.uint64)
    moved: list[NDArray[numpy.uint64]] = []  # for each segment, the new place of each of its passages
    start = 0
    for keep in kept:
        places = numpy.zeros(len(keep), numpy.uint64)
        places[keep] = new_places[start : start + int(keep.sum())]
        start += int(keep.sum())
        moved.append(places)
    with _Writer(folder) as writer:
        for low, high in _bucket_ranges(segments, buckets, _PACKED):
            packed = numpy.concatenate(
                [
                    _packed(segment, keep, places, low, high)
                    for segment, keep, places in zip(segments, kept, moved, strict=True)
                ]
            )
            packed.sort()
            writer.add(
                (packed >> numpy.uint64(40)).astype(numpy.uint32) + numpy.uint32(low),
                (packed >> numpy.uint64(8)).astype(numpy.uint32),
                packed.astype(numpy.uint8),
            )
        return writer.finished(all_keys[order])


def _packed(
    segment: Segment, keep: NDArray[numpy.bool_], places: NDArray[numpy.uint64], low: int, high: int
) -> NDArray[numpy.uint64]:
    """Kept postings of some buckets, each as one number that sorts by bucket and place: 24, 32 and 8 bits."""
    buckets, counts, where = segment.between(low, high)
    old = segment.places[where]
    packed = numpy.repeat((buckets - numpy.uint32(low)).astype(numpy.uint64) << numpy.uint64(40), counts)
    packed |= (places[old] << numpy.uint64(8)) | segment.times[where]
    kept: NDArray[numpy.uint64] = packed if keep.all() else packed[keep[old]]
    return kept


def lengths_of(
    segments: Sequence[Segment], buckets: int, idf: Any, weights: NDArray[numpy.float32]
) -> list[NDArray[numpy.float64]]:
    """For each segment the Euclidean length of each passage's vector, with the idf of all segments together.

    `idf` makes weights of document frequencies; `weights[times]` is what being there so often weighs.
    """
    sums = [numpy.zeros(segment.facts.passages) for segment in segments]
    for low, high in _bucket_ranges(segments, buckets, buckets):
        parts = [segment.between(low, high) for segment in segments]
        frequencies = _frequencies([(term_buckets, counts) for term_buckets, counts, _ in parts], low, high)
        for segment, (_, counts, where), total, frequent in zip(segments, parts, sums, frequencies, strict=True):
            weighed = numpy.repeat(idf(frequent), counts) * weights[segment.times[where]]
            places = segment.places[where]
            if len(places) and int(places.max()) >= len(total):  # before memory is taken for so many
                raise Damaged(f"{segment.facts.name} points to passages that it has not")
            total += numpy.bincount(places, weighed**2, minlength=len(total))
    return [numpy.sqrt(total) for total in sums]


def _frequencies(
    parts: Sequence[tuple[NDArray[numpy.uint32], NDArray[numpy.int64]]], low: int, high: int
) -> list[NDArray[numpy.int64]]:
    """For each term of each part how many postings it has in all parts; a part is its buckets and their counts."""
    if not parts:
        return []
    if high - low <= _DENSE:
        dense = numpy.zeros(high - low, numpy.int64)
        for term_buckets, counts in parts:
            dense[term_buckets - low] += counts
        return [dense[term_buckets - low] for term_buckets, _ in parts]
    distinct, which = numpy.unique(numpy.concatenate([term_buckets for term_buckets, _ in parts]), return_inverse=True)
    totals = numpy.zeros(len(distinct), numpy.int64)
    numpy.add.at(totals, which, numpy.concatenate([counts for _, counts in parts]))
    return numpy.split(totals[which], numpy.cumsum([len(term_buckets) for term_buckets, _ in parts])[:-1])


def _bucket_ranges(segments: Sequence[Segment], buckets: int, widest: int) -> Iterator[tuple[int, int]]:
    """All buckets in pieces with about as many postings as are worked on together: hashing spreads them evenly."""
    postings = sum(segment.facts.postings for segment in segments)
    pieces = max(1, math.ceil(postings / _TOGETHER), math.ceil(buckets / widest))
    borders = [buckets * piece // pieces for piece in range(pieces + 1)]
    return pairwise(borders)


class _Writer:
    """Writes a segment piece by piece, buckets rising, and forces it to the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self._files: dict[str, BinaryIO] = {name: (folder / f"{name}.bin").open("wb") for name in _DTYPES}
        self._sums = dict.fromkeys(_DTYPES, 0)
        self._terms = self._postings = 0

    def add(self, buckets: NDArray[numpy.uint32], places: _Places, times: NDArray[numpy.uint8]) -> None:
        """Postings sorted by bucket and place; no bucket of an earlier piece."""
        if not len(buckets):
            return
        last = numpy.flatnonzero(numpy.diff(buckets, append=buckets[-1:] + numpy.uint32(1)))  # of each bucket
        self._append("buckets", buckets[last])
        self._append("ends", last + (1 + self._postings))
        self._append("places", places)
        self._append("times", times)
        self._terms += len(last)
        self._postings += len(buckets)

    def finished(self, keys: NDArray[numpy.int64]) -> SegmentFacts:
        self._append("keys", keys)
        for file in self._files.values():
            _force(file)
        force_names(self._folder)
        return SegmentFacts(self._folder.name, len(keys), self._terms, self._postings, self._sums)

    def _append(self, name: str, values: NDArray[Any]) -> None:
        data = values.astype(_DTYPES[name]).tobytes()
        self._sums[name] = zlib.crc32(data, self._sums[name])
        self._files[name].write(data)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()


def _force(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
