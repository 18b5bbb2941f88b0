"""Whether passages are found that share no words with a question: python -m bench.embedders [--weights NAME=FOLDER]...

Natural searches (the held-out half of NQ-oracle) and SQuAD's validation questions, over the passages that answer them
and Wikipedia: by BM25, by BM25 and the matcher as shipped, by each embedder's vectors alone (an exact search), and by
both together. WHEREFROM_DATA names the data. Vectors are kept in the work folder, so that a second run only asks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median

import numpy
from numpy.typing import NDArray

from bench import corpus
from bench.corpus import AskedQuestion
from bench.measure import ROOT
from bench.runs import RUNS, RunLine, record
from wherefrom import Library
from wherefrom.config import RetrieveSettings, Settings
from wherefrom.data import nqopen
from wherefrom.data.locating import occurrences
from wherefrom.features.matching import Matcher
from wherefrom.origin import commit_of, file_hash
from wherefrom.retrieve.fuse import VECTORS, Blend, ByRank, ByScore, shares_and_cosines
from wherefrom.runtime.embedder import STEPS, TextEmbedder
from wherefrom.runtime.weights import PROVENANCE, Weights
from wherefrom.stages import Retriever
from wherefrom.systems.embedder.held_out import is_held_out
from wherefrom.types import Hit, Question

DEPTHS = (1, 5, 20, 100)
WORK = ROOT / "bench" / "work" / "embedders"
_POOL = 100  # hits of each way to find them
_BATCH = 2048
_BLOCK = 50_000  # vectors that are unpacked at a time, for
_TOGETHER = 32  # questions
_TUNED = 20
_COSINES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
_NEARNESS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
_NQ_FILE = "nq.jsonl"

Vectors = NDArray[numpy.int8]


@dataclass(frozen=True, slots=True)
class Asked:
    """One set of questions, and the keys of the passages that answer each."""

    dataset: str
    split: str
    texts: tuple[str, ...]
    gold: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """For each question the keys that were found, best first."""

    system: str
    keys: Sequence[Sequence[int]]
    metrics: Mapping[str, float]
    baseline: bool = False
    files: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Both:
    """What is found for a question in two ways, and the key of each passage by its id."""

    question: Question
    lists: tuple[Sequence[Hit], Sequence[Hit]]
    keys: Mapping[str, int]

    def fused(self, fusion: Blend) -> list[int]:
        """One list of keys."""
        return [self.keys[hit.passage.id] for hit in fusion.fused(self.question, self.lists, _POOL)]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    library, asked, hashes = prepared(options.passages, options.questions, options.work)
    if options.tune:
        with library:
            for questions in choosing(library, asked[0], options.questions, options.work):
                for name, folder in options.weights:
                    show_weights(
                        library, questions, TextEmbedder(Weights(folder), options.threads), options.work / name
                    )
        return 0
    command = " ".join(["python -m bench.embedders", *(arguments or sys.argv[1:])])
    lines: list[RunLine] = []
    with library:
        over = f"{library.counts()[1]:,} passages"
        for questions in asked:
            for found in _systems(library, questions, dict(options.weights), options.work, options.threads):
                lines.append(_line(found, questions, over, hashes, command))
                shown = ", ".join(f"{name} {value:.5g}" for name, value in lines[-1].metrics.items())
                print(f"{questions.dataset}: {found.system}: {shown}", flush=True)
    if options.record:
        record(lines, RUNS)
    return 0


def prepared(passages: int, questions: int, work: Path) -> tuple[Library, list[Asked], dict[str, str]]:
    """The library, made if it is not there, and the questions asked of it."""
    work.mkdir(parents=True, exist_ok=True)
    source = corpus.find_source()
    made = corpus.prepare(source, work, passages, questions)
    nq = list(nqopen.load(source.folder / "nq_oracle", "train"))
    with (work / _NQ_FILE).open("w", encoding="utf-8") as out:
        for example in nq:
            (passage,) = example.passages
            out.write(json.dumps({"id": example.question.id, "title": passage.title, "text": passage.text}) + "\n")
    library = Library(work / "library")
    library.ingest([*map(Path, json.loads((work / corpus.FILES).read_text())), work / _NQ_FILE])
    keys = _all_ids(library)
    nq_asked = [
        (example.question.text, frozenset(keys[id] for id in _answering(library, example.question.id, example.answers)))
        for example in nq
        if is_held_out(example.question.id)
    ]
    hashes = {
        **made.hashes,
        **{f"nq_oracle/{f.name}": file_hash(f) for f in (source.folder / "nq_oracle").glob("train*")},
    }
    return (
        library,
        [
            Asked("nqopen", "train, held-out half", *_columns(nq_asked)),
            Asked("squad", "valid", *_columns([(q.text, _keys_of(q, keys)) for q in made.questions])),
        ],
        hashes,
    )


def weights_hash(folder: Path) -> dict[str, str]:
    """The hash of what an embedder's weights were made of, by name; empty where they came without."""
    provenance = folder / PROVENANCE
    return {f"{folder.name}/{PROVENANCE}": file_hash(provenance)} if provenance.exists() else {}


def choosing(library: Library, natural: Asked, questions: int, work: Path) -> list[Asked]:
    """Questions to choose weights by: each half of the natural searches, for the other; others of SQuAD."""
    keys = _all_ids(library)
    halves: list[list[tuple[str, frozenset[int]]]] = [[], []]
    for text, gold in zip(natural.texts, natural.gold, strict=True):
        halves[zlib.crc32(text.encode()) % 2].append((text, gold))
    between = corpus.squad_asked(corpus.find_source(), work / "squad-again.jsonl", 2 * questions)[1::2]
    rows = [(question.text, _keys_of(question, keys)) for question in between]
    return [
        *(Asked("nqopen", f"half {place} of the held-out half", *_columns(half)) for place, half in enumerate(halves)),
        Asked("squad", "valid, between those that are measured", *_columns(rows)),
    ]


def show_weights(library: Library, asked: Asked, embedder: TextEmbedder, kept: Path) -> None:
    """For how many the right passage is among the first twenty, by the weights of vectors and of the matcher."""
    keys, vectors, _ = embedded(library, embedder, kept.with_suffix(".npz"))
    questions = numpy.concatenate([embedder.vectors([text]) for text in asked.texts])
    near = [[(int(keys[at]), score) for at, score in row] for row in _nearest(questions, vectors)]
    alone = ByScore(Matcher(Weights.named("matcher")), 1.0, 1.0, _POOL)
    scored: list[tuple[NDArray[numpy.float64], NDArray[numpy.bool_]]] = []  # (hits, 3), and which of them are right
    for each, gold in zip(_both(library, asked, near), asked.gold, strict=True):
        hits = alone.fused(each.question, each.lists, 2 * _POOL)
        both = shares_and_cosines(hits, _POOL)
        rows = [(share, hit.features["match"], cosine) for hit, (share, cosine) in zip(hits, both, strict=True)]
        scored.append((numpy.array(rows), numpy.array([each.keys[hit.passage.id] in gold for hit in hits])))
    print(
        f"{asked.dataset}, {asked.split}, {len(scored)} questions: right among the first {_TUNED}, by retrieve.cosine"
    )
    for nearness in _NEARNESS:
        shares = []
        for cosine in _COSINES:
            first = [right[numpy.argsort(-(rows @ (1.0, nearness, cosine)))[:_TUNED]] for rows, right in scored]
            shares.append(f"{cosine:g}: {100 * numpy.mean([right.any() for right in first]):.2f}")
        print(f"  nearness {nearness:g}: " + ", ".join(shares), flush=True)


def _columns(asked: Sequence[tuple[str, frozenset[int]]]) -> tuple[tuple[str, ...], tuple[frozenset[int], ...]]:
    return tuple(text for text, _ in asked), tuple(gold for _, gold in asked)


def _keys_of(question: AskedQuestion, keys: Mapping[str, int]) -> frozenset[int]:
    return frozenset(keys[id] for id in question.gold)


def _answering(library: Library, document: str, answers: Sequence[str]) -> list[str]:
    """The passages of a gold document that hold an answer; all of them where the splitter cut each in two."""
    whole = library.passages_of(document)
    return [p.id for p in whole if any(list(occurrences(answer, p)) for answer in answers)] or [p.id for p in whole]


@cache
def _all_ids(library: Library) -> dict[str, int]:
    """The key of every passage."""
    store = library._folder().store
    keys = sorted(store.live_keys())
    ids: dict[str, int] = {}
    for begin in range(0, len(keys), _BATCH):
        ids |= {passage.id: key for key, passage in store.passages_at(keys[begin : begin + _BATCH]).items()}
    return ids


def _ids(library: Library, hits: Sequence[Hit]) -> dict[str, int]:
    every = _all_ids(library)
    return {hit.passage.id: every[hit.passage.id] for hit in hits}


def _systems(library: Library, asked: Asked, weights: Mapping[str, Path], work: Path, threads: int) -> Iterator[Found]:
    """Every way to find passages, one after the other."""
    words = _retrieved(library, asked, match="none", k=_POOL)
    yield Found("BM25", *words, baseline=True)
    yield Found("BM25 and the matcher, as shipped", *_retrieved(library, asked, match="words", k=_POOL), baseline=True)
    for name, folder in weights.items():
        embedder = TextEmbedder(Weights(folder), threads)
        keys, vectors, rate = embedded(library, embedder, work / f"{name}.npz")
        begun = time.perf_counter()
        questions = numpy.concatenate([embedder.vectors([text]) for text in asked.texts])
        each = 1000 * (time.perf_counter() - begun) / len(asked.texts)
        near = [[(int(keys[at]), score) for at, score in row] for row in _nearest(questions, vectors)]
        files = weights_hash(folder)
        facts = {"passages_per_second": rate, "question_ms": each, "bytes_per_passage": float(embedder.width + 8)}
        yield Found(name, [[key for key, _ in row] for row in near], facts, files=files)
        both = _both(library, asked, near)
        for label, fusion in _fusions().items():
            yield Found(f"BM25 and {name}{label}", [each.fused(fusion) for each in both], {}, files=files)


def _retriever(library: Library, match: str, k: int) -> Retriever:
    settings = Settings(retrieve=RetrieveSettings(k=k, match=match, pool=_POOL))  # type: ignore[arg-type]
    return Library(library.path, settings).pipeline().retriever


def _retrieved(library: Library, asked: Asked, match: str, k: int) -> tuple[list[list[int]], dict[str, float]]:
    retriever = _retriever(library, match, k)
    found, seconds = [], []
    for text in asked.texts:
        begun = time.perf_counter()
        hits = retriever.retrieve([Question("", text)])[0]
        seconds.append(time.perf_counter() - begun)
        keys = _ids(library, hits)
        found.append([keys[hit.passage.id] for hit in hits])
    return found, {"question_ms": 1000 * median(seconds)}


def _fusions() -> dict[str, Blend]:
    """Ways to make one list of two."""
    wanted = RetrieveSettings()
    matcher = Matcher(Weights.named("matcher"))
    return {
        ", by rank": ByRank(),
        ", by score": ByScore(None, 0.0, wanted.cosine, _POOL),
        " and the matcher, by score": ByScore(matcher, wanted.hybrid_nearness, wanted.cosine, _POOL),
    }


def _both(library: Library, asked: Asked, near: Sequence[Sequence[tuple[int, float]]]) -> list[Both]:
    """What BM25 and the vectors find for each question."""
    words = _retriever(library, "none", _POOL)
    store = library._folder().store
    found = []
    for text, scored in zip(asked.texts, near, strict=True):
        question = Question("", text)
        passages = store.passages_at([key for key, _ in scored])
        dense = [Hit(passages[key], score, {VECTORS: score}) for key, score in scored]
        (by_words,) = words.retrieve([question])
        keys = {passage.id: key for key, passage in passages.items()} | _ids(library, by_words)
        found.append(Both(question, (by_words, dense), keys))
    return found


def embedded(library: Library, embedder: TextEmbedder, kept: Path) -> tuple[NDArray[numpy.int64], Vectors, float]:
    """The vectors of all passages, and how many were made a second."""
    if kept.exists():
        with numpy.load(kept) as arrays:
            if str(arrays["identity"]) == embedder.identity and len(arrays["keys"]) == library.counts()[1]:
                return arrays["keys"], arrays["vectors"], float(arrays["rate"])
    keys: list[int] = []
    parts: list[Vectors] = []
    seconds = 0.0
    live = library._folder().store.live_passages()
    while batch := list(islice(live, _BATCH)):
        begun = time.perf_counter()
        parts.append(embedder.vectors([f"{title}\n{text}" if title else text for _, title, text in batch]))
        seconds += time.perf_counter() - begun
        keys.extend(key for key, _, _ in batch)
    vectors = numpy.concatenate(parts)
    rate = len(keys) / seconds
    numpy.savez(kept, identity=embedder.identity, keys=numpy.array(keys), vectors=vectors, rate=rate)
    return numpy.array(keys), vectors, rate


def _nearest(questions: Vectors, vectors: Vectors) -> list[list[tuple[int, float]]]:
    """An exact search: the places of the nearest, with their cosines."""
    best: list[list[tuple[int, float]]] = []
    for row in products(questions, vectors):
        scores = row / (STEPS * STEPS)
        at = numpy.argpartition(-scores, min(_POOL, len(scores) - 1))[:_POOL]
        best.append(sorted(((int(place), float(scores[place])) for place in at), key=lambda pair: (-pair[1], pair[0])))
    return best


def products(questions: Vectors, vectors: Vectors) -> Iterator[NDArray[numpy.float32]]:
    """Of each question with every vector: whole numbers, exact in 32 bits."""
    for first in range(0, len(questions), _TOGETHER):
        columns = questions[first : first + _TOGETHER].astype(numpy.float32).T
        blocks = [
            vectors[begin : begin + _BLOCK].astype(numpy.float32) @ columns for begin in range(0, len(vectors), _BLOCK)
        ]
        yield from numpy.concatenate(blocks).T


def _line(found: Found, asked: Asked, over: str, hashes: Mapping[str, str], command: str) -> RunLine:
    ranks = [
        next((rank for rank, key in enumerate(keys) if key in gold), max(DEPTHS))
        for keys, gold in zip(found.keys, asked.gold, strict=True)
    ]
    metrics = {f"top_{depth}": 100 * sum(rank < depth for rank in ranks) / len(ranks) for depth in DEPTHS}
    return RunLine(
        topic="dense",
        system=found.system,
        dataset=asked.dataset,
        split=asked.split,
        over=over,
        n=len(ranks),
        metrics={**metrics, **found.metrics},
        baseline=found.baseline,
        settings={},
        seed=None,
        commit=commit_of()[0],
        date=datetime.now(UTC).date().isoformat(),
        command=command,
        files={**hashes, **(found.files or {})},
    )


def _named(value: str) -> tuple[str, Path]:
    name, equals, folder = value.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("NAME=FOLDER")
    return name, Path(folder)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=12_000, help="of Wikipedia, beside those that answer [12000]")
    parser.add_argument("--questions", type=int, default=1000, help="of SQuAD, evenly spread [1000]")
    parser.add_argument(
        "--weights", type=_named, action="append", default=[], metavar="NAME=FOLDER", help="an embedder"
    )
    parser.add_argument("--threads", type=int, default=1, help="of an embedder [1]")
    parser.add_argument("--work", type=Path, default=WORK, help="where all is kept [bench/work/embedders]")
    parser.add_argument(
        "--tune", action="store_true", help="show weights of the mix, by half of the questions for the other"
    )
    parser.add_argument("--record", action="store_true", help="write the lines to runs/dense.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
