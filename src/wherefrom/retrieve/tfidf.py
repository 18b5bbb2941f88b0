"""The TF-IDF index of hashed n-grams, DrQA's: segments on disk, mapped into memory."""

from __future__ import annotations

import os
import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy
from numpy.typing import NDArray

from wherefrom.config import IndexSettings, Similarity
from wherefrom.durable import force_names, remove_unfinished, write_text
from wherefrom.errors import DiskFull, LibraryDamaged, LibraryError, is_full
from wherefrom.retrieve.builders import Builders
from wherefrom.retrieve.ngrams import MOST_TIMES, NGrams
from wherefrom.retrieve.segment import (
    GONE,
    Damaged,
    Segment,
    SegmentFacts,
    lengths_of,
    mapped_lengths,
    merged,
    write_lengths,
    written,
)
from wherefrom.stages import KeyRanges

_FORMAT = 1
_MANIFEST = "index.json"
_SEGMENT = "segment-"  # begins a segment's name
_LENGTHS = "lengths-"  # begins the name of a commit's lengths
_PIECE = 5_000  # passages of a new segment at most: a process takes 40 MB for them
_WORTH_PROCESSES = 4_000  # passages; for fewer, starting a process takes longer than the work
_MOST_PROCESSES = 4  # by default; more wait for the disk
_MERGE = 8  # segments of about one size are made one when there are so many
_SIZE_BITS = 4  # sizes are about one when they are of the same power of 16
_STALE = 1 / 3  # a segment is made anew when this share of its passages is gone
_MOST_TERMS = 4_096  # different n-grams of one question; a pasted page has fewer

# What an n-gram weighs in a text that has it so often: log(1 + times).
_TIMES = numpy.log1p(numpy.arange(MOST_TIMES + 1)).astype(numpy.float32)


class _Manifest(msgspec.Struct, frozen=True):
    """What the index consists of; replacing this one file is what makes a commit."""

    format: int
    ngrams: int
    buckets: int
    language: str
    commits: int = 0
    segments: tuple[SegmentFacts, ...] = ()
    lengths: int = 0  # CRC-32 of the file with the lengths of all passages, segment by segment

    @property
    def lengths_name(self) -> str:
        return f"{_LENGTHS}{self.commits}.bin"


class TfidfIndex:
    """Finds passages by n-grams of words that they share with a text, rare ones first of all.

    A text is a vector of log(1 + times) * idf, with idf = log(1 + (N - n + 1/2) / (n + 1/2)); a passage's score is the
    cosine of the question's vector and its own, or with "dot" their product, as in DrQA. (DrQA's idf lacks the "1 +",
    which makes words that stand in half of a small library worthless.) N-grams are known by their hash alone; two that
    share one of the `index.buckets` are taken for the same.

    What is removed still counts in N and n until its segment is merged with others.
    """

    def __init__(self, path: Path, settings: IndexSettings, processes: int | None = None) -> None:
        self.path = path
        self._settings = settings
        self._processes = processes or min(_MOST_PROCESSES, os.cpu_count() or 1)
        self._opened: _Snapshot | None = None
        self._new: _NewSegments | None = None

    def create(self) -> None:
        """Lay an empty index, unless there is one."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / _MANIFEST).exists():
            empty = _Manifest(_FORMAT, self._settings.ngrams, self._settings.buckets, self._settings.language)
            write_lengths(self.path / empty.lengths_name, [])
            self._write(empty)
        self._snapshot()

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None:
        with self._writing() as new:
            new.put(keys, texts)

    def remove(self, keys: Sequence[int]) -> None:
        if keys:
            with self._writing() as new:
                new.remove(keys)

    def commit(self) -> None:
        if self._new is None:
            return
        with self._reading(), self._writing() as new:
            before = self._snapshot()
            _Commit(self.path, self._settings, before, new).run(self._write)
        new.close()
        self._new = None
        self.refresh()
        self._clear_away()

    def search(
        self, texts: Sequence[str], k: int, within: KeyRanges | None = None, similarity: Similarity = "cosine"
    ) -> list[list[tuple[int, float]]]:
        with self._reading():
            snapshot = self._snapshot()
            return [snapshot.best(*self._terms(text), k, within, similarity) for text in texts]

    def keys(self) -> set[int]:
        """The keys of all passages; reads every byte of the index, so that damage shows."""
        with self._reading():
            return self._snapshot().checked_keys()

    def refresh(self) -> None:
        self._opened = None

    def close(self) -> None:
        if self._new is not None:
            self._new.close()
        self._opened = self._new = None

    def _terms(self, text: str) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint8]]:
        counted = self._ngrams.counted([text])
        return counted.buckets[:_MOST_TERMS], counted.times[:_MOST_TERMS]

    @cached_property
    def _ngrams(self) -> NGrams:
        return NGrams(self._settings)

    def _snapshot(self) -> _Snapshot:
        if self._opened is None:
            with self._reading():
                self._opened = self._open()
        return self._opened

    def _open(self) -> _Snapshot:
        """All files, mapped at once: a writer may take away those of an older commit at any time."""
        manifest = self._manifest()
        while True:
            try:
                return _Snapshot(self.path, manifest)
            except FileNotFoundError:
                newer = self._manifest()
                if newer == manifest:
                    raise
                manifest = newer

    def _manifest(self) -> _Manifest:
        file = self.path / _MANIFEST
        if not file.exists():
            raise LibraryDamaged(f"the index in {self.path} is missing; `wherefrom check` makes it anew")
        manifest = msgspec.json.decode(file.read_bytes(), type=_Manifest)
        settings = self._settings
        wanted = (_FORMAT, settings.ngrams, settings.buckets, settings.language)
        if (manifest.format, manifest.ngrams, manifest.buckets, manifest.language) != wanted:
            raise LibraryDamaged(
                f"the index in {self.path} was built with other settings (ngrams {manifest.ngrams}, buckets "
                f"{manifest.buckets}, language {manifest.language}); `wherefrom index tfidf` builds it anew"
            )
        return manifest

    def _write(self, manifest: _Manifest) -> None:
        write_text(self.path / _MANIFEST, msgspec.json.encode(manifest).decode())

    def _clear_away(self) -> None:
        """Remove what the manifest does not name: segments that were merged, and what a killed writer left."""
        manifest = self._snapshot().manifest
        named = {segment.name for segment in manifest.segments}
        remove_unfinished(self.path)
        for folder in self.path.glob(f"{_SEGMENT}*"):
            if folder.name not in named:
                shutil.rmtree(folder, ignore_errors=True)  # where a reader holds files open, the next writer will
        for file in self.path.glob(f"{_LENGTHS}*"):
            if file.name != manifest.lengths_name:
                with suppress(OSError):
                    file.unlink()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Whatever is wrong with the files, in the user's words."""
        try:
            yield
        except (OSError, ValueError, IndexError, msgspec.MsgspecError, Damaged) as error:
            if is_full(error):
                raise DiskFull(self.path) from error
            raise LibraryDamaged(
                f"the index in {self.path} cannot be read ({error}); `wherefrom check` makes it anew"
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[_NewSegments]:
        if self._new is None:
            self.refresh()  # another process may have written since
            self._snapshot()  # a missing index is an error
            self._clear_away()
            self._new = _NewSegments(self.path, self._settings, self._processes, self._ngrams)
        try:
            yield self._new
        except BaseException as error:
            self.close()  # what was not committed is given up
            if isinstance(error, OSError | LibraryError) and is_full(error):
                raise DiskFull(self.path) from error
            if isinstance(error, OSError):
                raise LibraryError(f"the index in {self.path} cannot be written: {error}") from error
            raise


@dataclass(frozen=True, slots=True)
class TfidfSearch:
    """The index, searched by one kind of similarity."""

    index: TfidfIndex
    similarity: Similarity

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        return self.index.search(texts, k, within, self.similarity)


class _Snapshot:
    """The index as of one commit, for reading."""

    def __init__(self, path: Path, manifest: _Manifest) -> None:
        self.manifest = manifest
        self.segments = [Segment(path / facts.name, facts) for facts in manifest.segments]
        self._lengths_file = path / manifest.lengths_name
        borders = [0, *accumulate(facts.passages for facts in manifest.segments)]
        lengths = mapped_lengths(self._lengths_file, borders[-1])
        self.lengths = [lengths[start:stop] for start, stop in pairwise(borders)]

    def best(
        self,
        buckets: NDArray[numpy.uint32],
        times: NDArray[numpy.uint8],
        k: int,
        within: KeyRanges | None,
        similarity: Similarity,
    ) -> list[tuple[int, float]]:
        """The k best keys for a question's n-grams, with their scores."""
        postings = [segment.postings(buckets) for segment in self.segments]
        if not len(buckets) or not postings or k < 1:
            return []
        frequencies = sum(stops - starts for starts, stops in postings)
        idf = _idf(numpy.asarray(frequencies), _passages(self.segments))
        question = _TIMES[times] * idf
        length = float(numpy.sqrt((question**2).sum())) if similarity == "cosine" else 1.0
        weights = (question * idf / length).astype(numpy.float32)  # (n-grams,)
        scored_keys: list[tuple[int, float]] = []
        for segment, lengths, (starts, stops) in zip(self.segments, self.lengths, postings, strict=True):
            places, scores = _scores(segment, weights, starts, stops)
            long = lengths[places]
            there = long > 0  # not removed
            if within is not None:
                there &= _inside(segment.keys[places], within)
            places, scores, long = places[there], scores[there], long[there]
            if similarity == "cosine":
                scores = scores / long
            if len(scores) > k:  # all that reach the k-th best, so that equal scores can be ordered by key
                enough = scores >= numpy.partition(scores, -k)[-k]
                places, scores = places[enough], scores[enough]
            scored_keys.extend(zip(segment.keys[places].tolist(), scores.tolist(), strict=True))
        return sorted(scored_keys, key=lambda pair: (-pair[1], pair[0]))[:k]

    def checked_keys(self) -> set[int]:
        """The keys of all passages that were not removed; `Damaged` if a byte has changed."""
        keys: set[int] = set()
        if zlib.crc32(self._lengths_file.read_bytes()) != self.manifest.lengths:
            raise Damaged(f"{self._lengths_file} has changed")
        for segment, lengths in zip(self.segments, self.lengths, strict=True):
            segment.check()
            keys.update(segment.keys[lengths != GONE].tolist())
        return keys


def _scores(
    segment: Segment, weights: NDArray[numpy.float32], starts: NDArray[numpy.int64], stops: NDArray[numpy.int64]
) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float32]]:
    """The passages that have any of the n-grams, and the sum of weight * log(1 + times) for each."""
    sums = numpy.zeros(segment.facts.passages, numpy.float32)  # pages that are not touched cost nothing
    touched: list[NDArray[numpy.uint32]] = []
    for weight, start, stop in zip(weights, starts.tolist(), stops.tolist(), strict=True):
        if start < stop:
            places = segment.places[start:stop]  # each passage once
            before = sums[places]
            touched.append(places[before == 0])
            sums[places] = before + weight * _TIMES[segment.times[start:stop]]
    places = numpy.concatenate(touched) if touched else numpy.zeros(0, numpy.uint32)
    return places, sums[places]


def _inside(keys: NDArray[numpy.int64], within: KeyRanges) -> NDArray[numpy.bool_]:
    """Which of the keys are within the ranges."""
    firsts, stops = numpy.array((within.firsts, within.stops), numpy.int64)
    at = numpy.searchsorted(firsts, keys, "right") - 1
    inside: NDArray[numpy.bool_] = (at >= 0) & (keys < stops[at]) if len(firsts) else numpy.zeros(len(keys), bool)
    return inside


def _idf(frequencies: NDArray[Any], passages: int) -> NDArray[numpy.float64]:
    """log(1 + (N - n + 1/2) / (n + 1/2)), never below 0."""
    idf: NDArray[numpy.float64] = numpy.log1p((passages - frequencies + 0.5) / (frequencies + 0.5))
    return idf


def _passages(segments: Sequence[Segment]) -> int:
    return sum(segment.facts.passages for segment in segments)


class _NewSegments:
    """What was put and removed since the last commit: segments on disk that no manifest names yet."""

    def __init__(self, path: Path, settings: IndexSettings, processes: int, ngrams: NGrams) -> None:
        self._path = path
        self._ngrams = ngrams
        self._builders = Builders(settings, processes)
        self._keys: list[int] = []
        self._texts: list[str] = []
        self._names: list[str] = []  # in the order they were put
        self._built: dict[str, SegmentFacts] = {}
        self._removed: list[tuple[int, NDArray[numpy.int64]]] = []  # after so many segments were put

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None:
        if len(keys) != len(texts):
            raise ValueError(f"{len(keys)} keys for {len(texts)} texts")
        self._keys.extend(keys)
        self._texts.extend(texts)
        while len(self._keys) >= _PIECE:
            self._build(_PIECE)

    def remove(self, keys: Sequence[int]) -> None:
        self._flush()
        self._removed.append((len(self._names), numpy.array(keys, numpy.int64)))

    def segments(self) -> list[SegmentFacts]:
        """All that was put, once it is on disk."""
        self._flush()
        self._built.update((facts.name, facts) for facts in self._builders.finished())
        return [self._built[name] for name in self._names]

    def removed_from(self, place: int | None) -> list[NDArray[numpy.int64]]:
        """The keys removed since the segment put at this place; None for one that was there before."""
        return [keys for count, keys in self._removed if place is None or place < count]

    def close(self) -> None:
        self._builders.close()

    def _flush(self) -> None:
        if len(self._keys) >= _WORTH_PROCESSES and self._builders.processes > 1:
            piece = -(-len(self._keys) // self._builders.processes)
            while self._keys:
                self._build(piece)
        elif self._keys:
            self._build(len(self._keys))

    def _build(self, count: int) -> None:
        keys, texts = self._keys[:count], self._texts[:count]
        del self._keys[:count], self._texts[:count]
        folder = _new_folder(self._path)
        self._names.append(folder.name)
        if self._builders.processes > 1 and (self._builders.running or count >= _WORTH_PROCESSES // 2):
            self._builders.build(folder, keys, texts)
        else:
            self._built[folder.name] = written(folder, self._ngrams, keys, texts)


@dataclass(slots=True, eq=False)
class _Part:
    """A segment on its way into the next commit."""

    segment: Segment
    alive: NDArray[numpy.bool_]  # (passages,)
    lengths: NDArray[Any] = field(default_factory=lambda: numpy.zeros(0))  # (passages,), where they are known

    @property
    def gone(self) -> int:
        return len(self.alive) - int(self.alive.sum())


class _Commit:
    """Everything put and removed becomes part of the index, at once or not at all."""

    def __init__(self, path: Path, settings: IndexSettings, before: _Snapshot, new: _NewSegments) -> None:
        self._path, self._buckets = path, settings.buckets
        self._before, self._new = before, new

    def run(self, write: Callable[[_Manifest], None]) -> None:
        facts = self._new.segments()
        parts, changed = self._old()
        parts, merged_some = self._merged([*parts, *self._added(facts)])
        if not (facts or changed or merged_some):
            return
        if facts or merged_some:  # else what is left weighs what it did
            self._measure(parts)
        lengths = [numpy.where(part.alive, part.lengths, GONE) for part in parts]
        manifest = msgspec.structs.replace(
            self._before.manifest,
            commits=self._before.manifest.commits + 1,
            segments=tuple(part.segment.facts for part in parts),
        )
        written_sum = write_lengths(self._path / manifest.lengths_name, lengths)
        force_names(self._path)
        write(msgspec.structs.replace(manifest, lengths=written_sum))

    def _measure(self, parts: Sequence[_Part]) -> None:
        """Work out every length with the idf of all parts together."""
        segments = [part.segment for part in parts]
        count = _passages(segments)
        measured = lengths_of(segments, self._buckets, lambda frequencies: _idf(frequencies, count), _TIMES)
        for part, lengths in zip(parts, measured, strict=True):
            part.lengths = lengths

    def _old(self) -> tuple[list[_Part], bool]:
        """The segments there are, and whether anything was removed from them."""
        removed = self._new.removed_from(None)
        parts, changed = [], False
        for segment, lengths in zip(self._before.segments, self._before.lengths, strict=True):
            alive = lengths != GONE
            changed |= _take_out(alive, segment.keys, removed)
            parts.append(_Part(segment, alive, lengths))
        return parts, changed

    def _added(self, facts: Sequence[SegmentFacts]) -> Iterator[_Part]:
        for place, each in enumerate(facts):
            segment = Segment(self._path / each.name, each)
            alive = numpy.ones(each.passages, numpy.bool_)
            _take_out(alive, segment.keys, self._new.removed_from(place))
            yield _Part(segment, alive)

    def _merged(self, parts: list[_Part]) -> tuple[list[_Part], bool]:
        """Fewer, larger segments where there are many small ones, or one with much that is gone."""
        merged_some = False
        while group := _to_merge(parts):
            left = [part for part in parts if part not in group]
            alive = [part for part in group if part.alive.any()]
            if alive:
                folder = _new_folder(self._path)
                facts = merged(folder, [part.segment for part in alive], [part.alive for part in alive], self._buckets)
                left.append(_Part(Segment(folder, facts), numpy.ones(facts.passages, numpy.bool_)))
            parts, merged_some = left, True
        return parts, merged_some


def _take_out(alive: NDArray[numpy.bool_], keys: NDArray[numpy.int64], removed: Sequence[NDArray[numpy.int64]]) -> bool:
    """Mark the removed passages of a segment; whether there were any that were not marked yet."""
    before = int(alive.sum())
    for removed_keys in removed:
        at = numpy.searchsorted(keys, removed_keys)
        at = at[at < len(keys)]
        alive[at[numpy.isin(keys[at], removed_keys)]] = False
    return int(alive.sum()) < before


def _to_merge(parts: Sequence[_Part]) -> list[_Part]:
    """The next segments to be made one: of about the same size, or a single one with much that is gone."""
    sizes: dict[int, list[_Part]] = {}
    for part in parts:
        if part.gone > _STALE * len(part.alive):
            return [part]
        sizes.setdefault(len(part.alive).bit_length() // _SIZE_BITS, []).append(part)
    return next((group for group in sizes.values() if len(group) >= _MERGE), [])


def _new_folder(path: Path) -> Path:
    """A name that was never used: a process of a killed writer may still be at work under another."""
    return path / f"{_SEGMENT}{uuid.uuid4().hex[:16]}"
