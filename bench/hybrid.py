"""What vectors beside words do to answers: python -m bench.hybrid --weights FOLDER [--questions N] [--record].

Natural searches (the held-out half of NQ-oracle, evenly spread) are asked of the library of `python -m
bench.embedders`, through the whole pipeline and never declined: as shipped, and with `retrieve.kind=hybrid`. The
vectors are those that bench.embedders keeps in its work folder; they are put into the library's own dense index.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import numpy
from numpy.typing import NDArray

from bench import corpus, embedders
from bench.measure import median
from bench.runs import RUNS, RunLine, record
from wherefrom import Library
from wherefrom.config import RetrieveSettings, RuntimeSettings, Settings
from wherefrom.data import nqopen
from wherefrom.data.examples import Example
from wherefrom.errors import WherefromError
from wherefrom.evaluate.spread import evenly_spread
from wherefrom.metrics.answers import contains_answer, exact_match, token_f1
from wherefrom.metrics.significance import paired_interval
from wherefrom.origin import commit_of
from wherefrom.runtime.embedder import TextEmbedder
from wherefrom.runtime.weights import Weights
from wherefrom.stages import SlowIndex
from wherefrom.systems.embedder.held_out import is_held_out

_AT_A_TIME = 8
_Rows = dict[str, list[float]]  # a metric's name: a number for each question


@dataclass(frozen=True, slots=True)
class Way:
    """One way to find passages."""

    name: str
    settings: Mapping[str, object]
    baseline: bool


WAYS = (
    Way("as shipped: BM25 and the matcher", {}, baseline=True),
    Way("retrieve.kind=hybrid", {"kind": "hybrid"}, baseline=False),
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    library, _, hashes = embedders.prepared(options.library_passages, 1000, options.work)
    embedder = TextEmbedder(Weights(options.weights), 1)
    with library:
        keys, vectors, _ = embedders.embedded(library, embedder, options.work / f"{options.name}.npz")
        passages = library.counts()[1]
    runtime = RuntimeSettings(embedder=str(options.weights.resolve()))
    with Library(library.path, Settings(runtime=runtime)) as opened:
        fill(opened, keys, vectors)
    examples = held_out(options.questions)
    command = " ".join(["python -m bench.hybrid", *(arguments or sys.argv[1:])])
    hashes |= embedders.weights_hash(options.weights)
    lines: list[RunLine] = []
    base: _Rows | None = None
    for way in WAYS:
        wanted = RetrieveSettings(**way.settings)  # type: ignore[arg-type]
        with Library(library.path, Settings(retrieve=wanted, runtime=runtime)) as opened:
            rows = answered(opened, examples)
        lines.append(_line(way, rows, base, f"the whole pipeline, {passages:,} passages", hashes, command))
        base = base or rows
        print(f"{way.name}: " + ", ".join(f"{name} {value:.5g}" for name, value in lines[-1].metrics.items()))
        print(f"  {dict(lines[-1].intervals)}", flush=True)
    if options.record:
        record(lines, RUNS)
    return 0


def held_out(wanted: int) -> list[Example]:
    """The questions that no embedder has learnt from."""
    every = nqopen.load(corpus.find_source().folder / "nq_oracle", "train")
    return evenly_spread([example for example in every if is_held_out(example.question.id)], wanted)


def fill(library: Library, keys: NDArray[numpy.int64], vectors: embedders.Vectors) -> None:
    """Put vectors that were made elsewhere into the library's dense index, unless it has them."""
    folder = library._folder()
    with folder._soon_writing():
        index = folder.indexes.get("dense")
        if not isinstance(index, SlowIndex) or not index.fits():
            folder._rebuild("dense")
        index = cast(SlowIndex, folder.indexes["dense"])
        if index.keys() != set(keys.tolist()):
            if index.keys():
                raise WherefromError("the library's dense index has some of the passages; remove its folder first")
            folder.local.begin_indexing()
            index.put_prepared(keys.tolist(), list(vectors))
            index.commit()
            folder.local.seal(folder._sums())


def answered(library: Library, examples: Sequence[Example]) -> _Rows:
    """How good each answer is."""
    pipeline = library.pipeline()
    rows: _Rows = {"em": [], "f1": [], "contained": [], "top_1": [], "top_5": [], "top_10": [], "seconds": []}
    for begin in range(0, len(examples), _AT_A_TIME):
        chosen = examples[begin : begin + _AT_A_TIME]
        for example, trace in zip(
            chosen, pipeline.ask_many([each.question for each in chosen], "short", 0.0), strict=True
        ):
            text = (trace.answer.text if trace.answer else None) or ""
            rows["em"].append(exact_match(text, example.answers, "1.1"))
            rows["f1"].append(token_f1(text, example.answers, "1.1"))
            rows["contained"].append(float(contains_answer(text, example.answers)))
            held = [contains_answer(hit.passage.text, example.answers) for hit in trace.hits]
            for depth in (1, 5, 10):
                rows[f"top_{depth}"].append(float(any(held[:depth])))
            rows["seconds"].append(sum(trace.timings.values()))
    return rows


def _line(way: Way, rows: _Rows, base: _Rows | None, over: str, hashes: Mapping[str, str], command: str) -> RunLine:
    shares = [name for name in rows if name != "seconds"]
    intervals = {}
    if base is not None:
        for name in shares:
            change = paired_interval(rows[name], base[name])
            intervals[f"{name} change"] = (100 * change.low, 100 * change.high)
    return RunLine(
        topic="dense",
        system=way.name,
        dataset="nqopen",
        split="train, held-out half",
        over=over,
        n=len(rows["em"]),
        metrics={
            **{name: 100 * float(numpy.mean(rows[name])) for name in shares},
            "ask_ms": 1000 * median(rows["seconds"]),
        },
        baseline=way.baseline,
        settings={f"retrieve.{name}": value for name, value in way.settings.items()},
        seed=None,
        commit=commit_of()[0],
        date=datetime.now(UTC).date().isoformat(),
        command=command,
        intervals=intervals,
        files=hashes,
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=400, help="evenly spread [400]; 0: all")
    parser.add_argument("--library-passages", type=int, default=1_000_000, help="as `bench.embedders --passages`")
    parser.add_argument("--weights", type=Path, required=True, metavar="FOLDER", help="an embedder")
    parser.add_argument("--name", default="vectors", help="of its vectors in the work folder: NAME.npz [vectors]")
    parser.add_argument("--work", type=Path, default=embedders.WORK, help="that of bench.embedders")
    parser.add_argument("--record", action="store_true", help="write the lines to runs/dense.jsonl")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
