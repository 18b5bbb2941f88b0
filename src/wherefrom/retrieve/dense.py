"""The dense index: a vector of eight bits for each passage, searched by faiss, mapped into memory.

    index.json               what the index consists of; replacing this one file is what makes a commit
    segment-<name>/          passages that were put together: vectors.faiss and keys.bin, written once
    gone-<number>.bin        which of them were removed, a bit each

Up to 200,000 passages every vector is looked at; from then on most stand in a segment that is cut into lists around the
library's own centres (IVF), of which the nearest to a question are looked at. New ones are looked at all, until there
are so many that the lists are made anew. Vectors and questions are whole numbers, so that scores are the same on every
machine.
"""

from __future__ import annotations

import shutil
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy
from numpy.typing import NDArray

from wherefrom.durable import force_names, remove_unfinished, write_text, write_whole
from wherefrom.errors import DiskFull, LibraryDamaged, LibraryError, WherefromError, is_full
from wherefrom.stages import KeyRanges

if TYPE_CHECKING:
    from wherefrom.runtime.embedder import TextEmbedder

STEPS_SQUARED = 254.0**2  # of a cosine of 1: see `runtime.embedder.STEPS`
IVF_FROM = 200_000  # passages; looking at all of fewer takes some milliseconds
PROBED = 224  # lists that a question looks into; of 300,000 passages 48 miss one of the best ten in seven

_FORMAT = 1
_MANIFEST = "index.json"
_SEGMENT, _GONE = "segment-", "gone-"  # begin names
_VECTORS, _KEYS = "vectors.faiss", "keys.bin"
_MERGE = 8  # segments of about one size are made one when there are so many
_SIZE_BITS = 3  # sizes are about one when they are of the same power of 8
_STALE = 1 / 3  # a segment is made anew when this share of its passages is gone
_FLAT_SHARE = 1 / 5  # of all passages, that may stand outside the lists before these are made anew
_LISTS_PER_ROOT = 2.0  # lists are this many times the root of the number of passages
_LEARNT = 40  # passages a list that its centre is learnt from
_ROUNDS = 10  # of learning the centres; more hardly move them
_NARROW = 20_000  # passages that a question is narrowed to: then all lists are looked into
_SPARE = 8  # hits fetched beyond k, to see whether equal scores cross the border
_BLOCK = 50_000  # vectors that are unpacked at a time

_Vectors = NDArray[numpy.int8]
_Keys = NDArray[numpy.int64]
_Bits = NDArray[numpy.bool_]


class DenseMissing(WherefromError):
    """faiss is not installed; the message says how it is."""

    exit_code = 2


class _Facts(msgspec.Struct, frozen=True):
    """A segment, as far as the manifest knows it."""

    name: str
    passages: int
    lists: int  # 0: every vector is looked at
    size: int  # bytes of vectors.faiss: a shorter file must not be mapped
    vectors: int  # CRC-32
    keys: int


class _Manifest(msgspec.Struct, frozen=True):
    """What the index consists of."""

    format: int
    width: int
    made_by: str  # the embedder's weights
    commits: int = 0
    segments: tuple[_Facts, ...] = ()
    gone: int = 0  # CRC-32 of the file of bits

    @property
    def gone_name(self) -> str:
        return f"{_GONE}{self.commits}.bin"


class DenseIndex:
    """Finds passages by the cosine of their vector and the question's; only those above 0."""

    def __init__(
        self, path: Path, embedder: Callable[[], TextEmbedder], ivf_from: int = IVF_FROM, probed: int = PROBED
    ) -> None:
        self.path = path
        self._embedder_of = embedder
        self._ivf_from = ivf_from
        self._probed = probed
        self._opened: _Snapshot | None = None
        self._keys: list[int] = []
        self._vectors: list[_Vectors] = []
        self._removed: list[int] = []
        self._changing = False

    def create(self) -> None:
        """Lay an empty index, unless there is one."""
        faiss()
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / _MANIFEST).exists():
            empty = _Manifest(_FORMAT, self._embedder.width, self._embedder.identity)
            _write_bits(self.path / empty.gone_name, [])
            self._write(empty)
        self._snapshot()

    def put(self, keys: Sequence[int], texts: Sequence[str]) -> None:
        self.put_prepared(keys, self.prepare(texts))

    def prepare(self, texts: Sequence[str]) -> _Vectors:
        """What takes long, and needs no lock: the vectors of texts."""
        return self._embedder.vectors(texts)

    def put_prepared(self, keys: Sequence[int], prepared: Any) -> None:
        """Put passages by their vectors."""
        self._begin()
        if len(keys) != len(prepared):
            raise ValueError(f"{len(keys)} keys for {len(prepared)} vectors")
        if not len(keys):
            return
        self._keys.extend(keys)
        self._vectors.append(numpy.array(prepared, numpy.int8).reshape(len(keys), -1))

    def remove(self, keys: Sequence[int]) -> None:
        if keys:
            self._begin()
            self._removed.extend(keys)

    def commit(self) -> None:
        if not self._changing:
            return
        with self._reading():
            try:
                self._commit()
            except OSError as error:
                if is_full(error):
                    raise DiskFull(self.path) from error
                raise LibraryError(f"the index in {self.path} cannot be written: {error}") from error
            finally:
                self.close()
        self._clear_away()

    def search(self, texts: Sequence[str], k: int, within: KeyRanges | None = None) -> list[list[tuple[int, float]]]:
        with self._reading():
            snapshot = self._snapshot()
            if texts and snapshot.manifest.made_by != self._embedder.identity:
                raise LibraryDamaged(
                    f"the index in {self.path} holds vectors by other weights ({snapshot.manifest.made_by}); "
                    "`wherefrom index dense` makes it anew, or set runtime.embedder to those"
                )
            return [snapshot.best(self._embedder.vectors([text])[0], k, within, self._probed) for text in texts]

    def fits(self) -> bool:
        """Whether its vectors are by the weights in use."""
        with self._reading():
            return self._manifest().made_by == self._embedder.identity

    def keys(self) -> set[int]:
        """The keys of all passages; reads every byte of the index, so that damage shows."""
        with self._reading():
            return self._snapshot().checked_keys()

    def refresh(self) -> None:
        self._opened = None

    def close(self) -> None:
        """What was not committed is given up."""
        self._opened = None
        self._keys, self._vectors, self._removed, self._changing = [], [], [], False

    @cached_property
    def _embedder(self) -> TextEmbedder:
        return self._embedder_of()

    def _begin(self) -> None:
        if not self._changing:
            self.refresh()  # another process may have written since
            with self._reading():
                self._snapshot()  # a missing index is an error
            self._clear_away()
            self._changing = True

    def _snapshot(self) -> _Snapshot:
        if self._opened is None:
            manifest = self._manifest()
            while True:
                try:
                    self._opened = _Snapshot(self.path, manifest)
                    break
                except FileNotFoundError:  # a writer took away what an older commit named
                    newer = self._manifest()
                    if newer == manifest:
                        raise
                    manifest = newer
        return self._opened

    def _manifest(self) -> _Manifest:
        file = self.path / _MANIFEST
        if not file.exists():
            raise LibraryDamaged(f"the index in {self.path} is missing; `wherefrom check` makes it anew")
        manifest = msgspec.json.decode(file.read_bytes(), type=_Manifest)
        if manifest.format != _FORMAT:
            raise LibraryDamaged(
                f"the index in {self.path} is of format {manifest.format}; `wherefrom index dense` makes it anew"
            )
        return manifest

    def _write(self, manifest: _Manifest) -> None:
        write_text(self.path / _MANIFEST, msgspec.json.encode(manifest).decode())

    def _commit(self) -> None:
        """Everything put and removed becomes part of the index, at once or not at all."""
        before = self._snapshot()
        parts = [_Part(segment, segment.alive.copy()) for segment in before.segments]
        changed = False
        removed = numpy.array(sorted(self._removed), numpy.int64)
        for part in parts:
            changed |= part.take_out(removed)
        fresh = self._new(removed)
        if fresh is None and not changed and not any(part.stale for part in parts):
            return
        parts = self._arranged([*parts, *([] if fresh is None else [fresh])])
        commits = before.manifest.commits + 1
        manifest = msgspec.structs.replace(
            before.manifest, commits=commits, segments=tuple(part.segment.facts for part in parts)
        )
        bits = _write_bits(self.path / manifest.gone_name, [~part.alive for part in parts])
        force_names(self.path)
        self._write(msgspec.structs.replace(manifest, gone=bits))

    def _new(self, removed: _Keys) -> _Part | None:
        """A segment of what was put and not removed again."""
        keys = numpy.array(self._keys, numpy.int64)
        order = numpy.argsort(keys, kind="stable")
        order = order[~numpy.isin(keys[order], removed)]
        if not len(order):
            return None
        return _Part.whole(_written(self.path, keys[order], numpy.concatenate(self._vectors)[order], lists=0))

    def _arranged(self, parts: list[_Part]) -> list[_Part]:
        """The parts, made fewer or cut into lists where that is due."""
        total = sum(part.left for part in parts)
        flat = sum(part.left for part in parts if not part.segment.facts.lists)
        cut = [part for part in parts if part.segment.facts.lists]
        if total >= self._ivf_from and (flat > _FLAT_SHARE * total or len(cut) > 1 or any(part.stale for part in cut)):
            return [self._merged(parts, lists=int(_LISTS_PER_ROOT * total**0.5))]
        while group := _to_merge([part for part in parts if total < self._ivf_from or not part.segment.facts.lists]):
            parts = [part for part in parts if part not in group]
            if any(part.left for part in group):
                parts.append(self._merged(group, lists=0))
        return parts

    def _merged(self, parts: Sequence[_Part], lists: int) -> _Part:
        keys = numpy.concatenate([part.segment.keys[part.alive] for part in parts])
        vectors = numpy.concatenate([part.segment.vectors()[part.alive] for part in parts])
        order = numpy.argsort(keys)
        return _Part.whole(_written(self.path, keys[order], vectors[order], lists))

    def _clear_away(self) -> None:
        """Remove what the manifest does not name: segments that were merged, and what a killed writer left."""
        manifest = self._manifest()
        named = {facts.name for facts in manifest.segments}
        remove_unfinished(self.path)
        for folder in self.path.glob(f"{_SEGMENT}*"):
            if folder.name not in named:
                shutil.rmtree(folder, ignore_errors=True)  # where a reader holds files open, the next writer will
        for file in self.path.glob(f"{_GONE}*"):
            if file.name != manifest.gone_name:
                with suppress(OSError):
                    file.unlink()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Whatever is wrong with the files, in the user's words."""
        try:
            yield
        except (OSError, ValueError, IndexError, RuntimeError, msgspec.MsgspecError) as error:
            if is_full(error):
                raise DiskFull(self.path) from error
            raise LibraryDamaged(
                f"the index in {self.path} cannot be read ({error}); `wherefrom check` makes it anew"
            ) from error


class _Segment:
    """Passages that were put together, on disk."""

    def __init__(self, path: Path, facts: _Facts) -> None:
        self.facts = facts
        self._file = path / facts.name / _VECTORS
        self._keys_file = path / facts.name / _KEYS
        if self._file.stat().st_size != facts.size:
            raise ValueError(f"{self._file} is not as long as it was")
        self.keys: _Keys = numpy.memmap(self._keys_file, numpy.int64, "r", shape=(facts.passages,))
        flags = faiss().IO_FLAG_MMAP if facts.lists else faiss().IO_FLAG_MMAP_IFC
        self._index = faiss().read_index(str(self._file), flags)
        self.alive: _Bits = numpy.ones(facts.passages, numpy.bool_)  # put right by the snapshot

    def vectors(self) -> _Vectors:
        """All of them, in the order of the keys."""
        if self.facts.lists:
            self._index.make_direct_map()
        every = numpy.empty((self.facts.passages, self._index.d), numpy.int8)
        for begin in range(0, len(every), _BLOCK):
            count = min(_BLOCK, len(every) - begin)
            every[begin : begin + count] = self._index.reconstruct_n(begin, count)
        return every

    def best(
        self, question: NDArray[numpy.float32], k: int, allowed: _Bits | None, probed: int
    ) -> list[tuple[int, float]]:
        """The k best keys and whoever has the score of the last one."""
        fetched, how = k + _SPARE, self._how(allowed, probed)
        while True:
            scores, places = self._index.search(question, min(fetched, self.facts.passages), params=how)
            good = (places[0] >= 0) & (scores[0] > 0)
            best, there = scores[0][good], places[0][good]
            if len(best) < fetched or fetched >= self.facts.passages or best[-1] < best[min(k, len(best)) - 1]:
                break
            fetched *= 4
        return list(zip(self.keys[there].tolist(), (best / STEPS_SQUARED).tolist(), strict=True))

    def _how(self, allowed: _Bits | None, probed: int) -> Any:
        bits = None if allowed is None else numpy.packbits(allowed, bitorder="little")
        chosen = {} if bits is None else {"sel": faiss().IDSelectorBitmap(bits)}
        if not self.facts.lists:
            return faiss().SearchParameters(**chosen)
        few = allowed is not None and int(allowed.sum()) < _NARROW
        return faiss().SearchParametersIVF(nprobe=self.facts.lists if few else probed, **chosen)

    def check(self) -> None:
        """ValueError if a byte has changed."""
        for file, expected in ((self._file, self.facts.vectors), (self._keys_file, self.facts.keys)):
            if zlib.crc32(file.read_bytes()) != expected:
                raise ValueError(f"{file} has changed")


class _Snapshot:
    """The index as of one commit, for reading."""

    def __init__(self, path: Path, manifest: _Manifest) -> None:
        self.manifest = manifest
        self._gone_file = path / manifest.gone_name
        self.segments = [_Segment(path, facts) for facts in manifest.segments]
        begin, bits = 0, numpy.frombuffer(self._gone_file.read_bytes(), numpy.uint8)
        for segment in self.segments:
            end = begin + (segment.facts.passages + 7) // 8
            if end > len(bits):
                raise ValueError(f"{self._gone_file} is not as long as it was")
            gone = numpy.unpackbits(bits[begin:end], count=segment.facts.passages, bitorder="little")
            segment.alive = gone == 0
            begin = end

    def best(self, vector: _Vectors, k: int, within: KeyRanges | None, probed: int) -> list[tuple[int, float]]:
        if k < 1 or not vector.any():
            return []
        question = vector.astype(numpy.float32)[None]
        pairs: list[tuple[int, float]] = []
        for segment in self.segments:
            allowed = self._allowed(segment, within)
            if allowed is None or allowed.any():
                pairs += segment.best(question, k, allowed, probed)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]

    def _allowed(self, segment: _Segment, within: KeyRanges | None) -> _Bits | None:
        """Which passages may be given; None where that is all of them."""
        allowed = None if segment.alive.all() else segment.alive
        if within is None:
            return allowed
        inside = numpy.zeros(segment.facts.passages, numpy.bool_)
        firsts, stops = (numpy.searchsorted(segment.keys, numpy.array(each)) for each in (within.firsts, within.stops))
        for first, stop in zip(firsts.tolist(), stops.tolist(), strict=True):
            inside[first:stop] = True
        return inside & segment.alive

    def checked_keys(self) -> set[int]:
        """The keys of all passages that were not removed; ValueError if a byte has changed."""
        if zlib.crc32(self._gone_file.read_bytes()) != self.manifest.gone:
            raise ValueError(f"{self._gone_file} has changed")
        keys: set[int] = set()
        for segment in self.segments:
            segment.check()
            keys.update(segment.keys[segment.alive].tolist())
        return keys


@dataclass(slots=True, eq=False)
class _Part:
    """A segment on its way into the next commit."""

    segment: _Segment
    alive: _Bits

    @classmethod
    def whole(cls, segment: _Segment) -> _Part:
        return cls(segment, numpy.ones(segment.facts.passages, numpy.bool_))

    @property
    def left(self) -> int:
        return int(self.alive.sum())

    @property
    def stale(self) -> bool:
        return len(self.alive) - self.left > _STALE * len(self.alive)

    def take_out(self, removed: _Keys) -> bool:
        """Mark what was removed; whether any of it was not marked yet."""
        before = self.left
        self.alive[numpy.isin(self.segment.keys, removed)] = False
        return self.left < before


def _to_merge(parts: Sequence[_Part]) -> list[_Part]:
    """The next segments to be made one: of about the same size, or a single one with much that is gone."""
    sizes: dict[int, list[_Part]] = {}
    for part in parts:
        if part.stale:
            return [part]
        sizes.setdefault(len(part.alive).bit_length() // _SIZE_BITS, []).append(part)
    return next((group for group in sizes.values() if len(group) >= _MERGE), [])


def _written(path: Path, keys: _Keys, vectors: _Vectors, lists: int) -> _Segment:
    """A segment on disk; nothing names it yet. Keys ascend."""
    folder = path / f"{_SEGMENT}{uuid.uuid4().hex[:16]}"
    folder.mkdir()
    index = _cut(vectors, lists) if lists else _flat(vectors.shape[1])
    for begin in range(0, len(vectors), _BLOCK):
        index.add(vectors[begin : begin + _BLOCK].astype(numpy.float32))
    write_whole(folder / _VECTORS, lambda file: faiss().write_index(index, str(file)))
    data = keys.tobytes()
    write_whole(folder / _KEYS, lambda file: file.write_bytes(data))
    file = folder / _VECTORS
    sums = zlib.crc32(file.read_bytes()), zlib.crc32(data)
    return _Segment(path, _Facts(folder.name, len(keys), lists, file.stat().st_size, *sums))


def _flat(width: int) -> Any:
    """Whole numbers as they are: a byte each, and no training."""
    library = faiss()
    return library.IndexScalarQuantizer(
        width, library.ScalarQuantizer.QT_8bit_direct_signed, library.METRIC_INNER_PRODUCT
    )


def _cut(vectors: _Vectors, lists: int) -> Any:
    """Empty lists around centres that are learnt from some of the vectors, evenly spread."""
    library = faiss()
    width = vectors.shape[1]
    whole, product = library.ScalarQuantizer.QT_8bit_direct_signed, library.METRIC_INNER_PRODUCT
    index = library.IndexIVFScalarQuantizer(library.IndexFlatIP(width), width, lists, whole, product, False)
    index.cp.niter, index.cp.seed, index.cp.spherical = _ROUNDS, 1, True
    index.cp.min_points_per_centroid = 1
    some = numpy.linspace(0, len(vectors) - 1, min(len(vectors), _LEARNT * lists)).astype(numpy.int64)
    index.train(vectors[some].astype(numpy.float32))
    return index


def _write_bits(path: Path, gone: Sequence[_Bits]) -> int:
    """A bit a passage, each segment's in bytes of its own; the CRC-32 of the file."""
    data = b"".join(numpy.packbits(bits, bitorder="little").tobytes() for bits in gone)
    write_whole(path, lambda file: file.write_bytes(data))
    return zlib.crc32(data)


def faiss() -> ModuleType:
    """The library, with one thread a search: questions that come together bring their own."""
    try:
        import faiss as library
    except ImportError:
        raise DenseMissing("the dense index needs faiss; install it with pip install 'wherefrom[dense]'") from None
    library.omp_set_num_threads(1)
    loaded: ModuleType = library
    return loaded
