"""How fast the dense index is on disk, and how much of an exact search it finds: python -m bench.dense --weights F.

The library and the vectors of `python -m bench.embedders` (in its work folder; what is not there is made, which takes
long) are put into an index, committed and opened again. Natural searches (the held-out half of NQ-oracle) and SQuAD's
validation questions are asked one by one, as `retrieve.kind=hybrid` asks: a hundred hits each. Their vectors are made
before, and timed by themselves. Recall@10 is beside the product with every vector; bytes are what `du` counts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import numpy
from numpy.typing import NDArray

from bench import embedders
from bench.embedders import Asked, Vectors
from bench.measure import median, percentile
from bench.runs import RUNS, RunLine, record
from wherefrom.origin import commit_of
from wherefrom.retrieve import dense
from wherefrom.retrieve.dense import DenseIndex
from wherefrom.runtime.embedder import TextEmbedder
from wherefrom.runtime.weights import Weights

COMPARED = 10  # hits beside the exact ones
_ASKED_FOR = 100  # hits of a search: what is fused with BM25's
_DISK_BLOCK = 512  # bytes, of what `st_blocks` counts
_OVER = "the dense index on disk, {:,} passages"

_Keys = NDArray[numpy.int64]


class Prepared:
    """Stands where an embedder would: the vectors of the questions are known already."""

    def __init__(self, vectors: Mapping[str, NDArray[numpy.int8]], width: int, identity: str) -> None:
        self.width, self.identity = width, identity
        self.texts = list(vectors)
        self._vectors = vectors

    def vectors(self, texts: Sequence[str]) -> Vectors:
        return numpy.stack([self._vectors[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Built:
    """What it took to make the index."""

    passages: int
    seconds: float
    cpu_seconds: float
    disk_bytes: int


@dataclass(frozen=True, slots=True)
class Searched:
    """One number a question."""

    wall_ms: tuple[float, ...]
    cpu_ms: tuple[float, ...]
    recall: tuple[float, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    library, asked, hashes = embedders.prepared(options.library_passages, options.questions, options.work)
    embedder = TextEmbedder(Weights(options.weights), 1)
    with library:
        keys, vectors, _ = embedders.embedded(library, embedder, options.work / f"{options.name}.npz")
    keys, vectors = evenly(keys, vectors, options.passages)
    command = " ".join(["python -m bench.dense", *(arguments or sys.argv[1:])])
    hashes |= embedders.weights_hash(options.weights)
    lines: list[RunLine] = []
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        built = build(Path(folder), keys, vectors, embedder.identity)
        took = f"{built.seconds:.1f} s ({built.cpu_seconds:.1f} of CPU)"
        print(f"{built.passages:,} passages: {took}, {built.disk_bytes:,} bytes", flush=True)
        for questions in asked:
            of_each, each_ms = questions_embedded(embedder, questions.texts)
            made = Prepared(of_each, embedder.width, embedder.identity)
            tenth = tenth_scores(made, vectors)
            for probed in options.probed or [dense.PROBED]:
                searched = search(Path(folder), made, keys, vectors, tenth, probed)
                line = _line(questions, built, probed, searched, each_ms, hashes, command)
                shown = ", ".join(f"{name} {value:.5g}" for name, value in line.metrics.items())
                print(f"{questions.dataset}: {probed} lists probed: {shown}", flush=True)
                lines.append(line)
    if options.record:
        record(lines, RUNS)
    return 0


def evenly(keys: _Keys, vectors: Vectors, wanted: int) -> tuple[_Keys, Vectors]:
    """So many of the passages, evenly spread, by ascending keys."""
    order = numpy.argsort(keys, kind="stable")
    if 0 < wanted < len(order):
        order = order[numpy.linspace(0, len(order) - 1, wanted).astype(numpy.int64)]
    return keys[order], vectors[order]


def build(folder: Path, keys: _Keys, vectors: Vectors, identity: str, ivf_from: int = dense.IVF_FROM) -> Built:
    """Put all of it and commit."""
    index = DenseIndex(folder / "dense", lambda: cast(TextEmbedder, Prepared({}, vectors.shape[1], identity)), ivf_from)
    begun, cpu_begun = time.perf_counter(), time.process_time()
    index.create()
    index.put_prepared(keys.tolist(), vectors)
    index.commit()
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu_begun
    index.close()
    return Built(len(keys), seconds, cpu_seconds, disk_bytes(folder))


def disk_bytes(folder: Path) -> int:
    """What the files take on the disk, whole blocks, as `du` counts."""
    return _DISK_BLOCK * sum(path.stat().st_blocks for path in (folder, *folder.rglob("*")))


def questions_embedded(embedder: TextEmbedder, texts: Sequence[str]) -> tuple[dict[str, NDArray[numpy.int8]], float]:
    """The vector of each question, made one by one, and the milliseconds of the middle one."""
    made: dict[str, NDArray[numpy.int8]] = {}
    seconds = []
    for text in texts:
        begun = time.perf_counter()
        made[text] = embedder.vectors([text])[0]
        seconds.append(time.perf_counter() - begun)
    return made, 1000 * median(seconds)


def search(
    folder: Path, made: Prepared, keys: _Keys, vectors: Vectors, tenth: Sequence[float], probed: int
) -> Searched:
    """Ask the index, as it is opened anew, one question after the other."""
    index = DenseIndex(folder / "dense", lambda: cast(TextEmbedder, made), probed=probed)
    wall, cpu, recall = [], [], []
    index.search(made.texts[:1], _ASKED_FOR)  # opens the files
    for text, least in zip(made.texts, tenth, strict=True):
        begun, cpu_begun = time.perf_counter(), time.thread_time()
        (hits,) = index.search([text], _ASKED_FOR)
        cpu.append(1000 * (time.thread_time() - cpu_begun))
        wall.append(1000 * (time.perf_counter() - begun))
        places = numpy.searchsorted(keys, numpy.array([key for key, _ in hits[:COMPARED]], numpy.int64))
        scores = vectors[places].astype(numpy.float32) @ made.vectors([text])[0].astype(numpy.float32)
        recall.append(float((scores >= least).sum()) / min(COMPARED, len(keys)))
    index.close()
    return Searched(tuple(wall), tuple(cpu), tuple(recall))


def tenth_scores(made: Prepared, vectors: Vectors) -> list[float]:
    """Of each question, what the tenth of the exact hits has: one with the same score is as good as it."""
    wanted = min(COMPARED, len(vectors))
    rows = embedders.products(made.vectors(made.texts), vectors)
    return [float(numpy.partition(scores, -wanted)[-wanted]) for scores in rows]


def _line(
    asked: Asked, built: Built, probed: int, searched: Searched, each_ms: float, hashes: Mapping[str, str], command: str
) -> RunLine:
    return RunLine(
        topic="dense-speed",
        system=f"{probed} lists looked into" if built.passages >= dense.IVF_FROM else "all vectors looked at",
        dataset=asked.dataset,
        split=asked.split,
        over=_OVER.format(built.passages),
        n=len(searched.recall),
        metrics={
            "recall_10": 100 * float(numpy.mean(searched.recall)),
            "p50_ms": median(searched.wall_ms),
            "p99_ms": percentile(searched.wall_ms, 99),
            "cpu_ms": median(searched.cpu_ms),
            "question_ms": each_ms,
            "bytes_per_passage": built.disk_bytes / built.passages,
            "build_cpu_s": built.cpu_seconds,
        },
        baseline=False,
        settings={},
        seed=None,
        commit=commit_of()[0],
        date=datetime.now(UTC).date().isoformat(),
        command=command,
        files=hashes,
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=300_000, help="of the library, evenly spread [300000]; 0: all")
    parser.add_argument("--library-passages", type=int, default=1_000_000, help="as `bench.embedders --passages`")
    parser.add_argument("--questions", type=int, default=1000, help="of SQuAD, evenly spread [1000]")
    parser.add_argument("--weights", type=Path, required=True, metavar="FOLDER", help="an embedder")
    parser.add_argument("--name", default="vectors", help="of its vectors in the work folder: NAME.npz [vectors]")
    parser.add_argument("--probed", type=int, action="append", help="lists that are looked into; again for more")
    parser.add_argument("--work", type=Path, default=embedders.WORK, help="that of bench.embedders")
    parser.add_argument("--record", action="store_true", help="write the lines to runs/dense-speed.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
